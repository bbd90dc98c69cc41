//! Checks what the collector does to owners and dependents. Who owns whom, which owner is there, waits or
//! orphans is worked out from the commits alone, so that a mistake in the product's state, indexes or graph
//! cannot hide itself here.

#[cfg(test)]
pub(super) mod tests;

use super::facts::rule;
use super::{Checked, Violation, ensure};
use crate::naive;
use crate::reference::Kind;
use crate::sim::history::History;
use hindsight_core::{Cause, Commit, Object, ObjectKey, OwnerReference, Revision, Rule, Uid};
use hindsight_projector::OwnershipGraph;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// What an owner is to its dependent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// It is there and does not wait, or nothing can be known about it.
    Keeps,
    /// It is in foreground deletion.
    Waits,
    /// Nothing with this uid is where the reference points to.
    Gone,
}

/// The objects after the commits so far, and who refers to whom.
#[derive(Debug, Default)]
pub struct Ownership<'a> {
    objects: BTreeMap<&'a Uid, &'a Object>,
    places: BTreeMap<&'a ObjectKey, &'a Object>,
    /// By each uid that was ever referred to, who refers to it, and since when.
    dependents: BTreeMap<&'a Uid, BTreeMap<&'a Uid, Revision>>,
    /// When objects were removed.
    removed: BTreeMap<&'a Uid, Revision>,
    /// Those that the next commits may still let go from a deadlock, which is released as a whole.
    deadlock: BTreeSet<&'a Uid>,
}

/// Judges the commits in the log.
pub fn check(history: &History) -> Result<Ownership<'_>, Violation> {
    Ownership::of(history.kept().map(|commit| &**commit))
}

impl<'a> Ownership<'a> {
    /// Judges these commits, which follow each other from the first on.
    fn of(commits: impl Iterator<Item = &'a Commit>) -> Result<Self, Violation> {
        let mut found = Self::default();
        for commit in commits {
            found.judge(commit)?;
            found.note(commit);
        }
        Ok(found)
    }

    /// Compares with the graph that the product's collector works on.
    pub fn check_graph(&self, graph: &OwnershipGraph) -> Checked {
        let followed = graph.objects().map(|(uid, one)| (uid, one.revision));
        let followed: Vec<_> = followed.collect();
        let objects = self.objects.iter().map(|(uid, one)| (*uid, one.revision));
        let objects: Vec<_> = objects.collect();
        let known = followed == objects;
        ensure("the graph shows who owns whom", known, || {
            format!("the graph has {followed:?}, and there are {objects:?}")
        })?;
        for (owner, dependents) in &self.dependents {
            let known = graph.dependents(owner).map(|(uid, _)| uid);
            let blocking = graph.blockers(owner).map(|(uid, _)| uid);
            let right = known.eq(dependents.keys().copied()) && blocking.eq(self.blockers(owner));
            ensure("the graph shows who owns whom", right, || {
                format!("{dependents:?} refer to {owner}, and the graph says otherwise")
            })?;
        }
        Ok(())
    }

    /// Checks that the graph knows which owners were removed while objects referred to them. If the log was
    /// thinned, a reference may appear older than it is, so the graph may know of more removals.
    pub fn check_removals(&self, graph: &OwnershipGraph, is_whole: bool) -> Checked {
        for (owner, dependents) in &self.dependents {
            let removed = self.removed.get(owner).copied();
            for (dependent, since) in dependents {
                let told = removed.filter(|removed| since < removed);
                let known = graph.removed_at(owner, dependent);
                let right = told == known || (told.is_none() && !is_whole);
                ensure("removals of owners are known", right, || {
                    format!("of {owner}, as {dependent} has it: {known:?}, and it was {told:?}")
                })?;
            }
        }
        Ok(())
    }

    fn judge(&mut self, commit: &'a Commit) -> Checked {
        let there = self.places.get(&commit.key).map(|one| &one.meta.uid);
        let right = commit.object().is_some() || there == Some(&commit.uid);
        ensure("what is removed was there", right, || {
            format!("{} at {}: {there:?}", commit.key, commit.revision)
        })?;
        let deadlock = std::mem::take(&mut self.deadlock);
        let Some(before) = self.objects.get(&commit.uid).copied() else {
            return Ok(());
        };
        self.collected_rightly(commit, before)?;
        if commit.cause == Cause::Request {
            return Ok(());
        }
        self.dropped_rightly(commit, before)?;
        self.orphaned_rightly(commit, before)?;
        if lets_go(commit, before, FOREGROUND) {
            self.released_rightly(commit, before, deadlock)?;
        }
        Ok(())
    }

