//! Checks that any prefix of the log, folded again, is the state that was published at its end.

use super::{Checked, Violation, ensure, violation};
use crate::dice::Dice;
use crate::sim::history::History;
use crate::sim::server::empty;
use hindsight_core::{Commit, Revision, State, apply};
use hindsight_log::{Entry, Error, Reader};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The log as it was read at the end of a schedule, shared by all checks that need it.
#[derive(Debug)]
pub struct Read {
    /// The commits that are kept.
    pub commits: BTreeMap<Revision, Commit>,
    floor: Revision,
    /// The last restore.
    restored: Revision,
}

impl Read {
    /// From the commits of a log that was never thinned.
    pub fn of<'a>(commits: impl Iterator<Item = &'a Commit>) -> Self {
        Self {
            commits: commits.map(|one| (one.revision, one.clone())).collect(),
            floor: Revision::ZERO,
            restored: Revision::ZERO,
        }
    }

    /// Reads the whole log, which was thinned up to a revision, or less far.
    pub fn from(reader: &Reader, thinned_to: Revision) -> Result<Self, Violation> {
        let (mut commits, mut restored) = (BTreeMap::new(), Revision::ZERO);
        for entry in reader.entries(Revision(1)) {
            match entry.map_err(unreadable)? {
                Entry::Commit(commit) => drop(commits.insert(commit.revision, commit)),
                Entry::Restored { revision, .. } => restored = revision,
            }
        }
        Ok(Self {
            commits,
            floor: floor(reader, thinned_to)?,
            restored,
        })
    }
}

/// Checks that a thinned log has every commit to objects of the kinds that are kept whole.
fn kept_whole(history: &History, read: &Read) -> Checked {
    let kinds = &history.kept_kinds;
    let mut kept = history
        .kept()
        .filter(|one| kinds.contains(&one.key.resource));
    let is_changed = |one: &&Arc<Commit>| read.commits.get(&one.revision) != Some(&***one);
    let missing = kept.find(is_changed).map(|one| one.revision);
    ensure("kept kinds are kept whole", missing.is_none(), || {
        format!("{missing:?} is missing, or not as it was written")
    })
}

/// Checks one prefix of the log, and the whole of it.
pub fn check(history: &History, read: &Read, dice: &mut Dice) -> Checked {
    kept_whole(history, read)?;
    let published = history.published();
    let published: Vec<_> = published.filter(|one| *one >= read.floor).collect();
    let prefix = dice.pick(&published);
    let mut state = empty();
    for commit in read.commits.values() {
        if state.revision <= prefix && commit.revision > prefix {
            state.revision = prefix;
            check_as_published(history, &state, prefix)?;
        }
        apply(&mut state, commit);
    }
    state.revision = state.revision.max(read.floor).max(read.restored);
    check_as_published(history, &state, history.newest())
}

/// Checks that a state that was read back is the one published at its revision.
pub fn check_as_published(history: &History, state: &State, revision: Revision) -> Checked {
    let published = history.as_published(revision);
    let same = published.is_some_and(|published| published.is_same(state));
    ensure("replay equals live", same, || {
        format!("the log replayed to {revision} is not what was published there")
    })
}

/// The floor of a log that was thinned up to a revision, or less far: everything after that is still there.
pub fn floor(reader: &Reader, thinned_to: Revision) -> Result<Revision, Violation> {
    let floor = reader.floor().map_err(unreadable)?;
    ensure(
        "history is kept above the floor",
        floor <= thinned_to,
        || format!("thinned up to {thinned_to}, the floor is {floor}"),
    )?;
    Ok(floor)
}

pub(super) fn unreadable(error: Error) -> Violation {
    violation("a sound log is read", error.to_string())
}

/// Checks that a revision refused as gone is below the floor, and that the refusal names that floor.
pub fn check_pruned(reader: &Reader, revision: Revision, floor: Revision) -> Checked {
    let named = reader.floor().is_ok_and(|found| found == floor);
    ensure("what is gone is refused", named && revision < floor, || {
        format!("{revision} is refused, the floor is {floor}")
    })
}
