//! Finds records that sled would not see in its own database. sled considers the first message that it
//! cannot read as the end of the log, or of a segment, and overwrites what is behind the end with blanks:
//! a single flipped bit would cost all that was written later. So this is checked before sled opens the
//! database.

use super::foreign::range;
use super::intact::Intact;
use super::values::{HEADER_BYTES, Header, Segment};
use super::{SEGMENT_BYTES, side, tail_of};
use crate::Error;
use crate::storage::witness::WitnessFile;
use hindsight_core::Revision;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Result as IoResult;
use std::ops::Range;
use std::path::Path;

const WOULD_BLANK: &str =
    "its files are damaged, and it would overwrite records that are still intact";

/// Refuses a database in which sled would miss acknowledged records: up to the tail that the witness
/// names, or up to `synced` by the journal, because the witness lags behind after a power cut. Only the
/// segments that sled will read are read.
pub(super) fn refuse_hidden(directory: &Path, synced: Revision) -> Result<(), Error> {
    let tail = WitnessFile::read(&tail_of(directory))?;
    let acknowledged = tail.map_or(synced, |tail| tail.revision.max(synced));
    if acknowledged == Revision::ZERO || !directory.join("db").exists() {
        return Ok(());
    }
    let hidden = skipped_ranges(directory)?;
    if hidden.is_empty() {
        return Ok(());
    }
    let intact = Intact::of(directory, |_, _| {})?;
    let is_seen = intact.first_within(&hidden, acknowledged).is_none();
    if is_seen && intact.until >= acknowledged {
        return Ok(());
    }
    Err(Error::Unopened {
        until: intact.until,
        broken: intact.broken.map(Box::new),
        source: WOULD_BLANK.into(),
    })
}

/// The ranges of the database that sled passes over although there are whole messages in them.
pub(super) fn skipped_ranges(directory: &Path) -> Result<Vec<Range<u64>>, Error> {
    let from = side::newest_place(directory)? / SEGMENT_BYTES as u64 * SEGMENT_BYTES as u64;
    let path = directory.join("db");
    let hidden = Segments::of(&path, from).and_then(|found| found.hidden());
    hidden.map_err(Error::io("reading the event log"))
}

/// The segments that sled is going to read: for each position in sled's log, the offset in the file.
struct Segments<'a> {
    path: &'a Path,
    at: BTreeMap<u64, u64>,
    /// From this position on, the first tear is the end of the log, and not only of a segment.
    ends_from: u64,
}

impl<'a> Segments<'a> {
    fn of(path: &'a Path, from: u64) -> IoResult<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let (mut at, mut stable) = (BTreeMap::new(), from);
        for begin in (0..length).step_by(SEGMENT_BYTES) {
            let header = range(&file, begin, HEADER_BYTES as u64)?;
            let Some(header) = Header::read(&header).filter(|one| one.place >= from) else {
                continue;
            };
            at.insert(header.place, begin);
            stable = stable.max(header.stable);
        }
        let ends_from = stable / SEGMENT_BYTES as u64 * SEGMENT_BYTES as u64;
        Ok(Self {
            path,
            at,
            ends_from,
        })
    }

    /// The ranges that sled passes over although there are whole messages in them.
    fn hidden(&self) -> IoResult<Vec<Range<u64>>> {
        let at: Vec<_> = self
            .at
            .iter()
            .map(|(place, begin)| (*place, *begin))
            .collect();
        let torn = at.par_iter().map(|(_, begin)| self.torn(*begin, None));
        let torn = torn.collect::<IoResult<Vec<_>>>()?;
        let mut hidden = Vec::new();
        let mut next = None;
        let mut is_over = false;
        for ((place, begin), mut torn) in at.into_iter().zip(torn) {
            let is_last = place >= self.ends_from;
            is_over |= is_last && next.is_some_and(|next| next != place);
            if is_over {
                torn = self.torn(begin, Some(0))?;
            }
            is_over |= is_last && torn.is_some();
            next = is_last.then_some(place + SEGMENT_BYTES as u64);
            let end = begin + SEGMENT_BYTES as u64;
            hidden.extend(
                torn.filter(|torn| torn.has_messages_behind)
                    .map(|torn| torn.at..end),
            );
        }
        Ok(hidden)
    }

    /// Where a segment is torn; if `from` is given, that position.
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

/// The place where the readable messages of a segment end.
#[derive(Debug)]
struct Torn {
    at: u64,
    /// Whether there are whole messages behind it.
    has_messages_behind: bool,
}
