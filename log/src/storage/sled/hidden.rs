//! Finds records that sled would not see in its own database. sled considers the first message that it
//! cannot read as the end of the log, or of a segment, and overwrites what is behind the end with blanks:
//! a single flipped bit would cost all that was written later. So this is checked before sled opens the
//! database.

use super::foreign::range;
use super::intact::Intact;
use super::page_table::SideFiles;
use super::values::{HEADER_BYTES, Segment, SegmentHeader};
use super::{SEGMENT_BYTES, side};
use crate::layout::{DATABASE, witness_path};
use crate::regular::is_there;
use crate::storage::witness::WitnessFile;
use crate::{Error, parallel};
use hindsight_core::Revision;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Result as IoResult;
use std::ops::Range;
use std::path::Path;

/// The most segments that are held in memory at once, however many cores there are.
const SEGMENTS_AT_ONCE: usize = 8;
const WOULD_BLANK: &str =
    "its files are damaged, and it would overwrite records that are still intact";

/// Refuses a database in which sled would miss acknowledged records: up to the tail that the witness
/// names, or up to `synced` by the journal, because the witness lags behind after a power cut. Mostly only
/// the segments that sled will read are read, and those whose header is blank. Side files that are not of
/// this database are set aside; then sled reads all of it.
pub(super) fn refuse_hidden(directory: &Path, synced: Revision) -> Result<(), Error> {
    if !is_there(&directory.join(DATABASE))? {
        return Ok(());
    }
    let SideFiles { noted, unfit } = SideFiles::of(directory)?;
    refuse(directory, synced, noted, !unfit.is_empty())?;
    unfit
        .iter()
        .try_for_each(|path| side::set_aside(directory, path))
}

/// Refuses a database that sled is to read again from its beginning, if it lacks acknowledged records: it
/// is damaged, and sled would blank what it can no longer refer to.
pub(super) fn refuse_incomplete(directory: &Path, synced: Revision) -> Result<(), Error> {
    refuse(directory, synced, 0, true)
}

/// What is `noted` in a side file, up to this position, sled does not read. If it is to read `again`, or what
/// it noted is cut, acknowledged records may be missing although nothing is hidden.
fn refuse(directory: &Path, synced: Revision, noted: u64, again: bool) -> Result<(), Error> {
    let acknowledged = acknowledged(directory, synced)?;
    let is_known = acknowledged > Revision::ZERO;
    let found = Hidden::of(directory, noted, is_known)?;
    if !found.hidden.is_empty() {
        return refuse_blanked(directory, &found, acknowledged);
    }
    if is_known && (again || found.is_cut) {
        return refuse_short(directory, acknowledged, again);
    }
    Ok(())
}

/// Refuses a database of which sled would blank something, unless all records that were acknowledged, or may have been,
/// are elsewhere too.
fn refuse_blanked(directory: &Path, found: &Hidden, acknowledged: Revision) -> Result<(), Error> {
    let intact = Intact::of(directory, |_, _| {})?;
    let is_untold = acknowledged == Revision::ZERO && intact.broken.is_some();
    let is_beheaded = !found.beheaded.is_empty()
        && (is_untold
            || intact
                .first_within(&found.beheaded, Revision::MAX)
                .is_some());
    let is_seen = intact.first_within(&found.hidden, acknowledged).is_none();
    if is_seen && !is_beheaded && intact.until >= acknowledged {
        return Ok(());
    }
    Err(intact.unopened(WOULD_BLANK))
}

/// Refuses a log in which nothing is hidden, if it ends before what was acknowledged.
fn refuse_short(directory: &Path, acknowledged: Revision, again: bool) -> Result<(), Error> {
    if Intact::reaches(directory, acknowledged)? {
        return Ok(());
    }
    let intact = Intact::of(directory, |_, _| {})?;
    // Without a beginning, nothing is left that could be lost.
    let is_lost = intact.until == Revision::ZERO && !again;
    if intact.until >= acknowledged || is_lost {
        return Ok(());
    }
    Err(match intact.broken {
        Some(Error::Corrupt { .. }) => intact.unopened(WOULD_BLANK),
        Some(told) => told,
        None => Error::Lost {
            acknowledged,
            newest: intact.until,
        },
    })
}

