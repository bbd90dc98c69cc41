//! Compares the journal with the database: what one of them lacks, and whether both are of the same log.

use super::frames::FrameTrees;
use super::journal::{JournalContents, Newest};
use super::pending::Frame;
use crate::storage::Stored;
use crate::{Error, frame};
use hindsight_core::Revision;

/// The frames that the journal has and the database lacks, and the newest frame once these are added.
/// Refuses, before a frame is written, a database that lacks more than that or has another frame in the
/// place of one of them: the journal may have the only copy.
pub(super) fn missing(
    frames: &FrameTrees,
    kept: &JournalContents,
) -> Result<(Vec<Frame>, Newest), Error> {
    let last = frames.at_or_before(Revision::MAX)?;
    let newest = place_of(last.as_ref());
    for (first, frame) in kept.up_to(newest) {
        let found = frames.at_or_before(first)?;
        let place = place_of(found.as_ref());
        if place.first != first && place.until < first {
            let (revision, newest) = (first, place.until);
            return Err(Error::Gap { revision, newest });
        }
        if found
            .is_some_and(|(key, found)| key == first && is_different_record(first, &found, frame))
        {
            return Err(Error::corrupt(
                first,
                "events/journal has a different record in its place: one of the two is damaged, or events/journal is of another log",
            ));
        }
    }
    let behind = kept.after(newest)?;
    let missing: Vec<Frame> = behind.map(|(first, frame)| (first, frame.into())).collect();
    if let Some((last, (first, frame))) = last.as_ref().zip(missing.first())
        && is_of_another_log(last, *first, frame)
    {
        let reason = "the journal has it, but it does not follow the record before it";
        return Err(Error::corrupt(*first, reason));
    }
    let last = missing.last();
    let newest = last.map_or(newest, |(first, frame)| Newest::of(*first, frame));
    kept.check_end(newest.until)?;
    Ok((missing, newest))
}

/// Whether the journal's frame is whole and the database has neither the same frame nor a thinned one in
/// its place.
fn is_different_record(first: Revision, found: &[u8], kept: &[u8]) -> bool {
    let is_thinned = || frame::open(first, found).is_ok_and(|one| one.format == frame::PLACEHOLDER);
    found != kept && frame::open(first, kept).is_ok() && !is_thinned()
}

/// Whether both frames are whole and the second does not name the hash of the first.
fn is_of_another_log((key, last): &Stored, first: Revision, next: &[u8]) -> bool {
    let is_whole = frame::open(*key, last).is_ok();
    is_whole && frame::open(first, next).is_ok_and(|next| next.previous != frame::hash(last))
}

/// The place of a frame that was read from the database.
fn place_of(last: Option<&Stored>) -> Newest {
    last.map_or_else(Newest::default, |(first, bytes)| Newest::of(*first, bytes))
}
