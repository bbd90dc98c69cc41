//! Whether objects may be created in a namespace. Source: the `NamespaceLifecycle` admission plugin, which
//! checks everything that is posted, to a collection or to an object.

use crate::object::{Object, ObjectKey};
use crate::rejection::FieldCause;
use crate::{Rejection, State};
use std::sync::Arc;

/// How a refusal names an object that has no name and no `generateName`. Source: `extractResourceName` of
/// upstream's admission.
const NAMELESS: &str = "Unknown";

/// The namespace of `key`, if new objects may be created in it; `name` is what a refusal calls the object.
///
/// # Errors
///
/// Not found if the namespace does not exist, forbidden if it is being deleted.
pub fn namespace_of_new<'a>(
    state: &'a State,
    key: &ObjectKey,
    name: &str,
) -> Result<&'a Arc<Object>, Rejection> {
    let namespace = &key.namespace;
    let found = state.namespace(namespace);
    let missing = || Rejection::not_found(&ObjectKey::namespace(namespace));
    let found = found.ok_or_else(missing)?;
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