fn acknowledged(directory: &Path, synced: Revision) -> Result<Revision, Error> {
    let tail = WitnessFile::read(&witness_path(directory))?;
    Ok(tail.map_or(synced, |tail| tail.revision.max(synced)))
}

/// The ranges of the database that sled passes over although there are whole messages in them.
pub(super) fn skipped_ranges(directory: &Path) -> Result<Vec<Range<u64>>, Error> {
    let noted = SideFiles::of(directory)?.noted;
    Ok(Hidden::of(directory, noted, true)?.hidden)
}

/// The ranges that sled passes over although there are whole messages in them.
struct Hidden {
    hidden: Vec<Range<u64>>,
    /// Those among them that are segments which were durable, as far as is known, and whose headers are
    /// gone.
    beheaded: Vec<Range<u64>>,
    /// Whether no side file says what there was, or a part that it refers to is missing.
    is_cut: bool,
}

impl Hidden {
    /// With what is behind tears, if it is known how far the log was acknowledged.
    fn of(directory: &Path, noted: u64, is_known: bool) -> Result<Self, Error> {
        let path = directory.join(DATABASE);
        let found = Unread::of(&path, noted).and_then(|segments| {
            let headless = segments.headless()?;
            let is_durable = |position| !is_known || position < segments.ends_from;
            let durable = headless.iter().filter(|one| is_durable(one.1));
            let mut beheaded: Vec<_> = durable.map(|one| one.0.clone()).collect();
            let mut hidden: Vec<_> = headless.into_iter().map(|one| one.0).collect();
            let mut is_cut = false;
            // If the disk fails to give something back, sled must not be the first to find out: it would take
            // it for the end of the log.
            let tears = segments.tears()?;
            if is_known || segments.lacks_stable() {
                is_cut = noted == 0 || segments.is_cut_before(noted, &tears);
                let behind = segments.hidden(tears)?;
                // A later header says that the end was durable.
                beheaded.extend(behind.iter().filter(|_| !is_known).cloned());
                hidden.extend(behind);
            }
            Ok(Self {
                hidden,
                beheaded,
                is_cut,
            })
        });
        found.map_err(Error::reading("the event log"))
    }
}

/// Maps segments by their offsets, in order, so many at a time.
fn each_segment<T: Send>(begins: &[u64], each: impl Fn(u64) -> T + Send + Sync) -> Vec<T> {
    let parts = begins.chunks(SEGMENTS_AT_ONCE);
    parts
        .flat_map(|part| parallel::map(part.to_vec(), &each))
        .collect()
}

/// The segments that sled is going to read: for each position in sled's log, the offset in the file.
struct Unread<'a> {
    path: &'a Path,
    length: u64,
    at: BTreeMap<u64, u64>,
    /// The offsets of the segments without a sound header, which sled takes for free.
    without_header: Vec<u64>,
    /// From this position on, the first tear is the end of the log, and not only of a segment.
    ends_from: u64,
}

impl<'a> Unread<'a> {
    /// Those that the side file does not cover, which notes a log up to this position.
    fn of(path: &'a Path, noted: u64) -> IoResult<Self> {
        let from = begin_of(noted);
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let (mut at, mut stable) = (BTreeMap::new(), from);
        let mut without_header = Vec::new();
        for begin in (0..length).step_by(SEGMENT_BYTES) {
            let header = range(&file, begin, HEADER_BYTES as u64)?;
            let Some(header) = SegmentHeader::read(&header) else {
                without_header.push(begin);
                continue;
            };
            if header.position >= from {
                at.insert(header.position, begin);
                stable = stable.max(header.stable);
            }
        }
        Ok(Self {
            path,
            length,
            at,
            without_header,
            ends_from: begin_of(stable),
        })
    }

