//! A stored object: its identity, the metadata that rules look at, and its body as the JSON bytes that
//! clients receive.

mod key;
mod meta;
mod shown;
mod text;
mod uid;

pub use key::{Name, ObjectKey};
pub use meta::{
    DEFINITION_FINALIZER, FOREGROUND_FINALIZER, Meta, NAMESPACE_LABEL, NAMESPACE_TOKEN,
    ORPHAN_FINALIZER, OwnerReference, ServerFinalizer, is_collector_finalizer,
};
pub use uid::Uid;

use crate::command::Propagation;
use crate::document::{LEVELS_MAX, fits, metadata_mut};
use crate::{Revision, Rule};
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;

/// Approximate size of the rest of an object or a commit, beside the body: keys, names and causes, which
/// are rarely longer. Limits on memory and file size rather count a little too much.
pub(crate) const BESIDE_BODY_BYTES: usize = 256;

/// The size in bytes of the largest document that a client may make. The body of a request may be as large;
/// upstream's storage accepts half of that, in a more compact form.
pub(crate) const OBJECT_BYTES_MAX: usize = 3 << 20;

/// Initial capacity of a body; most are smaller.
const BODY_BYTES: usize = 1024;

/// One version of one object. Immutable; a new version is a new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Where the object is stored.
    pub key: ObjectKey,
    /// `apiVersion` and `kind` as stored in the body.
    pub type_meta: TypeMeta,
    /// The part of the metadata that rules look at.
    pub meta: Meta,
    /// The commit that wrote this version; also `metadata.resourceVersion` in the body.
    pub revision: Revision,
    /// The commit that first requested its deletion, and the rule.
    pub mark: Option<Mark>,
    /// The whole object as JSON, `metadata.resourceVersion` included.
    pub body: Bytes,
}

/// The first deletion request of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Revision of the commit.
    pub revision: Revision,
    /// The rule of the deletion.
    pub rule: Rule,
}

/// `apiVersion` and `kind` of a stored body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeMeta {
    /// Group and version, as `v1` or `apps/v1`.
    pub api_version: Name,
    /// The kind, as `ConfigMap`.
    pub kind: Name,
}

/// Why bytes could not be read as an object.
#[derive(Debug, thiserror::Error)]
#[error("the body of {key} is not an object: {reason}")]
pub struct UnreadableObject {
    /// The key that the bytes were stored under.
    pub key: ObjectKey,
    /// What is wrong with them.
    pub reason: String,
}

impl Object {
    /// Builds a version from its document, and writes `metadata.resourceVersion` into the body.
    pub fn from_value(
        key: ObjectKey,
        mut document: Value,
        revision: Revision,
        mark: Option<Mark>,
    ) -> Result<Self, UnreadableObject> {
        let unreadable = |reason: &str| UnreadableObject {
            key: key.clone(),
            reason: reason.into(),
        };
        let metadata =
            metadata_mut(&mut document).ok_or_else(|| unreadable("metadata is missing"))?;
        metadata.insert("resourceVersion".into(), revision.0.to_string().into());
        let meta = Meta::read(metadata).map_err(|reason| unreadable(&reason))?;
        let type_meta = TypeMeta::read(&document).ok_or_else(|| unreadable("kind is missing"))?;
        if !fits(&document, LEVELS_MAX) {
            return Err(unreadable("its lists and objects are nested too deeply"));
        }
        // Serialized into a larger buffer, then copied to size: versions are kept, and most are small.
        let mut body = Vec::with_capacity(BODY_BYTES);
        serde_json::to_writer(&mut body, &document)
            .map_err(|error| unreadable(&error.to_string()))?;
        Ok(Self {
            key,
            type_meta,
            meta,
            revision,
            mark,
            body: Bytes::copy_from_slice(&body),
        })
    }

