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

/// How far the log is known to have been acknowledged.
#[derive(Debug, Clone, Copy)]
enum Acknowledged {
    Unknown,
    UpTo(Revision),
}

impl Acknowledged {
    /// By the witness, or by the journal, which knows of `synced`: the witness lags behind after a power cut.
    fn of(directory: &Path, synced: Revision) -> Result<Self, Error> {
        let tail = WitnessFile::read(&witness_path(directory))?;
        let newest = tail.map_or(synced, |tail| tail.revision.max(synced));
        Ok(if newest > Revision::ZERO {
            Self::UpTo(newest)
        } else {
            Self::Unknown
        })
    }

    const fn is_known(self) -> bool {
        matches!(self, Self::UpTo(_))
    }
}

/// What sled is going to read of the database.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// A side file has what is before this position.
    noted: Option<u64>,
    /// It reads what it had noted before, because a side file is set aside.
    again: bool,
}

/// Refuses a database in which sled would miss acknowledged records: up to the tail that the witness
/// names, or up to `synced` by the journal. Mostly only the segments that sled will read are read, and those
/// whose header is blank. Side files that are not of this database are set aside; then sled reads all of it.
pub(super) fn refuse_hidden(directory: &Path, synced: Revision) -> Result<(), Error> {
    if !is_there(&directory.join(DATABASE))? {
        return Ok(());
    }
    let SideFiles { noted, unfit } = SideFiles::of(directory)?;
    let again = !unfit.is_empty();
    refuse(directory, synced, Reading { noted, again })?;
    unfit
        .iter()
        .try_for_each(|path| side::set_aside(directory, path))
}

/// Refuses a database that sled is to read again from its beginning, if it lacks acknowledged records: it
/// is damaged, and sled would blank what it can no longer refer to.
pub(super) fn refuse_incomplete(directory: &Path, synced: Revision) -> Result<(), Error> {
    let whole = Reading {
        noted: None,
        again: true,
    };
    refuse(directory, synced, whole)
}

fn refuse(directory: &Path, synced: Revision, reading: Reading) -> Result<(), Error> {
    let acknowledged = Acknowledged::of(directory, synced)?;
    let evidence = Evidence::of(directory, reading.noted, acknowledged)?;
    match doubt(&evidence, acknowledged, reading) {
        Doubt::None => Ok(()),
        Doubt::Blanked => refuse_blanked(directory, &evidence.passed, acknowledged),
        Doubt::Short(newest) => refuse_short(directory, newest, reading),
    }
}

/// Why a database has to be compared with what is intact of the log.
#[derive(Debug, PartialEq, Eq)]
enum Doubt {
    None,
    /// sled would blank something.
    Blanked,
    /// Although nothing is hidden, records may be missing that were acknowledged, up to this one.
    Short(Revision),
}

const fn doubt(evidence: &Evidence, acknowledged: Acknowledged, reading: Reading) -> Doubt {
    if !evidence.passed.is_empty() {
        return Doubt::Blanked;
    }
    match acknowledged {
        Acknowledged::UpTo(newest) if reading.again || evidence.is_cut => Doubt::Short(newest),
        Acknowledged::UpTo(_) | Acknowledged::Unknown => Doubt::None,
    }
}

/// Refuses a database of which sled would blank something, unless all records that were acknowledged, or may have been,
/// are elsewhere too.
fn refuse_blanked(
    directory: &Path,
    passed: &[Passed],
    acknowledged: Acknowledged,
) -> Result<(), Error> {
    let intact = Intact::of(directory, |_, _| {})?;
    let range = |one: &Passed| one.range.clone();
    let durable = passed.iter().filter(|one| one.was_durable);
    let durable: Vec<_> = durable.map(range).collect();
    let is_only_there = || intact.first_within(&durable, Revision::MAX).is_some();
    let is_lost = match acknowledged {
        Acknowledged::Unknown => !durable.is_empty() && intact.broken.is_some(),
        Acknowledged::UpTo(newest) => {
            let all: Vec<_> = passed.iter().map(range).collect();
            intact.until < newest || intact.first_within(&all, newest).is_some()
        }
    };
    if is_lost || !durable.is_empty() && is_only_there() {
        return Err(intact.unopened(WOULD_BLANK));
    }
    Ok(())
}

