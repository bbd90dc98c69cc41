//! `deletecollection`: the list as it was, and each item deleted with its uid pinned.

use super::delete::Options;
use crate::body::ApiBody;
use crate::handler::{Api, Asked};
use crate::list;
use crate::respond;
use crate::status::Failure;
use bytes::Bytes;
use hindsight_core::{Command, Rejection, Rule};
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
    if !api.admission.is_idle(&api.backend.state()) {
        let mut response = list::render(asked, page);
        respond::warn(
            &mut response,
            &one_by_one(api, commands, options.dry_run).await?,
        );
        return Ok(response);
    }
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
        None => Ok(list::render(asked, page)),
    }
}

/// Each item is admitted for itself; gives back what was warned of.
async fn one_by_one(
    api: &Api,
    commands: Vec<Command>,
    dry_run: bool,
) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    for command in commands {
        match api.decide(command, dry_run).await {
            Ok(decision) => warnings.extend(decision.warnings),
            Err(failure) if failure.code == 404 => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(warnings)
}
