//! File systems that write a copy of what is overwritten. There, blocks that are allocated are no space: each write takes
//! new ones, until the disk is full. btrfs does without the copy for files that are made in a directory marked so.

use crate::DirectoryLock;
use std::fs::File;
use std::path::Path;

/// Has what is made in this directory from now on be overwritten in place, where the file system can be told to and
/// repairs nothing: without copies btrfs has no checksums, and so cannot tell which of two mirrors has rotted. Besides the
/// lock there may only be `ours` in it: what somebody else makes there later is to be as before.
pub fn overwrite_in_place(directory: &Path, ours: &[&str]) {
    if !has_only(directory, ours) {
        return;
    }
    if let Err(error) = system::mark(directory) {
        tracing::warn!(
            %error,
            directory = %directory.display(),
            "the file system cannot be told to overwrite in place the files of this directory"
        );
    }
}

fn has_only(directory: &Path, ours: &[&str]) -> bool {
    let lock = DirectoryLock::path(directory);
    let is_ours = |path: &Path| *path == *lock || ours.iter().any(|name| path.ends_with(name));
    directory.read_dir().is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| is_ours(&entry.path())))
    })
}

/// The name of the file system, if it writes a copy of what is overwritten in this file.
pub(crate) fn copier(file: &File) -> Option<&'static str> {
    system::copier(file)
}

#[cfg(target_os = "linux")]
mod system {
    use crate::remote_fs::type_of_file;
    use rustix::fs::{IFlags, fstatvfs, ioctl_getflags, ioctl_setflags};
    use std::ffi::OsStr;
    use std::fs::{DirEntry, File};
    use std::io::Result;
    use std::path::Path;

    /// What the kernel tells of each btrfs that is mounted, under its UUID.
    const ALL: &str = "/sys/fs/btrfs";
    /// The profiles of data that is kept once, without another copy or parity.
    const KEPT_ONCE: [&str; 2] = ["single", "raid0"];

    /// Of `linux/magic.h`, as the next.
    const BTRFS: u32 = 0x9123_683E;
    const BCACHEFS: u32 = 0xCA45_1A4E;
    /// Source: `sys/fs/zfs.h` of `OpenZFS`.
    const ZFS: u32 = 0x2FC1_2FC1;

    pub(super) fn mark(directory: &Path) -> Result<()> {
        let directory = File::open(directory)?;
        if type_of_file(&directory) != Some(BTRFS) || !keeps_once(&directory) {
            return Ok(());
        }
        let flags = ioctl_getflags(&directory)?;
        Ok(ioctl_setflags(&directory, flags | IFlags::NOCOW)?)
    }

    /// Whether this btrfs is known to keep its data once.
    fn keeps_once(directory: &File) -> bool {
        let Ok(told) = fstatvfs(directory) else {
            return false;
        };
        let Ok(all) = Path::new(ALL).read_dir() else {
            return false;
        };
        let all = all.flatten();
        let mut found = all
            .filter(|one| is_told(&one.file_name(), told.f_fsid))
            .peekable();
        found.peek().is_some() && found.all(|one| has_only_one_copy(&one.path()))
    }

    /// Whether `statfs` tells this number of a file system with this UUID. It is the UUID folded once; the number
    /// of the subvolume is in one half of that, so the other one counts.
    pub(super) fn is_told(uuid: &OsStr, number: u64) -> bool {
        let digits = uuid.to_string_lossy().replace('-', "");
        let Ok(uuid) = u128::from_str_radix(&digits, 16) else {
            return false;
        };
        let folded = uuid ^ (uuid >> 64);
        let half = u128::from(u32::MAX);
        (folded >> 32) & half == u128::from(number) & half
    }

    /// Whether all profiles of data are such that it is kept once, by what is told of a file system in this directory.
    pub(super) fn has_only_one_copy(told: &Path) -> bool {
        let kinds = ["data", "mixed"].map(|kind| told.join("allocation").join(kind));
        let listed = kinds.iter().filter_map(|kind| kind.read_dir().ok());
        let mut profiles = listed.flatten().flatten().filter(is_directory).peekable();
        profiles.peek().is_some()
            && profiles.all(|one| KEPT_ONCE.iter().any(|kept| one.file_name() == *kept))
    }

    fn is_directory(entry: &DirEntry) -> bool {
        entry.file_type().is_ok_and(|found| found.is_dir())
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;

    /// As a kernel told it (6.18), of two subvolumes.
    #[test]
    fn a_file_system_is_known_by_the_half_of_its_uuid_that_is_told() {
        let uuid = "dc5f2f6b-e8e6-405a-8d08-2c8880525ec7";
        for number in [0x68B4_1E98_5157_03E3, 0x68B4_1F9D_5157_03E3] {
            assert!(system::is_told(uuid.as_ref(), number), "{number:x}");
            for other in ["dc5f2f6b-e8e6-405a-8d08-2c8980525ec7", "features", ""] {
                assert!(!system::is_told(other.as_ref(), number), "{other}");
            }
        }
    }

    #[test]
    fn only_data_that_is_kept_once_needs_no_checksums() {
        for (profiles, is_once) in [
            (&["data/single"][..], true),
            (&["data/raid0"], true),
            (&["data/single", "data/raid0", "metadata/dup"], true),
            (&["mixed/single"], true),
            (&["data/raid1"], false),
            (&["data/dup"], false),
            (&["data/raid5"], false),
            (&["data/single", "data/raid1c3"], false),
            (&["mixed/dup"], false),
            (&["metadata/single"], false),
            (&[], false),
        ] {
            let told = tempfile::tempdir().expect("a directory");
            for profile in profiles {
                let at = told.path().join("allocation").join(profile);
                fs::create_dir_all(&at).expect("made");
                fs::write(at.with_file_name("bytes_used"), "0").expect("written");
            }
            assert_eq!(
                system::has_only_one_copy(told.path()),
                is_once,
                "{profiles:?}"
            );
        }
    }

    #[test]
    fn only_a_directory_without_files_of_others_is_marked() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        assert!(has_only(at, &[]));
        fs::write(DirectoryLock::path(at), "").expect("written");
        assert!(has_only(at, &[]));
        fs::write(at.join("events"), "").expect("written");
        assert!(has_only(at, &["events"]) && !has_only(at, &[]));
        fs::write(at.join("thesis.txt"), "").expect("written");
        assert!(!has_only(at, &["events"]));
        assert!(!has_only(&at.join("absent"), &[]));
    }
}
