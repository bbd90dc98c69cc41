//! `metadata.managedFields`: who wrote which field, and when. Every field manager that creates, updates or
//! applies an object has an entry with the fields that it owns. Source: apimachinery's
//! `util/managedfields`.

mod blank;
mod conflict;
mod entry;
mod last_applied;
mod limit;
mod reset;
mod scale;
#[cfg(test)]
mod tests;

pub use blank::always_there;
pub(crate) use blank::fill as fill_structures;
pub(crate) use entry::{Managed, causes, is_reset};
pub(crate) use reset::{kept, unowned};
pub(crate) use scale::Scaled;

use crate::document::metadata_mut;
use crate::fields::{Contested, ManagerId, Managers, Owned, Updater, Versions, compare};
use crate::kind::Subresource;
use crate::object::Name;
use crate::{Rejection, Time};
use serde_json::Value;
use std::borrow::Cow;

/// Manager of the fields that an object had before its ownership was tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Takes the list out of a document.
pub(crate) fn take(document: &mut Value) -> Option<Value> {
    let metadata = metadata_mut(document)?;
    metadata.remove("managedFields")
}

/// Why a list cannot be decoded, if it cannot: admission may leave such a list behind.
pub fn unreadable(list: Option<&Value>) -> Option<String> {
    Managed::decode(list).err()
}

/// A write and its field manager.
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a Name,
    /// The subresource that is written, if it is not the object itself.
    pub(crate) subresource: Option<Subresource>,
    pub(crate) time: Time,
    /// The `apiVersion` of the documents.
    pub(crate) api_version: &'a str,
    pub(crate) versions: &'a dyn Versions,
    /// Paths that nobody owns after this write.
    pub(crate) unowned: &'a [&'a str],
    /// Whether the kind is a custom one, of which only the schema is known.
    pub(crate) is_custom: bool,
}

impl Writer<'_> {
    /// The owners of a new object's fields.
    pub(crate) fn create(&self, new: &Value) -> Managed {
        let version = self.versions.version(self.api_version);
        let schema = version.and_then(|version| version.schema);
        let change = compare(&self.nothing(new), new, schema);
        // A structure that is owned as a whole existed in the blank object, with another value.
        let mut set = change.added.union(&change.modified);
        set.forget(self.unowned);
        let mut managed = Managed::default();
        if !set.is_empty() {
            let who = self.id(self.manager, false);
            let api_version = self.api_version.into();
            managed.times.insert(who.clone(), self.time.whole_seconds());
            managed.managers.insert(who, Owned { set, api_version });
        }
        managed
    }

    /// The document before an object is created, in which nothing is owned.
    fn nothing(&self, object: &Value) -> Value {
        if self.is_custom {
            Value::Null
        } else {
            blank::blank(object)
        }
    }

    /// The owners after an update.
    pub(crate) fn update(&self, live: &Value, new: &Value, managed: Managed) -> Managed {
        if managed.is_empty() {
            return managed;
        }
        self.update_as(self.manager, live, new, managed)
    }

    /// Keeps the fields of this write apart from those that the manager already owns: only they make its
    /// entry newer.
    fn update_as(
        &self,
        manager: &Name,
        live: &Value,
        new: &Value,
        mut managed: Managed,
    ) -> Managed {
        let nobody = self.id(&"".into(), false);
        let managers = std::mem::take(&mut managed.managers);
        let live = if self.is_custom {
            Cow::Borrowed(live)
        } else {
            blank::complete(live, new)
        };
        managed.managers = self.updater(&nobody).update(&live, new, managers);
        if let Some(gained) = managed.managers.remove(&nobody) {
            let who = self.id(manager, false);
            let set = match managed.managers.get(&who) {
                Some(held) => gained.set.union(&held.set),
                None => gained.set,
            };
            managed.times.insert(who.clone(), self.time.whole_seconds());
            managed.managers.insert(who, Owned { set, ..gained });
        }
        limit::join_oldest(&mut managed);
        managed
    }

    /// The live object with the configuration applied, and the owners after that. For a new object, `live`
    /// is an empty one.
    pub(crate) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managed: Managed,
        force: bool,
    ) -> Result<(Value, Managed), Rejection> {
        let mut managed = managed;
        if managed.is_empty() && live.get("metadata").is_some() {
            let nothing = self.nothing(live);
            managed = self.update_as(&BEFORE_FIRST_APPLY.into(), &nothing, live, managed);
        }
        let (mut next, managers) = self.merge(live, config, managed.managers, force)?;
        managed.managers = managers;
        if next != *live {
            let who = self.id(self.manager, true);
            managed.times.insert(who, self.time.whole_seconds());
        }
        last_applied::note(self.manager, &mut next, config);
        Ok((next, managed))
    }

    /// Merges the configuration. Conflicts over fields that kubectl wrote before it used server-side apply
    /// do not count.
    fn merge(
        &self,
        live: &Value,
        config: &Value,
        managers: Managers,
        force: bool,
    ) -> Result<(Value, Managers), Rejection> {
        let who = self.id(self.manager, true);
        let kept = last_applied::of(self, live)
            .filter(|_| !force)
            .map(|fields| (fields, managers.clone()));
        let contested = match self.updater(&who).apply(live, config, managers, force) {
            Ok(merged) => return Ok(merged),
            Err(contested) => contested,
        };
        let Some((own, managers)) = kept else {
            return Err(conflict::rejection(&contested));
        };
        let others = contested.into_iter().map(|one| Contested {
            fields: one.fields.difference(&own),
            ..one
        });
        let others: Vec<_> = others.filter(|one| !one.fields.is_empty()).collect();
        if !others.is_empty() {
            return Err(conflict::rejection(&others));
        }
        let forced = self.updater(&who).apply(live, config, managers, true);
        forced.map_err(|contested| conflict::rejection(&contested))
    }

    fn updater<'b>(&'b self, who: &'b ManagerId) -> Updater<'b> {
        Updater {
            api_version: self.api_version,
            versions: self.versions,
            unowned: self.unowned,
            who,
        }
    }

    fn id(&self, manager: &Name, applied: bool) -> ManagerId {
        ManagerId {
            manager: Name::clone(manager),
            applied,
            api_version: (!applied).then(|| self.api_version.into()),
            subresource: self.subresource.map_or("", Subresource::name).into(),
        }
    }
}
