//! What is read must be a file. A pipe holds up whoever opens it, with the lock of the directory held; a
//! device never ends.

use crate::Error;
use std::io::ErrorKind;
use std::path::Path;

/// Refuses what is there and is no regular file, or is longer than it can be; nothing is opened for that.
pub(crate) fn check(path: &Path, longest: u64) -> Result<(), Error> {
    match path.metadata() {
        Ok(found) if found.is_file() && found.len() <= longest => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(Error::NotAFile(path.to_owned())),
        Err(error) => Err(Error::io(format!("looking at {}", path.display()))(error)),
    }
}
