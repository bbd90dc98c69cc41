//! The errors of the log. Each message says what to do next.

mod advice;
mod denied;
#[cfg(test)]
mod tests;

use crate::lock::OURSELVES;
use advice::{at_link, in_place_of, on_system, with_journal, without_lost};
use hindsight_core::{FutureRevision, Pruned, PrunedTime, Revision};
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// The reason for a failure: an error of another library, or a sentence.
pub(crate) type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// A failure of the log. Every message says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process holds the lock of the directory.
    #[error(
        "{} is in use by {}, or name another data directory",
        .directory.display(),
        in_use_by(holder)
    )]
    Locked {
        /// The data directory.
        directory: PathBuf,
        /// What the holder wrote about itself: `process`, its number and, behind ` at `, its address if it has one.
        /// If this process holds the directory, `this process` and the address. If there was no space for that, a sentence.
        holder: String,
    },
    /// A record does not read back as it was written.
    #[error(
        "the record at revision {revision} is damaged: {source}; nothing was deleted; copy the data \
         directory first, then restore a backup, or save the records before this one with `hindsight \
         backup --intact FILE` and restore that"
    )]
    Corrupt {
        /// The first revision of the record.
        revision: Revision,
        /// What did not match.
        source: BoxedError,
    },
    /// The log ends before an acknowledged record.
    #[error(
        "the log ends at revision {newest}, but revision {acknowledged} was acknowledged: the records \
         after {newest} are lost; restore a backup, or a copy of the whole data directory, or, {} replace \
         events.tail with an empty file and move the snapshots directory aside",
        without_lost(*.newest)
    )]
    Lost {
        /// The last revision that is known to have been acknowledged.
        acknowledged: Revision,
        /// The last revision that was found.
        newest: Revision,
    },
    /// There is no database, although records were acknowledged that are nowhere else.
    #[error(
        "{} is missing: the log ends at revision {newest}, but revision {acknowledged} was acknowledged: the \
         records after {newest} are lost; restore a backup, or a copy of the whole data directory, or, if events \
         was moved, move it back, or its db alone, or, if a file system belongs there, mount it, or, {}to begin with \
         an empty log, replace events.tail with an empty file and move the snapshots directory and what is left in \
         events aside",
        .database.display(),
        with_journal(*.newest)
    )]
    Missing {
        /// Where it should be.
        database: PathBuf,
        /// The last revision that is known to have been acknowledged.
        acknowledged: Revision,
        /// The last revision that was found, in the journal.
        newest: Revision,
    },
    /// There is a link in the place of the database that leads nowhere, and nothing shows that the journal lacks anything.
    #[error("{} is a link that leads nowhere{}", .path.display(), at_link(*.newest))]
    Dangling {
        /// The link.
        path: PathBuf,
        /// The last revision in the journal; zero if nothing else shows whether there was a log.
        newest: Revision,
    },
    /// The log may end before an acknowledged record: the file that would show it is missing.
    #[error(
        "the file events.tail is missing: it records how far the log was acknowledged; the log ends at \
         revision {newest}, and whether anything came after that is unknown; put the file back, or \
         restore a copy of the whole data directory, or, to accept the log as it is, create an empty \
         events.tail"
    )]
    Unwitnessed {
        /// The last revision that was found.
        newest: Revision,
    },
    /// The log is intact, but it is not the one that was acknowledged.
    #[error(
        "the record at revision {revision} is not the one that was acknowledged: the files of the data \
         directory are from different times; nothing was deleted; restore all of them from one copy, \
         or, to accept the log as it is, replace events.tail with an empty file and move the snapshots \
         directory aside"
    )]
    Diverged {
        /// The last revision that is known to have been acknowledged.
        revision: Revision,
    },
    /// The log does not have the record of which a snapshot was made.
    #[error(
        "the record at revision {revision} is not the one of which the snapshot at that revision was made: \
         the files of the data directory are from different times, or of different logs; nothing was \
         deleted; restore all of them from one copy, or, to accept the log as it is, move the snapshots \
         directory aside"
    )]
    OtherSnapshot {
        /// The revision of the snapshot.
        revision: Revision,
    },
    /// The journal refers to a record that is neither in it nor in the database.
    #[error(
        "events/journal refers to a record at revision {revision}, but the log has nothing after revision \
         {newest} that leads to it: records are lost or damaged, or the files of the data directory are \
         from different times; nothing was deleted; restore a backup, or a copy of the whole data \
         directory, or save what is intact with `hindsight backup --intact FILE` and restore that"
    )]
    Gap {
        /// The first revision of the record.
        revision: Revision,
        /// The last revision that was found.
        newest: Revision,
    },
    /// The log no longer holds everything that was asked for.
    #[error(transparent)]
    Pruned(Pruned),
    /// The log no longer holds the state at the time that was asked for.
    #[error(transparent)]
    PrunedTime(PrunedTime),
    /// A revision was asked for that has not happened yet.
    #[error(transparent)]
    Future(FutureRevision),
    /// A snapshot cannot be read.
    #[error(
        "the snapshot {} cannot be used: {source}; move it aside: the log holds everything in it",
        .path.display()
    )]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// What did not match.
        source: BoxedError,
    },
    /// A backup cannot be read.
    #[error("the backup cannot be used: {0}; use another backup, or make a new one")]
    Backup(#[source] BoxedError),
    /// A restored log would continue so high that too few revisions are left for it. The backup is not at fault.
    #[error(
        "after a bump of {bump}, too few revisions would be left for what is written later; the backup is \
         sound: restore it with a smaller --bump-revision"
    )]
    Bump {
        /// How far beyond the clock the log was to continue, in revisions.
        bump: NonZeroU64,
    },
    /// Retention dropped history that a running backup had not copied yet.
    #[error(
        "history before revision {floor} was dropped while the backup was being made; make it again; if \
         this keeps happening, make it while less is written, or keep more history"
    )]
    Overtaken {
        /// The first revision whose state can still be folded.
        floor: Revision,
    },
    /// A log is damaged before its floor, so that no state can be folded from what is intact.
    #[error(
        "the log is damaged at revision {damaged}, and history before revision {floor} was dropped from \
         it: what is intact before the damage gives no state, so `backup --intact` has nothing to save; nothing was \
         deleted; copy the data directory first; a snapshot may still have the newest objects: if `hindsight get \
         KIND -A -o yaml` answers while no server runs, write them out with it; then restore an earlier backup"
    )]
    NoState {
        /// The first revision that is damaged or missing.
        damaged: Revision,
        /// The first revision whose state could still be folded.
        floor: Revision,
    },
    /// A restore was interrupted before it ended.
    #[error(
        "a restore into {} was not finished; wait for it if it still runs, or run `hindsight restore` again, with the same \
         directory",
        .0.display()
    )]
    UnfinishedRestore(PathBuf),
    /// The log was written by a later release.
    #[error(
        "the log has format {found}{}, and this release reads formats up to {known}; nothing was changed; \
         use the release that wrote it, or a later one; or, to stay with this one, restore a backup made \
         before the newer release wrote to the log, or save what this release can read with `hindsight \
         backup --intact FILE` and restore that",
        .revision.map(|revision| format!(" at revision {revision}")).unwrap_or_default()
    )]
    NewerFormat {
        /// The format that was found.
        found: u8,
        /// The newest format that this release reads.
        known: u8,
        /// The record that has this format; `None` if it is a whole file or tree.
        revision: Option<Revision>,
    },
    /// A snapshot was written by a later release.
    #[error(
        "the snapshot {} has format {found}, and this release reads formats up to {known}; nothing was changed; use \
         the release that wrote it, or a later one; or, to stay with this one, move the snapshot aside, if the log \
         was not thinned since",
        .path.display()
    )]
    NewerSnapshot {
        /// The file.
        path: PathBuf,
        /// The format that was found.
        found: u8,
        /// The newest format that this release reads.
        known: u8,
    },
    /// A backup was made by a later release.
    #[error(
        "the backup has format {found}, and this release reads formats up to {known}; use the release that made it, \
         or a later one, or another backup"
    )]
    NewerBackup {
        /// The format that was found.
        found: u8,
        /// The newest format that this release reads.
        known: u8,
    },
    /// The writer was closed and has released the log.
    #[error("the log was closed; open its directory again to continue")]
    Closed,
    /// The directory holds something that is not a log.
    #[error(
        "{} is, or contains, something that is not an event log; name another data directory, or move it \
         elsewhere, or, if it was an event log, restore a backup",
        .0.display()
    )]
    Foreign(PathBuf),
    /// There is something else in the place of a regular file (a pipe, a device); it is not read.
    #[error(
        "{} is not a regular file; it was not read; {}",
        .0.display(),
        in_place_of(.0)
    )]
    NotAFile(PathBuf),
    /// There is a file in the place of another that is never so long; it is not read.
    #[error(
        "{} is longer than {longest} bytes, so it is not ours; it was not read; {}",
        .path.display(),
        in_place_of(.path)
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most bytes that it could have.
        longest: u64,
    },
    /// A part of the database is damaged in a way that makes the storage engine overwrite it with blanks.
    #[error(
        "{} is damaged at byte {at}, at the start of a segment; nothing was changed; copy the data \
         directory first, then restore a backup, or save what is intact with `hindsight backup --intact \
         FILE` and restore that",
        .path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The offset of the damage, in bytes.
        at: u64,
    },
    /// The storage engine cannot read the database.
    #[error(
        "the storage engine cannot read the event log: {source}; the log is {}; nothing was deleted; copy \
         the data directory first, then restore a backup, or save what is intact with `hindsight backup \
         --intact FILE` and restore that",
        extent(*.until, .broken.as_deref())
    )]
    Unopened {
        /// The last revision before the damage.
        until: Revision,
        /// What is wrong with the record after it; `None` if there is no such record.
        broken: Option<Box<Self>>,
        /// The engine's own error.
        source: BoxedError,
    },
    /// The database of an open log was removed, moved or replaced.
    #[error(
        "{} was removed, moved or replaced while it was in use; nothing more is written to it; if it was \
         moved, move it back; otherwise restore a backup",
        .0.display()
    )]
    Gone(PathBuf),
    /// The log is on a read-only file system.
    #[error(
        "{} is on a read-only file system; make it writable, or copy the whole directory to a writable \
         file system and name the copy as the data directory",
        .0.display()
    )]
    ReadOnly(PathBuf),
    /// The limit on the size of a file (`RLIMIT_FSIZE`) is too low for the log.
    #[error(
        "files are limited to {limit} bytes here, but the event log needs {needed}; raise the limit \
         (`ulimit -f` in a shell, LimitFSIZE= in a systemd unit), then start again"
    )]
    ShortFiles {
        /// The limit, in bytes.
        limit: u64,
        /// The size that the database needs, in bytes.
        needed: u64,
    },
    /// The system clock is before 1970, which is where the storage engine counts from.
    #[error("the clock of this machine is before the year 1970; set it, then start again")]
    Clock,
    /// The operating system returned an error.
    #[error("{what}: {source}{}", on_system(.source))]
    Io {
        /// What was being done.
        what: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// This user may not use the data directory, or a file in it.
    #[error(
        "{what}: {source}; run as the user that the server runs as, since what is in the directory is secret, or \
         give this user read and write permission there"
    )]
    Denied {
        /// What was being done.
        what: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The operating system did not return what was to be read.
    #[error("reading {what}: {source}{}", on_system(.source))]
    Read {
        /// What was being read.
        what: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A part of this program did what it never should, whatever is stored.
    #[error(
        "{what} failed: {source}; this is a defect of the program, and changed nothing that is stored; \
         start again, and report it"
    )]
    Defect {
        /// What was being done.
        what: &'static str,
        /// What went wrong.
        source: BoxedError,
    },
    /// The storage engine returned an error.
    #[error(
        "the storage engine failed while {what}: {source}; if this persists, restore a backup, or a copy \
         of the whole data directory, or save what is intact with `hindsight backup --intact FILE` and \
         restore that"
    )]
    Engine {
        /// What it was doing.
        what: EngineCall,
        /// The error of the engine.
        source: BoxedError,
    },
}

