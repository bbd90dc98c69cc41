//! What a write does to the sets of all field managers. Source: `structured-merge-diff/merge`.

use super::compare::{Comparison, compare};
use super::merge::merge;
use super::prune::prune;
use super::reconcile::reconcile;
use super::types::Type;
use super::{FieldSet, set_of};
use crate::object::Name;
use crate::schema::Schema;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// The identity of an entry in `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManagerId {
    /// The name that the client gave as its field manager.
    pub(crate) manager: Name,
    /// Whether the operation is `Apply`; otherwise it is `Update`.
    pub(crate) applied: bool,
    /// The `apiVersion` of an `Update`; absent for `Apply`, since a manager applies in one version
    /// at a time.
    pub(crate) api_version: Option<Name>,
    /// The subresource through which the write came; empty for none.
    pub(crate) subresource: Name,
}

/// The fields that a manager owns, and the `apiVersion` to which their names belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) set: FieldSet,
    pub(crate) api_version: Name,
}

/// All managers that own fields. A manager without fields has no entry.
pub(crate) type Managers = BTreeMap<ManagerId, Owned>;

/// Fields that another manager owns, with other values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contested {
    pub(crate) manager: ManagerId,
    pub(crate) fields: FieldSet,
}

/// The versions of a kind, by their `apiVersion`.
pub(crate) trait Versions: fmt::Debug {
    /// Returns what is known about a version; `None` if there is no such version.
    fn version(&self, api_version: &str) -> Option<Version<'_>>;

    /// Converts an object to another version, which must exist.
    fn convert(&self, object: &Value, api_version: &str) -> Value;
}

/// A version of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version<'a> {
    /// The schema of its objects, if there is one.
    pub(crate) schema: Option<&'a Schema>,
}

/// The context of a write: its manager, kind and version. Objects are passed in that version;
/// `managedFields` in them are ignored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Updater<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) versions: &'a dyn Versions,
    /// Paths whose managers the write does not affect (`status`, if it is a subresource): nobody
    /// gains or loses them through it.
    pub(crate) unowned: &'a [&'a str],
    /// The manager that writes.
    pub(crate) who: &'a ManagerId,
}

impl<'a> Updater<'a> {
    /// Returns the managers after a create, an update or a patch that results in `new`; for a
    /// create, `live` is null. The other managers lose the fields that changed, and `who` gains
    /// them.
    pub(crate) fn update(&self, live: &Value, new: &Value, managers: Managers) -> Managers {
        let managers = self.reconcile(managers);
        let change = self.compare(live, new, self.schema());
        let (mut managers, _) = self.others((live, new), &change, managers);
        let old = managers.remove(self.who).map(|owned| owned.set);
        let kept = old.unwrap_or_default().difference(&change.removed);
        self.own(
            &mut managers,
            kept.union(&change.modified).union(&change.added),
        );
        managers
    }

    /// Applies a configuration to the live object, and returns the result with its managers. What
    /// `who` owned but does not apply any more is removed, unless another manager owns it.
    pub(crate) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: Managers,
        force: bool,
    ) -> Result<(Value, Managers), Vec<Contested>> {
        let mut managers = self.reconcile(managers);
        let merged = merge(live, config, self.schema());
        let mut applied = set_of(config, self.schema());
        applied.forget(self.unowned);
        let last = managers.remove(self.who);
        let less = last.filter(|last| {
            &*last.api_version != self.api_version || !last.set.difference(&applied).is_empty()
        });
        self.own(&mut managers, applied);
        let new = match less {
            // An empty list is not a field: pruning would drop one that is in the configuration.
            Some(last) => merge(
                &prune(self, merged, &managers, &last),
                config,
                self.schema(),
            ),
            None => merged,
        };
        let change = self.compare(live, &new, self.schema());
        let (managers, contested) = self.others((live, &new), &change, managers);
        if force || contested.is_empty() {
            Ok((new, managers))
        } else {
            Err(contested)
        }
    }

    fn own(&self, managers: &mut Managers, set: FieldSet) {
        if !set.is_empty() {
            let api_version = self.api_version.into();
            managers.insert(self.who.clone(), Owned { set, api_version });
        }
    }

    fn compare(&self, old: &Value, new: &Value, schema: Option<&Schema>) -> Comparison {
        let mut change = compare(old, new, schema);
        for set in [&mut change.added, &mut change.modified, &mut change.removed] {
            set.forget(self.unowned);
        }
        change
    }

    fn schema(&self) -> Option<&'a Schema> {
        self.versions.version(self.api_version)?.schema
    }

    /// Returns the type of an object in a version, if the version exists.
    pub(super) fn kind(&self, api_version: &str) -> Option<Type<'a>> {
        let version = self.versions.version(api_version)?;
        Some(Type::of_object(version.schema))
    }

    pub(super) fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Cow<'v, Value> {
        let own = object.get("apiVersion").and_then(Value::as_str);
        if object.is_null() || own == Some(api_version) {
            return Cow::Borrowed(object);
        }
        Cow::Owned(self.versions.convert(object, api_version))
    }

    /// Adapts the sets to the current schemas, and drops those of versions that do not exist any
    /// more.
    fn reconcile(&self, mut managers: Managers) -> Managers {
        managers.retain(|_, owned| {
            let version = self.versions.version(&owned.api_version);
            if let Some(set) = version.and_then(|one| reconcile(&owned.set, one.schema)) {
                owned.set = set;
            }
            version.is_some()
        });
        managers
    }

    /// Takes the changed fields from all managers but `who`. Returns the managers that are left,
    /// and the fields whose values changed under their owners.
    fn others(
        &self,
        (live, new): (&Value, &Value),
        change: &Comparison,
        mut managers: Managers,
    ) -> (Managers, Vec<Contested>) {
        let mut changes: BTreeMap<Name, Changed> = BTreeMap::new();
        changes.insert(self.api_version.into(), Changed::of(change));
        let mut contested = Vec::new();
        managers.retain(|manager, owned| {
            if manager == self.who {
                return true;
            }
            let api_version = &owned.api_version;
            let changed = changes.entry(api_version.clone()).or_insert_with(|| {
                let form = |object| self.convert(object, api_version);
                let version = self.versions.version(api_version);
                let schema = version.and_then(|version| version.schema);
                Changed::of(&self.compare(&form(live), &form(new), schema))
            });
            let lost = owned.set.intersection(&changed.set);
            owned.set = owned.set.difference(&lost).difference(&changed.removed);
            if !lost.is_empty() {
                contested.push(Contested {
                    manager: manager.clone(),
                    fields: lost,
                });
            }
            !owned.set.is_empty()
        });
        (managers, contested)
    }
}

/// What a write changes, as the other managers see it.
struct Changed {
    /// Fields that have a new value.
    set: FieldSet,
    removed: FieldSet,
}

impl Changed {
    fn of(change: &Comparison) -> Self {
        Self {
            set: change.modified.union(&change.added),
            removed: change.removed.clone(),
        }
    }
}
