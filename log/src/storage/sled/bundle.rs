//! Bundles: several small frames in one value of sled. Otherwise each frame that was synced alone would
//! take twice its bytes. See `docs/decisions/0029-bundles.md`.
//!
//! ```text
//! magic 4 | frames 4 | (first revision 8 | length 4) of each | the frames
//! ```
//! Integers are little-endian. The frames are one LZ4 block if that makes them shorter. A bundle has no
//! checksum of its own: sled has one of the value, and each frame has one too.

use hindsight_core::Revision;
use lz4_flex::block;
use std::borrow::Cow;
use std::ops::Range;

/// The largest bundle, before compression; a longer frame has a value of its own.
pub(super) const BYTES_MAX: usize = 16 << 10;
const MAGIC: &[u8; 4] = b"HSLB";
const HEADER_BYTES: usize = 4 + 4;
const ENTRY_BYTES: usize = 8 + 4;

/// The first revision of a frame in a bundle, and its range among the frames.
pub(super) type Entry = (Revision, Range<usize>);

/// The index of a bundle.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BundleIndex {
    /// At least one, in ascending order.
    pub(super) entries: Vec<Entry>,
    /// Where the frames begin in the value.
    begin: usize,
    /// The length of all frames together, uncompressed.
    bytes: usize,
}

/// Divides frames, which are in the order of their revisions, into the groups that are stored in one
/// value each.
pub(super) fn groups<F: AsRef<[u8]>>(
    mut frames: &[(Revision, F)],
) -> impl Iterator<Item = &[(Revision, F)]> {
    std::iter::from_fn(move || {
        let mut bytes = HEADER_BYTES;
        let fit = frames.iter().take_while(|(_, frame)| {
            bytes += ENTRY_BYTES + frame.as_ref().len();
            bytes <= BYTES_MAX
        });
        let count = fit.count().max(1);
        let (group, rest) = frames.split_at_checked(count)?;
        frames = rest;
        Some(group)
    })
}

/// The value that stores these frames: a bundle, or the frame itself if there is only one.
pub(super) fn seal<F: AsRef<[u8]>>(frames: &[(Revision, F)]) -> Vec<u8> {
    if let [(_, alone)] = frames {
        return alone.as_ref().to_vec();
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&short(frames.len()).to_le_bytes());
    let mut whole = Vec::with_capacity(BYTES_MAX);
    for (first, frame) in frames {
        bytes.extend_from_slice(&first.0.to_le_bytes());
        bytes.extend_from_slice(&short(frame.as_ref().len()).to_le_bytes());
        whole.extend_from_slice(frame.as_ref());
    }
    // The frames share names and times; repetitions within each were compressed when it was made.
    let packed = block::compress(&whole);
    let pays = packed.len() + whole.len() / 8 <= whole.len();
    bytes.extend_from_slice(if pays { &packed } else { &whole });
    bytes
}

/// The index of the bundle under this key, which is the first revision of its first frame. `None` if the
/// value is not a bundle, or is damaged.
pub(super) fn open(key: Revision, value: &[u8]) -> Option<BundleIndex> {
    let rest = value.strip_prefix(MAGIC)?;
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
    let heads = rest.get(..count.checked_mul(ENTRY_BYTES)?)?;
    let mut entries: Vec<Entry> = Vec::with_capacity(count);
    let mut bytes = 0_usize;
    for head in heads.chunks_exact(ENTRY_BYTES) {
        let (first, length) = head.split_first_chunk::<8>()?;
        let length = u32::from_le_bytes(*length.first_chunk::<4>()?);
        let first = Revision(u64::from_le_bytes(*first));
        let end = bytes.checked_add(usize::try_from(length).ok()?)?;
        if entries.last().is_some_and(|(before, _)| *before >= first) {
            return None;
        }
        entries.push((first, bytes..end));
        bytes = end;
    }
    let begin = HEADER_BYTES + heads.len();
    let is_sound = entries.first()?.0 == key && bytes <= BYTES_MAX && value.len() <= begin + bytes;
    is_sound.then_some(BundleIndex {
        entries,
        begin,
        bytes,
    })
}

impl BundleIndex {
    /// The frames in the value, one behind the other; empty if they are damaged.
    pub(super) fn frames<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        let stored = value.get(self.begin..).unwrap_or_default();
        if stored.len() == self.bytes {
            return Cow::Borrowed(stored);
        }
        let mut whole = vec![0; self.bytes];
        let read = block::decompress_into(stored, &mut whole);
        if read.is_ok_and(|written| written == self.bytes) {
            return Cow::Owned(whole);
        }
        Cow::Borrowed(&[])
    }
}

