//! Detects directories on network, shared and user-space file systems. There, durability and locking
//! depend on another machine or program: that an fsync has reached a disk, that a lock holds on every
//! machine that mounts the directory, that a file keeps its identity.

use std::path::Path;

/// Warns if the directory is not on a local disk.
pub(crate) fn warn_of_remote(directory: &Path) {
    if let Some(kind) = system::type_of(directory).and_then(remote) {
        tracing::warn!(
            directory = %directory.display(),
            "this directory is on {kind}, which another machine or program manages: it alone decides \
             whether acknowledged writes survive a power cut, and whether a second server can write to \
             the log from elsewhere. Choose a data directory on a local disk; backups may be kept here"
        );
    }
}

/// The name of a file system that keeps files elsewhere, by its magic number in Linux's `statfs`. Source:
/// `linux/magic.h`, and for those that are not part of Linux their own sources.
fn remote(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => "SMB",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x0102_1997 => "9P",
        0x00C3_6400 => "Ceph",
        0x7375_7245 => "Coda",
        0x564C => "NCP",
        0x6573_5546 => "FUSE or virtiofs",
        0x7461_636F => "OCFS2",
        0x0116_1970 => "GFS2",
        0x0BD0_0BD0 => "Lustre",
        0x786F_4256 => "a VirtualBox shared folder",
        _ => return None,
    })
}

#[cfg(target_os = "linux")]
pub(crate) use system::type_of_file;

#[cfg(target_os = "linux")]
mod system {
    use rustix::fs::{StatFs, fstatfs, statfs};
    use std::fs::File;
    use std::path::Path;

    pub(super) fn type_of(path: &Path) -> Option<u32> {
        magic(&statfs(path).ok()?)
    }

    /// The magic number of the file system that an open file, or directory, is on.
    pub(crate) fn type_of_file(file: &File) -> Option<u32> {
        magic(&fstatfs(file).ok()?)
    }

    fn magic(found: &StatFs) -> Option<u32> {
        // The magic number has 32 bits; the field is signed on some machines, and of 32 or 64 bits.
        u32::try_from(i128::from(found.f_type) & i128::from(u32::MAX)).ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn type_of(_: &std::path::Path) -> Option<u32> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_are_kept_elsewhere_are_known_by_their_numbers() {
        for (magic, kind) in [
            (0x6969, "NFS"),
            (0xFF53_4D42, "SMB"),
            (0xFE53_4D42, "SMB"),
            (0x6573_5546, "FUSE or virtiofs"),
            (0x0102_1997, "9P"),
        ] {
            assert_eq!(remote(magic), Some(kind));
        }
        // ext4, XFS, btrfs, ZFS, tmpfs, overlayfs, and nothing.
        for magic in [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x2FC1_2FC1,
            0x0102_1994,
            0x794C_7630,
            0,
        ] {
            assert_eq!(remote(magic), None, "{magic:#x}");
        }
    }

    #[test]
    fn the_number_of_a_file_system_is_what_the_system_says() {
        assert_eq!(system::type_of(Path::new("/proc")), Some(0x9FA0));
        assert_eq!(system::type_of(Path::new("/sys")), Some(0x6265_6572));
        assert_eq!(system::type_of(Path::new("/nowhere")), None);
    }
}
