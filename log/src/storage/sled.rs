//! Stores frames in sled. Its `flush` does not fsync, so this file does: the database file after every
//! flush, and the directories when they are new. See `docs/decisions/0004-sled-with-our-own-fsync.md`.

mod absent;
mod bundle;
mod checksums;
mod database;
mod foreign;
mod frame_copy;
mod frame_span;
mod frames;
mod hidden;
mod intact;
mod journal;
mod opening;
mod others;
mod page_table;
mod pending;
mod reconcile;
mod scan;
mod sectors;
mod settings;
mod side;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod values;

use super::reserve::Reserve;
use super::space::Space;
use super::witness::WitnessFile;
use super::{Purpose, Records, Storage, Stored, Witnessed};
use crate::layout::{DATABASE, RESERVE_WITHIN, reserve_beside, witness_path};
use crate::place::{above, device};
use crate::regular::{self, is_there};
use crate::system_error::{is_system_failure, is_unread};
use crate::unpoisoned::unpoisoned;
use crate::{EngineCall, Error, Snapshots, Tail};
pub use absent::Found;
use database::Database;
pub(crate) use foreign::is_of_database;
pub use foreign::is_read_by_database;
use foreign::{refuse_foreign, refuse_irregular_files};
use hindsight_core::Revision;
pub use intact::{Intact, Newer};
#[cfg(test)]
pub(crate) use journal::FORMAT as JOURNAL_FORMAT;
use journal::Journal;
pub use opening::NEW_LOG_BYTES;
use opening::{start, wait_until_free};
use pending::Pending;
pub(crate) use side::is_set_aside;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
#[cfg(test)]
pub(crate) use values::SegmentHeader;

/// Must never change: it is part of the database's own configuration. Large segments and small pieces
/// keep frames out of sled's blob files, which it never syncs.
pub(crate) const SEGMENT_BYTES: usize = 8 << 20;
/// Prefix of the trees that hold frames; the number of their format follows.
const TREE_PREFIX: &str = "frames-";
/// The newest tree format that this release knows.
pub(crate) const TREE_FORMAT: u8 = 3;

/// A log in a sled database, in a directory of its own.
#[derive(Debug)]
pub struct SledStorage {
    database: Database,
    /// Locked by everything that writes frames, flushes or syncs. No frame may be written between sled's
    /// flush and the sync: the header of a new segment states what sled considers stable, which is what
    /// was flushed, and must not be durable before that is. Readers do not lock it, although sled
    /// completes splits and merges on their threads: a header that these make then reaches the file only
    /// with the next flush, after the sync.
    journal: Mutex<Journal>,
    pending: Pending,
    space: Space,
    witness: WitnessFile,
    witnessed: Option<Tail>,
}

impl SledStorage {
    /// Opens the database in `directory`, or creates it.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let told = |error| Self::explain_unreadable(directory, &error).unwrap_or(error);
        start::open(directory).map_err(told)
    }

    /// Refuses a directory in which something other than a regular file has the name of one of ours,
    /// before any is opened.
    pub fn check_files(directory: &Path) -> Result<(), Error> {
        WitnessFile::check(&witness_path(directory))?;
        Reserve::check(&reserve_path(directory))?;
        refuse_irregular_files(directory)
    }

    /// Refuses a database of another program, as [`Self::open`] does. Damage is not looked for. Nothing is made or
    /// changed.
    pub fn check_ours(directory: &Path) -> Result<(), Error> {
        match refuse_foreign(directory) {
            Err(error @ Error::Foreign(_)) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Refuses a directory whose database another process has open, even without the lock of the data
    /// directory, as [`Self::open`] does.
    pub fn check_free(directory: &Path) -> Result<(), Error> {
        let database = directory.join(DATABASE);
        // A pipe in its place would have to be waited for.
        if regular::found(&database)?.is_some_and(|found| found.is_file()) {
            return wait_until_free(&database);
        }
        Ok(())
    }

    /// What there is of a log in this directory, which need not exist. A link that leads nowhere is no database. Refuses,
    /// as [`Self::open`] does, what is in the place of the directory and is none, and a directory without a database if
    /// more was acknowledged there, also by these snapshots, than a start can take from the journal. Nothing is made or
    /// changed.
    pub fn find(directory: &Path, snapshots: &Snapshots) -> Result<Found, Error> {
        absent::find(directory, Some(snapshots))
    }

    /// For an error of the engine over what it reads, or of a disk that does not give it back, the error to
    /// tell in its place: it says how far the log in this directory is intact. Nobody may write to the log
    /// meanwhile: its whole database is read.
    pub fn explain_unreadable(directory: &Path, error: &Error) -> Option<Error> {
        let reason = match error {
            Error::Engine {
                what: EngineCall::Open | EngineCall::Read,
                source,
            } => source.to_string(),
            Error::Read { source, .. } if is_unread(source) => {
                format!("the disk does not give back all of its files ({source})")
            }
            _ => return None,
        };
        let intact = Intact::of(directory, |_, _| {}).ok()?;
        Some(intact.unopened(reason))
    }

    /// The last revision of the newest note of the witness that is known to be synced.
    #[cfg(test)]
    pub(crate) fn synced_note(&self) -> Revision {
        self.witness.synced()
    }

    fn lock_journal(&self) -> MutexGuard<'_, Journal> {
        unpoisoned(self.journal.lock())
    }

    /// Writes while no other thread does.
    fn write<T>(&self, write: impl FnOnce(&mut Journal) -> Result<T, Error>) -> Result<T, Error> {
        let mut journal = self.lock_journal();
        let had_failed = journal.has_failed();
        // Set in advance, so that a panic counts as a failure too.
        journal.set_failed(true);
        let written = write(&mut journal);
        journal.set_failed(had_failed || written.is_err());
        written
    }

    /// Makes everything that was appended durable in the database, so that the journal is no longer
    /// needed for it.
    fn store(&self, journal: &mut Journal) -> Result<(), Error> {
        self.database.append(&self.pending.all())?;
        self.database.make_durable()?;
        self.pending.clear();
        journal.begin_round()
    }
}

