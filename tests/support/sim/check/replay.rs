//! Any prefix of the log, folded again, is the state that was published at its end.

use super::{Checked, Violation, ensure, violation};
use crate::dice::Dice;
use crate::sim::history::History;
use crate::sim::server::empty;
use hindsight_core::{Commit, Revision, State, apply};
use hindsight_log::{Entry, Error, Reader};
use std::collections::BTreeMap;

/// The log as it was read at the end, once for everybody who judges by it.
#[derive(Debug)]
pub struct Read {
    /// The commits that are kept.
    pub commits: BTreeMap<Revision, Commit>,
    floor: Revision,
    /// The last restore.
    restored: Revision,
}

impl Read {
    /// Of a log of which nothing was dropped.
    pub fn of<'a>(commits: impl Iterator<Item = &'a Commit>) -> Self {
        Self {
            commits: commits.map(|one| (one.revision, one.clone())).collect(),
            floor: Revision::ZERO,
            restored: Revision::ZERO,
        }
    }

    /// Reads all of it.
    pub fn from(reader: &Reader) -> Result<Self, Violation> {
        let unreadable = |error: Error| violation("a sound log is read", error.to_string());
        let (mut commits, mut restored) = (BTreeMap::new(), Revision::ZERO);
        for entry in reader.entries(Revision(1)) {
            match entry.map_err(unreadable)? {
                Entry::Commit(commit) => drop(commits.insert(commit.revision, commit)),
                Entry::Restored { revision, .. } => restored = revision,
            }
        }
        Ok(Self {
            commits,
            floor: reader.floor().map_err(unreadable)?,
            restored,
        })
    }
}

/// A prefix of the log and the whole of it.
pub fn check(history: &History, read: &Read, dice: &mut Dice) -> Checked {
    let published = history.published();
    let published: Vec<_> = published.filter(|one| *one >= read.floor).collect();
    let prefix = dice.pick(&published);
    let mut state = empty();
    for commit in read.commits.values() {
        if state.revision <= prefix && commit.revision > prefix {
            state.revision = prefix;
            is_as_it_was(history, &state, prefix)?;
        }
        apply(&mut state, commit);
    }
    state.revision = state.revision.max(read.floor).max(read.restored);
    is_as_it_was(history, &state, history.newest())
}

/// A state that was read back is what was published at its revision.
pub fn is_as_it_was(history: &History, state: &State, revision: Revision) -> Checked {
    let published = history.as_published(revision);
    let same = published.is_some_and(|published| published.is_same(state));
    ensure("replay equals live", same, || {
        format!("the log replayed to {revision} is not what was published there")
    })
}

/// A log that was thinned up to a revision has everything that came after it.
pub fn is_whole_after(reader: &Reader, wanted: Revision) -> Checked {
    let floor = reader.floor();
    let kept = floor.as_ref().is_ok_and(|floor| *floor <= wanted);
    ensure("history is kept above the floor", kept, || {
        format!("thinned up to {wanted}, the floor is {floor:?}")
    })
}

/// What is refused as gone is before the floor, which is the one that is named.
pub fn is_gone(reader: &Reader, revision: Revision, floor: Revision) -> Checked {
    let named = reader.floor().is_ok_and(|found| found == floor);
    ensure("what is gone is refused", named && revision < floor, || {
        format!("{revision} is refused, the floor is {floor}")
    })
}
