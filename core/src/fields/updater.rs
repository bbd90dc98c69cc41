//! What a write does to the sets of all managers. Source: `structured-merge-diff/merge`.

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

/// What tells one entry of `metadata.managedFields` from the others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManagerId {
    /// The name that the client gave itself.
    pub(crate) manager: Name,
    /// The operation: `Apply`, else `Update`.
    pub(crate) applied: bool,
    /// Of an `Update`; a manager applies in one version at a time.
    pub(crate) api_version: Option<Name>,
    /// The subresource that was written through; empty for none.
    pub(crate) subresource: Name,
}

/// The fields of a manager, and the `apiVersion` that they are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) set: FieldSet,
    pub(crate) api_version: Name,
}

/// Everybody who holds a field. A manager that holds none is not there.
pub(crate) type Managers = BTreeMap<ManagerId, Owned>;

/// Fields that somebody else holds, with other values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contested {
    pub(crate) manager: ManagerId,
    pub(crate) fields: FieldSet,
}

/// The versions of a kind, by their `apiVersion`.
pub(crate) trait Versions: fmt::Debug {
    /// What is known of a version; `None` where there is no such version.
    fn version(&self, api_version: &str) -> Option<Version<'_>>;

    /// An object, of whichever version, in another one that there is.
    fn convert(&self, object: &Value, api_version: &str) -> Value;
}

/// A version of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version<'a> {
    /// What its objects hold, where that is known.
    pub(crate) schema: Option<&'a Schema>,
}

/// A write's manager, kind and version. Objects come in that version, with or without managedFields
/// of their own, which are looked past.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Updater<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) versions: &'a dyn Versions,
    /// Paths that the write has no say in (`status`, where it has an endpoint of its own): nobody gains
    /// them by it, and nobody loses them.
    pub(crate) unowned: &'a [&'a str],
    /// Who writes.
    pub(crate) who: &'a ManagerId,
}

impl<'a> Updater<'a> {
    /// Who holds what after a create, an update or a patch that leaves `new`. Of a create, `live` is
    /// null. The others lose what changed; `who` gains it.
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

    /// The live object with the configuration applied, and who holds what then. What `who` held and
    /// does not say any more goes, unless somebody else holds it.
    pub(crate) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: Managers,
        force: bool,
    ) -> Result<(Value, Managers), Vec<Contested>> {
        let mut managers = self.reconcile(managers);
        let merged = merge(live, config, self.schema());
        let mut said = set_of(config, self.schema());
        said.forget(self.unowned);
        let last = managers.remove(self.who);
        let less = last.filter(|last| {
            &*last.api_version != self.api_version || !last.set.difference(&said).is_empty()
        });
        self.own(&mut managers, said);
        let new = match less {
            // An empty list is no field, and would be gone where the configuration has one.
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

    /// The type of an object in a version that there is.
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

    /// The sets as the schemas of today tell fields apart, without those of versions that are gone.
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

    /// What everybody but `who` is left with, and what they held of it that is not as it was.
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

/// What a write changes, for those who hold it.
struct Changed {
    /// Has another value than before.
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
