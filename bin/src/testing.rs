//! Control planes for tests.

use crate::{Config, ControlPlane};
use hindsight_core::Time;
use hindsight_core::kind::{BuiltinSchemas, GroupVersionKind};
use hindsight_core::schema::Schema;
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

/// What is logged on this thread meanwhile.
#[cfg(feature = "http")]
pub(crate) fn logged(run: impl FnOnce()) -> String {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let to = file.reopen().expect("open");
    let subscriber = tracing_subscriber::fmt().with_writer(move || to.try_clone().expect("open"));
    tracing::subscriber::with_default(subscriber.finish(), run);
    std::fs::read_to_string(file.path()).expect("read")
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

/// A part of a state, which goes with it and does this then.
pub(crate) struct Part<F: Fn()>(pub(crate) F);

impl<F: Fn()> std::fmt::Debug for Part<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part").finish_non_exhaustive()
    }
}

impl<F: Fn() + Send + Sync> BuiltinSchemas for Part<F> {
    fn schema(&self, _: &GroupVersionKind) -> Option<Arc<Schema>> {
        None
    }
}

impl<F: Fn()> Drop for Part<F> {
    fn drop(&mut self) {
        (self.0)();
    }
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

/// Puts something in the place of a file that has at most a MiB.
#[cfg(feature = "http")]
pub(crate) type Put = fn(&Path);

/// A pipe, a device, a directory, and a file that is too long.
#[cfg(feature = "http")]
pub(crate) const NO_FILES: [Put; 4] = [
    |at| {
        let made = std::process::Command::new("mkfifo").arg(at).status();
        assert!(made.expect("mkfifo runs").success());
    },
    |at| std::os::unix::fs::symlink("/dev/null", at).expect("linked"),
    |at| std::fs::create_dir(at).expect("made"),
    |at| {
        let made = std::fs::File::create(at).and_then(|file| file.set_len((1 << 20) + 1));
        made.expect("made");
    },
];

/// What the work returns, which never ends if a pipe is opened.
#[cfg(feature = "http")]
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = crossbeam_channel::bounded(1);
    std::thread::spawn(move || done.send(work()).ok());
    let patience = std::time::Duration::from_mins(2);
    ended.recv_timeout(patience).expect("it ends")
}

/// What the first check says that fails.
pub(crate) fn failure(plane: &ControlPlane) -> Option<String> {
    plane.checks().into_iter().find_map(|check| check.failure)
}
