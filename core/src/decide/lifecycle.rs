//! Whether anything may be made in a namespace. Source: the `NamespaceLifecycle` admission plugin, which
//! looks at whatever is posted, to a collection or to an object.

use crate::kind::GroupResource;
use crate::object::{Object, ObjectKey};
use crate::rejection::FieldCause;
use crate::{Rejection, State};
use std::sync::Arc;

/// What a refusal calls what has no name yet, and nothing that one could be made of. Source: `extractResourceName` of
/// upstream's admission.
const NAMELESS: &str = "Unknown";

/// The namespace of `key`, if it takes what is new; `name` is what a refusal calls that.
///
/// # Errors
///
/// Not found where there is no such namespace, forbidden where it is going.
pub fn namespace_of_new<'a>(
    state: &'a State,
    key: &ObjectKey,
    name: &str,
) -> Result<&'a Arc<Object>, Rejection> {
    let namespace = &key.namespace;
    let found = state.namespace(namespace);
    let found = found.ok_or_else(|| Rejection::NotFound {
        resource: GroupResource::new("", "namespaces"),
        name: Arc::clone(namespace),
    })?;
    if !found.is_deleting() {
        return Ok(found);
    }
    let cause = FieldCause {
        reason: "NamespaceTerminating",
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".into(),
    };
    let reason = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    Err(Rejection::Forbidden {
        resource: key.resource.clone(),
        name: if name.is_empty() { NAMELESS } else { name }.into(),
        reason,
        causes: vec![cause],
    })
}
