//! Reads commits back: by revision, from a revision on, and the whole state at a point.

use crate::chain::Chain;
use crate::frame::{self, Hash};
use crate::tail::Whole;
use crate::{Error, Storage, codec};
use hindsight_core::{Commit, Revision, State, Time, apply};
use std::sync::Arc;

/// Reads what is durable. Cheap to clone; never waits for the writer.
#[derive(Debug, Clone)]
pub struct Reader {
    storage: Arc<dyn Storage>,
}

/// One frame, read and checked.
pub(crate) struct Read {
    pub(crate) commits: Vec<Commit>,
    pub(crate) previous: Hash,
    pub(crate) hash: Hash,
}

impl Reader {
    /// Reads this storage.
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage }
    }

    /// The last revision that was written; zero in an empty log.
    pub fn newest(&self) -> Result<Revision, Error> {
        let Some((first, bytes)) = self.storage.at_or_before(Revision(u64::MAX))? else {
            return Ok(Revision::ZERO);
        };
        let last = read(&bytes, first)?.commits.pop();
        Ok(last.map_or(first, |commit| commit.revision))
    }

    /// The commit at this revision, if it was written.
    pub fn commit(&self, revision: Revision) -> Result<Option<Commit>, Error> {
        let Some(stored) = self.storage.at_or_before(revision)? else {
            return Ok(None);
        };
        let commits = read(&stored.1, stored.0)?.commits;
        Ok(commits
            .into_iter()
            .find(|commit| commit.revision == revision))
    }

    /// Commits from this revision on, oldest first.
    pub fn scan(&self, from: Revision) -> impl Iterator<Item = Result<Commit, Error>> {
        self.frames(from)
            .flat_map(|frame| match frame {
                Ok(frame) => frame.commits.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            })
            .skip_while(move |commit| commit.as_ref().is_ok_and(|commit| commit.revision < from))
    }

    /// Commits up to this revision, newest first.
    pub fn scan_back(&self, until: Revision) -> impl Iterator<Item = Result<Commit, Error>> {
        let mut next = Some(until);
        let storage = Arc::clone(&self.storage);
        std::iter::from_fn(move || {
            let found = storage.at_or_before(next?).transpose()?;
            let read = found.and_then(|(first, bytes)| {
                next = (first.0 > 1).then(|| first.previous());
                Ok(read(&bytes, first)?.commits)
            });
            if read.is_err() {
                next = None;
            }
            Some(match read {
                Ok(commits) => commits.into_iter().rev().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            })
        })
        .flatten()
        .skip_while(move |commit| commit.as_ref().is_ok_and(|commit| commit.revision > until))
    }

    /// Folds the log into `state` (which must be empty), up to and including `until`.
    pub fn fold(
        &self,
        state: State,
        until: impl Fn(&Commit) -> bool,
        mut progress: impl FnMut(Revision),
    ) -> Result<State, Error> {
        let mut state = state;
        for commit in self.scan(Revision(1)) {
            let commit = commit?;
            if !until(&commit) {
                break;
            }
            apply(&mut state, &commit);
            progress(commit.revision);
        }
        Ok(state)
    }

    /// The state after this commit.
    pub fn state_at(&self, empty: State, revision: Revision) -> Result<State, Error> {
        self.fold(empty, |commit| commit.revision <= revision, |_| {})
    }

    /// The state after the last commit that was not later than this. Clocks may step back; the
    /// first later commit ends it.
    pub fn state_at_time(&self, empty: State, time: Time) -> Result<State, Error> {
        self.fold(empty, |commit| commit.time <= time, |_| {})
    }

    /// Every frame, without a gap and as far as was acknowledged.
    pub(crate) fn whole(&self) -> Result<impl Iterator<Item = Result<Read, Error>>, Error> {
        Whole::new(self.frames(Revision(1)), &*self.storage)
    }

    /// Frames that hold revisions from `from` on, each checked and chained to the one before.
    pub(crate) fn frames(&self, from: Revision) -> impl Iterator<Item = Result<Read, Error>> {
        let mut chain = Chain::new(Arc::clone(&self.storage), from);
        std::iter::from_fn(move || chain.advance().transpose())
    }
}

pub(crate) fn read(bytes: &[u8], first: Revision) -> Result<Read, Error> {
    let frame = frame::open(first, bytes)?;
    let commits = codec::decode(frame.first, frame.payload)?;
    if usize::try_from(frame.commits) != Ok(commits.len()) || commits.is_empty() {
        return Err(Error::corrupt(first, "its count does not agree"));
    }
    Ok(Read {
        commits,
        previous: frame.previous,
        hash: frame::hash(bytes),
    })
}
