//! Runs the conformance cases on the storages of this crate.

mod cases;

use super::{Purpose, Records, Storage, Stored, Witnessed};
use crate::{Poison, Tail};
pub(crate) use cases::{Backend, conforms};
use cases::{holds, holds_large};
use hindsight_core::Revision;
use std::path::{Path, PathBuf};

impl Backend for super::memory::MemoryStorage {
    fn storage(&self) -> &dyn Storage {
        self
    }

    fn crashed(&self) -> Vec<Box<dyn Backend>> {
        Vec::new()
    }

    fn is_bounded(&self) -> bool {
        false
    }
}

/// The storage of an open log, on files. A crash is simulated by a copy of the files, as a kill would
/// leave them.
struct Files {
    synced: super::synced::Synced,
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self::over(tempfile::tempdir().expect("a directory"))
    }

    fn over(directory: tempfile::TempDir) -> Self {
        let path = directory.path().join("events");
        let storage = super::sled::SledStorage::open(&path).expect("opened");
        let newest = storage.at_or_before(Revision::MAX).expect("read");
        let newest = newest.map_or(Revision::ZERO, |(first, _)| first);
        Self {
            synced: super::synced::Synced::new(
                std::sync::Arc::new(storage),
                newest,
                Poison::default(),
            ),
            path,
            _directory: directory,
        }
    }
}

impl Backend for Files {
    fn storage(&self) -> &dyn Storage {
        &self.synced
    }

    fn crashed(&self) -> Vec<Box<dyn Backend>> {
        let copied = tempfile::tempdir().expect("a directory");
        copy(self.path.parent().expect("inside"), copied.path());
        vec![Box::new(Self::over(copied))]
    }

    fn is_bounded(&self) -> bool {
        cfg!(target_os = "linux")
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).expect("made");
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

#[test]
fn memory_conforms() {
    conforms(&|| Box::new(super::memory::MemoryStorage::default()));
}

#[test]
fn sled_on_files_conforms() {
    conforms(&|| Box::new(Files::new()));
}

#[test]
fn sled_keeps_everything_and_makes_no_blobs() {
    let directory = tempfile::tempdir().expect("a directory");
    holds(&super::sled::SledStorage::open(directory.path()).expect("opened"));
    let again = super::sled::SledStorage::open(directory.path()).expect("reopened");
    holds_large(&again);
    let blobs = std::fs::read_dir(directory.path().join("blobs")).map_or(0, Iterator::count);
    assert_eq!(blobs, 0);
}

/// Space that is allocated ahead of the end is allocated once, not with every write.
#[cfg(unix)]
#[test]
fn small_writes_take_little_room() {
    use std::os::unix::fs::MetadataExt;
    let directory = tempfile::tempdir().expect("a directory");
    let storage = super::sled::SledStorage::open(&directory.path().join("events")).expect("opened");
    for first in 1..=20 {
        assert!(storage.ensure_space(100, Purpose::Writes));
        storage
            .append(Revision(first), &[1; 100])
            .expect("appended");
        storage.sync().expect("synced");
    }
    let database = std::fs::metadata(directory.path().join("events/db")).expect("there");
    let (length, blocks) = (database.len() >> 20, database.blocks() >> 11);
    assert!(
        length <= 8 && blocks <= 64,
        "{length} MiB long, {blocks} MiB of blocks"
    );
}

#[test]
fn a_damaged_side_file_of_sled_is_set_aside() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("events");
    holds(&super::sled::SledStorage::open(&path).expect("opened"));
    // It says that there are records, and what `holds` stores is none.
    std::fs::remove_file(path.join("journal")).expect("removed");
    std::fs::write(path.join("snap.00000000FFFFFFFF"), b"").expect("written");
    std::fs::write(path.join("snap.00000000FFFFFFFF.generating"), b"").expect("written");
    let again = super::sled::SledStorage::open(&path).expect("reopened");
    assert!(
        again
            .at_or_before(Revision(80_000))
            .expect("readable")
            .is_some()
    );
}
