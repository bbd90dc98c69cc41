//! Reads files that should be regular and short: opening a pipe would block, and a device might have no end.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// Opens a file. What is no regular one is refused before.
pub(crate) fn open(path: &Path) -> Result<File> {
    if !path.metadata()?.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    File::open(path)
}

/// The text of a file, which may have this many bytes.
pub(crate) fn text(path: &Path, longest: u64) -> Result<String> {
    let mut text = String::new();
    let mut bytes = open(path)?.take(longest + 1);
    bytes.read_to_string(&mut text)?;
    if bytes.limit() == 0 {
        let why = format!("it is longer than {longest} bytes");
        return Err(Error::other(why));
    }
    Ok(text)
}
