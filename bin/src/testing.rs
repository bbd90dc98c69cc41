//! Control planes for tests.

use crate::{Config, ControlPlane};
use hindsight_core::Time;
use hindsight_log::{DirectoryLock, MemoryStorage, Restore, Snapshots, Storage};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A control plane in memory, without collectors.
pub(crate) fn plane() -> ControlPlane {
    let config = Config {
        collectors: false,
        ..Config::default()
    };
    ControlPlane::open(config).expect("it opens")
}

/// The log of a control plane, restored from a backup of it.
pub(crate) fn restored(plane: &ControlPlane) -> Arc<dyn Storage> {
    let mut file = Vec::new();
    let made = plane.reader().backup(Time(0), &mut file, |_, _| {});
    made.expect("made");
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let restore = Restore {
        storage: &storage,
        snapshots: &Snapshots::at(PathBuf::new()),
        bump: NonZeroU64::MIN,
        time: Time(0),
    };
    restore.run(&*file, |_| {}).expect("restored");
    storage
}

/// Makes these files, and directories where a name ends in `/`.
pub(crate) fn fill(directory: &Path, names: &[&str]) {
    for name in names {
        let path = directory.join(name);
        if name.ends_with('/') {
            std::fs::create_dir_all(path).expect("made");
            continue;
        }
        std::fs::create_dir_all(path.parent().expect("one")).expect("made");
        std::fs::write(path, "of somebody else").expect("written");
    }
}

/// All that is in a data directory, except its lock: each file with its bytes.
pub(crate) fn tree(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let (lock, mut folders) = (DirectoryLock::path(directory), vec![directory.to_owned()]);
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("listed") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            let bytes = path.is_file().then(|| std::fs::read(&path).expect("read"));
            if path != lock {
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// What the first check says that fails.
pub(crate) fn failure(plane: &ControlPlane) -> Option<String> {
    plane.checks().into_iter().find_map(|check| check.failure)
}