/// Refuses a log in which nothing is hidden, if it ends before what was acknowledged.
fn refuse_short(directory: &Path, acknowledged: Revision, reading: Reading) -> Result<(), Error> {
    if Intact::reaches(directory, acknowledged)? {
        return Ok(());
    }
    let intact = Intact::of(directory, |_, _| {})?;
    // Without a beginning, nothing is left that could be lost.
    let is_lost = intact.until == Revision::ZERO && !reading.again;
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

/// The ranges of the database that sled passes over although there are whole messages in them, however far the log was
/// acknowledged.
pub(super) fn skipped_ranges(directory: &Path) -> Result<Vec<Range<u64>>, Error> {
    let noted = SideFiles::of(directory)?.noted;
    let found = Evidence::of(directory, noted, Acknowledged::UpTo(Revision::MAX))?;
    Ok(found.passed.into_iter().map(|one| one.range).collect())
}

/// A range that sled passes over although there are whole messages in it.
#[derive(Debug)]
struct Passed {
    range: Range<u64>,
    /// As far as its segments tell.
    was_durable: bool,
}

/// What the segments tell.
#[derive(Debug)]
struct Evidence {
    passed: Vec<Passed>,
    /// Whether no side file says what there was, or a part that it refers to is missing.
    is_cut: bool,
}

impl Evidence {
    /// With what is behind tears, if it is known how far the log was acknowledged.
    fn of(directory: &Path, noted: Option<u64>, acknowledged: Acknowledged) -> Result<Self, Error> {
        let path = directory.join(DATABASE);
        let is_known = acknowledged.is_known();
        let found = Unread::of(&path, noted.unwrap_or_default()).and_then(|segments| {
            let headless = segments.headless()?.into_iter();
            let headless = headless.map(|(range, position)| Passed {
                range,
                was_durable: !is_known || position < segments.ends_from,
            });
            let mut passed: Vec<_> = headless.collect();
            let mut is_cut = false;
            // If the disk fails to give something back, sled must not be the first to find out: it would take
            // it for the end of the log.
            let tears = segments.tears()?;
            if is_known || segments.lacks_stable() {
                is_cut = noted.is_none_or(|noted| segments.is_cut_before(noted, &tears));
                let behind = segments.hidden(tears)?.into_iter();
                passed.extend(behind.map(|range| Passed {
                    range,
                    // A later header says that the end was durable.
                    was_durable: !is_known,
                }));
            }
            Ok(Self { passed, is_cut })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_with_the_rest_of_the_log_depends_on_all_that_is_known() {
        let newest = Revision(7);
        let (unknown, known) = (Acknowledged::Unknown, Acknowledged::UpTo(newest));
        let short = || Doubt::Short(newest);
        // What is passed over, and whether what was noted is cut, or read again.
        for (passed, is_cut, again, of_unknown, of_known) in [
            (0, false, false, Doubt::None, Doubt::None),
            (0, false, true, Doubt::None, short()),
            (0, true, false, Doubt::None, short()),
            (0, true, true, Doubt::None, short()),
            (1, false, false, Doubt::Blanked, Doubt::Blanked),
            (1, false, true, Doubt::Blanked, Doubt::Blanked),
            (1, true, false, Doubt::Blanked, Doubt::Blanked),
            (2, true, true, Doubt::Blanked, Doubt::Blanked),
        ] {
            let passed = (0..passed).map(|begin| Passed {
                range: begin..begin + 1,
                was_durable: begin > 0,
            });
            let passed = passed.collect();
            let evidence = Evidence { passed, is_cut };
            let reading = Reading { noted: None, again };
            let found = [unknown, known].map(|one| doubt(&evidence, one, reading));
            assert_eq!(found, [of_unknown, of_known], "{evidence:?} {again}");
        }
    }
}
