//! The settings of sled, which it writes once, in two calls, and never syncs. They are always the same
//! here, so a file that a power cut left incomplete, or that has rotted, can be written again.

use super::{SEGMENT_BYTES, side};
use crate::layout::CONFIGURATION;
use crate::{Error, regular};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Our settings are shorter.
const LENGTH_MAX: u64 = 1 << 10;

/// Removes settings that are incomplete, and sets damaged ones aside, so that sled writes them again. Sound
/// ones, which may not be ours, are left to sled.
pub(super) fn drop_unusable(directory: &Path) -> Result<(), Error> {
    let path = directory.join(CONFIGURATION);
    let Some(found) = read(&path)? else {
        return Ok(());
    };
    if is_unfinished(&found) {
        let removing = format!("removing the unfinished settings {}", path.display());
        fs::remove_file(&path).map_err(Error::io(removing))?;
    } else if !is_sound(&found) {
        side::set_aside(directory, &path)?;
    }
    Ok(())
}

/// The file of settings that are sound and not ours, if there is one: sled has made it for another program.
pub(super) fn of_another(directory: &Path) -> Result<Option<PathBuf>, Error> {
    let path = directory.join(CONFIGURATION);
    let found = read(&path)?;
    let found = found.filter(|found| is_sound(found) && *found != whole());
    Ok(found.map(|_| path))
}

/// The beginning of the file, which is longer than our settings; `None` if there is no file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let Some(file) = regular::open_if_there(path, File::options().read(true))? else {
        return Ok(None);
    };
    let mut found = Vec::new();
    let read = file.take(LENGTH_MAX).read_to_end(&mut found);
    let what = format!("the settings of the storage engine {}", path.display());
    read.map_err(Error::reading(what))?;
    Ok(Some(found))
}

/// Whether the checksum at the end is that of the text.
fn is_sound(found: &[u8]) -> bool {
    let parts = found.split_last_chunk::<4>();
    parts.is_some_and(|(text, sum)| crc32fast::hash(text) == u32::from_le_bytes(*sum))
}

/// Whether these are our settings with a part missing that never reached the disk.
fn is_unfinished(found: &[u8]) -> bool {
    let whole = whole();
    let is_left = |(byte, written): (&u8, &u8)| *byte == *written || *byte == 0;
    found.len() <= whole.len() && found != whole && found.iter().zip(&whole).all(is_left)
}

fn whole() -> Vec<u8> {
    let text = format!("segment_size: {SEGMENT_BYTES}\nuse_compression: false\nversion: 0.34\n");
    let checksum = crc32fast::hash(text.as_bytes());
    [text.as_bytes(), &checksum.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_engine_writes_is_whole_and_no_part_of_it_is() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let written = || fs::read(directory.path().join("conf")).expect("settings");
        let open = || super::super::opening::open_database(directory.path()).expect("it is free");
        drop(open().expect("opened"));
        let whole = written();
        assert_eq!(whole, super::whole());
        for length in 0..whole.len() {
            let mut half = whole[..length].to_vec();
            half.resize(whole.len(), 0);
            let rest = [&vec![0; length][..], &whole[length..]].concat();
            assert!(is_unfinished(&whole[..length]), "{length} bytes");
            assert!(is_unfinished(&half), "{length} bytes and nothing");
            assert_eq!(
                is_unfinished(&rest),
                length > 0,
                "nothing, and what is behind {length}"
            );
        }
        assert!(!is_unfinished(&whole));
        assert!(!is_unfinished(b"segment_size: 512\n"));
    }

    #[test]
    fn settings_that_have_rotted_are_set_aside_and_written_again() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = temporary.path().join("events");
        let (settings, aside) = (
            directory.join("conf"),
            temporary.path().join("conf.damaged"),
        );
        fs::create_dir(&directory).expect("made");
        for byte in 0..whole().len() {
            let mut rotten = whole();
            rotten[byte] ^= 1;
            fs::write(&settings, &rotten).expect("written");
            drop_unusable(&directory).expect("set aside");
            assert_eq!(fs::read(&aside).expect("set aside"), rotten);
            assert!(!settings.exists(), "byte {byte}");
        }
        let opened = super::super::opening::open_database(&directory).expect("it is free");
        assert!(opened.is_ok_and(|_| fs::read(&settings).is_ok_and(|found| found == whole())));
    }

    #[test]
    fn settings_that_cannot_be_read_are_named() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let settings = temporary.path().join("conf");
        fs::create_dir(&settings).expect("made");
        let told = drop_unusable(temporary.path()).expect_err("it is no file");
        assert!(
            matches!(&told, Error::NotAFile(path) if *path == settings),
            "{told}"
        );
    }

    #[test]
    fn sound_settings_that_are_not_ours_stay() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let settings = directory.path().join("conf");
        let text = b"segment_size: 512\nuse_compression: false\nversion: 0.34\n";
        let theirs = [&text[..], &crc32fast::hash(text).to_le_bytes()].concat();
        fs::write(&settings, &theirs).expect("written");
        drop_unusable(directory.path()).expect("looked at");
        assert_eq!(fs::read(&settings).expect("it is there"), theirs);
        let opened = super::super::opening::open_database(directory.path()).expect("it is free");
        assert!(opened.is_err());
    }

    #[test]
    fn the_engine_opens_where_its_settings_were_left_unfinished() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for length in [0, 20, 59] {
            fs::write(directory.path().join("conf"), &whole()[..length]).expect("written");
            drop_unusable(directory.path()).expect("removed");
            let opened =
                super::super::opening::open_database(directory.path()).expect("it is free");
            assert!(opened.is_ok(), "{length} bytes");
        }
    }
}
