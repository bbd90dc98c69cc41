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
    let large = vec![7; 200_000];
    storage.append(Revision(80_000), &large).expect("appended");
    storage.sync().expect("synced");
    let found = storage.at_or_before(Revision(80_000)).expect("readable");
    assert_eq!(found, Some((Revision(80_000), large)));
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
    assert!(
        again
            .at_or_before(Revision(80_000))
            .expect("readable")
            .is_some()
    );
    let blobs = std::fs::read_dir(directory.path().join("blobs")).map_or(0, Iterator::count);
    assert_eq!(blobs, 0);
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
