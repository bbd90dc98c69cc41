//! `get`: one object, as it is now or, below a path of the past, as it was.

use super::show;
use crate::api::Api;
use crate::body::ApiBody;
use crate::offload::LONG_BYTES;
use crate::position;
use crate::request::ResourceRequest;
use crate::status::Failure;
use hindsight_core::Rejection;
use http::Response;

/// Answers with the stored bytes, unless another form was asked for.
pub(crate) async fn get(
    api: &Api,
    mut request: Box<ResourceRequest>,
) -> Result<Response<ApiBody>, Failure> {
    let newest = request.state.revision;
    let revision = request.params.revision()?;
    if let Some(wanted) = revision.filter(|wanted| *wanted > newest) {
        if request.is_past {
            return Err(position::after_past(wanted, newest));
        }
        request.catch_up(api, wanted).await?;
    }
    let key = request.key();
    let found = request.state.get(&key);
    let object = found.ok_or_else(|| Rejection::not_found(&key))?;
    let bytes = if request.is_scale() {
        object.body.len()
    } else {
        request.accept.made_bytes(&request.form, object)
    };
    if bytes <= LONG_BYTES {
        return show(&request, 200, object);
    }
    let object = object.clone();
    api.make(move || show(&request, 200, &object)).await
}
