//! Restores a backup as a log whose revisions continue beyond any that were assigned since the backup.

use super::Backup;
use super::file::{END_MISMATCH, Entry, Input, unusable};
use crate::codec::Placeholder;
use crate::frame::{self, Format};
use crate::{Error, Purpose, Reader, Snapshots, Storage, Tail, retention, verify};
use hindsight_core::{Revision, Time};
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Bytes that are appended before a sync, so that no sync takes long.
const SYNC_BYTES: usize = 16 << 20;
/// The highest revision from which a restored log may continue. Clients parse revisions as 63-bit numbers;
/// half of the range is left for later revisions.
const REVISION_MAX: u64 = i64::MAX.unsigned_abs() / 2;

/// How far beyond the clock a restored log continues, in revisions, of which one counts for a microsecond, unless it is
/// told otherwise.
pub const DEFAULT_BUMP: NonZeroU64 = match NonZeroU64::new(1_000_000_000) {
    Some(bump) => bump,
    None => NonZeroU64::MIN,
};
/// The last moment that counts as itself, in microseconds: in the year 2112. A clock that is further ahead must
/// not use up the numbers that programs can hold as floating point.
const MICROS_MAX: u64 = 1 << 52;
/// The largest bump that leaves enough revisions, whatever the clock says. A backup that is further ahead than
/// any clock allows less.
pub const BUMP_MAX: u64 = REVISION_MAX - MICROS_MAX;

/// The result of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// A summary of the backup.
    pub backup: Backup,
    /// The revision from which the log continues.
    pub revision: Revision,
}

/// What a restore does with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreStep {
    /// It was written.
    Written,
    /// It was read back, once all were written.
    Checked,
}

/// The target of a restore, and its parameters.
#[derive(Debug)]
pub struct Restore<'a> {
    /// An empty storage. After a failure its contents are of no use.
    pub storage: &'a Arc<dyn Storage>,
    /// The place of the snapshots beside it. There must be none: the next start would begin from one.
    pub snapshots: &'a Snapshots,
    /// How far beyond the clock the log continues, or beyond the backup if that is further, in revisions.
    pub bump: NonZeroU64,
    /// The current time. The log continues the higher, the later it is.
    pub time: Time,
}

/// A backup whose frames were written and not read back yet.
#[derive(Debug, Clone, Copy)]
pub struct Unchecked {
    backup: Backup,
    /// When the backup was made.
    made: Time,
}

impl Restore<'_> {
    /// Restores a backup and marks that in the log. `progress` is told of each frame: first of all
    /// when they are written, and then of the same ones when they are read back.
    pub fn run(
        &self,
        from: impl io::Read,
        mut progress: impl FnMut(RestoreStep),
    ) -> Result<Restored, Error> {
        let written = self.write(from, &mut progress)?;
        self.finish(written, progress)
    }

    /// Writes the frames of a backup. `progress` is told of each.
    pub fn write(
        &self,
        from: impl io::Read,
        mut progress: impl FnMut(RestoreStep),
    ) -> Result<Unchecked, Error> {
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
                // Refused before anything is written, if too few revisions would be left.
                self.continuation(revision, time)?;
                made = time;
            }
            let is_frame = matches!(entry, Entry::Frame(_));
            filling.take(entry)?;
            if is_frame {
                progress(RestoreStep::Written);
            }
        }
        let backup = input.whole()?;
        Ok(Unchecked { backup, made })
    }

    /// Reads back what was written, of which `progress` is told, and marks the restore in the log. The storage may have
    /// been closed in between: it then gives back what the disk has.
    pub fn finish(
        &self,
        Unchecked { backup, made }: Unchecked,
        progress: impl FnMut(RestoreStep),
    ) -> Result<Restored, Error> {
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
        mut progress: impl FnMut(RestoreStep),
    ) -> Result<Revision, Error> {
        let until = backup.tail.revision;
        let reader = Reader::new(Arc::clone(self.storage) as _);
        let whole = verify(&reader, |_| progress(RestoreStep::Checked))?;
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
        let stated = Reader::new(Arc::clone(self.storage) as _).floor_frame()?;
        let Some(stated) = stated.filter(|stated| stated.floor < floor) else {
            return Ok(());
        };
        if retention::state_floor(&**self.storage, stated.first, floor)? {
            return Ok(());
        }
        Err(unusable(
            "its first record cannot state up to where its history was dropped",
        ))
    }

    /// The revision from which the log continues, after `newest` and a backup that was `made` then.
    fn continuation(&self, newest: Revision, made: Time) -> Result<Revision, Error> {
        let revision = continuation(newest, micros(made), micros(self.time), self.bump.get());
        let revision = revision.filter(|revision| *revision <= REVISION_MAX);
        let bump = self.bump;
        revision.map(Revision).ok_or(Error::Bump { bump })
    }

    /// Appends the frame that marks the restore, and makes everything durable.
    fn mark(&self, tail: Tail, made: Time) -> Result<Revision, Error> {
        let revision = self.continuation(tail.revision, made)?;
        let mut bytes = Vec::new();
        frame::begin(&mut bytes);
        Placeholder::restored(self.time).encode(&mut bytes)?;
        frame::seal(&mut bytes, Format::Placeholder, revision, 1, &tail.hash);
        self.storage.append(revision, &bytes)?;
        self.storage.sync()?;
        let hash = frame::hash(&bytes);
        self.storage.witness(&Tail { revision, hash });
        self.storage.ensure_witnessed(revision)?;
        Ok(revision)
    }
}