/// After a clean shutdown sled holds everything. After a failure nothing more is written: the next start
/// takes the rest from the journal.
impl Drop for SledStorage {
    fn drop(&mut self) {
        let mut journal = self.lock_journal();
        let is_stored = journal.holds_all() && self.pending.is_empty();
        if !journal.has_failed()
            && !is_stored
            && let Err(error) = self.store(&mut journal)
        {
            self.database.failure().set(error).ok();
        }
    }
}

impl Records for SledStorage {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        let pending = self.pending.at_or_after(from);
        if !pending.excludes_database
            && let Some(found) = self.database.frames.at_or_after(from)?
        {
            return Ok(Some(found));
        }
        let pending = pending.frame;
        Ok(pending.map(|(first, frame)| (first, frame.to_vec())))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        match self.pending.at_or_before(until) {
            Some((first, frame)) => Ok(Some((first, frame.to_vec()))),
            None => self.database.frames.at_or_before(until),
        }
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(self.witnessed)
    }
}

impl Storage for SledStorage {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.write(|journal| {
            if self.pending.is_full_with(frame.len()) {
                self.store(journal)?;
            }
            self.pending.add(first, frame);
            journal.add(first, frame);
            Ok(())
        })
    }

    /// A note of a revision within a thinned frame is then of another log.
    fn ensure_witnessed(&self, last: Revision) -> Result<Witnessed, Error> {
        // To replace what the journal has empties it, and with it the proof of what is noted and not synced yet.
        if self.lock_journal().may_contain(last) {
            self.witness.ensure_all_synced(last)?;
        } else {
            self.witness.ensure_synced(last)?;
        }
        Ok(Witnessed::up_to(last))
    }

    /// It does not ask the witness again: a failure here is one of the log. What is synced stays so, and what the
    /// journal does not contain it never will.
    fn replace(&self, first: Revision, witnessed: Witnessed, frame: &[u8]) -> Result<(), Error> {
        let last = witnessed.last();
        self.write(|journal| {
            if journal.may_contain(last) {
                self.store(journal)?;
                journal.invalidate(first, last)?;
            }
            journal.require_database_sync();
            self.database.replace(first, last, frame)
        })
    }

    fn tidy(&self) -> Result<bool, Error> {
        self.write(|_| self.database.move_pages())
    }

    fn sync(&self) -> Result<(), Error> {
        self.write(|journal| {
            if journal.holds_all() {
                journal.sync()?;
                return self.database.place().check();
            }
            self.store(journal)
        })
    }

    fn ensure_space(&self, bytes: usize, purpose: Purpose) -> bool {
        self.space.ensure(bytes, purpose)
    }

    fn witness(&self, tail: &Tail) {
        self.witness.note(tail);
    }

    fn release(self: Arc<Self>) -> Result<(), Error> {
        let failure = self.database.failure();
        drop(self);
        let failure = Arc::into_inner(failure).and_then(OnceLock::into_inner);
        failure.map_or(Ok(()), Err)
    }
}

/// Beside the database, unless that has a file system of its own: what is released elsewhere gives it no space.
fn reserve_path(directory: &Path) -> PathBuf {
    let beside = reserve_beside(directory);
    let above = device(above(&beside));
    let is_elsewhere = device(directory).is_some_and(|own| above.is_some_and(|above| own != above));
    if is_elsewhere {
        directory.join(RESERVE_WITHIN)
    } else {
        beside
    }
}

/// Refuses a log without the file of its witness.
fn refuse_unwitnessed(path: &Path, newest: Revision) -> Result<(), Error> {
    if newest > Revision::ZERO && !is_there(path)? {
        return Err(Error::Unwitnessed { newest });
    }
    Ok(())
}

/// Refuses a log that ends before what is witnessed.
const fn check_reaches(newest: Revision, witnessed: Tail) -> Result<(), Error> {
    let acknowledged = witnessed.revision;
    if acknowledged.0 <= newest.0 {
        return Ok(());
    }
    Err(Error::Lost {
        acknowledged,
        newest,
    })
}

fn open_tree(database: &::sled::Db, name: &str) -> Result<::sled::Tree, Error> {
    database
        .open_tree(name)
        .map_err(|error| engine(EngineCall::Open, error))
}

/// A failure reported by the operating system is not damage of the database, except what a bad disk
/// reports. What the engine says of damage is of use only to those who know its source.
fn engine(what: EngineCall, error: ::sled::Error) -> Error {
    match error {
        ::sled::Error::Io(source) if is_system_failure(&source) => Error::Io {
            what: format!("{what} the event log"),
            source,
        },
        ::sled::Error::Corruption { .. } => Error::engine(what, "it found damaged data"),
        other => Error::engine(what, other),
    }
}
