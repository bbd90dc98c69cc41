//! Replays the file system calls of a process from an `strace` record, and computes what a power cut
//! at any moment may leave of its files: all that was synced, and any part of the rest.

mod calls;

pub use calls::{Call, read};

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The unit that a disk writes atomically, in bytes.
const SECTOR: u64 = 512;

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
/// left, and what is left of each of them.
pub type CrashState = BTreeMap<PathBuf, Option<(usize, Vec<(usize, Left)>)>>;

/// What is left of a change. A disk may store the sectors of a write in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// No part of it.
    Nothing,
    /// All of it.
    Whole,
    /// The first half of its sectors.
    FirstHalf,
    /// The other half.
    SecondHalf,
    /// Its second sector, its fourth, and so on.
    EverySecond,
}

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
    /// one alone, or all with some sectors missing in one of them; and any of them, if there are no more than
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
            let mut all_but = |one: Option<(usize, usize)>, left, others| {
                let left = |change| if Some(change) == one { left } else { others };
                ways.insert(self.crash_state(names, left));
            };
            all_but(None, Left::Nothing, Left::Nothing);
            all_but(None, Left::Nothing, Left::Whole);
            for one in &pending {
                all_but(Some(*one), Left::Nothing, Left::Whole);
                all_but(Some(*one), Left::Whole, Left::Nothing);
                for torn in self.torn(*one) {
                    all_but(Some(*one), *torn, Left::Whole);
                }
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
                if is_kept { Left::Whole } else { Left::Nothing }
            })
        })
    }

    /// The ways in which a change may be left in part.
    fn torn(&self, (file, change): (usize, usize)) -> &'static [Left] {
        match &self.files[file].made[change] {
            Change::Write { at, bytes } => match sectors(*at, bytes).count() {
                0 | 1 => &[],
                2 => &[Left::FirstHalf, Left::SecondHalf],
                _ => &[Left::FirstHalf, Left::SecondHalf, Left::EverySecond],
            },
            Change::Truncate(_) | Change::Extend(_) => &[],
        }
    }

    fn crash_state(&self, names: &Names, left: impl Fn((usize, usize)) -> Left) -> CrashState {
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

    fn left(&self, file: usize, left: impl Fn((usize, usize)) -> Left) -> Vec<(usize, Left)> {
        let changes = &self.files[file];
        let kept = (0..changes.made.len()).map(|change| {
            let is_synced = change < changes.synced;
            (
                change,
                if is_synced {
                    Left::Whole
                } else {
                    left((file, change))
                },
            )
        });
        kept.filter(|(_, left)| *left != Left::Nothing).collect()
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
            for (change, left) in changes {
                write_change(&written, &self.files[*file].made[*change], *left);
            }
        }
    }
}

/// The parts of a write that fall into one sector each, in order, and where they go.
fn sectors(at: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let end = at + bytes.len() as u64;
    let starts = (at / SECTOR..end.div_ceil(SECTOR)).map(move |sector| at.max(sector * SECTOR));
    starts.map(move |start| {
        let place = |offset: u64| usize::try_from(offset - at).expect("within the write");
        let next = (start / SECTOR + 1) * SECTOR;
        (start, &bytes[place(start)..place(next.min(end))])
    })
}

fn write_change(file: &File, change: &Change, left: Left) {
    let done = match change {
        Change::Write { at, bytes } if left == Left::Whole => file.write_all_at(bytes, *at),
        Change::Write { at, bytes } => {
            let half = sectors(*at, bytes).count().div_ceil(2);
            let mut parts = sectors(*at, bytes).enumerate();
            parts.try_for_each(|(index, (start, part))| {
                let is_left = match left {
                    Left::Nothing => false,
                    Left::Whole => true,
                    Left::FirstHalf => index < half,
                    Left::SecondHalf => index >= half,
                    Left::EverySecond => index % 2 == 1,
                };
                if is_left {
                    file.write_all_at(part, start)
                } else {
                    Ok(())
                }
            })
        }
        Change::Truncate(to) => file.set_len(*to),
        Change::Extend(to) => {
            let length = file.metadata().expect("a length").len();
            file.set_len(length.max(*to))
        }
    };
    done.expect("written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_write_any_sectors_may_be_left() {
        let mut disk = Disk::new(Path::new("/d"), &["a"]);
        disk.apply(&Call::MadeDirectory("/d".into()));
        let path = PathBuf::from("/d/a");
        disk.apply(&Call::Opened {
            descriptor: 3,
            path: path.clone(),
            is_new: true,
            is_truncated: false,
        });
        disk.apply(&Call::Wrote {
            descriptor: 3,
            path,
            at: Some(500),
            bytes: vec![7; 1036],
        });
        let found = disk.crash_states(0).into_iter().filter_map(|found| {
            let place = tempfile::tempdir().expect("a temporary directory");
            disk.restore(&found, place.path());
            let bytes = fs::read(place.path().join("a")).ok()?;
            let is_there = |at: usize| bytes.get(at) == Some(&7);
            Some([500, 511, 512, 1023, 1024, 1535].map(is_there))
        });
        let found: BTreeSet<[bool; 6]> = found.collect();
        let expected = [
            [false; 6],
            [true, true, true, true, false, false],
            [false, false, false, false, true, true],
            [false, false, true, true, false, false],
            [true; 6],
        ];
        assert_eq!(found, BTreeSet::from(expected));
    }
}
