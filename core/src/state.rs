//! The world at one revision: what `decide` reads and `apply` changes. Cloning is cheap.

use crate::Revision;
use crate::kind::{BuiltinKinds, GroupResource, Kinds};
use crate::object::{Object, ObjectKey, Uid};
use imbl::OrdMap;
use std::sync::Arc;

/// The world at one revision. Persistent maps: a clone shares everything with its origin.
#[derive(Debug, Clone)]
pub struct State {
    /// The last commit that was applied.
    pub revision: Revision,
    /// Every object.
    pub objects: OrdMap<ObjectKey, Arc<Object>>,
    /// Every kind.
    pub kinds: Kinds,
    /// For each owner held by a collector's finalizer: the last commit that gave it a dependent
    /// or made one block. A release that was decided before is stale.
    pub(crate) waiting: OrdMap<Uid, Revision>,
}

impl State {
    /// Before the first commit.
    pub fn new(builtin: Arc<BuiltinKinds>) -> Self {
        Self {
            revision: Revision::ZERO,
            objects: OrdMap::new(),
            kinds: Kinds::new(builtin),
            waiting: OrdMap::new(),
        }
    }

    /// The object at these coordinates.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// Objects of one resource in list order; of one namespace, or of all.
    pub fn list<'a>(
        &'a self,
        resource: &'a GroupResource,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let start = ObjectKey::new(resource.clone(), namespace.unwrap_or(""), "");
        self.objects
            .range(start..)
            .take_while(move |(key, _)| {
                key.resource == *resource
                    && namespace.is_none_or(|wanted| &*key.namespace == wanted)
            })
            .map(|(_, object)| object)
    }
}
