//! The managers of the replica count of a scalable object, as its `Scale` shows them. Source:
//! `ScaleHandler`.

use super::Managed;
use crate::fields::{FieldSet, ManagerId, Owned};
use crate::object::Name;
use serde_json::{Value, json};

const SCALE_VERSION: &str = "autoscaling/v1";

/// The managers of an object while its `Scale` is written.
pub(crate) struct Scaled {
    object: Managed,
    /// The path of the replica count in the object.
    count: FieldSet,
    /// The version in which the object is written.
    api_version: Name,
}

impl Scaled {
    /// Returns the managers that own the count, with the fields of the `Scale`, and the state that
    /// `back` needs.
    pub(crate) fn of(object: Managed, count_path: &str, api_version: &str) -> (Self, Managed) {
        let names = count_path.split('.').filter(|name| !name.is_empty());
        let fields = names.rev().fold(json!({}), |below, name| {
            let mut fields = serde_json::Map::new();
            fields.insert(format!("f:{name}"), below);
            Value::Object(fields)
        });
        let count = FieldSet::from_fields_v1(&fields).unwrap_or_default();
        let scaled = Self {
            object,
            count,
            api_version: api_version.into(),
        };
        let shown = scaled.shown();
        (scaled, shown)
    }

    fn shown(&self) -> Managed {
        let mut shown = Managed::default();
        let set = shown_count();
        for id in self.holders() {
            let seen = in_version(id, SCALE_VERSION);
            if let Some(time) = self.object.times.get(id) {
                shown.times.insert(seen.clone(), *time);
            }
            let owned = Owned {
                set: set.clone(),
                api_version: SCALE_VERSION.into(),
            };
            shown.managers.insert(seen, owned);
        }
        shown
    }

    fn holders(&self) -> impl Iterator<Item = &ManagerId> {
        let managers = self.object.managers.iter();
        let holds = |owned: &Owned| !owned.set.intersection(&self.count).is_empty();
        managers.filter_map(move |(id, owned)| holds(owned).then_some(id))
    }

    /// Translates the managers after the write of the `Scale` back to the fields of the object.
    pub(crate) fn back(self, mut scale: Managed) -> Managed {
        let holders: Vec<ManagerId> = self.holders().cloned().collect();
        let Self {
            mut object,
            count,
            api_version,
        } = self;
        for id in holders {
            let seen = in_version(&id, SCALE_VERSION);
            if scale.managers.remove(&seen).is_some() {
                // The manager may have set the count again.
                if let Some(time) = scale.times.remove(&seen) {
                    object.times.insert(id, time);
                }
            } else if let Some(owned) = object.managers.get_mut(&id) {
                owned.set = owned.set.difference(&count);
                if owned.set.is_empty() {
                    object.managers.remove(&id);
                    object.times.remove(&id);
                }
            }
        }
        let shown = shown_count();
        for (seen, owned) in std::mem::take(&mut scale.managers) {
            if owned.set.intersection(&shown).is_empty() {
                continue;
            }
            let id = in_version(&seen, &api_version);
            if let Some(time) = scale.times.remove(&seen) {
                object.times.insert(id.clone(), time);
            }
            let owned = Owned {
                set: count.clone(),
                api_version: Name::clone(&api_version),
            };
            object.managers.insert(id, owned);
        }
        object
    }
}

/// The path of the replica count in a `Scale`.
fn shown_count() -> FieldSet {
    FieldSet::from_fields_v1(&json!({"f:spec": {"f:replicas": {}}})).unwrap_or_default()
}

/// Only updates name their version, since a manager applies in one version at a time.
fn in_version(id: &ManagerId, version: &str) -> ManagerId {
    ManagerId {
        api_version: id.api_version.as_ref().map(|_| version.into()),
        ..id.clone()
    }
}
