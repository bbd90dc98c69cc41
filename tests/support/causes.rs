//! Checks which causes a removal by the collector may name: what became of one of its owners since it
//! referred to it, or the definition that made the kind of one known. Reads a history from its beginning and
//! knows nothing of the collector.

use hindsight_core::event::OwnerFinding;
use hindsight_core::{Cause, Commit, Event, Object, OwnerReference, Revision, Uid};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the commits read so far say.
#[derive(Debug, Default)]
pub struct Causes {
    /// When the deletion of each object was requested.
    marks: BTreeMap<Uid, BTreeSet<Revision>>,
    /// When each object was removed.
    ends: BTreeMap<Uid, Revision>,
    /// The namespace of each object.
    homes: BTreeMap<Uid, Arc<str>>,
    /// Since when each dependent refers to each owner.
    since: BTreeMap<(Uid, Uid), Revision>,
    /// The revision at which the collector's steps are planned: it cannot name what came later.
    planned_at: Option<Revision>,
    /// Since when each reference has had its spelling, by dependent and owner.
    spelt: BTreeMap<(Uid, Uid), Revision>,
    /// What each definition serves, by `apiVersion` and kind, and since when.
    served: BTreeMap<Uid, BTreeMap<(String, String), Revision>>,
}

impl Causes {
    /// What is read from here on was planned at this revision.
    pub const fn plan(&mut self, at: Revision) {
        self.planned_at = Some(at);
    }

    /// Reads the next commit; an error says what is wrong with its cause.
    pub fn take(&mut self, commit: &Commit) -> Result<(), String> {
        for event in &commit.events {
            if let Some((rule, owners)) = event.deletion()
                && rule.is_about_owners()
            {
                self.judge(commit, owners)?;
            }
        }
        self.note(commit);
        Ok(())
    }

    fn judge(&self, commit: &Commit, owners: &[OwnerFinding]) -> Result<(), String> {
        let mut right = BTreeSet::new();
        let mut is_certain = false;
        for finding in owners.iter().filter(|one| self.is_near(commit, one)) {
            let owner = &finding.owner.uid;
            let since = self.since.get(&(commit.uid.clone(), owner.clone()));
            let end = self.ends.get(owner);
            let end = end.filter(|end| since.is_some_and(|since| since < end));
            is_certain |= end.is_some_and(|end| self.was_planned_after(*end));
            let marks = self.marks.get(owner).into_iter().flatten();
            right.extend(marks.chain(end).map(|at| Cause::Commit(*at)));
        }
        let arrivals = owners.iter().filter_map(|one| self.arrival(commit, one));
        let arrivals: BTreeSet<Revision> = arrivals.collect();
        if let Some(newest) = arrivals.last()
            && self.was_planned_after(*newest)
            && owners
                .iter()
                .all(|one| self.is_before(commit, one, *newest))
        {
            right = BTreeSet::new();
            is_certain = true;
        }
        right.extend(arrivals.last().map(|at| Cause::Commit(*at)));
        if is_certain && !right.contains(&commit.cause) {
            let Commit {
                key,
                revision,
                cause,
                ..
            } = commit;
            return Err(format!(
                "{key} at {revision} names {cause:?}, and not one of {right:?}"
            ));
        }
        Ok(())
    }

    fn was_planned_after(&self, revision: Revision) -> bool {
        self.planned_at.is_none_or(|at| revision <= at)
    }

    /// The commit that made the kind of a reference known, if the reference is older.
    fn arrival(&self, commit: &Commit, finding: &OwnerFinding) -> Option<Revision> {
        let owner = &finding.owner;
        let name = (owner.api_version.to_string(), owner.kind.to_string());
        let mut served = self.served.values().filter_map(|names| names.get(&name));
        let spelt = self.spelt.get(&(commit.uid.clone(), owner.uid.clone()))?;
        served.find(|at| spelt < at).copied()
    }

