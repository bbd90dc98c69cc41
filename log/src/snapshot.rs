//! Snapshots: states written down so that a start, or a question about the past, need not fold the
//! whole log. They are derived: one that cannot be read is set aside and the log is folded instead.
//! See `docs/decisions/0012-snapshots.md`.

mod file;
mod keeper;

#[cfg(test)]
pub(crate) use file::FORMAT;
pub(crate) use keeper::{Keeper, Keeping};

use crate::{Base, Error, Tail, private};
use file::{Head, Unreadable};
use hindsight_core::{Revision, State, Time};
use std::fs::File;
use std::path::{Path, PathBuf};

const SUFFIX: &str = "snapshot";
const UNFINISHED: &str = "unfinished";
const DAMAGED: &str = "damaged";
/// What there is of an object beside its body: its key, mostly.
const OBJECT_BYTES: usize = 256;

/// The snapshots in a directory, one file each, named by revision.
#[derive(Debug, Clone)]
pub struct Snapshots {
    directory: PathBuf,
}

impl Snapshots {
    /// Those in this directory, which need not exist.
    pub const fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Of which revisions there are any, newest first.
    pub fn revisions(&self) -> Vec<Revision> {
        self.named(SUFFIX)
    }

    fn named(&self, suffix: &str) -> Vec<Revision> {
        let entries = std::fs::read_dir(&self.directory);
        let entries = entries.into_iter().flatten().flatten();
        let mut revisions: Vec<_> = entries
            .filter_map(|entry| {
                let path = entry.path();
                let is_named = path.extension()? == suffix;
                let revision = path.file_stem()?.to_str()?.parse().ok()?;
                is_named.then_some(Revision(revision))
            })
            .collect();
        revisions.sort_unstable();
        revisions.reverse();
        revisions
    }

    /// Writes one: under another name first, synced, then named. A crash leaves all of it or none.
    pub fn write(&self, base: &Base) -> Result<(), Error> {
        let io = |what| Error::io(format!("{what} a snapshot in {}", self.directory.display()));
        private::make_own(&self.directory)?;
        let path = self.path(base.state.revision);
        let unfinished = path.with_extension(UNFINISHED);
        let mut file = File::create(&unfinished).map_err(io("making"))?;
        let written = file::write(&mut file, base).and_then(|()| file.sync_all());
        if let Err(error) = written {
            std::fs::remove_file(&unfinished).ok();
            return Err(io("writing")(error));
        }
        std::fs::rename(&unfinished, &path).map_err(io("naming"))?;
        let directory = File::open(&self.directory).and_then(|directory| directory.sync_all());
        directory.map_err(io("syncing"))
    }

    /// About how long the file of this state is.
    pub(crate) fn length(state: &State) -> usize {
        let objects = state.objects();
        objects.map(|object| object.body.len() + OBJECT_BYTES).sum()
    }

    /// Reads one, and holds the state against the hash that it was written with.
    pub fn read(&self, revision: Revision, empty: State) -> Result<Base, Error> {
        let path = self.path(revision);
        let read = file::read(&path, empty).map_err(|reason| unusable(&path, reason))?;
        if read.state.revision == revision {
            return Ok(read);
        }
        Err(unusable(&path, "it is of another revision".into()))
    }

    /// The newest whole one that is not after this revision: its bytes, for a backup.
    pub(crate) fn whole_until(&self, until: Revision) -> Option<(Revision, File)> {
        let revisions = self.revisions().into_iter();
        let mut until = revisions.filter(|revision| *revision <= until);
        until.find_map(|revision| Some((revision, file::checked(&self.path(revision)).ok()?)))
    }

    /// The end of the log that one of them is of.
    pub(crate) fn tail(&self, revision: Revision) -> Result<Tail, Error> {
        let path = self.path(revision);
        let head = file::checked(&path).and_then(|_| file::head(&path));
        head.map(|head| head.tail())
            .map_err(|reason| unusable(&path, reason))
    }

