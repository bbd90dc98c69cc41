//! Whether a document is about the object that its request is about: the namespace, the name and the version that it
//! gives.

use super::prepare;
use crate::object::{Object, ObjectKey};
use crate::{Rejection, Revision};
use serde_json::{Map, Value};

/// Checks that a namespace in the document is that of the path; admission may not change it either. Source:
/// `EnsureObjectNamespaceMatchesRequestNamespace`.
pub(super) fn same_namespace(
    metadata: &Map<String, Value>,
    key: &ObjectKey,
) -> Result<(), Rejection> {
    let namespace = prepare::text(metadata, "namespace");
    if namespace.is_empty() || key.namespace.is_empty() || namespace == &*key.namespace {
        return Ok(());
    }
    Err(Rejection::BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request"
            .into(),
    ))
}

/// Checks that the document has the name and namespace of the path. Source: `checkName`.
pub(super) fn same_coordinates(
    metadata: &Map<String, Value>,
    key: &ObjectKey,
) -> Result<(), Rejection> {
    same_namespace(metadata, key)?;
    let (name, wanted) = (prepare::text(metadata, "name"), &key.name);
    if name.is_empty() {
        return Err(Rejection::unnamed(wanted));
    }
    if name != &**wanted {
        return Err(Rejection::BadRequest(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

/// Checks that the version that was sent is the newest.
pub(super) fn same_version(stored: &Object, version: &str) -> Result<(), Rejection> {
    let Some(revision) = Revision::parse(version) else {
        return Err(Rejection::BadRequest(format!(
            "invalid resource version: {version:?}"
        )));
    };
    if revision == stored.revision {
        return Ok(());
    }
    let why = "the object has been modified; please apply your changes to the latest version and \
               try again";
    Err(Rejection::conflict(&stored.key, why))
}

/// Prepares the metadata of an object to be created: a uid is refused, since no object can have it; a
/// version is dropped.
pub(super) fn prepare_for_creation(
    metadata: &mut Map<String, Value>,
    key: &ObjectKey,
    refusal: impl FnOnce(&str) -> String,
) -> Result<(), Rejection> {
    let uid = prepare::text(metadata, "uid");
    if !uid.is_empty() {
        return Err(Rejection::conflict(key, refusal(uid)));
    }
    metadata.remove("resourceVersion");
    Ok(())
}
