//! The verbs, each in a file of its own but for `create`, `update` and `patch`, which share one; and how objects are
//! shown.

mod apply;
mod delete;
mod delete_collection;
mod get;
pub(crate) mod kubelet;
pub(crate) mod pod;
#[cfg(test)]
mod tests;
mod unknown_fields;
mod write;

pub(crate) use delete::delete;
pub(crate) use delete_collection::delete_collection;
pub(crate) use get::get;
pub(crate) use pod::bind;
pub(crate) use write::{OTHER_NAMESPACE, create, document, patch, update};

use crate::accept::View;
use crate::body::{ApiBody, Syntax};
use crate::request::{ResourceRequest, verb};
use crate::respond;
use crate::status::Failure;
use crate::table;
use hindsight_core::kind::Subresource;
use hindsight_core::{Object, scale::scale_for_read};
use http::{Method, Response};

/// Whether the object or subresource supports this method.
pub(crate) fn allows(subresource: Option<Subresource>, method: &Method) -> bool {
    subresource.is_none_or(|subresource| {
        verb(method, true).is_some_and(|verb| subresource.verbs().contains(&verb))
    })
}

/// An object in the form and version that the client asked for.
fn show(
    request: &ResourceRequest,
    code: u16,
    object: &Object,
) -> Result<Response<ApiBody>, Failure> {
    show_in(request.accept.syntax, request, code, object)
}

/// The same for an object that was written: as JSON if it is too long as YAML. A client that is refused would write
/// again, which may add or remove something else.
fn show_written(
    request: &ResourceRequest,
    code: u16,
    object: &Object,
) -> Result<Response<ApiBody>, Failure> {
    let shown = show(request, code, object)?;
    if shown.status().is_success() {
        return Ok(shown);
    }
    show_in(Syntax::Json, request, code, object)
}

fn show_in(
    syntax: Syntax,
    request: &ResourceRequest,
    code: u16,
    object: &Object,
) -> Result<Response<ApiBody>, Failure> {
    if request.is_scale() {
        let scale = scale_for_read(&request.version, &request.form.object(object))?;
        let scale = scale.ok_or_else(Failure::no_such_resource)?;
        let shown = match request.accept.view {
            View::Table => table::of_scale(request, &scale),
            View::Metadata => table::partial(request.accept.meta, &scale),
            View::Object => scale,
        };
        return Ok(respond::json(code, &shown, syntax));
    }
    Ok(match request.accept.view {
        View::Object => respond::json_bytes(code, request.form.body(object), syntax),
        View::Metadata => respond::json(
            code,
            &table::metadata_of(request.accept.meta, &request.form, object),
            syntax,
        ),
        View::Table => respond::json(code, &table::of(request, object), syntax),
    })
}
