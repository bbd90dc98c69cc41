//! The newest frames of the log, which are not in sled yet. They are durable once the journal is synced,
//! and are put into sled together.

use super::frames::{TIMES_WRITTEN, UNSYNCED_BYTES};
use crate::unpoisoned::unpoisoned;
use hindsight_core::Revision;
use std::sync::{Arc, Mutex, MutexGuard};

/// Small enough for one sync of sled to be enough for all of them: what it writes besides them takes at
/// most an eighth.
const BYTES_MAX: usize = UNSYNCED_BYTES / TIMES_WRITTEN * 7 / 8;

const _: () = assert!(BYTES_MAX * TIMES_WRITTEN < UNSYNCED_BYTES);

/// A frame, and its first revision.
pub(super) type PendingFrame = (Revision, Arc<[u8]>);

/// What is pending from some revision on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PendingFrom {
    /// The first pending frame that begins there or later.
    pub(super) frame: Option<PendingFrame>,
    /// Whether every frame of the database begins earlier.
    pub(super) excludes_database: bool,
}

/// Pending frames in their order. All frames of the database are before the first of them.
#[derive(Debug, Default)]
pub(super) struct Pending {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    frames: Vec<PendingFrame>,
    bytes: usize,
}

impl Pending {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        unpoisoned(self.inner.lock())
    }

    /// Whether this many more bytes are too many.
    pub(super) fn is_full_with(&self, bytes: usize) -> bool {
        let held = self.inner().bytes;
        held > 0 && held + bytes > BYTES_MAX
    }

    pub(super) fn add(&self, first: Revision, frame: &[u8]) {
        let mut inner = self.inner();
        inner.bytes += frame.len();
        inner.frames.push((first, frame.into()));
    }

    pub(super) fn all(&self) -> Vec<PendingFrame> {
        self.inner().frames.clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.inner().frames.is_empty()
    }

    /// Drops all frames, which are in the database now.
    pub(super) fn clear(&self) {
        *self.inner() = Inner::default();
    }

    pub(super) fn at_or_after(&self, from: Revision) -> PendingFrom {
        let frames = &self.inner().frames;
        let at = frames.partition_point(|(first, _)| *first < from);
        PendingFrom {
            frame: frames.get(at).cloned(),
            excludes_database: frames.first().is_some_and(|(first, _)| *first <= from),
        }
    }

    /// The last pending frame that begins at or before this revision.
    pub(super) fn at_or_before(&self, until: Revision) -> Option<PendingFrame> {
        let frames = &self.inner().frames;
        let behind = frames.partition_point(|(first, _)| *first <= until);
        frames.get(behind.checked_sub(1)?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(frame: Option<PendingFrame>) -> Option<u64> {
        frame.map(|(first, _)| first.0)
    }

    #[test]
    fn what_is_pending_is_found_by_its_place() {
        let pending = Pending::default();
        let nothing = PendingFrom {
            frame: None,
            excludes_database: false,
        };
        assert_eq!(pending.at_or_after(Revision(1)), nothing);
        assert_eq!(pending.at_or_before(Revision(9)), None);
        for first in [4, 7] {
            pending.add(Revision(first), &[7]);
        }
        for (from, after, excludes_database, before) in [
            (3, Some(4), false, None),
            (4, Some(4), true, Some(4)),
            (5, Some(7), true, Some(4)),
            (8, None, true, Some(7)),
        ] {
            let found = pending.at_or_after(Revision(from));
            assert_eq!(begins(found.frame), after, "{from}");
            assert_eq!(found.excludes_database, excludes_database, "{from}");
            let found = pending.at_or_before(Revision(from));
            assert_eq!(begins(found), before, "{from}");
        }
        pending.clear();
        assert!(pending.all().is_empty());
    }

    #[test]
    fn it_is_full_before_more_than_one_sync_would_be_needed() {
        let pending = Pending::default();
        assert!(
            !pending.is_full_with(UNSYNCED_BYTES),
            "a large frame is alone"
        );
        let half = vec![7; BYTES_MAX / 2];
        pending.add(Revision(1), &half);
        assert!(!pending.is_full_with(half.len()));
        assert!(pending.is_full_with(half.len() + 2));
        pending.clear();
        assert!(!pending.is_full_with(half.len() + 2));
    }
}
