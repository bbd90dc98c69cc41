//! Who holds the count of a scalable object, as its `Scale` shows it. Source: `ScaleHandler`.

use super::Managed;
use crate::fields::{FieldSet, ManagerId, Owned};
use crate::object::Name;
use serde_json::{Value, json};

const SCALE_VERSION: &str = "autoscaling/v1";

/// The accounts of an object while its `Scale` is written.
pub(crate) struct Scaled {
    object: Managed,
    /// Where the object has its count.
    count: FieldSet,
    /// The version that the object is spoken to in.
    api_version: Name,
}

impl Scaled {
    /// Those who hold the count, in terms of the `Scale`, and what is needed to come back.
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

    /// What writing the `Scale` made of them, in terms of the object.
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
                // They may have said it again since.
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

/// Where a `Scale` has its count.
fn shown_count() -> FieldSet {
    FieldSet::from_fields_v1(&json!({"f:spec": {"f:replicas": {}}})).unwrap_or_default()
}

/// One manager applies in one version at a time, so only updates name theirs.
fn in_version(id: &ManagerId, version: &str) -> ManagerId {
    ManagerId {
        api_version: id.api_version.as_ref().map(|_| version.into()),
        ..id.clone()
    }
}
