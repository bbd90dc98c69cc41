//! Tells what a killed backup has left from what must not be lost.

use super::{BACKUP_MAGIC, Backup, file};
use std::fs::File;
use std::io::{Read, Result, Seek};

impl Backup {
    /// Whether a file is what a backup that never ended has left: it is empty, or it begins like a backup and has no
    /// end. A whole one that did not get its name may be the only one.
    pub fn is_leftover(mut file: &File) -> Result<bool> {
        let mut begin = Vec::new();
        file.rewind()?;
        file.take(BACKUP_MAGIC.len() as u64)
            .read_to_end(&mut begin)?;
        Ok(begin.is_empty() || begin == BACKUP_MAGIC && !file::has_end(file)?)
    }
}

#[cfg(test)]
mod tests {
    use super::file::{Entry, FORMAT, Output};
    use super::*;
    use crate::Tail;
    use hindsight_core::{Revision, Time};
    use std::io::Write;

    fn whole(format: u8) -> Vec<u8> {
        let (revision, time) = (Revision(3), Time(0));
        let tail = Tail {
            revision,
            hash: [1; 32],
        };
        let content = (format > 1).then_some([2; 32]);
        let entries = [
            Entry::Head { revision, time },
            Entry::Frame(vec![7; 100]),
            Entry::End {
                tail,
                frames: 1,
                content,
            },
        ];
        let mut bytes = Vec::new();
        let mut output = Output::begin(&mut bytes, format).expect("begun");
        for entry in &entries {
            output.entry(entry).expect("written");
        }
        output.finish().expect("finished");
        bytes
    }

    fn is_leftover(bytes: &[u8]) -> bool {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("written");
        Backup::is_leftover(&file).expect("read")
    }

    #[test]
    fn only_a_backup_without_an_end_is_a_leftover() {
        for format in 1..=FORMAT {
            let mut whole = whole(format);
            assert!(!is_leftover(&whole), "format {format}");
            for length in 1..whole.len() {
                let expected = length >= BACKUP_MAGIC.len();
                assert_eq!(is_leftover(&whole[..length]), expected, "{length}");
            }
            whole
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|byte| *byte ^= 1);
            assert!(is_leftover(&whole), "format {format}");
        }
        assert!(is_leftover(b""));
        for of_others in [&b"a letter"[..], &[0; 512]] {
            assert!(!is_leftover(of_others));
        }
    }
}
