//! Tells what a killed backup has left from a file of somebody else.

use super::{BACKUP_MAGIC, Backup};
use std::fs::File;
use std::io::{Read, Result};

impl Backup {
    /// Whether a file, which was just opened, may be what a backup that was killed has left: it is empty, or begins as
    /// one.
    pub fn is_leftover(file: &File) -> Result<bool> {
        let mut begin = Vec::new();
        let mut first = file.take(BACKUP_MAGIC.len() as u64);
        first.read_to_end(&mut begin)?;
        Ok(begin.is_empty() || begin == BACKUP_MAGIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    #[test]
    fn what_does_not_begin_as_a_backup_is_of_somebody_else() {
        for (bytes, expected) in [
            (&b""[..], true),
            (&BACKUP_MAGIC, true),
            (b"HSBK and more", true),
            (b"HSB", false),
            (b"a letter", false),
            (&[0; 512], false),
        ] {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(bytes).expect("written");
            file.rewind().expect("at its start");
            assert_eq!(Backup::is_leftover(&file).expect("read"), expected);
        }
    }
}
