//! The page cache, which may show what the disk does not have: after a failed sync the system counts pages as written
//! that never were, and reports that once.

use std::fs::File;
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Syncs a file and drops it from the page cache, so that what is read of it next is what the disk has. On a file
/// system that is only read nothing can be synced, and that is no error. Where the cache cannot be dropped, a warning
/// says so, and it is assumed that the disk has what the cache shows.
pub fn read_from_disk(file: &File, path: &Path) -> Result<()> {
    match file.sync_all() {
        Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => {}
        synced => synced?,
    }
    if let Err(error) = forget(file) {
        tracing::warn!(
            %error,
            file = %path.display(),
            "cannot drop this file from the page cache; assuming that the disk has what the cache shows"
        );
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn forget(file: &File) -> Result<()> {
    use rustix::fs::{Advice, fadvise};
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &File) -> Result<()> {
    Ok(())
}
