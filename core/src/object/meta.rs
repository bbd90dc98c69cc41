//! The part of `ObjectMeta` that rules and indexes read.

use super::{Name, Uid};
use crate::Time;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Holds an owner until its blocking dependents are gone.
pub const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
/// Holds an owner until its dependents no longer refer to it.
pub const ORPHAN_FINALIZER: &str = "orphan";

/// Parsed metadata. Fields that no rule reads stay in the body only.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// Identity.
    pub uid: Uid,
    /// Zero where the kind keeps no generation.
    #[serde(default, deserialize_with = "nullable")]
    pub generation: i64,
    /// When it was created.
    #[serde(default, deserialize_with = "time")]
    pub creation_timestamp: Option<Time>,
    /// Set once its deletion was asked for; never cleared.
    #[serde(default, deserialize_with = "mark")]
    pub deletion_timestamp: Option<Time>,
    /// Seconds that it was given to stop.
    #[serde(default)]
    pub deletion_grace_period_seconds: Option<i64>,
    /// What must happen before it may be removed, in the client's order.
    #[serde(default, deserialize_with = "nullable")]
    pub finalizers: Arc<[Name]>,
    /// Its owners, in the client's order.
    #[serde(default, deserialize_with = "nullable")]
    pub owner_references: Arc<[OwnerReference]>,
    /// Labels.
    #[serde(default, deserialize_with = "nullable")]
    pub labels: Arc<BTreeMap<Name, Name>>,
}

/// One entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// Group and version of the owner.
    pub api_version: Name,
    /// Kind of the owner.
    pub kind: Name,
    /// Name of the owner.
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
    /// Whether it holds the owner's foreground deletion.
    pub fn blocks(&self) -> bool {
        self.block_owner_deletion == Some(true)
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
    /// Reads metadata that has been validated; the message says what is not of its type.
    pub fn read(metadata: &Map<String, Value>) -> Result<Self, String> {
        Self::deserialize(metadata).map_err(|error| error.to_string())
    }

    /// Whether this finalizer is listed.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|held| &**held == finalizer)
    }
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let text: Option<Cow<'de, str>> = Option::deserialize(deserializer)?;
    Ok(text.as_deref().and_then(Time::parse))
}

/// An end that cannot be read is none that can be waited for, but somebody did ask for the deletion.
fn mark<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let text: Option<Cow<'de, str>> = Option::deserialize(deserializer)?;
    Ok(text.map(|text| Time::parse(&text).unwrap_or(Time::MAX)))
}

/// Kubernetes reads `null` as the zero value.
fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
