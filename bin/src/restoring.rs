//! What an interrupted restore or verification has left in a data directory. A restore works in a directory beside
//! the place of the log, and moves its parts there when it is complete. See `docs/decisions/0013-backup-and-restore.md`.

use crate::data_dir::DataDir;
use hindsight_log::Error;
use std::path::Path;

/// Whether a restore was interrupted.
pub(crate) fn is_unfinished(directory: &Path) -> bool {
    let data = DataDir(directory);
    data.restoring().exists() && !data.events().exists()
}

/// To be called before the directory is used: refuses it if a restore is half done, and removes what a
/// completed restore or a verification has left behind. The directory must be locked.
pub(crate) fn settle(directory: &Path) -> Result<(), Error> {
    if is_unfinished(directory) {
        return Err(Error::UnfinishedRestore(directory.to_owned()));
    }
    remove(&DataDir(directory).restoring())?;
    remove(&DataDir(directory).verifying())
}

/// Removes whatever is at the path.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(failed("removing", path))
}

/// Says what failed, and at which path.
pub(crate) fn failed(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    Error::io(format!("{what} {}", path.display()))
}
