//! Messages among bytes that only look like some.

use super::*;

const SEGMENT: u8 = 7;
const PAGE: u8 = 3;

/// A header of a message that would be so long, without a checksum.
fn header(length: usize) -> Vec<u8> {
    let [low, middle, high, ..] = length.to_le_bytes();
    // A number of three bytes.
    vec![LINK, 250, low, middle, high, SEGMENT, PAGE]
}

/// A message that sets a key to this value, which is shorter than 241 bytes.
fn link(value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("short");
    let body = [&[SETS, 1, b'k', length], value].concat();
    let header = header(body.len());
    let checksum = !crc32fast::hash(&[&*body, &*header].concat());
    [&checksum.to_le_bytes(), &*header, &*body].concat()
}

/// What anybody may store: it would take minutes to read all that it claims to be.
#[test]
fn what_looks_like_many_long_messages_hides_no_message_behind_it() {
    let mut bytes = vec![0; HEADER_BYTES];
    for _ in 0..20_000 {
        bytes.extend([&[0; CHECKSUM_BYTES], &*header(SEGMENT_BYTES / 2)].concat());
    }
    bytes.extend(link(b"value"));
    let behind = bytes.len();
    bytes.resize(SEGMENT_BYTES, 0);
    let segment = Segment::new(&bytes);
    assert!(segment.has_messages_after(HEADER_BYTES));
    assert!(!segment.has_messages_after(behind));
    let position = u64::from(SEGMENT) * SEGMENT_BYTES as u64;
    assert_eq!(segment.newest_position(), Some(position));
    let found: Vec<_> = segment.contents(0).collect();
    let [MessageContents::Link { value, .. }] = &*found else {
        panic!("{found:?}");
    };
    assert_eq!(value.within(&bytes, 0), b"value");
}

#[test]
fn a_long_message_is_read_among_others() {
    let mut bytes = vec![0; HEADER_BYTES];
    bytes.extend(link(b"one"));
    let body = vec![9; 50_000];
    let header = header(body.len());
    let checksum = !crc32fast::hash(&[&*body, &*header].concat());
    bytes.extend([&checksum.to_le_bytes(), &*header, &*body].concat());
    bytes.extend(link(b"two"));
    let end = bytes.len();
    bytes.resize(SEGMENT_BYTES, 0);
    let segment = Segment::new(&bytes);
    assert_eq!(segment.tear(), Some(end));
    assert_eq!(segment.messages(HEADER_BYTES).count(), 3);
}
