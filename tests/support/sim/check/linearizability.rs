//! Checks linearizability, with every object as a register: each answer is right at one moment
//! between request and answer, and the revisions are the order of those moments.

use super::{Checked, ensure, preconditions};
use crate::sim::clients::{Clients, End, Operation, Read};
use crate::sim::history::History;
use crate::sim::trace::Trace;
use hindsight_core::{Commit, GroupResource, Object, ObjectKey, Outcome, Rejection, Revision};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A version of an object, or its absence, from a revision on.
type Version = (Revision, Option<Arc<Object>>);

/// Judges all answers and all reads.
pub fn check(history: &History, clients: &Clients, trace: &mut Trace) -> Checked {
    let registers = Registers::of(history);
    let acknowledged = acknowledged(clients);
    for operation in clients.operations.values() {
        in_order(operation, &acknowledged)?;
        registers.show(operation)?;
        if let Some((newest, rejection)) = operation.refused() {
            let judged = registers.refuse(operation, newest, rejection)?;
            trace.count("refusals judged", u64::from(judged));
        }
    }
    let mut seen = Revision::ZERO;
    for read in &clients.reads {
        registers.answer(read)?;
        let floor = floor(&acknowledged, read.at).max(seen);
        ensure(
            "reads see what was acknowledged",
            read.revision >= floor,
            || format!("{read:?} although {floor} was seen before"),
        )?;
        seen = read.revision;
    }
    Ok(())
}

/// By tick, the highest revision that had been acknowledged by then.
fn acknowledged(clients: &Clients) -> BTreeMap<u64, Revision> {
    let mut found = BTreeMap::new();
    for operation in clients.operations.values() {
        if let Some((at, _, decision)) = operation.done()
            && let Some(last) = decision.commits.last()
        {
            found.insert(at, last.revision);
        }
    }
    let mut highest = Revision::ZERO;
    for revision in found.values_mut() {
        highest = highest.max(*revision);
        *revision = highest;
    }
    found
}

/// The highest revision that was acknowledged before this tick.
fn floor(acknowledged: &BTreeMap<u64, Revision>, at: u64) -> Revision {
    let before = acknowledged.range(..at).next_back();
    before.map_or(Revision::ZERO, |(_, revision)| *revision)
}

/// Checks that a command sent after an answer writes at a later revision, and that its own answer
/// shows what it wrote, and nothing that readers cannot see.
fn in_order(operation: &Operation, acknowledged: &BTreeMap<u64, Revision>) -> Checked {
    let floor = floor(acknowledged, operation.sent);
    let End::Answered {
        newest,
        answer: Ok(decision),
        ..
    } = &operation.end
    else {
        return Ok(());
    };
    let first = decision.commits.first().map(|one| one.revision);
    ensure(
        "writes follow what was acknowledged",
        first.is_none_or(|first| first > floor),
        || {
            format!(
                "command {} wrote {first:?} after {floor} was acknowledged",
                operation.number
            )
        },
    )?;
    let shown = decision.outcome.object().revision;
    let written = decision.commits.last().and_then(|one| one.object());
    ensure(
        "answers show what was written",
        written.is_none_or(|one| one.revision == shown),
        || format!("command {} shows {shown}", operation.number),
    )?;
    // Also if it wrote nothing: what it was decided on may not be durable yet.
    ensure("answers show what is visible", shown <= *newest, || {
        format!(
            "command {} shows {shown} while {newest} is the newest",
            operation.number
        )
    })
}

/// The versions of every object, by key.
struct Registers(BTreeMap<ObjectKey, Vec<Version>>);

impl Registers {
    fn of(history: &History) -> Self {
        let mut found: BTreeMap<ObjectKey, Vec<Version>> = BTreeMap::new();
        let mut lives = history.lives().iter().peekable();
        for (place, commit) in history.commits.iter().enumerate() {
            while let Some((_, restore)) = lives.next_if(|(first, _)| *first <= place) {
                put_back(&mut found, history, *restore);
            }
            let versions = found.entry(commit.key.clone()).or_default();
            versions.push((commit.revision, commit.object().cloned()));
        }
        for (_, restore) in lives {
            put_back(&mut found, history, *restore);
        }
        Self(found)
    }

