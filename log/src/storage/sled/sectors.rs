//! Reads a file of which the disk does not give back every sector.

use std::io::{Read, Result, Seek, SeekFrom};
use std::ops::Range;

/// No disk sector is larger.
const STEP_BYTES: usize = 4096;

/// Replaces `bytes` by those of this range of the file, with zeros for what cannot be read. An error if
/// that is all of it.
pub(super) fn read(
    file: &mut (impl Read + Seek),
    range: Range<u64>,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    bytes.clear();
    if append(file, range.clone(), bytes).is_ok() {
        return Ok(());
    }
    bytes.clear();
    let (mut failed, mut is_any_read) = (None, false);
    for at in range.clone().step_by(STEP_BYTES) {
        let end = (at + STEP_BYTES as u64).min(range.end);
        let before = bytes.len();
        if let Err(error) = append(file, at..end, bytes) {
            tracing::warn!(%error, at, "the disk does not give back a sector of the event log");
            bytes.truncate(before);
            bytes.extend((at..end).map(|_| 0));
            failed = Some(error);
        } else {
            is_any_read = true;
        }
    }
    match failed {
        Some(error) if !is_any_read => Err(error),
        _ => Ok(()),
    }
}

fn append(file: &mut (impl Read + Seek), range: Range<u64>, bytes: &mut Vec<u8>) -> Result<()> {
    file.seek(SeekFrom::Start(range.start))?;
    file.take(range.end - range.start).read_to_end(bytes)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Error};

    /// A file on a disk with bad sectors, which have these numbers.
    struct Rotten {
        file: Cursor<Vec<u8>>,
        bad: &'static [u64],
    }

    impl Read for Rotten {
        fn read(&mut self, into: &mut [u8]) -> Result<usize> {
            let sector = self.file.position() / STEP_BYTES as u64;
            if self.bad.contains(&sector) {
                return Err(Error::other("a bad sector"));
            }
            let left = (sector + 1) * STEP_BYTES as u64 - self.file.position();
            self.file.by_ref().take(left).read(into)
        }
    }

    impl Seek for Rotten {
        fn seek(&mut self, to: SeekFrom) -> Result<u64> {
            self.file.seek(to)
        }
    }

    #[test]
    fn of_what_the_disk_does_not_give_back_the_rest_is_read() {
        let whole = vec![7; 9 * STEP_BYTES + 5];
        for bad in [&[][..], &[2], &[2, 4, 5], &[9], &[2, 3, 4, 5, 6, 7, 8]] {
            let mut expected = whole[2 * STEP_BYTES..].to_vec();
            for sector in expected.chunks_mut(STEP_BYTES).zip(2..) {
                if bad.contains(&sector.1) {
                    sector.0.fill(0);
                }
            }
            let file = Cursor::new(whole.clone());
            let mut bytes = b"before".to_vec();
            let range = 2 * STEP_BYTES as u64..whole.len() as u64;
            read(&mut Rotten { file, bad }, range, &mut bytes).expect("some of it is read");
            assert!(bytes == expected, "{bad:?}");
        }
    }

    #[test]
    fn what_the_disk_does_not_give_back_at_all_is_told() {
        let file = Cursor::new(vec![7; 3 * STEP_BYTES]);
        let bad = &[1, 2];
        let range = STEP_BYTES as u64..3 * STEP_BYTES as u64;
        let read = read(&mut Rotten { file, bad }, range, &mut Vec::new());
        assert_eq!(
            read.expect_err("nothing is read").to_string(),
            "a bad sector"
        );
    }
}
