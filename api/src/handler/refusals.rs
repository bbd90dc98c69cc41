//! Refusals that hold for every path, also for those that somebody else answers.

use super::finish;
use crate::accept::accept;
use crate::api::Api;
use crate::body::{ApiBody, Syntax};
use crate::impersonation;
use crate::respond;
use crate::status::Failure;
use hindsight_core::Actor;
use http::{HeaderMap, Response};

impl Api {
    /// The answer to a client whose credentials are invalid: 401 for every path, even for health and version,
    /// which need no credentials.
    pub fn unauthorized(headers: &HeaderMap) -> Response<ApiBody> {
        refused(headers, &Failure::unauthorized())
    }

    /// The answer to a client that wants to be somebody else.
    pub fn refuse_impersonation(headers: &HeaderMap, actor: &Actor) -> Option<Response<ApiBody>> {
        let failure = impersonation::refuse(headers, actor).err()?;
        Some(refused(headers, &failure))
    }
}

fn refused(headers: &HeaderMap, failure: &Failure) -> Response<ApiBody> {
    let syntax = accept(headers).map_or(Syntax::Json, |accept| accept.syntax);
    finish(respond::failure(failure, syntax))
}
