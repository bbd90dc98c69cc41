//! `deletecollection`: the list as it was, and each item deleted with its uid pinned.

use super::delete::Options;
use crate::body::ApiBody;
use crate::handler::{Api, Asked};
use crate::list;
use crate::status::Failure;
use bytes::Bytes;
use hindsight_core::{Rejection, Rule};
use http::Response;

pub(crate) async fn delete_collection(
    api: &Api,
    asked: &Asked,
    body: Bytes,
) -> Result<Response<ApiBody>, Failure> {
    let options = Options::read(asked, &body)?;
    let answer = carry_out(api, asked, &options).await;
    Ok(options.warned(asked, answer))
}

async fn carry_out(
    api: &Api,
    asked: &Asked,
    options: &Options,
) -> Result<Response<ApiBody>, Failure> {
    let page = list::select(api, asked).await?;
    let command = |object: &std::sync::Arc<hindsight_core::Object>| {
        let pinned = Some(object.meta.uid.clone());
        let intent = options.intent(asked, object.key.clone(), pinned, Rule::RequestedCollection);
        api.command(asked, "deletecollection", intent)
    };
    let commands: Vec<_> = page.items.iter().map(command).collect();
    let answers = if options.dry_run {
        let state = api.backend.state();
        commands
            .into_iter()
            .map(|command| hindsight_core::decide(&state, command))
            .collect()
    } else {
        api.backend.submit(commands).await?
    };
    let failed = answers.into_iter().filter_map(Result::err);
    let mut failed = failed.filter(|error| !matches!(error, Rejection::NotFound { .. }));
    match failed.next() {
        Some(rejection) => Err(rejection.into()),
        None => Ok(list::render(asked, &page)),
    }
}
