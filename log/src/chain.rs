//! Walks the log forward. Frames are fetched one after the other and checked, hashed and decoded by
//! all cores; then each is held against the one before.

use crate::frame::{self, Hash};
use crate::reader::{Read, read};
use crate::storage::Stored;
use crate::{Error, Storage};
use hindsight_core::Revision;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::VecDeque;
use std::sync::Arc;

/// Frames that are decoded together at most; a walk that ends early has not read far ahead.
const AHEAD_MAX: usize = 64;

pub(crate) struct Chain {
    storage: Arc<dyn Storage>,
    /// Where to fetch next; `None` at the end or after a failure.
    next: Option<Revision>,
    ahead: usize,
    decoded: VecDeque<(Revision, Result<Read, Error>)>,
    expected: Option<(Revision, Hash)>,
}

impl Chain {
    pub(crate) fn new(storage: Arc<dyn Storage>, from: Revision) -> Self {
        Self {
            storage,
            next: Some(from),
            ahead: 1,
            decoded: VecDeque::new(),
            expected: None,
        }
    }

    /// The next frame; nothing at the end.
    pub(crate) fn advance(&mut self) -> Result<Option<Read>, Error> {
        if self.decoded.is_empty() {
            self.fill()?;
        }
        let Some((first, decoded)) = self.decoded.pop_front() else {
            return Ok(None);
        };
        let checked = decoded.and_then(|frame| self.check(first, frame));
        if checked.is_err() {
            self.next = None;
            self.decoded.clear();
        }
        checked.map(Some)
    }

    fn fill(&mut self) -> Result<(), Error> {
        let mut fetched = Vec::with_capacity(self.ahead);
        while fetched.len() < self.ahead {
            let Some(from) = self.next.take() else { break };
            let Some((first, bytes)) = self.fetch(from)? else {
                break;
            };
            self.next = frame::end(first, &bytes);
            fetched.push((first, bytes));
        }
        self.ahead = (self.ahead * 2).min(AHEAD_MAX);
        let decoded: Vec<_> = fetched
            .into_par_iter()
            .map(|(first, bytes)| (first, read(&bytes, first)))
            .collect();
        self.decoded.extend(decoded);
        Ok(())
    }

    /// The first frame is the one that holds the revision; every other begins where one ended.
    fn fetch(&self, from: Revision) -> Result<Option<Stored>, Error> {
        if self.ahead == 1
            && let Some(found) = self.storage.at_or_before(from)?
        {
            return Ok(Some(found));
        }
        self.storage.at_or_after(from)
    }

    fn check(&mut self, first: Revision, frame: Read) -> Result<Read, Error> {
        let (wanted, hash) = self.expected.unwrap_or((first, frame.previous));
        if wanted != first {
            let reason = format!("the next record is {first}");
            return Err(Error::corrupt(wanted, reason));
        }
        if hash != frame.previous || (first == Revision(1) && hash != Hash::default()) {
            let reason = "it does not follow the record before it";
            return Err(Error::corrupt(first, reason));
        }
        let last = frame.commits.last();
        let end = last.map_or(first, |commit| commit.revision).next();
        self.expected = Some((end, frame.hash));
        Ok(frame)
    }
}
