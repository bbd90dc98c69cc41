//! A frame is the unit of storage: some commits, chained to the previous frame by its hash. Format 1
//! holds commits; format 2 holds what replaces commits after thinning, or marks a restore between them
//! (`crate::codec::Placeholder`); formats 3 and 4 are format 1 with a compressed payload
//! (`crate::packing`), without and with a dictionary.
//!
//! ```text
//! magic 4 | format 1 | first revision 8 | commits 4 | previous hash 32 | length 4 | payload | crc32 4
//! ```
//! Integers are little-endian. The checksum covers everything before it; the hash of a frame is
//! BLAKE3 over all its bytes.

pub(crate) mod decoded;

use crate::Error;
use crate::format::is_known;
use hindsight_core::Revision;

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Format {
    /// Commits and nothing else.
    Commits = 1,
    /// What replaces commits (`crate::codec::Placeholder`).
    Placeholder = 2,
    /// Commits, compressed. Still read, but no longer written.
    Packed = 3,
    /// Commits, compressed with a dictionary.
    Preset = 4,
}

impl Format {
    /// The format of this number; `None` if this release knows none.
    const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Commits),
            2 => Some(Self::Placeholder),
            3 => Some(Self::Packed),
            4 => Some(Self::Preset),
            _ => None,
        }
    }
}

/// The newest format that this release reads and writes.
pub(crate) const FRAME_FORMAT: u8 = Format::Preset as u8;
const MAGIC: &[u8; 4] = b"HSLF";
pub(crate) const HEADER_BYTES: usize = 4 + 1 + 8 + 4 + 32 + 4;
/// Offset of the first revision: behind magic and format.
const FIRST_AT: usize = 4 + 1;
/// Offset of the number of commits: behind magic, format and first revision.
const COMMITS_AT: usize = 4 + 1 + 8;
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// The hash of a frame; all zeros stands for the end before the first frame.
pub(crate) type Hash = [u8; 32];

/// A frame that was read and whose header, length and checksum agree.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) format: Format,
    /// How many revisions it covers.
    pub(crate) commits: u32,
    /// The revision after the last of these.
    pub(crate) end: Revision,
    pub(crate) previous: Hash,
    pub(crate) payload: &'a [u8],
}

/// Reserves room for the header. The payload is appended next, then the frame is sealed.
pub(crate) fn begin(bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.resize(HEADER_BYTES, 0);
}

/// The format of a frame that may be damaged, if it has one, and everything behind its header: the payload and its
/// checksum.
pub(crate) fn payload(bytes: &[u8]) -> (Option<Format>, &[u8]) {
    let number = bytes.get(MAGIC.len()).copied().unwrap_or_default();
    let format = Format::of(number);
    (format, bytes.get(HEADER_BYTES..).unwrap_or_default())
}