    /// Checks that nothing is collected that an owner keeps or orphans, and that the rule is the one that
    /// the owners give.
    fn collected_rightly(&self, commit: &Commit, before: &Object) -> Checked {
        let rule = rule(commit).filter(|rule| rule.is_about_owners() && !before.is_deleting());
        let Some(rule) = rule else {
            return Ok(());
        };
        let references = &before.meta.owner_references;
        let holds = references.iter().map(|owner| self.hold(before, owner));
        let holds: Vec<Hold> = holds.collect();
        let tell = || {
            let Commit { key, revision, .. } = commit;
            format!("{key} at {revision} by {rule:?}: {holds:?} of {references:?}")
        };
        let right = !holds.is_empty() && !holds.contains(&Hold::Keeps);
        ensure("no live owner's dependent is collected", right, tell)?;
        let there = references
            .iter()
            .filter_map(|owner| self.objects.get(&owner.uid));
        let there: Vec<&Object> = there.copied().collect();
        let orphaned = there.iter().any(|owner| is_held(owner, ORPHAN));
        ensure("no orphan is collected", !orphaned, tell)?;
        let home = &before.key.namespace;
        let is_near = |owner: &Object| {
            let namespace = &owner.key.namespace;
            namespace.is_empty() || namespace == home
        };
        let waits = holds.contains(&Hold::Waits);
        let right = match rule {
            Rule::OwnerForeground => waits,
            Rule::NoSuchOwner => there.is_empty(),
            Rule::OwnersAbsent => !waits && there.iter().all(|owner| is_near(owner)),
            _ => !waits,
        };
        ensure("the rule is what became of the owners", right, tell)
    }

    /// Checks that the collector takes no reference to an owner that keeps the object and does not orphan it.
    fn dropped_rightly(&self, commit: &Commit, before: &Object) -> Checked {
        let Some(after) = commit.object() else {
            return Ok(());
        };
        let (had, has) = (&before.meta.owner_references, &after.meta.owner_references);
        let is_dropped = |one: &&OwnerReference| !has.iter().any(|other| is_same(one, other));
        for owner in had.iter().filter(is_dropped) {
            let found = self.objects.get(&owner.uid);
            let orphans = found.is_some_and(|found| is_held(found, ORPHAN));
            let right = orphans || self.hold(before, owner) != Hold::Keeps;
            ensure("no live owner is dropped", right, || {
                format!("{} at {}: {owner:?}", commit.key, commit.revision)
            })?;
        }
        Ok(())
    }

    /// Checks that an orphaning owner is let go after its last dependent. In a namespace that is being
    /// deleted nothing waits.
    fn orphaned_rightly(&self, commit: &Commit, owner: &Object) -> Checked {
        if !lets_go(commit, owner, ORPHAN) {
            return Ok(());
        }
        let left = self.others(&owner.meta.uid).next();
        let right = left.is_none() || self.goes(Kind::Namespace, &owner.key.namespace);
        ensure("an orphaning owner goes last", right, || {
            format!("{} at {}: {left:?} is left", commit.key, commit.revision)
        })
    }

    /// Checks that an owner in foreground deletion is let go after the last dependent that blocks it, or
    /// with all of its deadlock. In a namespace or a kind that is being deleted nothing waits.
    fn released_rightly(
        &mut self,
        commit: &Commit,
        owner: &'a Object,
        deadlock: BTreeSet<&'a Uid>,
    ) -> Checked {
        let uid = &owner.meta.uid;
        self.deadlock = if deadlock.contains(uid) {
            deadlock
        } else {
            self.deadlock_of(uid)
        };
        let together = self.deadlock.remove(uid);
        let ObjectKey {
            resource,
            namespace,
            ..
        } = &owner.key;
        let definition = format!("{}.{}", resource.resource, resource.group);
        let contained =
            self.goes(Kind::Namespace, namespace) || self.goes(Kind::Definition, &definition);
        let left = self.blockers(uid).next();
        let right = left.is_none() || together || contained;
        ensure("an owner waits for those that block it", right, || {
            format!("{} at {}: {left:?} is left", commit.key, commit.revision)
        })
    }

    /// Whether the container with this name is being deleted.
    fn goes(&self, kind: Kind, name: &str) -> bool {
        let found = self.places.get(&naive::key(kind, "", name));
        found.is_some_and(|found| found.is_deleting())
    }

