//! Compresses the payloads of frames: the uncompressed length (4 bytes), then an LZ4 block. See
//! `docs/decisions/0015-compressed-frames.md`.

mod dictionary;

use crate::Error;
use crate::frame::{Format, HEADER_BYTES};
use hindsight_core::Revision;
use lz4_flex::block;
use std::cell::Cell;

/// Smaller payloads are not worth compressing.
const PACKED_BYTES_MIN: usize = 128;
/// The most bytes that one byte of an LZ4 block can expand to.
const PACKED_RATIO_MAX: usize = 255;
/// Longer payloads are not compressed, and no compressed payload may claim to be longer. A few times the
/// largest object, because the events of a commit may repeat parts of it.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 16 << 20;
/// The largest unpacking buffer that a thread keeps: most frames fit, and a larger buffer is freed after
/// use.
const ROOM_BYTES_MAX: usize = 256 << 10;

/// Compresses the payload of a begun frame of commits if that pays, and returns the format of the frame.
/// `scratch` is overwritten.
pub(crate) fn pack(bytes: &mut Vec<u8>, scratch: &mut Vec<u8>) -> Format {
    let payload = bytes.get(HEADER_BYTES..).unwrap_or_default();
    if !(PACKED_BYTES_MIN..=PAYLOAD_BYTES_MAX).contains(&payload.len()) {
        return Format::Commits;
    }
    scratch.resize(block::get_maximum_output_size(payload.len()), 0);
    let (Ok(packed), Ok(length)) = (
        block::compress_into_with_dict(payload, scratch, dictionary::first()),
        u32::try_from(payload.len()),
    ) else {
        return Format::Commits;
    };
    if packed + payload.len() / 8 > payload.len() {
        return Format::Commits;
    }
    bytes.truncate(HEADER_BYTES);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(scratch.get(..packed).unwrap_or_default());
    Format::Preset
}

/// A payload compressed without a dictionary, as in [`Format::Packed`], even if that does not pay.
pub(crate) fn packed(payload: &[u8]) -> Vec<u8> {
    block::compress_prepend_size(payload)
}

thread_local! {
    /// The unpacking buffer. A new one would have to be zeroed for every frame, which takes longer than
    /// unpacking.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Passes the payload of a frame of this format to `read`, uncompressed.
pub(crate) fn unpack<T>(
    first: Revision,
    format: Format,
    payload: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T, Error>,
) -> Result<T, Error> {
    let dictionary = match format {
        Format::Packed => &[],
        Format::Preset => dictionary::first(),
        Format::Commits | Format::Placeholder => return read(payload),
    };
    let mut room = ROOM.take();
    let unpacked = unpack_into(first, payload, dictionary, &mut room).and_then(read);
    if room.len() <= ROOM_BYTES_MAX {
        ROOM.set(room);
    }
    unpacked
}

/// Decompresses a payload into the beginning of `room`.
fn unpack_into<'a>(
    first: Revision,
    payload: &[u8],
    dictionary: &[u8],
    room: &'a mut Vec<u8>,
) -> Result<&'a [u8], Error> {
    let corrupt = |reason: &str| Error::corrupt(first, reason);
    let (length, packed) = payload
        .split_first_chunk()
        .ok_or_else(|| corrupt("it is too short"))?;
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let longest = packed.len().saturating_mul(PACKED_RATIO_MAX);
    if length > longest.min(PAYLOAD_BYTES_MAX) {
        return Err(corrupt("its payload claims an impossible length"));
    }
    if room.len() < length {
        *room = vec![0; length];
    }
    let room = room.get_mut(..length).unwrap_or_default();
    match block::decompress_into_with_dict(packed, room, dictionary) {
        Ok(written) if written == length => Ok(room),
        Ok(_) => Err(corrupt("its payload is not as long as it claims")),
        Err(error) => Err(corrupt(&format!("its payload cannot be read: {error}"))),
    }
}

/// The uncompressed length that a payload claims, limited to what can be true.
pub(crate) fn claimed_length(payload: &[u8]) -> usize {
    let length = payload
        .first_chunk()
        .map(|length| u32::from_le_bytes(*length));
    let length = usize::try_from(length.unwrap_or_default()).unwrap_or(usize::MAX);
    length.min(PAYLOAD_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(format: Format, payload: &[u8]) -> Result<Vec<u8>, Error> {
        unpack(Revision(1), format, payload, |payload| Ok(payload.to_vec()))
    }

    #[test]
    fn what_is_unpacked_is_nothing_of_what_was_unpacked_before() {
        let payloads = [9000, 10, 0, 8999, ROOM_BYTES_MAX + 1, 11];
        for (letter, bytes) in (b'a'..).zip(payloads) {
            let payload = vec![letter; bytes];
            let unpacked = read_back(Format::Packed, &packed(&payload));
            assert_eq!(unpacked.unwrap(), payload);
            let long = u32::try_from(bytes).unwrap() + 1;
            let longer = [&long.to_le_bytes(), &packed(&payload)[4..]].concat();
            assert!(read_back(Format::Packed, &longer).is_err(), "{bytes}");
            let room = ROOM.take();
            assert!(room.len() <= ROOM_BYTES_MAX, "{}", room.len());
            ROOM.set(room);
        }
    }

    fn begun(payload: &[u8]) -> Vec<u8> {
        [&[0; HEADER_BYTES], payload].concat()
    }

    #[test]
    fn a_payload_is_compressed_where_that_pays_and_reads_back() {
        let repeated = b"an object like the others ".repeat(100);
        let mixed: Vec<u8> = (0..4000_u32)
            .flat_map(|one| blake3::hash(&one.to_le_bytes()).as_bytes()[..1].to_vec())
            .collect();
        let usual = br#"{"kind":"ConfigMap","metadata":{"creationTimestamp":"2026-11-23T03:50:23Z","managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"#;
        for (payload, format) in [
            (&repeated[..], Format::Preset),
            (&mixed, Format::Commits),
            (usual, Format::Preset),
            (&usual[..100], Format::Commits),
        ] {
            let mut bytes = begun(payload);
            assert_eq!(pack(&mut bytes, &mut vec![9; 7]), format);
            let packed = &bytes[HEADER_BYTES..];
            assert_eq!(read_back(format, packed).unwrap(), payload);
            if format == Format::Preset {
                assert!(packed.len() < payload.len() / 2, "{}", packed.len());
                for length in 0..packed.len() {
                    assert!(read_back(format, &packed[..length]).is_err());
                }
                let huge = [&u32::MAX.to_le_bytes(), &packed[4..]].concat();
                assert!(read_back(format, &huge).is_err());
            }
        }
    }

    #[test]
    fn a_payload_that_would_be_too_long_is_neither_made_nor_read() {
        for (longer, is_read) in [(0, true), (1, false)] {
            let payload = vec![b'v'; PAYLOAD_BYTES_MAX + longer];
            let packed = packed(&payload);
            assert!(packed.len() < payload.len() / 200, "a bomb");
            assert_eq!(read_back(Format::Packed, &packed).is_ok(), is_read);
            let format = pack(&mut begun(&payload), &mut Vec::new());
            let expected = if is_read {
                Format::Preset
            } else {
                Format::Commits
            };
            assert_eq!(format, expected);
        }
    }
}