    /// Makes a version from a stored body.
    pub fn from_body(
        key: ObjectKey,
        body: Bytes,
        revision: Revision,
        mark: Option<Mark>,
    ) -> Result<Self, UnreadableObject> {
        let head: meta::Head<'_> = read(&body).map_err(|reason| UnreadableObject {
            key: key.clone(),
            reason,
        })?;
        let type_meta = TypeMeta {
            api_version: head.api_version.as_ref().into(),
            kind: head.kind.as_ref().into(),
        };
        Ok(Self {
            key,
            type_meta,
            meta: head.metadata,
            revision,
            mark,
            body,
        })
    }

    /// The body as a document.
    ///
    /// The body was checked when the object was made, so callers never see `Null`.
    pub fn document(&self) -> Value {
        self.read().unwrap_or_default()
    }

    /// The members of the body that this type has, if they are what it says. The others are skipped.
    pub(crate) fn read<'a, T: serde::Deserialize<'a>>(&'a self) -> Option<T> {
        read(&self.body).ok()
    }

    /// About how many bytes it takes in memory and in an uncompressed file: its body, and an allowance for
    /// the rest, which is rarely more.
    pub fn estimated_bytes(&self) -> usize {
        self.body.len() + BESIDE_BODY_BYTES
    }

    /// About how many bytes it takes in memory: also the lists of its metadata that are read, which take many times as
    /// much there as in the body.
    pub fn memory_bytes(&self) -> usize {
        self.estimated_bytes() + self.meta.list_bytes()
    }

    /// The owner references that count for garbage collection: none for events, which take no part in it.
    pub fn owners(&self) -> &[OwnerReference] {
        if self.key.resource.is_event() {
            &[]
        } else {
            &self.meta.owner_references
        }
    }

    /// Each owner once, and whether any reference to it blocks.
    pub fn owner_blocks(&self) -> BTreeMap<&Uid, bool> {
        let mut found = BTreeMap::new();
        for owner in self.owners() {
            let blocks: &mut bool = found.entry(&owner.uid).or_default();
            *blocks = *blocks || owner.blocks();
        }
        found
    }

    /// Whether its deletion has been requested.
    pub fn is_deleting(&self) -> bool {
        self.meta.deletion_timestamp.is_some()
    }

    /// Whether it is in foreground deletion, waiting for the dependents that block it.
    pub fn is_waiting(&self) -> bool {
        self.is_deleting() && self.meta.has_finalizer(FOREGROUND_FINALIZER)
    }

    /// Whether it is being deleted with the orphan policy, and dependents may still refer to it.
    pub fn is_orphaning(&self) -> bool {
        self.is_deleting() && self.meta.has_finalizer(ORPHAN_FINALIZER)
    }

    /// The propagation policy that the first finalizer of the collector on it asks for.
    pub(crate) fn own_policy(&self) -> Option<Propagation> {
        Propagation::of_finalizers(&self.meta.finalizers)
    }
}

/// The `spec.finalizers` of a namespace, which hold it while it has contents.
pub fn spec_finalizers(namespace: &Value) -> &[Value] {
    let list = namespace
        .pointer("/spec/finalizers")
        .and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// Deserializes a body. UTF-8 is validated once for the whole body rather than for each string.
fn read<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    let text = str::from_utf8(body).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl TypeMeta {
    fn read(document: &Value) -> Option<Self> {
        Some(Self {
            api_version: document.get("apiVersion")?.as_str()?.into(),
            kind: document.get("kind")?.as_str()?.into(),
        })
    }

    /// The group part of `apiVersion`; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupResource;
    use serde_json::json;

    #[test]
    fn the_first_collector_finalizer_decides_the_policy() {
        const FIRST: &str = FOREGROUND_FINALIZER;
        for (finalizers, policy, waits, orphans) in [
            (&["x/y"][..], None, false, false),
            (&["x/y", FIRST], Some(Propagation::Foreground), true, false),
            (&[ORPHAN_FINALIZER], Some(Propagation::Orphan), false, true),
            (
                &[FIRST, ORPHAN_FINALIZER],
                Some(Propagation::Foreground),
                true,
                true,
            ),
        ] {
            for is_deleting in [true, false] {
                let mut document = json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": "a", "uid": "u", "finalizers": finalizers}});
                if is_deleting {
                    document["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
                }
                let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "a");
                let object = Object::from_value(key, document, Revision(1), None);
                let object = object.expect("an object");
                assert_eq!(object.own_policy(), policy, "{finalizers:?}");
                assert_eq!(object.is_waiting(), is_deleting && waits);
                assert_eq!(object.is_orphaning(), is_deleting && orphans);
            }
        }
    }
}
