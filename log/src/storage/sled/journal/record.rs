//! One record:
//!
//! ```text
//! magic 4 | format 1 | frame before 8 | first revision 8 | last synced 8 | length 4 | frame | crc32 4 | zeros
//! ```
//! Integers are little-endian. The checksum covers everything before it; zeros fill the record up to the next
//! multiple of 8 bytes.

use crate::Error;
use hindsight_core::Revision;
use std::ops::Range;

/// The newest format that this release reads and writes.
pub(crate) const FORMAT: u8 = 1;
const MAGIC: &[u8; 4] = b"HSLJ";
const HEADER_BYTES: usize = 4 + 1 + 8 + 8 + 8 + 4;
const CHECKSUM_BYTES: usize = 4;
/// Every record begins at a multiple of this.
pub(super) const ALIGNMENT: usize = 8;

/// What a record says beside its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The first revision of the frame that was appended before.
    pub(super) before: Revision,
    /// Of its own frame.
    pub(super) first: Revision,
    /// Of the newest frame that was durable when this was written.
    pub(super) synced: Revision,
}

impl Header {
    /// Makes the record of a frame.
    pub(super) fn seal(self, frame: &[u8], bytes: &mut Vec<u8>) {
        self.seal_as(FORMAT, frame, bytes);
    }

    pub(super) fn seal_as(self, format: u8, frame: &[u8], bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(MAGIC);
        bytes.push(format);
        for revision in [self.before, self.first, self.synced] {
            bytes.extend_from_slice(&revision.0.to_le_bytes());
        }
        // A longer one has no room in the file.
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(frame);
        bytes.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// A record that is whole, where its frame is, and where the next record begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) header: Header,
    pub(super) frame: Range<usize>,
    pub(super) end: usize,
}

/// The record at this place; nothing where none is, or it is not whole.
pub(super) fn read(bytes: &[u8], at: usize) -> Result<Option<Found>, Error> {
    let Some(found) = whole(bytes, at) else {
        return Ok(None);
    };
    match found {
        (FORMAT, found) => Ok(Some(found)),
        (format, found) => Err(Error::NewerFormat {
            found: format,
            known: FORMAT,
            revision: Some(found.header.first),
        }),
    }
}

fn whole(bytes: &[u8], at: usize) -> Option<(u8, Found)> {
    let record = bytes.get(at..)?;
    let rest = record.strip_prefix(MAGIC)?;
    let ([format], rest) = rest.split_first_chunk::<1>()?;
    let (before, rest) = rest.split_first_chunk::<8>()?;
    let (first, rest) = rest.split_first_chunk::<8>()?;
    let (synced, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let checksum = rest.get(length..)?.first_chunk::<CHECKSUM_BYTES>()?;
    let sealed = record.get(..HEADER_BYTES + length)?;
    if crc32fast::hash(sealed) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let revision = |bytes: &[u8; 8]| Revision(u64::from_le_bytes(*bytes));
    let begin = at + HEADER_BYTES;
    let found = Found {
        header: Header {
            before: revision(before),
            first: revision(first),
            synced: revision(synced),
        },
        frame: begin..begin + length,
        end: (begin + length + CHECKSUM_BYTES).next_multiple_of(ALIGNMENT),
    };
    Some((*format, found))
}
