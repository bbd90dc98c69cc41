//! A directory without a database: whether that of a log is missing there, as the files beside it show, or a log
//! is yet to begin. Nothing is made or changed.

use super::journal::{JournalContents, Newest};
use super::pending::Frame;
use super::{check_reaches, refuse_unwitnessed};
use crate::layout::witness_path;
use crate::regular::is_there;
use crate::storage::witness::WitnessFile;
use crate::{Error, MemoryStorage, Snapshots, Storage};
use hindsight_core::Revision;
use std::path::Path;

/// Whether there is a database in this directory. A link that leads nowhere is none.
pub(super) fn has_database(directory: &Path) -> Result<bool, Error> {
    if is_there(directory)? && !directory.is_dir() {
        return Err(Error::Foreign(directory.to_owned()));
    }
    is_there(&directory.join("db"))
}

/// Refuses the directory if more was acknowledged there than the journal has, from which a start makes the database
/// again, or if it is not known whether there is a database. Returns the last revision in the journal.
pub(super) fn refuse_missing(
    directory: &Path,
    snapshots: Option<&Snapshots>,
) -> Result<Revision, Error> {
    let newest = check(directory, snapshots).map_err(|error| match error {
        Error::Lost {
            acknowledged,
            newest,
        }
        | Error::Gap {
            revision: acknowledged,
            newest,
        } => Error::Missing {
            database: directory.join("db"),
            acknowledged,
            newest,
        },
        other => other,
    })?;
    refuse_dangling(directory)?;
    Ok(newest)
}

/// Behind a link that leads nowhere a database is not absent, but unknown: a mount or a disk may be missing. A start
/// would make another in its place.
fn refuse_dangling(directory: &Path) -> Result<(), Error> {
    for place in [directory.to_owned(), directory.join("db")] {
        if place.is_symlink() && !is_there(&place)? {
            return Err(Error::Dangling(place));
        }
    }
    Ok(())
}

fn check(directory: &Path, snapshots: Option<&Snapshots>) -> Result<Revision, Error> {
    let witness = witness_path(directory);
    let witnessed = WitnessFile::read(&witness)?;
    let kept = JournalContents::of(directory)?;
    let frames = kept.after(Newest::default())?;
    let frames: Vec<Frame> = frames.map(|(first, frame)| (first, frame.into())).collect();
    let last = frames.last();
    let newest = last.map_or(Revision::ZERO, |(first, frame)| {
        Newest::of(*first, frame).until
    });
    kept.check_end(newest)?;
    witnessed.map_or(Ok(()), |witnessed| check_reaches(newest, witnessed))?;
    refuse_unwitnessed(&witness, newest)?;
    if let Some(snapshots) = snapshots {
        let alone = MemoryStorage::default();
        for (first, frame) in &frames {
            alone.append(*first, frame)?;
        }
        snapshots.check_newest(&alone)?;
    }
    Ok(newest)
}