/// A bundle whose frames were unpacked.
#[derive(Debug)]
pub(super) struct Unpacked {
    entries: Vec<Entry>,
    frames: Vec<u8>,
}

impl Unpacked {
    /// The bundle under this key; `None` if the value is not one.
    pub(super) fn of(key: Revision, value: &[u8]) -> Option<Self> {
        let contents = open(key, value)?;
        Some(Self {
            frames: contents.frames(value).into_owned(),
            entries: contents.entries,
        })
    }

    /// The frame that begins at this revision; empty if there is none, or if the bundle is damaged.
    pub(super) fn frame(&self, first: Revision) -> &[u8] {
        let entry = self.entries.iter().find(|(one, _)| *one == first);
        let at = entry.and_then(|(_, at)| self.frames.get(at.clone()));
        at.unwrap_or_default()
    }
}

/// No length in a bundle reaches the limit of `u32`.
fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first revision of the first frame.
    const KEY: Revision = Revision(10);

    fn frames(lengths: &[usize]) -> Vec<(Revision, Vec<u8>)> {
        let firsts = (1..).map(|one| Revision(10 * one));
        let frames = lengths.iter().map(|length| vec![7; *length]);
        firsts.zip(frames).collect()
    }

    fn read(key: Revision, value: &[u8]) -> Option<Vec<(Revision, Vec<u8>)>> {
        let contents = open(key, value)?;
        let whole = contents.frames(value);
        let frames = contents.entries.iter();
        frames
            .map(|(first, at)| Some((*first, whole.get(at.clone())?.to_vec())))
            .collect()
    }

    /// Bytes that cannot be compressed.
    fn noise(length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        blake3::Hasher::new().finalize_xof().fill(&mut bytes);
        bytes
    }

    #[test]
    fn frames_read_back_and_what_they_share_is_stored_once() {
        let alike = frames(&[9, 0, 300, 1]);
        assert!(seal(&alike).len() < 100);
        let other = vec![(KEY, noise(300)), (Revision(11), vec![7; 9])];
        assert!(seal(&other).len() > 300);
        for frames in [alike, other] {
            assert_eq!(read(KEY, &seal(&frames)), Some(frames));
        }
    }

    #[test]
    fn a_frame_alone_is_no_bundle() {
        let frames = frames(&[9]);
        let value = seal(&frames);
        assert_eq!((read(KEY, &value), value), (None, frames[0].1.clone()));
    }

    #[test]
    fn they_are_put_together_as_long_as_they_are_small() {
        let half = BYTES_MAX / 2 - 20;
        for (lengths, parts) in [
            (&[][..], &[][..]),
            (&[9], &[1]),
            (&[half, half, half], &[2, 1]),
            (&[9, half, half], &[2, 1]),
            (&[9, 3 * BYTES_MAX, 9, 9], &[1, 1, 2]),
            (&[BYTES_MAX, BYTES_MAX], &[1, 1]),
        ] {
            let frames = frames(lengths);
            let found: Vec<_> = groups(&frames).map(<[_]>::len).collect();
            assert_eq!(found, parts, "{lengths:?}");
            for group in groups(&frames).filter(|group| group.len() > 1) {
                let found = read(group[0].0, &seal(group));
                assert_eq!(found.as_deref(), Some(group));
            }
        }
    }

    #[test]
    fn what_is_damaged_is_no_bundle_or_has_other_frames() {
        let index = HEADER_BYTES + 2 * ENTRY_BYTES;
        for second in [60, 0] {
            let frames = vec![(KEY, noise(60)), (Revision(11), noise(second))];
            let value = seal(&frames);
            for bit in 0..value.len() * 8 {
                let mut damaged = value.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                // The last bits of an LZ4 block may have no meaning.
                let is_same = read(KEY, &damaged).as_ref() == Some(&frames);
                assert!(!is_same || bit / 8 > index, "bit {bit}");
            }
            for length in 0..value.len() {
                assert_eq!(read(KEY, &value[..length]), None, "cut at {length}");
            }
            assert_eq!(read(KEY, &[&value[..], &[0; 99]].concat()), None);
            assert_eq!(open(Revision(11), &value), None);
        }
        for (first, second) in [(11, 10), (10, 10)] {
            let frames = [first, second].map(|one| (Revision(one), noise(9)));
            assert_eq!(read(Revision(first), &seal(&frames)), None, "out of order");
        }
        for count in [[0; 4], [255; 4]] {
            assert_eq!(read(KEY, &[&MAGIC[..], &count].concat()), None);
        }
    }
}
