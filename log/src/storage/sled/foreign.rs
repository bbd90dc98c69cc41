//! Whether a directory is somebody else's: sled would make its own files among these, or write over one
//! that is called as its own.

use super::{SNAPSHOT_PREFIX, entries};
use crate::Error;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// What sled puts into its directory; snapshots have numbers behind.
const OWN_FILES: &[&str] = &["conf", "db", "blobs"];
/// Of a segment: a checksum, then what it is of.
const HEADER_BYTES: usize = 20;
const CHECKSUM_BYTES: usize = 4;

pub(super) fn refuse_foreign(directory: &Path) -> Result<(), Error> {
    let is_own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        OWN_FILES.contains(&&*name) || name.starts_with(SNAPSHOT_PREFIX)
    };
    // sled writes its configuration first; what a power cut took of that leaves its database.
    let is_whole = directory.join("conf").exists();
    if entries(directory)?.iter().all(is_own) && (is_whole || is_database(&directory.join("db"))?) {
        return Ok(());
    }
    Err(Error::Foreign(directory.to_owned()))
}

/// Whether it begins as one of sled's does, or with nothing.
fn is_database(path: &Path) -> Result<bool, Error> {
    let mut head = Vec::new();
    let read = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        opened => opened.and_then(|file| file.take(HEADER_BYTES as u64).read_to_end(&mut head)),
    };
    read.map_err(Error::io("reading the event log"))?;
    let is_header = |head: &[u8]| {
        let (checksum, rest) = head.split_first_chunk::<CHECKSUM_BYTES>()?;
        Some(!u32::from_le_bytes(*checksum) == crc32fast::hash(rest))
    };
    let is_blank = head.iter().all(|byte| *byte == 0);
    Ok(is_blank || is_header(&head).unwrap_or_default())
}
