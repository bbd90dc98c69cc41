//! The unit that is stored: some commits, chained to the frame before by its hash. Format 1 holds
//! commits; format 2 holds what stands for them, or between them (`crate::codec::Stands`); format 3 is
//! format 1 with its payload compressed: its length before (4), then an LZ4 block.
//!
//! ```text
//! magic 4 | format 1 | first revision 8 | commits 4 | previous hash 32 | length 4 | payload | crc32 4
//! ```
//! Integers are little-endian. The checksum covers everything before it; the hash of a frame is
//! BLAKE3 over all its bytes.

use crate::Error;
use hindsight_core::Revision;
use lz4_flex::block;
use std::cell::Cell;

/// The newest format that this release reads and writes.
pub(crate) const FRAME_FORMAT: u8 = 3;
/// The format of frames that hold commits and nothing else.
pub(crate) const COMMITS: u8 = 1;
/// The format of frames that hold what stands for commits.
pub(crate) const STANDS: u8 = 2;
/// The format of frames that hold commits, compressed.
pub(crate) const PACKED: u8 = 3;
/// Smaller payloads are not worth the time.
const PACKED_BYTES_MIN: usize = 1024;
/// A byte of an LZ4 block stands for no more than this.
const PACKED_RATIO_MAX: usize = 255;
/// What is longer is not compressed, and nothing that was may claim to be longer: a few times the largest
/// object, for the facts of a commit may repeat parts of it.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 16 << 20;
/// Room to unpack in that a thread keeps: most frames fit, and what a large one took is given back.
const ROOM_BYTES_MAX: usize = 256 << 10;
const MAGIC: &[u8; 4] = b"HSLF";
const HEADER_BYTES: usize = 4 + 1 + 8 + 4 + 32 + 4;
/// Magic and format come before the first revision.
const FIRST_AT: usize = 4 + 1;
/// And that before the number of commits.
const COMMITS_AT: usize = 4 + 1 + 8;
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// The hash of a frame; all zero before the first.
pub(crate) type Hash = [u8; 32];

/// A frame that was read and whose own bytes agree.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) format: u8,
    pub(crate) commits: u32,
    pub(crate) previous: Hash,
    pub(crate) payload: &'a [u8],
}

/// Room for the header, to which the payload is appended before the frame is sealed.
pub(crate) fn begin(bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.resize(HEADER_BYTES, 0);
}

/// Compresses the payload of a begun frame of commits, where that pays; which format it is now.
/// `scratch` is overwritten.
pub(crate) fn pack(bytes: &mut Vec<u8>, scratch: &mut Vec<u8>) -> u8 {
    let payload = bytes.get(HEADER_BYTES..).unwrap_or_default();
    if !(PACKED_BYTES_MIN..=PAYLOAD_BYTES_MAX).contains(&payload.len()) {
        return COMMITS;
    }
    scratch.resize(block::get_maximum_output_size(payload.len()), 0);
    let (Ok(packed), Ok(length)) = (
        block::compress_into(payload, scratch),
        u32::try_from(payload.len()),
    ) else {
        return COMMITS;
    };
    if packed + payload.len() / 8 > payload.len() {
        return COMMITS;
    }
    bytes.truncate(HEADER_BYTES);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(scratch.get(..packed).unwrap_or_default());
    PACKED
}

/// A payload compressed, whether or not that pays.
pub(crate) fn packed(payload: &[u8]) -> Vec<u8> {
    block::compress_prepend_size(payload)
}

thread_local! {
    /// New memory would have to be zeroed for every frame, which takes longer than to unpack it.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Reads the payload that was compressed.
pub(crate) fn unpack<T>(
    first: Revision,
    payload: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut room = ROOM.take();
    let unpacked = unpack_into(first, payload, &mut room).and_then(read);
    if room.len() <= ROOM_BYTES_MAX {
        ROOM.set(room);
    }
    unpacked
}

/// The payload that was compressed, at the beginning of `room`.
fn unpack_into<'a>(
    first: Revision,
    payload: &[u8],
    room: &'a mut Vec<u8>,
) -> Result<&'a [u8], Error> {
    let corrupt = |reason: &str| Error::corrupt(first, reason);
    let mut packed = payload;
    let length = take(&mut packed).ok_or_else(|| corrupt("it is too short"))?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    let longest = packed.len().saturating_mul(PACKED_RATIO_MAX);
    if length > longest.min(PAYLOAD_BYTES_MAX) {
        return Err(corrupt("its payload cannot be so long"));
    }
    if room.len() < length {
        *room = vec![0; length];
    }
    let room = room.get_mut(..length).unwrap_or_default();
    match block::decompress_into(packed, room) {
        Ok(written) if written == length => Ok(room),
        Ok(_) => Err(corrupt("its payload has another length")),
        Err(error) => Err(corrupt(&format!("its payload cannot be read: {error}"))),
    }
}

/// How long a payload says that it was before it was compressed, as far as that can be believed.
pub(crate) fn unpacked(payload: &[u8]) -> usize {
    let length = payload
        .first_chunk()
        .map(|length| u32::from_le_bytes(*length));
    let length = usize::try_from(length.unwrap_or_default()).unwrap_or(usize::MAX);
    length.min(PAYLOAD_BYTES_MAX)
}