    /// The version that existed at this revision.
    fn at(&self, key: &ObjectKey, revision: Revision) -> Option<&Arc<Object>> {
        let versions = self.0.get(key)?;
        let last = versions.iter().rev().find(|(since, _)| *since <= revision);
        last.and_then(|(_, version)| version.as_ref())
    }

    /// Every version, or absence, that there was at some moment between two revisions.
    fn between(
        &self,
        key: &ObjectKey,
        from: Revision,
        until: Revision,
    ) -> Vec<Option<&Arc<Object>>> {
        let mut found = vec![self.at(key, from)];
        let versions = self.0.get(key).into_iter().flatten();
        let later = versions.filter(|(since, _)| *since > from && *since <= until);
        found.extend(later.map(|(_, version)| version.as_ref()));
        found
    }

    fn answer(&self, read: &Read) -> Checked {
        let there = self.at(&read.key, read.revision);
        let version = |one: &Arc<Object>| (one.meta.uid.clone(), one.revision);
        ensure(
            "reads are of one revision",
            there.map(version) == read.found.as_ref().map(version),
            || format!("{read:?}, and there was {there:?}"),
        )?;
        ensure(
            "reads show what was written",
            there == read.found.as_ref(),
            || format!("{read:?}, and there was {there:?}"),
        )
    }

    /// Checks that the answer to a write shows a version with the contents that were written.
    fn show(&self, operation: &Operation) -> Checked {
        let Some((_, _, decision)) = operation.done() else {
            return Ok(());
        };
        let shown = decision.outcome.object();
        // An update that removes its object shows what it would have written.
        let is_removal = |one: &Arc<Commit>| one.key == shown.key && one.object().is_none();
        let is_update = matches!(decision.outcome, Outcome::Updated(_));
        if is_update && decision.commits.iter().any(is_removal) {
            return Ok(());
        }
        let written = self.at(&shown.key, shown.revision);
        ensure(
            "answers show what was written",
            written == Some(shown),
            || {
                let number = operation.number;
                format!("command {number} shows {shown:?}, and {written:?} was written")
            },
        )
    }

    /// Checks that a refusal was right at some moment; returns false if a register cannot decide it.
    fn refuse(
        &self,
        operation: &Operation,
        newest: Revision,
        rejection: &Rejection,
    ) -> Result<bool, super::Violation> {
        let rejection = rejection.plain();
        let Some(key) = subject(operation, rejection) else {
            return Ok(false);
        };
        let moments = self.between(&key, operation.base, newest);
        let right = match rejection {
            Rejection::NotFound { .. } => moments.iter().any(Option::is_none),
            Rejection::AlreadyExists { .. } => moments.iter().any(Option::is_some),
            Rejection::Conflict { .. } => moments.iter().any(|moment| match moment {
                Some(one) => {
                    let differs = preconditions::differs(operation, &one.meta.uid, one.revision);
                    differs.unwrap_or(true)
                }
                None => preconditions::is_an_update_of_one_identity(operation),
            }),
            _ => return Ok(false),
        };
        ensure("refusals are right at some moment", right, || {
            format!(
                "command {}: {rejection}, there was {moments:?}",
                operation.number
            )
        })?;
        Ok(true)
    }
}

/// Notes a restore: every object of the backup exists again, and no other does.
fn put_back(found: &mut BTreeMap<ObjectKey, Vec<Version>>, history: &History, restore: Revision) {
    let state = history.state(restore);
    for (key, versions) in found {
        let object = state.and_then(|state| state.get(key));
        versions.push((restore, object.cloned()));
    }
}

/// The object that a refusal is about.
fn subject(operation: &Operation, rejection: &Rejection) -> Option<ObjectKey> {
    use hindsight_core::Intent;
    let (Rejection::NotFound { resource, name }
    | Rejection::AlreadyExists { resource, name, .. }
    | Rejection::Conflict { resource, name, .. }) = rejection
    else {
        return None;
    };
    let key = match &operation.command.intent {
        Intent::Create(create) => &create.key,
        Intent::Update(update) => &update.key,
        Intent::Patch(patch) => &patch.key,
        Intent::Delete(delete) | Intent::Evict(delete) => &delete.target.key,
        Intent::Collect(_) => return None,
    };
    let namespaces = GroupResource::new("", "namespaces");
    let namespace = if *resource == namespaces {
        ""
    } else {
        &*key.namespace
    };
    (*resource == namespaces || *resource == key.resource)
        .then(|| ObjectKey::new(resource.clone(), namespace, name))
}
