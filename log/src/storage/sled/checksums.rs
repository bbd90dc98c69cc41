//! Checksums of any part of a segment, each in about the same time: bytes that a user stored may look like many long
//! messages, and all of them have to be checked where messages are searched for.

use crc32fast::Hasher;
use std::ops::Range;

/// A part of this length is read whole; of a longer one, less than this at either end.
const BLOCK_BYTES: usize = 4 << 10;

/// The checksums of everything before each block, made when they are first needed.
#[derive(Debug, Default)]
pub(super) struct Checksums {
    before: Vec<u32>,
}

impl Checksums {
    /// The checksum of these bytes of the segment, which is always the same one.
    pub(super) fn of(&mut self, segment: &[u8], part: Range<usize>) -> u32 {
        if part.len() <= BLOCK_BYTES {
            return crc32fast::hash(segment.get(part).unwrap_or_default());
        }
        if self.before.is_empty() {
            self.before = before_blocks(segment);
        }
        let [start, end] = [part.start, part.end].map(|at| self.until(segment, at));
        end ^ shifted(start, part.len())
    }

    /// The checksum of everything before this offset.
    fn until(&self, segment: &[u8], at: usize) -> u32 {
        let block = at / BLOCK_BYTES;
        let before = self.before.get(block).copied().unwrap_or_default();
        let mut sum = Hasher::new_with_initial(before);
        sum.update(segment.get(block * BLOCK_BYTES..at).unwrap_or_default());
        sum.finalize()
    }
}

fn before_blocks(segment: &[u8]) -> Vec<u32> {
    let mut sum = Hasher::new();
    let mut before = vec![sum.clone().finalize()];
    for block in segment.chunks_exact(BLOCK_BYTES) {
        sum.update(block);
        before.push(sum.clone().finalize());
    }
    before
}

/// What the checksum of a text adds to that of the same text with so many bytes behind it. Checksums are linear.
fn shifted(sum: u32, length: usize) -> u32 {
    let mut shifted = Hasher::new_with_initial(sum);
    shifted.combine(&Hasher::new_with_initial_len(0, length as u64));
    shifted.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_checksum_of_its_bytes_alone() {
        let mut seed = 1_u32;
        let mut byte = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_le_bytes()[3]
        };
        let segment: Vec<u8> = (0..5 * BLOCK_BYTES + 7).map(|_| byte()).collect();
        let places = [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1];
        let ends = [
            2 * BLOCK_BYTES,
            3 * BLOCK_BYTES + 5,
            5 * BLOCK_BYTES,
            segment.len(),
        ];
        let mut sums = Checksums::default();
        for start in places {
            for end in places.into_iter().chain(ends).filter(|end| *end >= start) {
                let expected = crc32fast::hash(&segment[start..end]);
                assert_eq!(sums.of(&segment, start..end), expected, "{start}..{end}");
            }
        }
    }
}
