//! File systems that write a copy of what is overwritten. There, blocks that are allocated are no room: each write takes
//! new ones, until the disk is full. btrfs does without the copy for files that are made in a directory marked so.

use std::fs::File;
use std::path::Path;

/// Has what is made in this directory from now on be overwritten in place, where the file system can be told to.
pub(crate) fn overwrite_in_place(directory: &Path) {
    if let Err(error) = system::mark(directory) {
        tracing::warn!(
            %error,
            directory = %directory.display(),
            "the file system cannot be told to overwrite in place the files of this directory"
        );
    }
}

/// The name of the file system, if it writes a copy of what is overwritten in this file.
pub(crate) fn copier(file: &File) -> Option<&'static str> {
    system::copier(file)
}

#[cfg(target_os = "linux")]
mod system {
    use crate::remote_fs::type_of_file;
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    use std::fs::File;
    use std::io::Result;
    use std::path::Path;

    /// Of `linux/magic.h`, as the next.
    const BTRFS: u32 = 0x9123_683E;
    const BCACHEFS: u32 = 0xCA45_1A4E;
    /// Source: `sys/fs/zfs.h` of `OpenZFS`.
    const ZFS: u32 = 0x2FC1_2FC1;

    pub(super) fn mark(directory: &Path) -> Result<()> {
        let directory = File::open(directory)?;
        if type_of_file(&directory) != Some(BTRFS) {
            return Ok(());
        }
        let flags = ioctl_getflags(&directory)?;
        Ok(ioctl_setflags(&directory, flags | IFlags::NOCOW)?)
    }

    pub(super) fn copier(file: &File) -> Option<&'static str> {
        match type_of_file(file)? {
            BTRFS => {
                let flags = ioctl_getflags(file).unwrap_or(IFlags::empty());
                (!flags.contains(IFlags::NOCOW)).then_some("btrfs")
            }
            BCACHEFS => Some("bcachefs"),
            ZFS => Some("ZFS"),
            _ => None,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;
    use std::io::Result;
    use std::path::Path;

    pub(super) fn mark(_: &Path) -> Result<()> {
        Ok(())
    }

    pub(super) fn copier(_: &File) -> Option<&'static str> {
        None
    }
}
