//! Turns commits into frames: encodes, compresses and chains them, and appends them to storage.

use crate::frame::{self, Hash};
use crate::{Backup, Error, Storage, Tail, codec, packing};
use hindsight_core::{Change, Commit, Revision};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Default limit of the object bodies in a frame, in bytes.
const BYTES_MAX: usize = 64 << 10;

/// Limit of a frame, in bytes. No decision comes near it: what is decided together is at most a deadlock of 32
/// MiB, or definitions of 4 MiB that get names, and a few objects. It shows a defect before the log holds
/// what a header cannot state the length of.
const FRAME_BYTES_MAX: usize = 256 << 20;
// Otherwise a log could be written that has no backup.
const _: () = assert!(FRAME_BYTES_MAX <= Backup::FRAME_BYTES_MAX);

/// Appends frames at the end of the log.
pub(super) struct Appender {
    storage: Arc<dyn Storage>,
    last: Hash,
    /// Limit of the object bodies in a frame, in bytes. A larger object has a frame of its own, and a
    /// decision is never split.
    pub(super) bytes_max: usize,
    /// Limit of a frame, in bytes. A longer one is not appended.
    frame_bytes_max: usize,
    /// Like `packed`, kept between frames to reuse its allocation.
    bytes: Vec<u8>,
    packed: Vec<u8>,
}

impl Appender {
    pub(super) fn new(storage: Arc<dyn Storage>, last: Hash) -> Self {
        Self {
            storage,
            last,
            bytes_max: BYTES_MAX,
            frame_bytes_max: FRAME_BYTES_MAX,
            bytes: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// Appends the commits of a batch and makes them durable with one sync. A crash before that leaves
    /// whole frames: commits in `joined` are stored in the frame of the commit before them, however long
    /// it gets.
    pub(super) fn store(
        &mut self,
        changes: &[Arc<Change>],
        joined: &BTreeSet<Revision>,
    ) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut pending: Vec<&Commit> = Vec::with_capacity(changes.len());
        let mut bytes = 0;
        for change in changes {
            let estimated = change.commit.estimated_bytes();
            let is_joined = joined.contains(&change.commit.revision);
            if bytes + estimated > self.bytes_max && !is_joined {
                self.append(&pending)?;
                pending.clear();
                bytes = 0;
            }
            bytes += estimated;
            pending.push(&change.commit);
        }
        self.append(&pending)?;
        self.storage.sync()?;
        if let Some(newest) = pending.last() {
            self.storage.witness(&self.tail(newest.revision));
        }
        Ok(())
    }

    /// The end of the log, if this is its newest revision.
    pub(super) const fn tail(&self, revision: Revision) -> Tail {
        Tail {
            revision,
            hash: self.last,
        }
    }

    fn append(&mut self, commits: &[&Commit]) -> Result<(), Error> {
        let Some(first) = commits.first() else {
            return Ok(());
        };
        let count = u32::try_from(commits.len()).unwrap_or(u32::MAX);
        frame::begin(&mut self.bytes);
        let weights = commits.iter().map(|commit| commit.estimated_bytes());
        self.bytes.reserve(weights.sum());
        codec::encode(commits, &mut self.bytes)?;
        let format = packing::pack(&mut self.bytes, &mut self.packed);
        frame::seal(&mut self.bytes, format, first.revision, count, &self.last);
        if self.bytes.len() > self.frame_bytes_max {
            return Err(self.too_long(first.revision));
        }
        self.storage.append(first.revision, &self.bytes)?;
        self.last = frame::hash(&self.bytes);
        Ok(())
    }

    fn too_long(&self, first: Revision) -> Error {
        let (length, most) = (self.bytes.len(), self.frame_bytes_max);
        let why = format!(
            "the record at revision {first} would take {length} bytes, and a record may take {most}"
        );
        Error::engine("appending a record", why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::tests::{create, empty};
    use crate::{MemoryStorage, Records};
    use hindsight_core::decide;

    #[test]
    fn a_frame_that_is_too_long_is_not_appended() {
        let decision = decide(&empty(), create("a")).expect("decided");
        let commit = Arc::clone(&decision.commits[0]);
        let changes = [Arc::new(Change {
            commit,
            previous: None,
        })];
        let storage = Arc::new(MemoryStorage::default());
        let is_empty = || {
            let first = storage.at_or_after(Revision(1));
            first.expect("read").is_none()
        };
        let mut frames = Appender::new(Arc::clone(&storage) as _, Hash::default());
        frames.frame_bytes_max = 10;
        let refused = frames.store(&changes, &BTreeSet::new());
        let why = refused.expect_err("refused").to_string();
        assert!(why.contains("a record may take 10"), "{why}");
        assert!(is_empty());
        frames.frame_bytes_max = frames.bytes.len();
        frames.store(&changes, &BTreeSet::new()).expect("stored");
        assert!(!is_empty());
    }
}
