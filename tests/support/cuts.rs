//! Replays the file system calls of a process from an `strace` record, and computes what a power cut
//! at any moment may leave of its files: all that was synced, and any part of the rest.

mod calls;

pub use calls::{Call, read};

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The unit that a disk writes atomically, in bytes.
const SECTOR: usize = 512;

/// The files below one directory, as a process has left them so far.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    /// Only files whose paths below `root` begin in one of these ways are followed.
    watched: &'static [&'static str],
    names: Names,
    /// The names that a sync of their directory has made durable.
    durable: Names,
    files: Vec<Changes>,
    /// The position of each descriptor, where its next `write` goes.
    positions: BTreeMap<u32, u64>,
    /// Syncs under way, by thread: the file, and how many of its changes the sync covers.
    syncing: BTreeMap<u32, (PathBuf, usize)>,
}

type Names = BTreeMap<PathBuf, Entry>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Directory,
    File(usize),
}

/// All changes to one file.
#[derive(Debug, Default)]
struct Changes {
    made: Vec<Change>,
    /// How many of them are durable; a sync covers those made before it began.
    synced: usize,
}

#[derive(Debug)]
enum Change {
    Write { at: u64, bytes: Vec<u8> },
    Truncate(u64),
    Extend(u64),
}

/// One way in which the files may be found after a power cut: for each file the changes that are
/// left, and for each change how many of its bytes.
pub type CrashState = BTreeMap<PathBuf, Option<(usize, Vec<(usize, usize)>)>>;

/// Stands for all bytes of a change.
const WHOLE: usize = usize::MAX;