/// The revision from which a log continues that is restored `now`, from a backup that was `made` then and
/// ends at `newest`; `None` beyond 64 bits.
///
/// Revisions are issued more slowly than microseconds pass. So no log whose clock is right, restored or
/// not, is further ahead of it than the bump: one bump above the clock is beyond all of them. A backup of a
/// log that was restored has that bump in its revisions already, and a second one would put this log ahead
/// of what the next restore of an older backup gives. The bump counts above what the log of the backup may
/// have reached only if that is still further ahead, or if the clock is behind the backup and says nothing.
fn continuation(newest: Revision, made: u64, now: u64, bump: u64) -> Option<u64> {
    let reached = newest.next().0.checked_add(now.saturating_sub(made))?;
    let clock = now.max(made);
    let by_clock = clock.checked_add(bump)?;
    if made <= now && reached <= by_clock {
        return Some(by_clock);
    }
    reached.max(clock).checked_add(bump)
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
        if !self.storage.ensure_space(bytes.len(), Purpose::Writes) {
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

#[cfg(test)]
mod tests {
    use super::*;

    const BUMP: u64 = DEFAULT_BUMP.get();
    const BEGIN: u64 = 1_770_000_000_000_000;
    const SECOND: u64 = 1_000_000;
    const ORDERS: u64 = 2_000;
    const STEPS: usize = 40;

    /// Numbers that look random, the same for one seed.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }
    }

    /// A log that is written to, and backups of it and of those before it: where each ends, and when it was
    /// made.
    struct History {
        numbers: Numbers,
        now: u64,
        newest: u64,
        /// The highest revision that any of the logs has given out.
        issued: u64,
        backups: Vec<(u64, u64)>,
    }

    impl History {
        fn of(seed: u64) -> Self {
            Self {
                numbers: Numbers(seed * 7919 + 1),
                now: BEGIN,
                newest: 4711,
                issued: 4711,
                backups: vec![(4711, BEGIN)],
            }
        }

        fn write(&mut self) {
            let written = self.numbers.below(5_000);
            self.now += written + self.numbers.below(SECOND);
            self.newest += written;
            self.issued = self.issued.max(self.newest);
        }

        fn back_up(&mut self) {
            self.now += 1 + self.numbers.below(SECOND);
            self.backups.push((self.newest, self.now));
        }

        fn restore(&mut self, (newest, made): (u64, u64)) -> u64 {
            let revision = continuation(Revision(newest), made, self.now, BUMP);
            let revision = revision.expect("within 64 bits");
            self.newest = revision;
            revision
        }
    }

    /// The same backup twice, one of a log that was restored, an older one after a newer one.
    #[test]
    fn in_every_order_a_restore_goes_on_behind_all_that_was_given_out() {
        for seed in 0..ORDERS {
            let mut history = History::of(seed);
            for _ in 0..STEPS {
                match history.numbers.below(3) {
                    0 => history.write(),
                    1 => history.back_up(),
                    _ => {
                        let count = history.backups.len() as u64;
                        let place = usize::try_from(history.numbers.below(count)).expect("small");
                        let apart = if place % 2 == 0 { 10 } else { 5_000 * SECOND };
                        history.now += 1 + history.numbers.below(apart);
                        let revision = history.restore(history.backups[place]);
                        assert!(revision > history.issued, "{seed}: {revision}");
                        assert_eq!(revision, history.now + BUMP, "{seed}: one bump");
                        history.issued = revision;
                    }
                }
            }
        }
    }

    /// An older backup does not know what the logs of later ones reached, so this holds for each in turn.
    #[test]
    fn whatever_the_clock_says_a_restore_goes_on_behind_its_backup() {
        for seed in 0..ORDERS {
            let mut history = History::of(seed);
            for _ in 0..STEPS {
                let apart = match history.numbers.below(3) {
                    0 => 10,
                    1 => SECOND,
                    _ => 86_400 * SECOND,
                };
                history.now = history.now + history.numbers.below(apart) - apart / 2;
                let (newest, made) = (history.newest, BEGIN + history.numbers.below(apart));
                let revision = history.restore((newest, made));
                let skipped = revision - newest;
                let elapsed = history.now.checked_sub(made);
                let least = elapsed.unwrap_or(BUMP);
                assert!(skipped > least, "{seed}: {skipped} of {least}");
                history.newest += history.numbers.below(5_000);
            }
        }
    }
}
