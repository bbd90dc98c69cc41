//! What every storage must do; run against each of them.

use super::Storage;
use hindsight_core::Revision;

pub(crate) fn holds(storage: &dyn Storage) {
    assert_eq!(storage.at_or_after(Revision::ZERO).expect("readable"), None);
    assert_eq!(
        storage.at_or_before(Revision(u64::MAX)).expect("readable"),
        None
    );
    for first in [1, 3, 300, 70_000] {
        storage
            .append(Revision(first), format!("frame {first}").as_bytes())
            .expect("appended");
    }
    storage.sync().expect("synced");
    let after = |from| {
        storage
            .at_or_after(Revision(from))
            .expect("readable")
            .map(|found| found.0.0)
    };
    let before = |until| {
        storage
            .at_or_before(Revision(until))
            .expect("readable")
            .map(|one| one.0.0)
    };
    assert_eq!(
        [after(0), after(1), after(2), after(4)],
        [Some(1), Some(1), Some(3), Some(300)]
    );
    assert_eq!([after(70_001), before(0)], [None, None]);
    assert_eq!(
        [before(1), before(299), before(u64::MAX)],
        [Some(1), Some(3), Some(70_000)]
    );
    for (first, bytes) in large() {
        storage.append(first, &bytes).expect("appended");
        storage.sync().expect("synced");
    }
    holds_large(storage);
}

/// Of all sizes up to that of the largest object, and more together than a page of sled may hold;
/// those around the size of its pieces too.
fn large() -> impl Iterator<Item = (Revision, Vec<u8>)> {
    let piece: usize = 96 << 10;
    let around = [piece - 1, piece, piece + 1, 2 * piece - 1, 2 * piece];
    let sizes = around.into_iter().chain([200_000, 3 << 20]);
    let sizes = sizes.chain((0..40).map(|index| 900_000 + index));
    let frames = (80_000..).zip(sizes);
    frames.map(|(first, size)| (Revision(first), vec![size.to_le_bytes()[0]; size]))
}

fn holds_large(storage: &dyn Storage) {
    for (first, bytes) in large() {
        let before = storage.at_or_before(first).expect("readable");
        let after = storage.at_or_after(first).expect("readable");
        assert!(before == Some((first, bytes)) && before == after, "{first}");
    }
}

#[test]
fn memory_conforms() {
    holds(&super::memory::MemoryStorage::default());
}

#[test]
fn sled_conforms_keeps_everything_and_makes_no_blobs() {
    let directory = tempfile::tempdir().expect("a directory");
    holds(&super::sled::SledStorage::open(directory.path()).expect("opened"));
    let again = super::sled::SledStorage::open(directory.path()).expect("reopened");
    holds_large(&again);
    let blobs = std::fs::read_dir(directory.path().join("blobs")).map_or(0, Iterator::count);
    assert_eq!(blobs, 0);
}

/// What is taken ahead of the end is taken once and not with every write.
#[cfg(unix)]
#[test]
fn small_writes_take_little_room() {
    use std::os::unix::fs::MetadataExt;
    let directory = tempfile::tempdir().expect("a directory");
    let storage = super::sled::SledStorage::open(&directory.path().join("events")).expect("opened");
    for first in 1..=20 {
        assert!(storage.has_room(100, super::Purpose::Writes));
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