/// What the storage engine does for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineCall {
    /// Opens the database.
    Open,
    /// Reads frames.
    Read,
    /// Writes frames.
    Write,
    /// Was to write although something failed before, and did not.
    WriteAfterFailure,
    /// Writes frames in the place of others.
    Replace,
    /// Hands what was written to the operating system.
    Flush,
    /// Moves pages, so that the database takes less space.
    Tidy,
}

impl fmt::Display for EngineCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Open => "opening",
            Self::Read => "reading",
            Self::Write => "writing",
            Self::WriteAfterFailure => "writing after a failure",
            Self::Replace => "replacing",
            Self::Flush => "flushing",
            Self::Tidy => "tidying up",
        })
    }
}

/// How far a log is intact, and what is wrong with the record after that.
pub(crate) fn extent(until: Revision, broken: Option<&Error>) -> String {
    let behind = match broken {
        None => ", where it ends".into(),
        Some(Error::Corrupt { revision, source }) => {
            format!(", and the record at revision {revision} is damaged: {source}")
        }
        Some(Error::Lost { acknowledged, .. }) => {
            format!(", but revision {acknowledged} was acknowledged")
        }
        Some(Error::Gap { revision, .. }) => {
            format!(", but the journal refers to a record at revision {revision}")
        }
        Some(Error::NewerFormat {
            found,
            revision: Some(revision),
            ..
        }) => {
            format!(
                ", and the record at revision {revision} has format {found}, from a newer release"
            )
        }
        Some(other) => format!("; {other}"),
    };
    format!("intact up to revision {until}{behind}")
}

