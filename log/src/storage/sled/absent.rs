//! Looks for a log. Where there is no database, the files beside its place show whether it is missing, or a log is yet to
//! begin. Nothing is made or changed.

use super::frame_span::FrameSpan;
use super::journal::JournalContents;
use super::pending::PendingFrame;
use super::{check_reaches, refuse_unwitnessed};
use crate::layout::{DATABASE, witness_path};
use crate::regular::{self, is_there, leads_nowhere};
use crate::storage::witness::WitnessFile;
use crate::{Error, MemoryStorage, Snapshots, Storage};
use hindsight_core::Revision;
use std::path::Path;

/// What there is of a log in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Its database.
    Database,
    /// All of it, up to this revision, in the journal, from which a start makes the database again.
    Journal(Revision),
    /// Nothing.
    Nothing,
}

/// What there is in this directory, which need not exist. Refuses what is in its place and no directory; and if there is
/// no database, a directory where more was acknowledged than the journal has, or where a link leads nowhere.
pub(super) fn find(directory: &Path, snapshots: Option<&Snapshots>) -> Result<Found, Error> {
    if regular::found(directory)?.is_some_and(|found| !found.is_dir()) {
        return Err(Error::Foreign(directory.to_owned()));
    }
    if is_there(&directory.join(DATABASE))? {
        return Ok(Found::Database);
    }
    let newest = check(directory, snapshots).map_err(|error| match error {
        Error::Lost {
            acknowledged,
            newest,
        }
        | Error::Gap {
            revision: acknowledged,
            newest,
        } => Error::Missing {
            database: directory.join(DATABASE),
            acknowledged,
            newest,
        },
        other => other,
    })?;
    refuse_dangling(directory, newest)?;
    Ok(match newest {
        Revision::ZERO => Found::Nothing,
        newest => Found::Journal(newest),
    })
}

/// Behind a link that leads nowhere a database is not absent, but unknown: a mount or a disk may be missing. A start
/// would make another in its place.
fn refuse_dangling(directory: &Path, newest: Revision) -> Result<(), Error> {
    for path in [directory.to_owned(), directory.join(DATABASE)] {
        if leads_nowhere(&path)? {
            return Err(Error::Dangling { path, newest });
        }
    }
    Ok(())
}

/// The last revision in the journal. Refuses a directory where more was acknowledged.
fn check(directory: &Path, snapshots: Option<&Snapshots>) -> Result<Revision, Error> {
    let witness = witness_path(directory);
    let witnessed = WitnessFile::read(&witness)?;
    let journal = JournalContents::of(directory)?;
    let frames = journal.after(FrameSpan::default())?;
    let frames: Vec<PendingFrame> = frames.map(|(first, frame)| (first, frame.into())).collect();
    let last = frames.last();
    let newest = last.map_or(Revision::ZERO, |(first, frame)| {
        FrameSpan::of(*first, frame).last
    });
    journal.check_end(newest)?;
    witnessed.map_or(Ok(()), |witnessed| check_reaches(newest, witnessed))?;
    refuse_unwitnessed(&witness, newest)?;
    if let Some(snapshots) = snapshots {
        let alone = MemoryStorage::default();
        for (first, frame) in &frames {
            alone.append(*first, frame)?;
        }
        snapshots.check_newest_alone(&alone)?;
    }
    Ok(newest)
}
