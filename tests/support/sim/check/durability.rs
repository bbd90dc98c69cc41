//! Checks that what was acknowledged is recovered, that what is recovered was submitted, and that
//! each is written once.

use super::replay::{floor, unreadable};
use super::{Checked, ensure, violation};
use crate::sim::clients::{Clients, End, Operation};
use crate::sim::history::History;
use hindsight_core::{Commit, Revision, State};
use hindsight_log::{Entry, Reader};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Checks that the log, from this revision on, begins with everything that was ever visible,
/// unchanged. What follows was under way when the process ended, and becomes part of the history. Up
/// to the floor, commits may be missing unless they delete something.
pub fn recovered(
    history: &mut History,
    clients: &Clients,
    reader: &Reader,
    from: Revision,
) -> Checked {
    // The log is never thinned beyond a snapshot, and what precedes the snapshot was not read.
    let floor = match from {
        Revision(1) => floor(reader, history.thinned_to)?,
        _ => Revision::ZERO,
    };
    let expected = history.kept().filter(|one| one.revision >= from);
    let expected: Vec<Arc<Commit>> = expected.cloned().collect();
    let mut expected = expected.into_iter().peekable();
    let mut found = from.previous();
    for entry in reader.entries(from) {
        let entry = entry.map_err(unreadable)?;
        found = entry.revision();
        while let Some(missing) = expected.next_if(|one| one.revision < found) {
            may_be_missing(history, &missing, floor)?;
        }
        let commit = match entry {
            Entry::Commit(commit) => Arc::new(commit),
            Entry::Restored { revision, .. } => {
                was_restored(history, revision)?;
                continue;
            }
        };
        if let Some(visible) = expected.next_if(|one| one.revision == found) {
            ensure("recovered as acknowledged", visible == commit, || {
                format!("revision {found} reads back as {commit:?}, it was {visible:?}")
            })?;
        } else {
            was_under_way(clients, &commit)?;
            history.push(&commit)?;
        }
    }
    let newest = history.newest();
    ensure("acknowledged is recovered", found == newest, || {
        format!("the log ends at {found}, and {newest} was visible")
    })
}

fn may_be_missing(history: &History, missing: &Commit, floor: Revision) -> Checked {
    ensure(
        "kept kinds are kept whole",
        !history.kept_kinds.contains(&missing.key.resource),
        || format!("revision {} is missing", missing.revision),
    )?;
    let deletes = missing.deletions().next().is_some();
    let may = missing.revision <= floor && !deletes;
    ensure("acknowledged is recovered", may, || {
        let revision = missing.revision;
        format!("revision {revision} is missing and the floor is {floor}")
    })
}

/// Checks that somebody asked for the restore that the log records.
fn was_restored(history: &History, revision: Revision) -> Checked {
    let restores = &history.log.restores;
    ensure(
        "a restore was asked for",
        restores.iter().any(|(_, at)| *at == revision),
        || format!("the log tells of {revision}, there were {restores:?}"),
    )
}

fn was_under_way(clients: &Clients, commit: &Commit) -> Checked {
    let operation = author(clients, commit)?;
    ensure(
        "recovered was submitted",
        matches!(operation.end, End::Unknown),
        || {
            format!(
                "{} was recovered, its command was answered: {operation:?}",
                commit.revision
            )
        },
    )
}

fn author<'a>(clients: &'a Clients, commit: &Commit) -> Result<&'a Operation, super::Violation> {
    let number = commit.request.uri.parse().ok();
    let found = number.and_then(|number: u64| clients.operations.get(&number));
    let nobody = || format!("nobody submitted {commit:?}");
    found.ok_or_else(|| violation("recovered was submitted", nobody()))
}

/// Checks that the recovered state is at the end of the log.
pub fn same_end(state: &State, newest: Revision) -> Checked {
    ensure(
        "acknowledged is recovered",
        state.revision == newest,
        || {
            format!(
                "the state is at {}, the log ends at {newest}",
                state.revision
            )
        },
    )
}

/// Checks that the commits of an answered command were visible before the answer.
pub fn answered(history: &History, operation: &Operation) -> Checked {
    let Some((_, _, decision)) = operation.done() else {
        return Ok(());
    };
    for commit in &decision.commits {
        let visible = history.commit(commit.revision);
        ensure(
            "durable before answered",
            visible.is_some_and(|one| one == commit),
            || {
                format!(
                    "command {} was answered before {}",
                    operation.number, commit.revision
                )
            },
        )?;
    }
    Ok(())
}

/// Checks that every commit was submitted, that a refused command wrote nothing, and that none was
/// written twice.
pub fn exactly_once(history: &History, clients: &Clients) -> Checked {
    let mut last = None;
    let mut written = BTreeMap::<u64, usize>::new();
    for commit in &history.commits {
        let operation = author(clients, commit)?;
        ensure(
            "a refusal writes nothing",
            !operation.wrote_nothing(),
            || {
                format!(
                    "command {} was refused and wrote {}",
                    operation.number, commit.revision
                )
            },
        )?;
        let number = operation.number;
        let commits = written.entry(number).or_default();
        *commits += 1;
        let most = operation
            .done()
            .map_or(usize::MAX, |(_, _, decision)| decision.commits.len());
        ensure(
            "exactly once",
            (last == Some(number) || *commits == 1) && *commits <= most,
            || format!("command {number} was written more than once"),
        )?;
        last = Some(number);
    }
    for operation in clients.operations.values() {
        answered(history, operation)?;
    }
    Ok(())
}
