//! Opens a data directory to be read: by the command line, and by programs that need no control plane.

#[cfg(test)]
mod tests;

use crate::OpenError;
use crate::history::{HistoryIndex, LogHistory};
use crate::opening::{Unchecked, check_log, empty_state};
use crate::questions::{self, CHANGES_MAX, Why};
use hindsight_core::{Command, ObjectKey, Revision, State, Uid};
use hindsight_gc::Forecast;
use hindsight_log::{DirectoryLock, Error, Loan, Reader};
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
