//! Reads the side files of sled 0.34, and finds out which of them are of this database. Such a file is the
//! table of pages as of some position in the log: where in the database each page is, and the changes to it.
//!
//! ```text
//! position + 1 8 | segment being written | pages | length of all before 8 | crc32 of all before the length 4
//! page: count of parts 1 (0 for one that is free) | parts
//! part: position 8 | 0 1 | offset in the file | length, unless it is free
//! ```
//! sled takes the table for true. Segments in which the table has no page are free for sled, and blanked:
//! with a side file of a later time, as an older copy that was put back over a directory leaves it, those are
//! the segments in which the records are.

use super::foreign::range;
use super::hidden::begin_of;
use super::values::{Bytes, HEADER_BYTES, MessageHeader, Segment, SegmentHeader};
use super::{SEGMENT_BYTES, side};
use crate::layout::DATABASE;
use crate::{Error, regular};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Result as IoResult;
use std::path::{Path, PathBuf};

/// Length of the longest header of a message.
const MESSAGE_HEADER_BYTES: u64 = 32;
/// Messages that are looked for where the table says: all of a small database. Of a larger one, as many, at
/// equal distances. Every part must be in the segment that the table names, however many there are.
const LOOKED_FOR_MAX: usize = 512;
/// How much longer than the database a table is at most: it has some 20 bytes for each message, none of which has less
/// than 8.
const TABLE_TO_DATABASE_MAX: u64 = 3;
/// In a part: the message is in the database, and not in a file of its own.
const INLINE: u8 = 0;

/// The side files of a database.
#[derive(Debug, Default)]
pub(super) struct SideFiles {
    /// The position that the newest one of this database reaches; `None` also if that is the beginning.
    pub(super) noted: Option<u64>,
    /// Later ones, which are not of this database as it is.
    pub(super) unfit: Vec<PathBuf>,
}

impl SideFiles {
    /// Compares the side files in this directory with the database in it.
    pub(super) fn of(directory: &Path) -> Result<Self, Error> {
        let database = directory.join(DATABASE);
        let length = database.metadata().map(|found| found.len());
        let length = length.map_err(Error::reading("the event log"))?;
        let longest = length.saturating_mul(TABLE_TO_DATABASE_MAX);
        let mut found = Self::default();
        for path in side::newest_first(directory)? {
            let table = read(&path, longest)?;
            let fits = table
                .as_ref()
                .map_or(Ok(false), |table| table.fits(&database));
            if let (true, Some(table)) = (fits.map_err(Error::reading("the event log"))?, table) {
                found.noted = (table.noted > 0).then_some(table.noted);
                break;
            }
            found.unfit.push(path);
        }
        Ok(found)
    }
}

/// The table in a file. One that is too long or cannot be read is as good as none; in the place of one there may be
/// what is no file.
fn read(path: &Path, longest: u64) -> Result<Option<Table>, Error> {
    match regular::read(path, longest) {
        Err(error @ Error::NotAFile(_)) => Err(error),
        Err(_) => Ok(None),
        Ok(file) => Ok(file.as_deref().and_then(Table::of)),
    }
}

/// Where a page, or a change to it, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PagePart {
    page: u64,
    /// Its position in sled's log.
    position: u64,
    /// Its offset in the file.
    at: u64,
    /// Of the message; not known of a page that is free.
    length: Option<u64>,
}

#[derive(Debug, PartialEq, Eq)]
struct Table {
    noted: u64,
    parts: Vec<PagePart>,
}

impl Table {
    /// `None` if the file is damaged.
    fn of(file: &[u8]) -> Option<Self> {
        let (rest, checksum) = file.split_last_chunk::<4>()?;
        let (table, _) = rest.split_last_chunk::<8>()?;
        if crc32fast::hash(table) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let mut rest = Bytes::new(table);
        let noted = rest.integer()?.checked_sub(1)?;
        rest.number()?;
        let mut parts = Vec::new();
        for page in 0.. {
            if rest.is_empty() {
                break;
            }
            let count = rest.byte()?;
            for _ in 0..count.max(1) {
                let position = rest.integer()?;
                if rest.byte()? != INLINE {
                    return None;
                }
                let at = rest.number()?;
                let length = match count {
                    0 => None,
                    _ => Some(rest.number()?),
                };
                parts.push(PagePart {
                    page,
                    position,
                    at,
                    length,
                });
            }
        }
        Some(Self { noted, parts })
    }

    /// Whether the table is of this database, as it is or as it was: the log reaches the position that the
    /// table notes, and each page is where the table says, or was replaced later.
    fn fits(&self, database: &Path) -> IoResult<bool> {
        let file = File::open(database)?;
        let segments = Segments::of(&file)?;
        if !segments.reach(&file, self.noted)? {
            return Ok(false);
        }
        let mut moved = BTreeSet::new();
        let step = self.parts.len().div_ceil(LOOKED_FOR_MAX).max(1);
        for (index, part) in self.parts.iter().enumerate() {
            let is_looked_for = index % step == 0;
            if !segments.have(part) || (is_looked_for && !holds(&file, part)?) {
                moved.insert(part.page);
            }
        }
        for begin in segments.from(self.noted) {
            if moved.is_empty() {
                break;
            }
            let bytes = range(&file, begin, SEGMENT_BYTES as u64)?;
            for page in Segment::new(&bytes).replaced() {
                moved.remove(&page);
            }
        }
        Ok(moved.is_empty())
    }
}

/// Whether the file holds this message of this page.
fn holds(file: &File, part: &PagePart) -> IoResult<bool> {
    let header = range(file, part.at, MESSAGE_HEADER_BYTES)?;
    let is_named = |found: MessageHeader| {
        let segment = part.position / SEGMENT_BYTES as u64;
        let length = part.length.unwrap_or(found.length);
        (found.segment, found.page, found.length) == (segment, part.page, length)
    };
    Ok(MessageHeader::read(&header).is_some_and(is_named))
}

/// The segments of a database: the offset of each, by the position of its beginning.
struct Segments {
    at: BTreeMap<u64, u64>,
}

impl Segments {
    fn of(file: &File) -> IoResult<Self> {
        let length = file.metadata()?.len();
        let mut at = BTreeMap::new();
        for begin in (0..length).step_by(SEGMENT_BYTES) {
            if let Some(header) = SegmentHeader::read(&range(file, begin, HEADER_BYTES as u64)?) {
                at.insert(header.position, begin);
            }
        }
        Ok(Self { at })
    }

    /// Whether the part is in the segment to which its position belongs.
    fn have(&self, part: &PagePart) -> bool {
        let begin = begin_of(part.position);
        self.at
            .get(&begin)
            .is_some_and(|at| part.at.checked_sub(*at) == Some(part.position - begin))
    }

    /// The offsets of those that sled reads after what is noted up to this position.
    fn from(&self, noted: u64) -> impl Iterator<Item = u64> {
        self.at.range(begin_of(noted)..).map(|(_, at)| *at)
    }

    /// Whether the log reaches this position. Behind damage before it, whole messages show that it does.
    fn reach(&self, file: &File, noted: u64) -> IoResult<bool> {
        let begin = begin_of(noted);
        if noted == begin {
            return Ok(true);
        }
        let Some(at) = self.at.get(&begin) else {
            // It may have been freed and used again since.
            return Ok(self.at.range(begin..).next().is_some());
        };
        let bytes = range(file, *at, SEGMENT_BYTES as u64)?;
        let offset = usize::try_from(noted - begin);
        Ok(offset.is_ok_and(|offset| Segment::new(&bytes).reaches(offset)))
    }
}
