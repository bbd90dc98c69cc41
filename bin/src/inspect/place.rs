//! Where objects are: the path that a kind is served at, and whether an owner is there.

use super::{Unanswered, kind};
use hindsight_core::{GroupResource, ObjectKey, State};
use serde::{Deserialize, Serialize};

/// A kind as the API serves it, by the version that it is stored in where that may be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Served {
    group: String,
    version: String,
    /// The plural.
    pub(crate) resource: String,
    singular: String,
    pub(crate) namespaced: bool,
}

impl Served {
    /// What its objects' paths begin with.
    pub(crate) fn path(&self) -> String {
        let Self { group, version, .. } = self;
        if group.is_empty() {
            return format!("/api/{version}");
        }
        format!("/apis/{group}/{version}")
    }

    /// `deployment.apps`, as kubectl has it.
    pub(crate) fn titled(&self) -> String {
        GroupResource::new(&self.group, &self.singular).to_string()
    }

    pub(crate) fn stored_under(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.resource)
    }
}

/// The kind that a text names.
pub(crate) fn served(state: &State, text: &str) -> Result<Served, Unanswered> {
    let unknown = || Unanswered::UnknownKind(text.to_owned());
    let named = kind(state, text).ok_or_else(unknown)?;
    let stored = state.kinds.by_resource(&named.stored_under());
    let kind = stored.unwrap_or(&named);
    let version = kind.storage_version().filter(|version| version.served);
    let version = version.or_else(|| kind.versions.iter().find(|version| version.served));
    Ok(Served {
        group: kind.resource.group.to_string(),
        version: version.ok_or_else(unknown)?.name.to_string(),
        resource: kind.resource.resource.to_string(),
        singular: kind.singular.to_string(),
        namespaced: kind.is_namespaced(),
    })
}

/// What an owner reference names, and the namespace of the object that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// Whether the owner is there, with this identity.
pub(crate) fn is_there(state: &State, owner: &Owner) -> bool {
    let group = owner.api_version.split_once('/');
    let group = group.map_or("", |(group, _)| group);
    let Some(kind) = state.kinds.by_kind(group, &owner.kind) else {
        return false;
    };
    let namespace = if kind.is_namespaced() {
        owner.namespace.as_str()
    } else {
        ""
    };
    let key = ObjectKey::new(kind.stored_under(), namespace, &owner.name);
    let found = state.get(&key);
    found.is_some_and(|found| found.meta.uid.as_str() == owner.uid)
}
