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

use super::closing::Engine;
use super::reserve::Reserve;
use super::room::{Room, WRITE_AMPLIFICATION};
use super::witness::WitnessFile;
use super::{Purpose, Records, Storage, Stored, Witnessed};
use crate::layout::{DATABASE, RESERVE_WITHIN, reserve_beside, witness_path};
use crate::place::{above, device, sync_directory};
use crate::regular::is_there;
use crate::system_error::{is_system_failure, is_unread};
use crate::unpoisoned::unpoisoned;
use crate::{EngineCall, Error, Snapshots, Tail, copy_on_write, owner_only, parallel, place};
pub use absent::Found;
use database::Database;
pub(crate) use foreign::is_of_database;
pub use foreign::is_read_by_database;
use foreign::{DatabaseState, refuse_foreign, refuse_irregular_files};
use frames::FrameTrees;
use hindsight_core::Revision;
pub use intact::{Intact, Newer};
#[cfg(test)]
pub(crate) use journal::FORMAT as JOURNAL_FORMAT;
use journal::{Journal, JournalContents};
pub use opening::NEW_LOG_BYTES;
use opening::{
    open_in_room, refuse_short_files, sync_before_reading, sync_directories, wait_until_free,
};
use pending::Pending;
use reconcile::{end_behind, not_yet_stored, refuse_thinned_over};
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
    room: Room,
    witness: WitnessFile,
    witnessed: Option<Tail>,
}

impl SledStorage {
    /// Opens the database in `directory`, or creates it.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let told = |error| Self::explain_unreadable(directory, &error).unwrap_or(error);
        Self::open_plain(directory).map_err(told)
    }

    /// As [`Self::open`], but its errors do not say how far the log is intact.
    fn open_plain(directory: &Path) -> Result<Self, Error> {
        // Refused before anything is made: what is made would be in the way of what is moved back.
        absent::find(directory, None)?;
        let is_made = !is_there(directory)?;
        owner_only::make(directory)?;
        if is_made {
            copy_on_write::overwrite_in_place(directory, &[]);
        }
        let resolved = place::resolved(directory);
        let finding = format!("finding {}", directory.display());
        let directory = &resolved.map_err(Error::io(finding))?;
        Self::check_files(directory)?;
        let path = directory.join(DATABASE);
        wait_until_free(&path)?;
        let state = refuse_foreign(directory)?;
        owner_only::make_restricted(directory)?;
        refuse_short_files(&path)?;
        parallel::start_threads()?;
        let mut reserve = Reserve::at(reserve_path(directory));
        sync_before_reading(&path)?;
        let contents = JournalContents::of(directory)?;
        side::quarantine_unreadable(directory)?;
        hidden::refuse_hidden(directory, contents.synced())?;
        let engine = open_in_room(directory, contents.synced(), &mut reserve);
        reserve.replenish();
        let engine = Engine::new(engine?);
        refuse_unknown_trees(&engine, state, &path)?;
        let frames = FrameTrees::open(&engine)?;
        let (unstored, newest) = not_yet_stored(&frames, &contents)?;
        // Before it is forgotten what the system has cached of it: a note that the disk never had is true.
        if let Some(witnessed) = WitnessFile::read(&witness_path(directory))? {
            check_reaches(newest.last, witnessed)?;
            refuse_thinned_over(&frames, witnessed.revision)?;
        }
        let bytes = unstored.iter().map(|(_, frame)| frame.len() as u64);
        let bytes = bytes.sum::<u64>().saturating_mul(WRITE_AMPLIFICATION);
        let of_witness = WitnessFile::missing_bytes(&witness_path(directory));
        reserve.release_until_free(bytes.saturating_add(of_witness))?;
        let database = Database::new(engine, frames, directory)?;
        let (witness, witnessed) = open_witness(&witness_path(directory), newest.last)?;
        let room = Room::new(database.file()?, reserve, Arc::clone(database.place()));
        database.append(&unstored)?;
        database.make_durable()?;
        // Until a database that is new has its name, the journal may be all that there is of the log.
        sync_directory(directory).map_err(Error::io("syncing the directory of the event log"))?;
        witness_end(&witness, witnessed, &database.frames);
        let journal = Journal::begin(directory, newest.first)?;
        room.replenish_reserve();
        sync_directories(directory)?;
        Ok(Self {
            database,
            journal: Mutex::new(journal),
            pending: Pending::default(),
            room,
            witness,
            witnessed,
        })
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
        if database.is_file() {
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

    fn ensure_room(&self, bytes: usize, purpose: Purpose) -> bool {
        self.room.ensure(bytes, purpose)
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

/// Beside the database, unless that has a file system of its own: what is released elsewhere gives it no room.
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

/// Opens the file of the witness, which is created, durably, before the first frame. So if it is missing
/// although there are frames, somebody removed it, or copied the database alone. It may be empty or blank
/// after a power cut that came before its first sync; and an operator empties it to accept the log as it
/// is.
fn open_witness(path: &Path, newest: Revision) -> Result<(WitnessFile, Option<Tail>), Error> {
    refuse_unwitnessed(path, newest)?;
    let opened = WitnessFile::open(path)?;
    if let Some(witnessed) = opened.1 {
        check_reaches(newest, witnessed)?;
    }
    if newest > Revision::ZERO && opened.1.is_none() {
        tracing::warn!(
            file = %path.display(),
            revision = %newest,
            "nothing witnesses the end of the log: it is accepted as it is, up to this revision, and \
             whether more was acknowledged is unknown"
        );
    }
    Ok(opened)
}

/// Notes durably how far the log reaches, before the journal is emptied: until then the journal proves that. A question
/// empties it too, and perhaps no start follows. If the log cannot be read so far, the old note stays as evidence; one
/// that is absent is not made, so that every command says so until a start has read the whole log.
fn witness_end(witness: &WitnessFile, witnessed: Option<Tail>, frames: &FrameTrees) {
    let Some(noted) = witnessed else { return };
    // What cannot be read is told to whoever reads that far.
    if let Ok(end) = end_behind(frames, noted) {
        witness.note_durably(&end);
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

/// Refuses a database in which sled found none of our trees although it was written to (it is another
/// program's, or sled could not read it), and one of a newer release. Both would look like an empty log.
fn refuse_unknown_trees(
    database: &::sled::Db,
    state: DatabaseState,
    path: &Path,
) -> Result<(), Error> {
    let formats = database.tree_names().into_iter().filter_map(|name| {
        let name = std::str::from_utf8(&name).ok()?;
        name.strip_prefix(TREE_PREFIX)?.parse::<u8>().ok()
    });
    match formats.max() {
        Some(found) if found > TREE_FORMAT => Err(Error::NewerFormat {
            found,
            known: TREE_FORMAT,
            revision: None,
        }),
        None if state == DatabaseState::Written => Err(Error::Foreign(path.to_owned())),
        _ => Ok(()),
    }
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