    fn hold(&self, dependent: &Object, owner: &OwnerReference) -> Hold {
        let kind = naive::kind(&owner.kind);
        let home = &*dependent.key.namespace;
        if !self.is_served(kind) || (kind.is_namespaced() && home.is_empty()) {
            return Hold::Keeps;
        }
        let namespace = if kind.is_namespaced() { home } else { "" };
        let found = self.places.get(&naive::key(kind, namespace, &owner.name));
        let found = found.filter(|found| found.meta.uid == owner.uid);
        match found {
            None => Hold::Gone,
            Some(found) if is_held(found, FOREGROUND) => Hold::Waits,
            Some(_) => Hold::Keeps,
        }
    }

    fn is_served(&self, kind: Kind) -> bool {
        let is_defined = |name| {
            self.places
                .contains_key(&naive::key(Kind::Definition, "", name))
        };
        kind != Kind::Unknown && kind.definition().is_none_or(is_defined)
    }

    /// All that refer to this uid, besides itself.
    fn others(&self, owner: &Uid) -> impl Iterator<Item = &'a Uid> {
        let all = self.dependents.get(owner).into_iter().flatten();
        all.map(|(one, _)| *one).filter(move |one| *one != owner)
    }

    fn blockers(&self, owner: &Uid) -> impl Iterator<Item = &'a Uid> {
        let blocks = move |one: &&Uid| self.blocked_by(one).any(|blocked| blocked == owner);
        self.others(owner).filter(blocks)
    }

    /// All that this object blocks.
    fn blocked_by(&self, uid: &Uid) -> impl Iterator<Item = &'a Uid> {
        let object = self.objects.get(uid).copied();
        let owners = object
            .into_iter()
            .flat_map(|one| one.meta.owner_references.iter());
        owners.filter(|one| one.blocks()).map(|one| &one.uid)
    }

    /// Those that wait for this owner, while it waits for them, and none of them for anybody else.
    fn deadlock_of(&self, uid: &'a Uid) -> BTreeSet<&'a Uid> {
        let waited_for = reached(uid, |one| self.blockers(one));
        let waits = |one: &&Uid| {
            let found = self.objects.get(*one);
            found.is_some_and(|found| is_held(found, FOREGROUND))
        };
        let wait_for_it = || reached(uid, |one| self.blocked_by(one));
        let is_closed = waited_for.iter().all(waits) && waited_for.is_subset(&wait_for_it());
        if is_closed {
            waited_for
        } else {
            BTreeSet::new()
        }
    }

    fn note(&mut self, commit: &'a Commit) {
        let Commit {
            uid, key, revision, ..
        } = commit;
        let before = self.objects.remove(uid);
        self.places.remove(key);
        let mut since = BTreeMap::new();
        for owner in before
            .into_iter()
            .flat_map(|one| one.meta.owner_references.iter())
        {
            let dependents = self.dependents.get_mut(&owner.uid);
            let referred = dependents.and_then(|dependents| dependents.remove(uid));
            since.extend(referred.map(|since| (&owner.uid, since)));
        }
        let Some(after) = commit.object() else {
            self.removed.insert(uid, *revision);
            return;
        };
        self.objects.insert(uid, after);
        self.places.insert(key, after);
        for owner in after.meta.owner_references.iter() {
            let since = since.get(&owner.uid).unwrap_or(revision);
            let dependents = self.dependents.entry(&owner.uid).or_default();
            dependents.insert(uid, *since);
        }
    }
}

/// All that is reached from here, which may be this uid itself.
fn reached<'a, I: Iterator<Item = &'a Uid>>(
    from: &'a Uid,
    next: impl Fn(&'a Uid) -> I,
) -> BTreeSet<&'a Uid> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(one) = open.pop() {
        for other in next(one) {
            if reached.insert(other) {
                open.push(other);
            }
        }
    }
    reached
}

/// Whether it is being deleted and this finalizer holds it.
fn is_held(object: &Object, finalizer: &str) -> bool {
    object.is_deleting() && object.meta.has_finalizer(finalizer)
}

/// Whether the commit takes a finalizer that holds the object.
fn lets_go(commit: &Commit, before: &Object, finalizer: &str) -> bool {
    let lacks = |after: &Arc<Object>| !after.meta.has_finalizer(finalizer);
    is_held(before, finalizer) && commit.object().is_none_or(lacks)
}

/// Whether two references name the same owner.
fn is_same(one: &OwnerReference, other: &OwnerReference) -> bool {
    (&one.uid, &one.kind, &one.name) == (&other.uid, &other.kind, &other.name)
}
