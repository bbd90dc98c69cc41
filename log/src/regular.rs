//! Files that should be regular, and short where they are read as a whole: opening a pipe would block, perhaps while a
//! directory is locked, and reading a device would never end.

use crate::Error;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Whether there is anything at a path. If the system cannot examine it, that is an error rather than a no.
pub fn is_there(path: &Path) -> Result<bool, Error> {
    Ok(found(path)?.is_some())
}

/// Whether a path is a link that leads nowhere: what it leads to is not absent, but unknown.
pub fn leads_nowhere(path: &Path) -> Result<bool, Error> {
    let named = if_there(path, path.symlink_metadata())?;
    Ok(named.is_some_and(|named| named.is_symlink()) && !is_there(path)?)
}

/// What there is at a path, as [`is_there`] tells whether there is anything.
pub fn found(path: &Path) -> Result<Option<Metadata>, Error> {
    if_there(path, path.metadata())
}

fn if_there(path: &Path, examined: io::Result<Metadata>) -> Result<Option<Metadata>, Error> {
    match examined {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        examined => examined.map(Some).map_err(examining(path)),
    }
}

fn examining(path: &Path) -> impl FnOnce(io::Error) -> Error {
    Error::io(format!("examining {}", path.display()))
}

/// Refuses a path at which there is something other than a regular file, or one longer than `longest`
/// bytes. Nothing is opened for that.
pub fn check(path: &Path, longest: u64) -> Result<(), Error> {
    match found(path)? {
        Some(found) if !found.is_file() => Err(Error::NotAFile(path.to_owned())),
        Some(found) if found.len() > longest => Err(Error::TooLong {
            path: path.to_owned(),
            longest,
        }),
        Some(_) | None => Ok(()),
    }
}

/// All of a file, if there is one. It is refused as by [`check`].
pub fn read(path: &Path, longest: u64) -> Result<Option<Vec<u8>>, Error> {
    check(path, longest)?;
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read
            .map(Some)
            .map_err(Error::reading(path.display().to_string())),
    }
}

/// Opens a file, if there is one. It is refused as by [`check`], at any length.
pub fn open_if_there(path: &Path, options: &OpenOptions) -> Result<Option<File>, Error> {
    check(path, u64::MAX)?;
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened
            .map(Some)
            .map_err(Error::io(format!("opening {}", path.display()))),
    }
}

/// Opens a file. What is no regular one is refused before.
pub fn open(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    File::open(path)
}

/// The text of a file, which may have this many bytes.
pub fn text(path: &Path, longest: u64) -> io::Result<String> {
    let mut text = String::new();
    let mut bytes = open(path)?.take(longest + 1);
    bytes.read_to_string(&mut text)?;
    if bytes.limit() == 0 {
        let why = format!("it is longer than {longest} bytes");
        return Err(io::Error::other(why));
    }
    Ok(text)
}
