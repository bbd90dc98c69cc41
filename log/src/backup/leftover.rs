//! Tells what a killed backup has left from a file of somebody else.

use super::{BACKUP_MAGIC, Backup, file};
use std::fs::File;
use std::io::{Read, Result};

impl Backup {
    /// Whether a file, which was just opened, may be what a backup that was killed has left, and is of no use: it is
    /// empty, or begins as one and does not end as one.
    pub fn is_leftover(file: &File) -> Result<bool> {
        Ok(Self::is_begun(file)? && !file::has_end(file)?)
    }

    /// Whether a file, which was just opened, may be what a backup that was killed has left, even if it was whole by
    /// then: it is empty, or begins as one.
    pub fn is_begun(file: &File) -> Result<bool> {
        let mut begin = Vec::new();
        let mut first = file.take(BACKUP_MAGIC.len() as u64);
        first.read_to_end(&mut begin)?;
        Ok(begin.is_empty() || begin == BACKUP_MAGIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryStorage, Reader};
    use hindsight_core::Time;
    use std::io::{Seek, Write};
    use std::sync::Arc;

    /// The whole backup of an empty log.
    fn whole() -> Vec<u8> {
        let reader = Reader::new(Arc::new(MemoryStorage::default()));
        let mut bytes = Vec::new();
        let made = reader.backup(Time(0), &mut bytes, |_, _| {});
        made.expect("made");
        bytes
    }

    #[test]
    fn what_does_not_begin_as_a_backup_is_of_somebody_else_and_what_ends_as_one_is_whole() {
        let whole = whole();
        let (_, short) = whole.split_last().expect("bytes");
        let mut damaged = whole.clone();
        *damaged.last_mut().expect("bytes") ^= 1;
        let longer = [&whole[..], b"!"].concat();
        for (bytes, is_begun, is_leftover) in [
            (&b""[..], true, true),
            (&BACKUP_MAGIC, true, true),
            (b"HSBK and more", true, true),
            (short, true, true),
            (&damaged, true, true),
            (&longer, true, true),
            (&whole, true, false),
            (b"HSB", false, false),
            (b"a letter", false, false),
            (&[0; 512], false, false),
        ] {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(bytes).expect("written");
            for (told, expected) in [
                (Backup::is_begun as fn(&File) -> Result<bool>, is_begun),
                (Backup::is_leftover, is_leftover),
            ] {
                file.rewind().expect("at its start");
                assert_eq!(told(&file).expect("read"), expected, "{bytes:?}");
            }
        }
    }
}