impl Error {
    /// Turns an error of the operating system into one that says what was being done.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// As [`Self::io`], for what was being read.
    pub fn reading(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Read { what, source }
    }

    pub(crate) fn corrupt(revision: Revision, source: impl Into<BoxedError>) -> Self {
        Self::Corrupt {
            revision,
            source: source.into(),
        }
    }

    /// The same about a snapshot that does not belong to the log.
    pub(crate) fn of_snapshot(self) -> Self {
        match self {
            Self::Diverged { revision } => Self::OtherSnapshot { revision },
            other => other,
        }
    }

    /// A record that should be there is not.
    pub(crate) fn absent_record(revision: Revision) -> Self {
        Self::corrupt(revision, "it is missing")
    }

    /// A record does not carry the hash of the one before it.
    pub(crate) fn unchained(revision: Revision) -> Self {
        Self::corrupt(revision, "it does not follow the record before it")
    }

    /// A record holds more or fewer commits than it states.
    pub(crate) fn miscounted(revision: Revision) -> Self {
        Self::corrupt(revision, "its count does not match")
    }

    pub(crate) fn defect(what: &'static str, source: impl Into<BoxedError>) -> Self {
        let source = source.into();
        Self::Defect { what, source }
    }

    pub(crate) fn engine(what: EngineCall, source: impl Into<BoxedError>) -> Self {
        Self::Engine {
            what,
            source: source.into(),
        }
    }
}

/// The holder of a lock, and what to do about it: a process that opens a directory again is not to stop itself.
fn in_use_by(holder: &str) -> String {
    if holder.starts_with(OURSELVES) {
        return format!("{OURSELVES}, which has opened it already; close it first");
    }
    format!("{holder}; stop it")
}