/// Completes a begun frame: writes its header, and the checksum behind the payload.
pub(crate) fn seal(
    bytes: &mut Vec<u8>,
    format: Format,
    first: Revision,
    commits: u32,
    previous: &Hash,
) {
    let Some((header, payload)) = bytes.split_first_chunk_mut::<HEADER_BYTES>() else {
        return;
    };
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let fields: [&[u8]; 6] = [
        MAGIC,
        &[format as u8],
        &first.0.to_le_bytes(),
        &commits.to_le_bytes(),
        previous,
        &length.to_le_bytes(),
    ];
    for (place, byte) in header.iter_mut().zip(fields.into_iter().flatten()) {
        *place = *byte;
    }
    let checksum = crc32fast::hash(bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
}

/// The hash of a whole frame, which the next frame carries.
pub(crate) fn hash(bytes: &[u8]) -> Hash {
    *blake3::hash(bytes).as_bytes()
}

/// Reads the frame that is stored under `key`, and checks its magic, checksum, format, place and length.
pub(crate) fn open(key: Revision, bytes: &[u8]) -> Result<Frame<'_>, Error> {
    let corrupt = |reason: &str| Error::corrupt(key, reason);
    let (body, checksum) = bytes
        .split_last_chunk::<CHECKSUM_BYTES>()
        .ok_or_else(|| corrupt("it is too short"))?;
    let mut rest = body;
    if take::<4>(&mut rest) != Some(*MAGIC) {
        return Err(corrupt("its header is not that of a record"));
    }
    let [number] = take::<1>(&mut rest).ok_or_else(|| corrupt("it is too short"))?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return Err(corrupt("its checksum does not match"));
    }
    is_known(number, FRAME_FORMAT, Some(key))?;
    let format = Format::of(number).ok_or_else(|| corrupt("it has no format"))?;
    let header = (|| {
        let first = Revision(u64::from_le_bytes(take(&mut rest)?));
        let commits = u32::from_le_bytes(take(&mut rest)?);
        let previous = take::<32>(&mut rest)?;
        let length = u32::from_le_bytes(take(&mut rest)?);
        Some((first, commits, previous, length))
    })();
    let (first, commits, previous, length) = header.ok_or_else(|| corrupt("it is too short"))?;
    if first != key || usize::try_from(length) != Ok(rest.len()) {
        return Err(corrupt("its revision or length does not match"));
    }
    Ok(Frame {
        format,
        commits,
        end: Revision(first.0.saturating_add(u64::from(commits))),
        previous,
        payload: rest,
    })
}

/// The first revision of a frame, as its header states it.
pub(crate) fn first(bytes: &[u8]) -> Option<Revision> {
    let first = bytes.get(FIRST_AT..)?.first_chunk::<8>()?;
    Some(Revision(u64::from_le_bytes(*first)))
}

/// The first revision of the frame after this one, as far as the header can be trusted; always after
/// `first`.
pub(crate) fn end(first: Revision, bytes: &[u8]) -> Option<Revision> {
    let commits = bytes.get(COMMITS_AT..)?.first_chunk::<4>()?;
    let commits = u64::from(u32::from_le_bytes(*commits)).max(1);
    first.0.checked_add(commits).map(Revision)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(first: u64, commits: u32, previous: Hash, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        begin(&mut bytes);
        bytes.extend_from_slice(payload);
        let format = Format::Commits;
        seal(&mut bytes, format, Revision(first), commits, &previous);
        bytes
    }

    #[test]
    fn a_frame_reads_back_and_every_flipped_bit_is_noticed() {
        let bytes = sealed(7, 2, [9; 32], b"payload");
        let frame = open(Revision(7), &bytes).expect("it reads back");
        assert_eq!((frame.commits, frame.payload), (2, &b"payload"[..]));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(Revision(7), &damaged).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(
                open(Revision(7), &bytes[..length]).is_err(),
                "cut at {length}"
            );
        }
        assert!(open(Revision(8), &bytes).is_err());
    }

    /// A frame without commits, whose format has this number.
    fn numbered(format: u8) -> Vec<u8> {
        let mut bytes = sealed(1, 0, [0; 32], b"");
        bytes[4] = format;
        let body = bytes.len() - 4;
        let checksum = crc32fast::hash(&bytes[..body]).to_le_bytes();
        bytes[body..].copy_from_slice(&checksum);
        bytes
    }

    #[test]
    fn a_format_is_what_it_is_written_as_and_no_format_is_damage() {
        for number in 1..=FRAME_FORMAT {
            let bytes = numbered(number);
            let frame = open(Revision(1), &bytes).expect("known");
            assert_eq!(frame.format as u8, number);
        }
        let bytes = numbered(0);
        let error = open(Revision(1), &bytes).expect_err("refused");
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        assert_eq!(payload(&bytes).0, None);
    }

    #[test]
    fn a_newer_format_is_named() {
        let error = open(Revision(1), &numbered(FRAME_FORMAT + 1)).expect_err("refused");
        let revision = Some(Revision(1));
        assert!(
            matches!(error, Error::NewerFormat { found: 5, known: 4, revision: at } if at == revision),
            "{error}"
        );
    }
}
