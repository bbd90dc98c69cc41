//! Queries the operating system about space: allocated blocks, free space, and the limit on the length of a
//! file.

use std::fs::File;

pub(super) use system::*;

/// Allocates the blocks that a file lacks up to its length, if that is possible: a copy may be sparse where blocks
/// were blank.
pub(super) fn allocate_whole(file: &File) {
    let length = file.metadata().map_or(0, |found| found.len());
    allocate(file, 0, length).ok();
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::fs::{FallocateFlags, fallocate, fstatvfs, statvfs, syncfs};
    use rustix::io::retry_on_intr;
    use rustix::process::{Resource, getrlimit};
    use std::fs::{File, Metadata};
    use std::io::Result;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// The block count includes metadata blocks, which take at most this.
    const MAP_BYTES: u64 = 1 << 16;

    /// How far a file has blocks, if it lacks none before that.
    pub(in crate::storage) fn allocated(file: &Metadata) -> u64 {
        bytes(file).saturating_sub(MAP_BYTES)
    }

    /// Bytes of the allocated blocks, whatever the length of the file.
    pub(in crate::storage) fn held(file: &File) -> Result<u64> {
        Ok(bytes(&file.metadata()?))
    }

    fn bytes(file: &Metadata) -> u64 {
        file.blocks().saturating_mul(512)
    }

    pub(in crate::storage) fn available(file: &File) -> Result<u64> {
        let found = fstatvfs(file)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    pub(in crate::storage) fn available_at(path: &Path) -> Result<u64> {
        let found = statvfs(path)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Whether the file system has no free inode. Some file systems do not count them (zero).
    pub(in crate::storage) fn has_no_files_left(path: &Path) -> bool {
        statvfs(path).is_ok_and(|found| found.f_files > 0 && found.f_favail == 0)
    }

    /// The limit of this process on the length of a file.
    pub(in crate::storage) fn longest_file() -> u64 {
        getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
    }

    /// Syncs all of the file system that a file is on.
    pub(in crate::storage) fn sync_file_system(file: &File) -> Result<()> {
        Ok(syncfs(file)?)
    }

    /// Allocates blocks without making the file longer.
    pub(in crate::storage) fn allocate(file: &File, from: u64, until: u64) -> Result<()> {
        taken(file, FallocateFlags::KEEP_SIZE, from, until)
    }

    fn taken(file: &File, flags: FallocateFlags, from: u64, until: u64) -> Result<()> {
        if until <= from {
            return Ok(());
        }
        Ok(retry_on_intr(|| {
            fallocate(file, flags, from, until - from)
        })?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::{File, Metadata};
    use std::io::{ErrorKind, Result};
    use std::path::Path;

    pub(in crate::storage) fn allocated(_: &Metadata) -> u64 {
        0
    }

    pub(in crate::storage) fn held(_: &File) -> Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::storage) fn available(_: &File) -> Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::storage) fn available_at(_: &Path) -> Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::storage) fn has_no_files_left(_: &Path) -> bool {
        false
    }

    pub(in crate::storage) fn longest_file() -> u64 {
        u64::MAX
    }

    pub(in crate::storage) fn sync_file_system(_: &File) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::storage) fn allocate(_: &File, _: u64, _: u64) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}
