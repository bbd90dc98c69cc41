//! The format of a record of the journal:
//!
//! ```text
//! magic 4 | format 1 | salt 8 | frame before 8 | first revision 8 | last synced 8 | length 4 | frame | crc32 4 | zeros
//! ```
//! and the beginning of the file:
//!
//! ```text
//! magic 4 | salt 8 | crc32 4
//! ```
//! Integers are little-endian. A checksum covers everything before it; zeros pad a record to a multiple
//! of 8 bytes. Records carry the salt of the file, and a new salt makes all records before it invalid. A
//! user who stores an object that makes a frame contain what looks like a record does not know the salt.
//! Format 1 had no salt, and a file of that format begins with its first record.

use crate::Error;
use crate::format::is_known;
use hindsight_core::Revision;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

/// The newest format that this release reads and writes.
pub(crate) const FORMAT: u8 = 2;
/// The format of records without a salt.
const UNSALTED: u8 = 1;
const MAGIC: &[u8; 4] = b"HSLJ";
const BEGIN_MAGIC: &[u8; 4] = b"HSLS";
/// Length of the beginning of the file.
pub(super) const BEGIN_BYTES: usize = 4 + 8 + 4;
const CHECKSUM_BYTES: usize = 4;
/// Every record begins at a multiple of this.
pub(super) const ALIGNMENT: usize = 8;

/// A random number that the valid records of a file share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Salt(pub(super) u64);

impl Salt {
    /// A salt that nobody can predict.
    pub(super) fn random() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// The beginning of a file with this salt.
    pub(super) fn seal(self) -> [u8; BEGIN_BYTES] {
        let mut begin = [0; BEGIN_BYTES];
        let salted = [&BEGIN_MAGIC[..], &self.0.to_le_bytes()].concat();
        let checksum = crc32fast::hash(&salted).to_le_bytes();
        for (to, from) in begin.iter_mut().zip(salted.into_iter().chain(checksum)) {
            *to = from;
        }
        begin
    }

    /// The salt of a file; `None` if the beginning is damaged, or has none.
    pub(super) fn of(file: &[u8]) -> Option<Self> {
        let salt = file.strip_prefix(BEGIN_MAGIC)?.first_chunk::<8>()?;
        let salt = Self(u64::from_le_bytes(*salt));
        file.starts_with(&salt.seal()).then_some(salt)
    }
}

/// The fields of a record besides its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct RecordHeader {
    pub(super) salt: Salt,
    /// The first revision of the frame that was appended before.
    pub(super) before: Revision,
    /// The first revision of its own frame.
    pub(in super::super) first: Revision,
    /// The first revision of the newest frame that was durable when this was written.
    pub(super) synced: Revision,
}

impl RecordHeader {
    /// Encodes the record of a frame.
    pub(super) fn seal(self, frame: &[u8], bytes: &mut Vec<u8>) {
        self.seal_as(FORMAT, frame, bytes);
    }

    pub(super) fn seal_as(self, format: u8, frame: &[u8], bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(MAGIC);
        bytes.push(format);
        bytes.extend_from_slice(&self.salt.0.to_le_bytes());
        for revision in [self.before, self.first, self.synced] {
            bytes.extend_from_slice(&revision.0.to_le_bytes());
        }
        // A longer frame has no room in the file.
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(frame);
        bytes.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// A record: where its frame is, and where the next record begins.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Record {
    pub(in super::super) header: RecordHeader,
    pub(in super::super) frame: Range<usize>,
    pub(super) end: usize,
}

/// The salt of the record at this offset, if the record is whole and has one. Bytes that users stored are
/// never at the first offset.
pub(super) fn salt_at(bytes: &[u8], at: usize) -> Option<Salt> {
    let (format, found) = parsed(bytes, at)?;
    let is_salted = format > UNSALTED && is_whole(bytes, at, &found);
    is_salted.then_some(found.header.salt)
}

/// The record at this offset; `None` if there is none, it has another salt, or it is not whole. What is
/// checksummed in vain is subtracted from `searched`, in bytes.
pub(super) fn read(
    bytes: &[u8],
    at: usize,
    salt: Option<Salt>,
    searched: &mut usize,
) -> Result<Option<Record>, Error> {
    // Compared before anything is checksummed: users may have stored much that looks like a record.
    let found = parsed(bytes, at).filter(|(_, found)| match salt {
        Some(salt) => found.header.salt == salt,
        None => true,
    });
    let found = found.filter(|(_, found)| {
        let is_whole = is_whole(bytes, at, found);
        if !is_whole {
            *searched = searched.saturating_sub(found.frame.end - at);
        }
        is_whole
    });
    let Some((format, found)) = found else {
        return Ok(None);
    };
    let is_known = is_known(format, FORMAT, Some(found.header.first))?;
    Ok(is_known.then_some(found))
}

/// What may be a record, and its format; its checksum may not match.
fn parsed(bytes: &[u8], at: usize) -> Option<(u8, Record)> {
    let record = bytes.get(at..)?;
    let rest = record.strip_prefix(MAGIC)?;
    let ([format], rest) = rest.split_first_chunk::<1>()?;
    let (salt, rest) = match *format {
        UNSALTED => (&[0; 8], rest),
        _ => rest.split_first_chunk::<8>()?,
    };
    let (before, rest) = rest.split_first_chunk::<8>()?;
    let (first, rest) = rest.split_first_chunk::<8>()?;
    let (synced, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    rest.get(length..)?.first_chunk::<CHECKSUM_BYTES>()?;
    let revision = |bytes: &[u8; 8]| Revision(u64::from_le_bytes(*bytes));
    let begin = bytes.len() - rest.len();
    let found = Record {
        header: RecordHeader {
            salt: Salt(u64::from_le_bytes(*salt)),
            before: revision(before),
            first: revision(first),
            synced: revision(synced),
        },
        frame: begin..begin + length,
        end: (begin + length + CHECKSUM_BYTES).next_multiple_of(ALIGNMENT),
    };
    Some((*format, found))
}

/// Whether the checksum of the record at this offset matches.
fn is_whole(bytes: &[u8], at: usize, found: &Record) -> bool {
    let sealed = bytes.get(at..found.frame.end).unwrap_or_default();
    let rest = bytes.get(found.frame.end..).unwrap_or_default();
    let checksum = rest.first_chunk::<CHECKSUM_BYTES>();
    checksum.is_some_and(|one| crc32fast::hash(sealed) == u32::from_le_bytes(*one))
}