    /// A file for one that comes from a backup; it has no name before it is finished.
    pub(crate) fn begin(&self, revision: Revision) -> Result<File, Error> {
        private::make_own(&self.directory)?;
        let path = self.path(revision).with_extension(UNFINISHED);
        File::create(path).map_err(Error::io("making a snapshot"))
    }

    /// Syncs and names it.
    pub(crate) fn finish(&self, revision: Revision, file: &File) -> Result<(), Error> {
        let path = self.path(revision);
        let named = file
            .sync_all()
            .and_then(|()| std::fs::rename(path.with_extension(UNFINISHED), &path))
            .and_then(|()| File::open(&self.directory)?.sync_all());
        named.map_err(Error::io("finishing a snapshot"))
    }

    /// The newest that can be read; those that cannot are set aside with a warning.
    pub fn newest(&self, empty: &State) -> Option<Base> {
        self.find(empty, |_| true)
    }

    /// The newest that is not after this revision.
    pub fn until(&self, revision: Revision, empty: &State) -> Option<Base> {
        self.find(empty, |head| head.revision <= revision)
    }

    /// The newest of which every commit was made at this time or before.
    pub fn until_time(&self, time: Time, empty: &State) -> Option<Base> {
        self.find(empty, |head| head.latest <= time)
    }

    fn find(&self, empty: &State, wanted: impl Fn(&Head) -> bool) -> Option<Base> {
        let usable = |revision: &Revision| {
            let path = self.path(*revision);
            let head = file::head(&path);
            let read = match head {
                Ok(head) if wanted(&head) => self.read(*revision, empty.clone()),
                Ok(_) => return None,
                Err(reason) => Err(unusable(&path, reason)),
            };
            read.map_err(|error| pass_over(&path, &error)).ok()
        };
        self.revisions().iter().find_map(usable)
    }

    /// Removes all but these, and what is left of those that were damaged before any of these was made.
    pub(crate) fn retain(&self, kept: &[Revision]) -> Result<(), Error> {
        for revision in self.revisions() {
            if !kept.contains(&revision) {
                std::fs::remove_file(self.path(revision))
                    .map_err(Error::io("removing a snapshot"))?;
            }
        }
        let oldest = kept.iter().min().copied().unwrap_or_default();
        self.sweep(DAMAGED, |revision| revision < oldest)
    }

    /// Removes what was begun by somebody who is gone; only for whoever writes them.
    pub(crate) fn sweep_unfinished(&self) -> Result<(), Error> {
        self.sweep(UNFINISHED, |_| true)
    }

    fn sweep(&self, suffix: &str, is_old: impl Fn(Revision) -> bool) -> Result<(), Error> {
        for revision in self.named(suffix).into_iter().filter(|one| is_old(*one)) {
            let path = self.path(revision).with_extension(suffix);
            std::fs::remove_file(path).map_err(Error::io("removing what is left of a snapshot"))?;
        }
        Ok(())
    }

    fn path(&self, revision: Revision) -> PathBuf {
        self.directory.join(format!("{:020}.{SUFFIX}", revision.0))
    }
}

fn unusable(path: &Path, reason: Unreadable) -> Error {
    match reason {
        Unreadable::Damaged(reason) => Error::Snapshot {
            path: path.to_owned(),
            reason,
        },
        Unreadable::Io(source) => Error::io(format!("reading {}", path.display()))(source),
    }
}

/// What is damaged gets another name. What was not read may be whole, and is left alone.
fn pass_over(path: &Path, error: &Error) {
    if matches!(error, Error::Snapshot { .. }) {
        tracing::warn!(%error, "a snapshot is set aside; the log is read instead");
        std::fs::rename(path, path.with_extension(DAMAGED)).ok();
    } else {
        tracing::warn!(%error, "a snapshot was not read; the log is read instead");
    }
}