    /// Whether nothing became of this reference and its owner after that.
    fn is_before(&self, commit: &Commit, finding: &OwnerFinding, at: Revision) -> bool {
        let owner = &finding.owner.uid;
        let spelt = self.spelt.get(&(commit.uid.clone(), owner.clone()));
        let marks = self.marks.get(owner).into_iter().flatten();
        let mut all = marks.chain(self.ends.get(owner)).chain(spelt);
        all.all(|one| *one < at)
    }

    /// Whether the owner can be referred to from the object's namespace: an owner in another one does
    /// not count.
    fn is_near(&self, commit: &Commit, finding: &OwnerFinding) -> bool {
        let home = self.homes.get(&finding.owner.uid);
        home.is_some_and(|home| home.is_empty() || *home == commit.key.namespace)
    }

    fn note(&mut self, commit: &Commit) {
        let Commit { uid, revision, .. } = commit;
        for event in &commit.events {
            match event {
                Event::ObjectCreated { object } => {
                    let owners = object.owners().iter();
                    let edges = owners.map(|one| ((uid.clone(), one.uid.clone()), *revision));
                    self.since.extend(edges.clone());
                    self.spelt.extend(edges);
                }
                Event::OwnerAdded { owner } => {
                    let edge = (uid.clone(), owner.uid.clone());
                    self.spelt.insert(edge.clone(), *revision);
                    self.since.insert(edge, *revision);
                }
                Event::OwnerChanged { from, to } if coordinates(from) != coordinates(to) => {
                    let edge = (uid.clone(), to.uid.clone());
                    self.spelt.insert(edge, *revision);
                }
                Event::DeletionRequested { .. } => {
                    self.marks.entry(uid.clone()).or_default().insert(*revision);
                }
                Event::ObjectDeleted { .. } => {
                    self.ends.insert(uid.clone(), *revision);
                }
                Event::ObjectUpdated { .. }
                | Event::FinalizerAdded { .. }
                | Event::FinalizerRemoved { .. }
                | Event::OwnerChanged { .. }
                | Event::OwnerRemoved { .. } => {}
            }
        }
        if commit.key.is_definition() {
            self.note_definition(commit);
        }
        let home = Arc::clone(&commit.key.namespace);
        self.homes.insert(uid.clone(), home);
    }

    /// A definition whose names are not accepted changes nothing.
    fn note_definition(&mut self, commit: &Commit) {
        let Some(object) = commit.object() else {
            self.served.remove(&commit.uid);
            return;
        };
        let Some(names) = served_by(object) else {
            return;
        };
        let before = self.served.remove(&commit.uid).unwrap_or_default();
        let names = names.into_iter().map(|name| {
            let since = before.get(&name).copied();
            (name, since.unwrap_or(commit.revision))
        });
        self.served.insert(commit.uid.clone(), names.collect());
    }
}

/// What a reference says of its owner besides the uid.
fn coordinates(owner: &OwnerReference) -> (&str, &str, &str) {
    (&owner.api_version, &owner.kind, &owner.name)
}

/// The `apiVersion` and kind of each version that a definition serves.
fn served_by(definition: &Object) -> Option<Vec<(String, String)>> {
    let document = definition.document();
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
    let conditions = document.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let mut unmet = conditions.filter(|one| one["status"] == "False");
    if unmet.any(|one| one["type"] == "Established") {
        return None;
    }
    let group = text(document.pointer("/spec/group"));
    let accepted = document.pointer("/status/acceptedNames/kind");
    let kind = text(accepted.or_else(|| document.pointer("/spec/names/kind")));
    let versions = document.pointer("/spec/versions")?.as_array()?.iter();
    let served = versions.filter(|version| version["served"] == true);
    let names = served.map(|version| {
        let version = text(version.get("name"));
        (format!("{group}/{version}"), kind.clone())
    });
    Some(names.collect())
}
