//! Opens a data directory to be read: by the command line, and by programs that need no control plane.

#[cfg(test)]
mod tests;

use crate::control_plane::{empty_state, open_directory};
use crate::data_dir::DataDir;
use crate::history::{HistoryIndex, LogHistory};
use crate::questions::{self, CHANGES_MAX, Why};
use crate::{OpenError, restoring};
use hindsight_core::{Command, ObjectKey, Revision, State, Uid};
use hindsight_gc::Forecast;
use hindsight_log::{DirectoryLock, Error, Found, Intact, Loan, Reader, SledStorage};
use std::path::Path;

/// The log of a data directory, which no other process has open until this is dropped.
#[derive(Debug)]
pub struct OpenedReader {
    reader: Reader,
    /// Before the lock: the log is closed before the directory is given back.
    _loan: Loan,
    /// `None` if there is no lock file, and none can be written.
    _lock: Option<DirectoryLock>,
    witnessed: Option<Revision>,
    index: HistoryIndex,
}

/// Opens a data directory to read its log. Nothing is committed, and no collector runs. As a start of a server it
/// refuses a directory without a log, one in use ([`Error::Locked`]; it does not wait), and a log that ends before
/// its last acknowledged record. On a file system that is mounted read-only the log is read without the storage
/// engine, in time proportional to its length. Elsewhere the engine opens its files as a server does, so the
/// directory must be writable.
///
/// Blocks while it reads.
pub fn open_reader(directory: &Path) -> Result<OpenedReader, OpenError> {
    check_log(directory)?;
    let Unchecked {
        reader,
        lock,
        extent,
    } = Unchecked::open(directory, &|_| {})?;
    if let Some(extent) = extent {
        tracing::warn!("the log is {extent}");
    }
    let witnessed = reader.check_end()?;
    let (reader, loan) = reader.lent();
    Ok(OpenedReader {
        reader,
        _loan: loan,
        _lock: lock,
        witnessed,
        index: HistoryIndex::default(),
    })
}

impl OpenedReader {
    /// The reader of the log. When this is dropped, the log is closed, and clones of the reader fail with
    /// [`Error::Closed`].
    pub const fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The state before the first commit, into which the log is folded.
    pub fn empty_state(&self) -> State {
        empty_state()
    }

    /// Explains the object of this key, or the one with this UID, as [`crate::ControlPlane::explain`] does. Reads the
    /// newest state for each question. Blocks.
    pub fn explain(&self, key: &ObjectKey, uid: Option<&Uid>) -> Result<Why, Error> {
        let state = self.reader.newest_state(empty_state())?;
        let history = LogHistory::new(&self.reader, &self.index);
        questions::explain_served(&history, &state, key, uid)
    }

    /// Forecasts what a command would have come to at this revision, as [`crate::ControlPlane::forecast_at`] does.
    /// Blocks.
    pub fn forecast_at(&self, revision: Revision, command: Command) -> Result<Forecast, Error> {
        let state = self.reader.state_at(empty_state(), revision)?;
        questions::forecast(&self.reader, &state, command, CHANGES_MAX)
    }

    /// The last revision that is known to have been acknowledged. `None` if `events.tail` is empty or damaged: then
    /// it is unknown whether the log has lost its end.
    pub const fn witnessed(&self) -> Option<Revision> {
        self.witnessed
    }
}

/// A log that was opened without a check of its end.
pub(crate) struct Unchecked {
    pub(crate) reader: Reader,
    pub(crate) lock: Option<DirectoryLock>,
    /// How far it is intact, if what follows was left out.
    pub(crate) extent: Option<String>,
}

impl Unchecked {
    /// Opens the log. `progress` receives how many bytes of the database were read, if that is read without the
    /// storage engine.
    pub(crate) fn open(directory: &Path, progress: &dyn Fn(u64)) -> Result<Self, Error> {
        let (reader, lock, extent) = match open_directory(directory) {
            Ok((lock, storage)) => (Reader::new(storage), Some(lock), None),
            Err(Error::ReadOnly(_)) => {
                let lock = DirectoryLock::acquire_to_read(directory)?;
                let locked = lock.as_ref().map_or(directory, DirectoryLock::directory);
                let (reader, extent) = whole(locked, progress)?;
                (reader, lock, extent)
            }
            Err(error) => return Err(error),
        };
        let directory = lock.as_ref().map_or(directory, DirectoryLock::directory);
        Ok(Self {
            reader: reader.with_snapshots(DataDir(directory).snapshots()),
            lock,
            extent,
        })
    }
}

/// The log as a start would find it, for a directory that cannot be written to: there the storage engine cannot
/// open it. Also says how far it is intact, if a start would drop the rest.
fn whole(directory: &Path, progress: &dyn Fn(u64)) -> Result<(Reader, Option<String>), Error> {
    let found = intact(directory, progress)?;
    if !found.has_all_acknowledged() {
        return found.broken.map_or(Ok((found.reader, None)), Err);
    }
    let extent = found.broken.is_some().then(|| found.extent());
    Ok((found.reader, extent))
}

/// The records before the first damaged one.
pub(crate) fn intact(directory: &Path, progress: &dyn Fn(u64)) -> Result<Intact, Error> {
    let data = DataDir(directory);
    let found = Intact::of(&data.events(), |done, _| progress(done))?;
    Ok(found.beside(&data.snapshots()))
}

/// Refuses a directory without a log. Asked before the directory is locked: in one of somebody else no lock file is made.
pub(crate) fn check_log(directory: &Path) -> Result<(), OpenError> {
    if restoring::is_unfinished(directory)? {
        // Refuses it, and first of all what is there of somebody else.
        restoring::check(directory)?;
    }
    if has_log(directory)? {
        return Ok(());
    }
    SledStorage::check_ours(&DataDir(directory).events())?;
    Err(OpenError::NoLog(directory.to_owned()))
}

/// Whether there is a log in the directory: its database, or a journal from which a start makes that again. Refuses one
/// that misses its database, as a start does.
pub(crate) fn has_log(directory: &Path) -> Result<bool, Error> {
    Ok(find(directory)? != Found::Nothing)
}

/// What there is of a log in the data directory; see [`SledStorage::find`].
pub(crate) fn find(directory: &Path) -> Result<Found, Error> {
    let data = DataDir(directory);
    let found = SledStorage::find(&data.events(), &data.snapshots());
    found.map_err(|error| match error {
        Error::Io { what, source } => {
            let place = directory.display();
            let what = format!("looking for the event log in {place}: {what}");
            Error::Io { what, source }.in_data_directory(directory)
        }
        other => other,
    })
}
