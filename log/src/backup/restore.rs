//! Restores a backup as a log whose revisions continue beyond any that were assigned since the backup.

use super::Backup;
use super::file::{END_MISMATCH, Entry, Input, unusable};
use crate::codec::Placeholder;
use crate::{Error, Purpose, Reader, Snapshots, Storage, Tail, frame, retention, verify};
use hindsight_core::{Revision, Time};
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Bytes that are appended before a sync, so that no sync takes long.
const SYNC_BYTES: usize = 16 << 20;
/// The highest revision from which a restored log may continue, and so the most that can be skipped. Clients
/// parse revisions as 63-bit numbers; half of the range is left for later revisions.
pub const RESTORED_REVISION_MAX: u64 = i64::MAX.unsigned_abs() / 2;

/// How many revisions a restore skips at least, unless it is told otherwise.
pub const DEFAULT_BUMP: NonZeroU64 = match NonZeroU64::new(1_000_000_000) {
    Some(bump) => bump,
    None => NonZeroU64::MIN,
};
/// The last moment that counts as itself, in microseconds: in the year 2112. A clock that is further ahead must
/// not use up the numbers that programs can hold as floating point.
const MICROS_MAX: u64 = 1 << 52;

/// The result of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// A summary of the backup.
    pub backup: Backup,
    /// The revision from which the log continues.
    pub revision: Revision,
}

/// The target of a restore, and its parameters.
#[derive(Debug)]
pub struct Restore<'a> {
    /// An empty storage. After a failure its contents are of no use.
    pub storage: &'a Arc<dyn Storage>,
    /// The place of the snapshots beside it. There must be none: the next start would begin from one.
    pub snapshots: &'a Snapshots,
    /// How many revisions are skipped at least.
    pub bump: NonZeroU64,
    /// The current time. The log continues the higher, the later it is.
    pub time: Time,
}

impl Restore<'_> {
    /// Restores a backup and marks that in the log. `progress` receives the revision that was reached and
    /// the one at which the backup ends, first while the frames are written and again while they are read
    /// back.
    pub fn run(
        &self,
        from: impl io::Read,
        mut progress: impl FnMut(Revision, Revision),
    ) -> Result<Restored, Error> {
        let storage = &**self.storage;
        if storage.at_or_after(Revision::ZERO)?.is_some() {
            return Err(unusable("the target already contains a log"));
        }
        if !self.snapshots.revisions()?.is_empty() {
            return Err(unusable("the target already contains snapshots"));
        }
        let mut filling = Filling {
            storage,
            last: Revision::ZERO,
            unsynced: 0,
        };
        let mut input = Input::open(from)?;
        let mut made = Time(0);
        while let Some(entry) = input.next()? {
            if let Entry::Head { revision, time } = entry {
                self.continuation(revision, time)?;
                made = time;
            }
            filling.take(entry)?;
            progress(filling.last, input.until);
        }
        let backup = input.whole()?;
        let floor = self.check(&backup, progress)?;
        self.state_floor(floor)?;
        let revision = self.mark(backup.tail, made)?;
        Ok(Restored { backup, revision })
    }

    /// Reads everything back and compares it with the end of the backup. Returns the floor: the highest
    /// that any frame states.
    fn check(
        &self,
        backup: &Backup,
        mut progress: impl FnMut(Revision, Revision),
    ) -> Result<Revision, Error> {
        let until = backup.tail.revision;
        let reader = Reader::new(Arc::clone(self.storage));
        let whole = verify(&reader, |at| progress(at, until))?;
        let agrees = match whole.frames {
            0 => backup.tail == Tail::START,
            _ => (whole.newest, whole.chain) == (until, backup.chain()),
        };
        let is_same = backup
            .content()
            .is_none_or(|content| content == whole.content);
        if whole.frames == backup.frames && agrees && is_same {
            return Ok(whole.floor);
        }
        Err(unusable(END_MISMATCH))
    }

    /// Has the beginning of the log state its floor, as every log does. If the log was thinned while it
    /// was backed up, only what was copied after that states the floor that it has since.
    fn state_floor(&self, floor: Revision) -> Result<(), Error> {
        let head = Reader::new(Arc::clone(self.storage)).head()?;
        let Some((first, _)) = head.filter(|(_, stated)| *stated < floor) else {
            return Ok(());
        };
        if retention::state_floor(&**self.storage, first, floor)? {
            return Ok(());
        }
        Err(unusable(
            "its first record cannot state up to where its history was dropped",
        ))
    }

    /// The revision from which the log continues, after `newest` and a backup that was `made` then. It grows
    /// with each microsecond, and revisions are issued more slowly than that. So it is beyond whatever was
    /// issued until now, by this log or by one that was restored from this backup or another. If the clock
    /// is behind, only the bump is skipped.
    fn continuation(&self, newest: Revision, made: Time) -> Result<Revision, Error> {
        let (made, now) = (micros(made), micros(self.time));
        let reached = newest.next().0.max(made);
        let revision = reached.checked_add(now.saturating_sub(made));
        let revision = revision.and_then(|revision| revision.checked_add(self.bump.get()));
        let revision = revision.filter(|revision| *revision <= RESTORED_REVISION_MAX);
        let revision = revision.ok_or_else(|| {
            let bump = self.bump;
            unusable(format!(
                "after a bump of {bump}, too few revisions would be left: bump by less"
            ))
        })?;
        Ok(Revision(revision))
    }

    /// Appends the frame that marks the restore, and makes everything durable.
    fn mark(&self, tail: Tail, made: Time) -> Result<Revision, Error> {
        let revision = self.continuation(tail.revision, made)?;
        let mut bytes = Vec::new();
        frame::begin(&mut bytes);
        Placeholder::restored(self.time).encode(&mut bytes)?;
        frame::seal(&mut bytes, frame::PLACEHOLDER, revision, 1, &tail.hash);
        self.storage.append(revision, &bytes)?;
        self.storage.sync()?;
        let hash = frame::hash(&bytes);
        self.storage.witness(&Tail { revision, hash });
        Ok(revision)
    }
}

/// Microseconds since 1970, as far as they count.
fn micros(time: Time) -> u64 {
    u64::try_from(time.0).unwrap_or_default().min(MICROS_MAX)
}

/// The storage while it is being filled.
struct Filling<'a> {
    storage: &'a dyn Storage,
    /// The first revision of the previous frame.
    last: Revision,
    unsynced: usize,
}

impl Filling<'_> {
    fn take(&mut self, entry: Entry) -> Result<(), Error> {
        match entry {
            // The frames prove nothing about a snapshot, which is not needed: they give the state.
            Entry::Head { .. } | Entry::Snapshot { .. } | Entry::End { .. } => Ok(()),
            Entry::Frame(bytes) => self.frame(&bytes),
        }
    }

    fn frame(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let first = frame::first(bytes).ok_or_else(|| unusable("a record in it is too short"))?;
        frame::open(first, bytes)?;
        if first <= self.last {
            return Err(unusable("its records are out of order"));
        }
        if !self.storage.has_room(bytes.len(), Purpose::Writes) {
            return Err(Error::io("restoring")(io::ErrorKind::StorageFull.into()));
        }
        self.storage.append(first, bytes)?;
        self.last = first;
        self.unsynced += bytes.len();
        if self.unsynced >= SYNC_BYTES {
            self.unsynced = 0;
            self.storage.sync()?;
        }
        Ok(())
    }
}