/// The format and the payload of a frame that may be damaged.
pub(crate) fn payload(bytes: &[u8]) -> (u8, &[u8]) {
    let format = bytes.get(MAGIC.len()).copied().unwrap_or_default();
    (format, bytes.get(HEADER_BYTES..).unwrap_or_default())
}

/// Turns a begun frame into a whole one: writes its header, and the checksum after the payload.
pub(crate) fn seal(
    bytes: &mut Vec<u8>,
    format: u8,
    first: Revision,
    commits: u32,
    previous: &Hash,
) {
    let length = bytes.len().saturating_sub(HEADER_BYTES);
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    header.push(format);
    header.extend_from_slice(&first.0.to_le_bytes());
    header.extend_from_slice(&commits.to_le_bytes());
    header.extend_from_slice(previous);
    header.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    for (place, byte) in bytes.iter_mut().zip(header) {
        *place = byte;
    }
    bytes.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
}

/// The hash that the next frame carries.
pub(crate) fn hash(bytes: &[u8]) -> Hash {
    *blake3::hash(bytes).as_bytes()
}

/// Reads a frame that is stored under `key`; checks everything that it says of itself.
pub(crate) fn open(key: Revision, bytes: &[u8]) -> Result<Frame<'_>, Error> {
    let corrupt = |reason: &str| Error::corrupt(key, reason);
    let (body, checksum) = bytes
        .split_last_chunk::<CHECKSUM_BYTES>()
        .ok_or_else(|| corrupt("it is too short"))?;
    let mut rest = body;
    if take::<4>(&mut rest) != Some(*MAGIC) {
        return Err(corrupt("it does not begin as a record does"));
    }
    let [format] = take::<1>(&mut rest).ok_or_else(|| corrupt("it is too short"))?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return Err(corrupt("its checksum does not agree"));
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
        return Err(corrupt("its place or length does not agree"));
    }
    Ok(Frame {
        format,
        commits,
        previous,
        payload: rest,
    })
}

/// Where a frame says that it begins.
pub(crate) fn first(bytes: &[u8]) -> Option<Revision> {
    let first = bytes.get(FIRST_AT..)?.first_chunk::<8>()?;
    Some(Revision(u64::from_le_bytes(*first)))
}

/// Where the frame after this one begins, as far as its header can be believed; never before it.
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

    fn read_back(payload: &[u8]) -> Result<Vec<u8>, Error> {
        unpack(Revision(1), payload, |payload| Ok(payload.to_vec()))
    }

    #[test]
    fn what_is_unpacked_is_nothing_of_what_was_unpacked_before() {
        let payloads = [9000, 10, 0, 8999, ROOM_BYTES_MAX + 1, 11];
        for (letter, bytes) in (b'a'..).zip(payloads) {
            let payload = vec![letter; bytes];
            assert_eq!(read_back(&packed(&payload)).unwrap(), payload);
            let long = u32::try_from(bytes).unwrap() + 1;
            let longer = [&long.to_le_bytes(), &packed(&payload)[4..]].concat();
            assert!(read_back(&longer).is_err(), "{bytes}");
            let room = ROOM.take();
            assert!(room.len() <= ROOM_BYTES_MAX, "{}", room.len());
            ROOM.set(room);
        }
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
    fn a_payload_is_compressed_where_that_pays_and_reads_back() {
        let repeated = b"an object like the others ".repeat(100);
        let mixed: Vec<u8> = (0..4000_u32)
            .flat_map(|one| blake3::hash(&one.to_le_bytes()).as_bytes()[..1].to_vec())
            .collect();
        for (payload, format) in [
            (&repeated, PACKED),
            (&mixed, COMMITS),
            (&repeated[..900].to_vec(), COMMITS),
        ] {
            let mut bytes = Vec::new();
            begin(&mut bytes);
            bytes.extend_from_slice(payload);
            assert_eq!(pack(&mut bytes, &mut vec![9; 7]), format);
            let packed = &bytes[HEADER_BYTES..];
            if format == PACKED {
                assert!(packed.len() < payload.len() / 4);
                assert_eq!(&read_back(packed).unwrap(), payload);
                for length in 0..packed.len() {
                    assert!(read_back(&packed[..length]).is_err());
                }
                let huge = [&u32::MAX.to_le_bytes(), &packed[4..]].concat();
                assert!(read_back(&huge).is_err());
            } else {
                assert_eq!(packed, &payload[..]);
            }
        }
    }

    #[test]
    fn a_payload_that_would_be_too_long_is_neither_made_nor_read() {
        for (longer, is_read) in [(0, true), (1, false)] {
            let payload = vec![b'v'; PAYLOAD_BYTES_MAX + longer];
            let packed = packed(&payload);
            assert!(packed.len() < payload.len() / 200, "a bomb");
            assert_eq!(read_back(&packed).is_ok(), is_read);
            let mut bytes = vec![0; HEADER_BYTES];
            bytes.extend_from_slice(&payload);
            let format = pack(&mut bytes, &mut Vec::new());
            assert_eq!(format, if is_read { PACKED } else { COMMITS });
        }
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
            matches!(error, Error::NewerFormat { found: 4, known: 3, revision: at } if at == revision),
            "{error}"
        );
    }
}
