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
use hindsight_core::Revision;

/// The newest format that this release reads and writes.
pub(crate) const FRAME_FORMAT: u8 = 4;
/// The format of frames that hold commits and nothing else.
pub(crate) const COMMITS: u8 = 1;
/// The format of frames that hold what replaces commits (`crate::codec::Placeholder`).
pub(crate) const PLACEHOLDER: u8 = 2;
/// The format of frames that hold commits, compressed. Still read, but no longer written.
pub(crate) const PACKED: u8 = 3;
/// The format of frames that hold commits, compressed with a dictionary.
pub(crate) const PRESET: u8 = 4;
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
    pub(crate) format: u8,
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

/// The format of a frame that may be damaged, and everything behind its header: the payload and its
/// checksum.
pub(crate) fn payload(bytes: &[u8]) -> (u8, &[u8]) {
    let format = bytes.get(MAGIC.len()).copied().unwrap_or_default();
    (format, bytes.get(HEADER_BYTES..).unwrap_or_default())
}

/// Completes a begun frame: writes its header, and the checksum behind the payload.
pub(crate) fn seal(
    bytes: &mut Vec<u8>,
    format: u8,
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
        &[format],
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
    let [format] = take::<1>(&mut rest).ok_or_else(|| corrupt("it is too short"))?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return Err(corrupt("its checksum does not match"));
    }
    if format > FRAME_FORMAT {
        return Err(Error::NewerFormat {
            found: format,
            known: FRAME_FORMAT,
            revision: Some(key),
        });
    }
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
        seal(&mut bytes, COMMITS, Revision(first), commits, &previous);
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

    #[test]
    fn a_newer_format_is_named() {
        let mut bytes = sealed(1, 0, [0; 32], b"");
        bytes[4] = FRAME_FORMAT + 1;
        let body = bytes.len() - 4;
        let checksum = crc32fast::hash(&bytes[..body]).to_le_bytes();
        bytes[body..].copy_from_slice(&checksum);
        let error = open(Revision(1), &bytes).expect_err("refused");
        let revision = Some(Revision(1));
        assert!(
            matches!(error, Error::NewerFormat { found: 5, known: 4, revision: at } if at == revision),
            "{error}"
        );
    }
}
