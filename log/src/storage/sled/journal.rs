//! The journal before sled: holds what was appended since sled was last synced, and makes it durable with
//! one write and one fsync. See `docs/decisions/0028-a-journal-before-sled.md`.

mod contents;
mod record;
#[cfg(test)]
mod tests;

pub(super) use contents::JournalContents;
#[cfg(test)]
pub(crate) use record::FORMAT;
pub(super) use record::Record;

use crate::layout::JOURNAL;
use crate::place::Place;
use crate::system_error::is_full;
use crate::{Error, owner_only, regular};
use hindsight_core::Revision;
use record::{BEGIN_BYTES, RecordHeader, Salt};
use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

/// Enough for the frames that are pending when sled is synced, each in a record.
pub(super) const CAPACITY_BYTES: usize = 1 << 20;
/// A later release may have a longer journal; a file longer than this is not one.
pub(super) const BYTES_MAX: u64 = 64 << 20;

/// The open file, and the position in it. A round begins whenever sled was synced, and writes the file
/// from its beginning.
#[derive(Debug)]
pub(super) struct Journal {
    /// `None` if there was no disk space for it.
    file: Option<JournalFile>,
    /// The salt of the records that are valid.
    salt: Salt,
    /// Offset of the next record.
    at: usize,
    /// The first revision of the frame before the first record of this round.
    start: Revision,
    /// The same of the oldest round of which records may be read after a crash. An earlier round stays in the
    /// file until something of this one is synced.
    oldest: Revision,
    /// The first revision of the newest frame that was appended.
    last: Revision,
    /// The first revision of the newest frame that was synced.
    synced: Revision,
    /// Whether the journal holds everything that sled has not synced.
    holds_all: bool,
    /// A write or sync failed, here or in the database.
    has_failed: bool,
    /// Buffer for one record, kept to reuse its allocation.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct JournalFile {
    file: File,
    place: Place,
}

impl Journal {
    /// Opens or creates the file, durably without valid records: everything that it held is synced in the
    /// database, whose newest frame begins at `newest`.
    pub(super) fn begin(directory: &Path, newest: Revision) -> Result<Self, Error> {
        let path = directory.join(JOURNAL);
        regular::check(&path, BYTES_MAX)?;
        let io = || Error::io(format!("creating {}", path.display()));
        let salt = Salt::random();
        let file = match open_empty(&path, salt) {
            Err(error) if is_full(&error) => {
                tracing::warn!(
                    file = %path.display(),
                    "no disk space for the journal; writes are slower until a start finds enough"
                );
                // An old file must not be mistaken for newer than the records that follow now.
                match std::fs::remove_file(&path) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    removed => removed.map_err(io())?,
                }
                None
            }
            opened => Some(opened.map_err(io())?),
        };
        Ok(Self {
            holds_all: file.is_some(),
            file,
            salt,
            at: BEGIN_BYTES,
            start: newest,
            oldest: newest,
            last: newest,
            synced: newest,
            has_failed: false,
            bytes: Vec::new(),
        })
    }

    /// Whether syncing the journal makes durable everything that was appended.
    pub(super) const fn holds_all(&self) -> bool {
        self.holds_all
    }

    /// Sets whether writes may be lost from now on even if a later sync succeeds.
    pub(super) const fn set_failed(&mut self, has_failed: bool) {
        self.has_failed = has_failed;
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether a frame that begins at this revision may be in the journal, or be the one before its first
    /// record.
    pub(super) fn may_contain(&self, revision: Revision) -> bool {
        revision >= self.oldest
    }

    /// Adds a pending frame. If there is no space for it, the database has to be synced instead.
    pub(super) fn add(&mut self, first: Revision, frame: &[u8]) {
        let before = std::mem::replace(&mut self.last, first);
        let Some(JournalFile { file, .. }) = self.file.as_mut().filter(|_| self.holds_all) else {
            return;
        };
        if frame.len() > CAPACITY_BYTES {
            self.holds_all = false;
            return;
        }
        let header = RecordHeader {
            salt: self.salt,
            before,
            first,
            synced: self.synced,
        };
        header.seal(frame, &mut self.bytes);
        let end = self.at + self.bytes.len();
        if end > CAPACITY_BYTES {
            self.holds_all = false;
            return;
        }
        if let Err(error) = file.write_all(&self.bytes) {
            tracing::warn!(%error, "cannot write to the journal; syncing the database instead");
            self.holds_all = false;
            return;
        }
        self.at = end;
    }

    /// Requires the database to be synced before anything is durable.
    pub(super) const fn require_database_sync(&mut self) {
        self.holds_all = false;
    }

    /// Makes durable what the journal holds.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        if let Some(JournalFile { file, place }) = &self.file {
            file.sync_data()
                .map_err(Error::io("syncing the journal of the event log"))?;
            place.check()?;
        }
        self.synced = self.last;
        if self.at > BEGIN_BYTES {
            self.oldest = self.start;
        }
        Ok(())
    }

    /// Begins a new round: everything that was appended is synced in the database.
    pub(super) fn begin_round(&mut self) -> Result<(), Error> {
        self.start = self.last;
        self.synced = self.last;
        self.at = BEGIN_BYTES;
        if let Some(JournalFile { file, place }) = &mut self.file {
            file.seek(SeekFrom::Start(BEGIN_BYTES as u64))
                .map_err(Error::io("writing the journal of the event log"))?;
            place.check()?;
            self.holds_all = true;
        }
        Ok(())
    }

    /// Invalidates all records, durably, by a new salt, before one frame replaces those from `first` to
    /// `last`. All of them are synced in the database.
    pub(super) fn invalidate(&mut self, first: Revision, last: Revision) -> Result<(), Error> {
        if last >= self.last {
            self.last = first;
        }
        self.salt = Salt::random();
        if let Some(JournalFile { file, .. }) = &mut self.file {
            empty(file, self.salt).map_err(Error::io("writing the journal of the event log"))?;
        }
        self.begin_round()?;
        self.oldest = self.start;
        Ok(())
    }
}

fn open_empty(path: &Path, salt: Salt) -> std::io::Result<JournalFile> {
    let mut file = owner_only::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    // Zeros are really written: blocks that are only allocated change their state at the first write,
    // which a sync then has to record.
    file.seek(SeekFrom::End(0))?;
    file.write_all(&vec![0; CAPACITY_BYTES.saturating_sub(length)])?;
    empty(&mut file, salt)?;
    let place = Place::of(path, &file.metadata()?)?;
    Ok(JournalFile { file, place })
}

/// Makes the file durably one without records of this salt.
fn empty(file: &mut File, salt: Salt) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&salt.seal())?;
    file.sync_all()
}
