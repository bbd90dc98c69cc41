//! The part of `ObjectMeta` that rules and indexes read.

use super::text::{self, Text, Texts, name};
use super::{Name, Uid};
use crate::Time;
use crate::memory::{allocated, nodes, texts};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Holds an owner until its blocking dependents are gone.
pub const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
/// Holds an owner until its dependents no longer refer to it.
pub const ORPHAN_FINALIZER: &str = "orphan";
/// Holds a definition until its instances are gone.
pub const DEFINITION_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
/// Holds a namespace, in its `spec`, until it is empty.
pub const NAMESPACE_TOKEN: &str = "kubernetes";
/// Label that holds the name of a namespace, for selectors.
pub const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// Whether this is one of the finalizers that a propagation policy sets and the collector removes.
pub fn is_collector_finalizer(finalizer: &str) -> bool {
    matches!(finalizer, ORPHAN_FINALIZER | FOREGROUND_FINALIZER)
}

/// A finalizer of the server, which holds an owner or a definition in deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFinalizer {
    /// [`FOREGROUND_FINALIZER`].
    Foreground,
    /// [`ORPHAN_FINALIZER`].
    Orphan,
    /// [`DEFINITION_FINALIZER`].
    Definition,
}

impl ServerFinalizer {
    /// Its name in the list of finalizers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Foreground => FOREGROUND_FINALIZER,
            Self::Orphan => ORPHAN_FINALIZER,
            Self::Definition => DEFINITION_FINALIZER,
        }
    }
}

/// The parsed part of `metadata`. Fields that no rule reads stay in the body only.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The object's identity.
    pub uid: Uid,
    /// Zero where the kind keeps no generation.
    #[serde(default, deserialize_with = "nullable")]
    pub generation: i64,
    /// When it was created.
    #[serde(default, deserialize_with = "time")]
    pub creation_timestamp: Option<Time>,
    /// Set once its deletion has been requested; never cleared.
    #[serde(default, deserialize_with = "mark")]
    pub deletion_timestamp: Option<Time>,
    /// Seconds that the object was given to stop.
    #[serde(default)]
    pub deletion_grace_period_seconds: Option<i64>,
    /// The finalizers, in the client's order.
    #[serde(default, deserialize_with = "names")]
    pub finalizers: Arc<[Name]>,
    /// The owner references, in the client's order.
    #[serde(default, deserialize_with = "nullable")]
    pub owner_references: Arc<[OwnerReference]>,
    /// Labels.
    #[serde(default, deserialize_with = "labels")]
    pub labels: Arc<BTreeMap<Name, Name>>,
}

/// One entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// Group and version of the owner.
    #[serde(deserialize_with = "name")]
    pub api_version: Name,
    /// Kind of the owner.
    #[serde(deserialize_with = "name")]
    pub kind: Name,
    /// Name of the owner.
    #[serde(deserialize_with = "name")]
    pub name: Name,
    /// Identity of the owner.
    pub uid: Uid,
    /// Whether the owner is the managing controller. Absent and false differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether a foreground deletion of the owner waits for this dependent. Absent means no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    /// Whether the reference blocks the owner's foreground deletion.
    pub fn blocks(&self) -> bool {
        self.block_owner_deletion == Some(true)
    }

    /// The group part of its `apiVersion`; empty for the core group.
    pub fn group(&self) -> &str {
        let (group, _) = self.api_version.split_once('/').unwrap_or_default();
        group
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) metadata: Meta,
}

impl Meta {
    /// Reads metadata that has been validated; the error says which field has the wrong type.
    pub fn read(metadata: &Map<String, Value>) -> Result<Self, String> {
        Self::deserialize(metadata).map_err(|error| error.to_string())
    }

    /// About how many bytes its lists take in memory.
    pub(super) fn list_bytes(&self) -> usize {
        let label = |(key, value): (&Name, &Name)| allocated(key.len()) + allocated(value.len());
        let owner = |owner: &OwnerReference| {
            let texts = [
                &*owner.api_version,
                &*owner.kind,
                &*owner.name,
                owner.uid.as_str(),
            ];
            size_of::<OwnerReference>()
                + texts
                    .map(|text| allocated(text.len()))
                    .iter()
                    .sum::<usize>()
        };
        nodes(self.labels.len(), size_of::<(Name, Name)>())
            + self.labels.iter().map(label).sum::<usize>()
            + texts(&self.finalizers)
            + self.owner_references.iter().map(owner).sum::<usize>()
    }

    /// The generation after a change that counts. A client chooses the first one of some kinds, so that the
    /// last one may be reached.
    pub(crate) const fn next_generation(&self) -> i64 {
        self.generation.saturating_add(1)
    }

    /// Whether this finalizer is listed.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|held| &**held == finalizer)
    }

    /// The finalizers, for looking them up: a client may list very many.
    pub(crate) fn finalizer_set(&self) -> BTreeSet<&str> {
        self.finalizers.iter().map(|held| &**held).collect()
    }
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let read: Option<Stamp> = Option::deserialize(deserializer)?;
    Ok(read.and_then(|read| read.0))
}

/// Reads a deletion timestamp. One that cannot be read counts as [`Time::MAX`]: its end is unknown, but the
/// deletion was requested.
fn mark<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let read: Option<Stamp> = Option::deserialize(deserializer)?;
    Ok(read.map(|read| read.0.unwrap_or(Time::MAX)))
}

/// A time; `None` if the text is not one.
struct Stamp(Option<Time>);

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::read(deserializer, |text| Self(Time::parse(text)))
    }
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[Name]>, D::Error> {
    let read: Vec<Text> = nullable(deserializer)?;
    Ok(read.into_iter().map(|text| text.0).collect())
}

fn labels<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<BTreeMap<Name, Name>>, D::Error> {
    let read: Texts = nullable(deserializer)?;
    Ok(Arc::new(read.0))
}

/// Reads `null` as the zero value, as Kubernetes does.
fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
