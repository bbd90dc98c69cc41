//! Checks that a file is a regular file before it is opened. Opening a pipe would block while the
//! directory is locked, and reading a device would never end.

use crate::Error;
use std::io::ErrorKind;
use std::path::Path;

/// Whether there is anything at a path. If the system cannot examine it, that is an error rather than a no.
pub(crate) fn is_there(path: &Path) -> Result<bool, Error> {
    path.try_exists().map_err(examining(path))
}

fn examining(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    Error::io(format!("examining {}", path.display()))
}

/// Refuses a path at which there is something other than a regular file, or one longer than `longest`
/// bytes. Nothing is opened for that.
pub(crate) fn check(path: &Path, longest: u64) -> Result<(), Error> {
    match path.metadata() {
        Ok(found) if !found.is_file() => Err(Error::NotAFile(path.to_owned())),
        Ok(found) if found.len() <= longest => Ok(()),
        Ok(_) => Err(Error::TooLong {
            path: path.to_owned(),
            longest,
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(examining(path)(error)),
    }
}