    /// The segments without a header in which there are whole messages, and the position in sled's log of
    /// the last of these. Most such segments are blank. A power cut leaves messages in them too, if it
    /// comes while sled blanks a segment that it has freed, or begins one: the former has nothing that is
    /// not elsewhere, and the latter was not durable.
    fn headless(&self) -> IoResult<Vec<(Range<u64>, u64)>> {
        let found_at = |begin: u64| {
            let file = File::open(self.path)?;
            let bytes = range(&file, begin, SEGMENT_BYTES as u64)?;
            let position = Segment::new(&bytes).newest_position();
            Ok(position.map(|position| (begin..begin + SEGMENT_BYTES as u64, position)))
        };
        let found = each_segment(&self.without_header, found_at).into_iter();
        found.filter_map(Result::transpose).collect()
    }

    /// Whether the segment is missing in which the log was stable. sled then takes the log for empty.
    fn lacks_stable(&self) -> bool {
        !self.at.is_empty() && !self.at.contains_key(&self.ends_from)
    }

    /// Whether something is missing of what the side file refers to, up to this position, in the segment in
    /// which that lies.
    fn is_cut_before(&self, noted: u64, tears: &[Option<Torn>]) -> bool {
        let Some(begin) = self.at.get(&begin_of(noted)) else {
            return noted > begin_of(noted);
        };
        let first = tears.first().and_then(Option::as_ref);
        first.is_some_and(|torn| torn.at - begin < noted - begin_of(noted))
    }

    /// Where each segment is torn, in their order.
    fn tears(&self) -> IoResult<Vec<Option<Torn>>> {
        let begins: Vec<u64> = self.at.values().copied().collect();
        let torn = each_segment(&begins, |begin| self.torn(begin, None));
        torn.into_iter().collect()
    }

    /// The ranges behind tears, as far as there are whole messages in them.
    fn hidden(&self, tears: Vec<Option<Torn>>) -> IoResult<Vec<Range<u64>>> {
        let mut hidden = Vec::new();
        let mut next = self.ends_from;
        let mut is_over = self.lacks_stable();
        for ((&position, &begin), mut torn) in self.at.iter().zip(tears) {
            let end = begin + SEGMENT_BYTES as u64;
            let is_last = position >= self.ends_from;
            is_over |= is_last && next != position;
            if is_over {
                torn = self.torn(begin, Some(0))?;
            }
            // sled reads nothing more once a message goes on behind the end of the file.
            is_over |= torn.is_some() && (is_last || end > self.length);
            if is_last {
                next = position + SEGMENT_BYTES as u64;
            }
            hidden.extend(
                torn.filter(|torn| torn.has_messages_behind)
                    .map(|torn| torn.at..end),
            );
        }
        Ok(hidden)
    }

    /// Where a segment is torn; if `from` is given, at that offset in the segment.
    fn torn(&self, begin: u64, from: Option<usize>) -> IoResult<Option<Torn>> {
        // Each thread opens the file, because threads that share a handle would share its read position.
        let file = File::open(self.path)?;
        let bytes = range(&file, begin, SEGMENT_BYTES as u64)?;
        let segment = Segment::new(&bytes);
        let tear = from.or_else(|| segment.tear());
        Ok(tear.map(|tear| Torn {
            at: begin + tear as u64,
            has_messages_behind: segment.has_messages_after(tear),
        }))
    }
}

/// The position where the segment of this position begins.
pub(super) const fn begin_of(position: u64) -> u64 {
    position / SEGMENT_BYTES as u64 * SEGMENT_BYTES as u64
}

/// The offset in the file at which the readable messages of a segment end.
#[derive(Debug)]
struct Torn {
    at: u64,
    /// Whether there are whole messages behind it.
    has_messages_behind: bool,
}
