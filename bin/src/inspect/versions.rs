//! Remembers versions of objects, to find what the next ones changed.

use hindsight_core::{Commit, Object, ObjectKey, Uid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most versions that are remembered: several objects may have the name that is asked for.
const VERSIONS_MAX: usize = 64;
/// The most bytes of their bodies together; a single object is remembered however large it is.
const VERSIONS_BYTES_MAX: usize = 4 << 20;

/// The newest version of some objects.
#[derive(Debug, Default)]
pub(super) struct Versions {
    by_key: BTreeMap<ObjectKey, (Uid, Arc<Object>)>,
    bytes: usize,
}

impl Versions {
    /// Remembers the version that a commit leaves; returns the one before it, if that was remembered.
    pub(super) fn replace(&mut self, commit: &Commit) -> Option<Arc<Object>> {
        let known = self.by_key.remove(&commit.key);
        self.bytes -= known.as_ref().map_or(0, |(_, object)| object.body.len());
        if let Some(object) = commit.object() {
            self.remember(&commit.key, &commit.uid, object);
        }
        known
            .filter(|(uid, _)| *uid == commit.uid)
            .map(|(_, object)| object)
    }

    fn remember(&mut self, key: &ObjectKey, uid: &Uid, object: &Arc<Object>) {
        let bytes = object.body.len();
        while self.by_key.len() >= VERSIONS_MAX || self.bytes + bytes > VERSIONS_BYTES_MAX {
            let Some((_, (_, forgotten))) = self.by_key.pop_first() else {
                break;
            };
            self.bytes -= forgotten.body.len();
        }
        self.bytes += bytes;
        let version = (uid.clone(), Arc::clone(object));
        self.by_key.insert(key.clone(), version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::{GroupResource, Revision};
    use serde_json::json;

    fn version(number: usize, bytes: usize) -> Arc<Object> {
        let name = format!("o{number}");
        let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", &name);
        let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v".repeat(bytes)},
            "metadata": {"name": name, "namespace": "default", "uid": name}});
        let object = Object::from_value(key, document, Revision(1), None);
        Arc::new(object.expect("an object"))
    }

    #[test]
    fn of_the_versions_so_many_bytes_are_remembered_and_one_of_any_length() {
        for (length, kept) in [(10, VERSIONS_MAX), (1 << 20, 3), (3 << 20, 1), (5 << 20, 1)] {
            let mut versions = Versions::default();
            let objects: Vec<_> = (0..kept + 9).map(|at| version(at, length)).collect();
            for object in &objects {
                versions.remember(&object.key, &object.meta.uid, object);
            }
            let held = objects.iter().filter(|one| Arc::strong_count(one) > 1);
            let held: usize = held.map(|object| object.body.len()).sum();
            assert_eq!(held, versions.bytes);
            assert_eq!(versions.by_key.len(), kept, "{length}");
        }
    }
}