impl Disk {
    /// A directory that does not exist yet. Only files in it whose paths begin with one of `watched`
    /// are followed.
    pub fn new(root: &Path, watched: &'static [&'static str]) -> Self {
        Self {
            root: root.to_owned(),
            watched,
            names: Names::new(),
            durable: Names::new(),
            files: Vec::new(),
            positions: BTreeMap::new(),
            syncing: BTreeMap::new(),
        }
    }

    /// Applies a call that the process makes or returns from.
    pub fn apply(&mut self, call: &Call) {
        match call {
            Call::Opened {
                descriptor,
                path,
                is_new,
                is_truncated,
            } => {
                self.positions.insert(*descriptor, 0);
                if *is_new {
                    self.make(path);
                }
                if *is_truncated {
                    self.change(path, Change::Truncate(0));
                }
            }
            Call::Sought { descriptor, to } => {
                self.positions.insert(*descriptor, *to);
            }
            Call::Wrote {
                descriptor,
                path,
                at,
                bytes,
            } => {
                let next = self.positions.entry(*descriptor).or_default();
                let at = at.unwrap_or_else(|| std::mem::replace(next, *next + bytes.len() as u64));
                self.change(
                    path,
                    Change::Write {
                        at,
                        bytes: bytes.clone(),
                    },
                );
            }
            Call::Truncated { path, to } => self.change(path, Change::Truncate(*to)),
            Call::Extended { path, to } => self.change(path, Change::Extend(*to)),
            Call::MadeDirectory(path) => self.enter(path, Entry::Directory),
            Call::Renamed(from, to) => {
                if let Some(entry) = self.names.remove(from) {
                    self.enter(to, entry);
                }
            }
            Call::Removed(path) => drop(self.names.remove(path)),
            Call::SyncBegan { thread, path } => {
                let made = self
                    .file(path)
                    .map_or(0, |file| self.files[file].made.len());
                self.syncing.insert(*thread, (path.clone(), made));
            }
            Call::SyncEnded { thread } => self.synced(*thread),
            Call::Other(path) => assert!(
                !self.is_watched(path),
                "something else is done to {}",
                path.display()
            ),
        }
    }

    fn is_watched(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root).map(Path::to_string_lossy);
        let is_one = |below: &str| self.watched.iter().any(|name| below.starts_with(name));
        below.is_ok_and(|below| below.is_empty() || is_one(&below))
    }

    fn enter(&mut self, path: &Path, entry: Entry) {
        if self.is_watched(path) {
            self.names.insert(path.to_owned(), entry);
        }
    }

    fn make(&mut self, path: &Path) {
        if !self.names.contains_key(path) && self.is_watched(path) {
            self.names
                .insert(path.to_owned(), Entry::File(self.files.len()));
            self.files.push(Changes::default());
        }
    }

    fn file(&self, path: &Path) -> Option<usize> {
        match self.names.get(path)? {
            Entry::File(file) => Some(*file),
            Entry::Directory => None,
        }
    }

    fn change(&mut self, path: &Path, change: Change) {
        if let Some(file) = self.file(path) {
            self.files[file].made.push(change);
        }
    }

    fn synced(&mut self, thread: u32) {
        let Some((path, made)) = self.syncing.remove(&thread) else {
            return;
        };
        if let Some(file) = self.file(&path) {
            let synced = &mut self.files[file].synced;
            *synced = made.max(*synced);
            return;
        }
        let is_in = |other: &Path| other.parent() == Some(&path);
        self.durable.retain(|name, _| !is_in(name));
        let names = self.names.iter().filter(|(name, _)| is_in(name));
        let names = names.map(|(name, entry)| (name.clone(), *entry));
        self.durable.extend(names);
    }

    /// Every way, of those tried, in which a power cut now may leave the files. The names are the
    /// current or the durable ones. Of the unsynced changes, none is left, or all, or all but one, or
    /// one alone, or all with one of them torn in half; and any of them, if there are no more than
    /// `subsets_max`.
    pub fn crash_states(&self, subsets_max: usize) -> BTreeSet<CrashState> {
        let pending: BTreeSet<(usize, usize)> = self
            .names
            .values()
            .filter_map(|entry| match entry {
                Entry::File(file) => Some(*file),
                Entry::Directory => None,
            })
            .flat_map(|file| {
                let changes = &self.files[file];
                (changes.synced..changes.made.len()).map(move |change| (file, change))
            })
            .collect();
        let mut ways = BTreeSet::new();
        for names in [&self.names, &self.durable] {
            ways.insert(self.crash_state(names, |_| 0));
            ways.insert(self.crash_state(names, |_| WHOLE));
            for one in &pending {
                ways.insert(
                    self.crash_state(names, |change| if change == *one { 0 } else { WHOLE }),
                );
                ways.insert(
                    self.crash_state(names, |change| if change == *one { WHOLE } else { 0 }),
                );
                let half = self.half(*one);
                ways.insert(
                    self.crash_state(names, |change| if change == *one { half } else { WHOLE }),
                );
            }
            if pending.len() <= subsets_max {
                ways.extend(self.subsets(names, &pending));
            }
        }
        ways
    }

    /// The ways in which any of the unsynced changes are left, each whole.
    fn subsets(
        &self,
        names: &Names,
        pending: &BTreeSet<(usize, usize)>,
    ) -> impl Iterator<Item = CrashState> {
        (0..1_u32 << pending.len()).map(move |kept| {
            self.crash_state(names, |change| {
                let place = pending.iter().position(|one| *one == change);
                let is_kept = place.is_some_and(|place| kept >> place & 1 == 1);
                if is_kept { WHOLE } else { 0 }
            })
        })
    }

    /// How many bytes of a change half of its sectors are.
    fn half(&self, (file, change): (usize, usize)) -> usize {
        match &self.files[file].made[change] {
            Change::Write { bytes, .. } => {
                (bytes.len() / 2).next_multiple_of(SECTOR).min(bytes.len())
            }
            Change::Truncate(_) | Change::Extend(_) => WHOLE,
        }
    }

    fn crash_state(&self, names: &Names, left: impl Fn((usize, usize)) -> usize) -> CrashState {
        let mut found = CrashState::new();
        for (path, entry) in names {
            let is_reached = path
                .parent()
                .is_none_or(|parent| !parent.starts_with(&self.root) || found.contains_key(parent));
            if !is_reached {
                continue;
            }
            let file = match entry {
                Entry::Directory => None,
                Entry::File(file) => Some((*file, self.left(*file, &left))),
            };
            found.insert(path.clone(), file);
        }
        found
    }

    fn left(&self, file: usize, left: impl Fn((usize, usize)) -> usize) -> Vec<(usize, usize)> {
        let changes = &self.files[file];
        let kept = (0..changes.made.len()).map(|change| {
            let is_synced = change < changes.synced;
            (
                change,
                if is_synced {
                    WHOLE
                } else {
                    left((file, change))
                },
            )
        });
        kept.filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// Creates the files as found, below another directory.
    pub fn restore(&self, found: &CrashState, into: &Path) {
        fs::create_dir_all(into).expect("a directory");
        for (path, file) in found {
            let place = into.join(path.strip_prefix(&self.root).expect("below the root"));
            let Some((file, changes)) = file else {
                fs::create_dir_all(place).expect("a directory");
                continue;
            };
            let written = File::create(place).expect("a file");
            for (change, bytes) in changes {
                write_change(&written, &self.files[*file].made[*change], *bytes);
            }
        }
    }
}

fn write_change(file: &File, change: &Change, most: usize) {
    let done = match change {
        Change::Write { at, bytes } => file.write_all_at(&bytes[..most.min(bytes.len())], *at),
        Change::Truncate(to) => file.set_len(*to),
        Change::Extend(to) => {
            let length = file.metadata().expect("a length").len();
            file.set_len(length.max(*to))
        }
    };
    done.expect("written");
}
