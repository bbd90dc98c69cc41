//! Compares the journal with the database: what one of them lacks, and whether both are of the same log.

use super::frame_span::FrameSpan;
use super::frames::FrameTrees;
use super::journal::JournalContents;
use super::pending::PendingFrame;
use crate::chain::Links;
use crate::frame::decoded::{FrameLinks, read_links};
use crate::frame::{self, Format};
use crate::storage::Stored;
use crate::{Error, Tail};
use hindsight_core::Revision;

/// The frames that the journal has and the database lacks, and the newest frame once these are added.
/// Refuses, before a frame is written, a database that lacks more than that or has another frame in the
/// place of one of them: the journal may have the only copy.
pub(super) fn not_yet_stored(
    frames: &FrameTrees,
    journal: &JournalContents,
) -> Result<(Vec<PendingFrame>, FrameSpan), Error> {
    let last = frames.at_or_before(Revision::MAX)?;
    let newest = FrameSpan::of_stored(last.as_ref());
    let (mut is_of_this_log, mut thinned) = (false, None);
    for (first, frame) in journal.up_to(newest) {
        let found = frames.at_or_before(first)?;
        let span = FrameSpan::of_stored(found.as_ref());
        if span.first != first && span.last < first {
            let (revision, newest) = (first, span.last);
            return Err(Error::Gap { revision, newest });
        }
        is_of_this_log |= found.as_ref().is_some_and(|(_, found)| found == frame);
        if found.as_ref().is_some_and(is_thinned) {
            thinned = Some(first);
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
    let behind = journal.after(newest)?;
    let unstored: Vec<PendingFrame> = behind.map(|(first, frame)| (first, frame.into())).collect();
    if let Some((last, (first, frame))) = last.as_ref().zip(unstored.first())
        && is_of_another_log(last, *first, frame)
    {
        let reason = "the journal has it, but it does not follow the record before it";
        return Err(Error::corrupt(*first, reason));
    }
    // The journal is emptied before its records are thinned.
    if let Some(revision) = thinned.filter(|_| !is_of_this_log && unstored.is_empty()) {
        return Err(Error::Diverged { revision });
    }
    let last = unstored.last();
    let newest = last.map_or(newest, |(first, frame)| FrameSpan::of(*first, frame));
    journal.check_end(newest.last)?;
    Ok((unstored, newest))
}

/// Whether the journal's frame is whole and the database has neither the same frame nor a thinned one in
/// its place.
fn is_different_record(first: Revision, found: &[u8], kept: &[u8]) -> bool {
    let is_thinned = || is_thinned(&(first, found.into()));
    found != kept && frame::open(first, kept).is_ok() && !is_thinned()
}

fn is_thinned((first, frame): &Stored) -> bool {
    frame::open(*first, frame).is_ok_and(|one| one.format == Format::Placeholder)
}

/// Refuses a database in which the acknowledged end at this revision was thinned over. Notes of later ends
/// are synced before that, so the files are of different logs or times.
pub(super) fn refuse_thinned_over(frames: &FrameTrees, revision: Revision) -> Result<(), Error> {
    let found = frames.at_or_before(revision)?;
    let is_over =
        |found: &Stored| is_thinned(found) && FrameSpan::of_stored(Some(found)).last > revision;
    if found.as_ref().is_some_and(is_over) {
        return Err(Error::Diverged { revision });
    }
    Ok(())
}

/// The end of the log behind the acknowledged one. Fails if a frame does not follow the one before, so that this is the
/// end of another log, or of one with damage.
pub(super) fn end_behind(frames: &FrameTrees, acknowledged: Tail) -> Result<Tail, Error> {
    let (mut links, mut end) = (Links::after(acknowledged), acknowledged);
    while let Some((first, bytes)) = frames.at_or_after(end.revision.next())? {
        let frame = read_links(first, &bytes)?;
        links.check(&frame)?;
        end = frame.tail();
    }
    Ok(end)
}

/// Whether both frames are whole and the second does not continue the chain of hashes from the first, which goes on
/// from a thinned frame as from the last of those that it replaced.
fn is_of_another_log((key, last): &Stored, first: Revision, next: &[u8]) -> bool {
    let is_elsewhere = |before: FrameLinks| {
        frame::open(first, next).is_ok_and(|next| next.previous != before.hash)
    };
    read_links(*key, last).is_ok_and(is_elsewhere)
}
