//! Snapshots: states written down so that a start, or a question about the past, need not fold the
//! whole log. They are derived: one that cannot be read is set aside and the log is folded instead.
//! See `docs/decisions/0012-snapshots.md`.

mod file;
mod keeper;

#[cfg(test)]
pub(crate) use file::FORMAT;
pub(crate) use keeper::{Keeper, Keeping};

use crate::framing::Unreadable;
use crate::place::Place;
use crate::{Base, Error, Storage, Tail, WholeFile, base, private};
use file::Head;
use hindsight_core::{Revision, State, Time};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SUFFIX: &str = "snapshot";
const UNFINISHED: &str = "unfinished";
const DAMAGED: &str = "damaged";

/// The snapshots in a directory, one file each, named by revision.
#[derive(Debug, Clone)]
pub struct Snapshots {
    directory: PathBuf,
    /// Of the directory that they are kept beside the log in, for whoever changes them.
    place: Option<Arc<Place>>,
}

impl Snapshots {
    /// Those in this directory, which need not exist.
    pub const fn at(directory: PathBuf) -> Self {
        Self {
            directory,
            place: None,
        }
    }

    /// The same, and changed only as long as the directory above is where it is now: what comes to its
    /// place is another log.
    pub(crate) fn in_place(self) -> Result<Self, Error> {
        let above = self.directory.parent().unwrap_or(&self.directory);
        let place = above
            .metadata()
            .and_then(|found| Place::of(above, &found))
            .map_err(Error::io("finding the directory of the snapshots"))?;
        let place = Some(Arc::new(place));
        Ok(Self { place, ..self })
    }

    fn check_place(&self) -> Result<(), Error> {
        self.place.as_ref().map_or(Ok(()), |place| place.check())
    }

    /// Of which revisions there are any, newest first.
    pub fn revisions(&self) -> Result<Vec<Revision>, Error> {
        self.named(SUFFIX)
    }

    /// Those that can be of a log that ends here. Whether a later one is of this log, which has lost its end
    /// then, a start has asked before.
    pub(crate) fn up_to(&self, end: Revision) -> Result<Vec<Revision>, Error> {
        let mut revisions = self.revisions()?;
        revisions.retain(|revision| *revision <= end);
        Ok(revisions)
    }

    /// Only what is named as one of ours is, and is a file: others may keep theirs beside them.
    fn named(&self, suffix: &str) -> Result<Vec<Revision>, Error> {
        let io = || Error::io(format!("listing {}", self.directory.display()));
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io())?,
        };
        let mut revisions = Vec::new();
        for entry in entries {
            let path = entry.map_err(io())?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let revision = stem.and_then(|stem| stem.parse().ok()).map(Revision);
            let named = revision.filter(|one| path == self.named_as(*one, suffix));
            if named.is_some() && is_file(&path).map_err(io())? {
                revisions.extend(named);
            }
        }
        revisions.sort_unstable();
        revisions.reverse();
        Ok(revisions)
    }

    /// Writes one. A crash leaves all of it or none.
    pub fn write(&self, base: &Base) -> Result<(), Error> {
        self.check_place()?;
        let file = self.begin(base.state.revision)?;
        let written = file::write(file.file(), base).and_then(|()| file.file().sync_all());
        written.map_err(self.failed("writing"))?;
        if let Err(error) = self.check_place() {
            // What has come to the place of the directory is another log's.
            file.leave();
            return Err(error);
        }
        self.finish(file)
    }

    /// About how long the file of this state is.
    pub(crate) fn length(state: &State) -> usize {
        state.objects().map(|object| object.weight()).sum()
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

    /// The newest whole one of this log that is not after this revision: its bytes, for a backup.
    pub(crate) fn whole_until(
        &self,
        log: &dyn Storage,
        until: Revision,
    ) -> Option<(Revision, File)> {
        let revisions = self.listed().into_iter();
        let mut until = revisions.filter(|revision| *revision <= until);
        until.find_map(|revision| {
            let path = self.path(revision);
            let head = file::head(&path).ok()?;
            let is_of = is_of(log, &path, &head);
            Some((revision, file::checked(&path).ok().filter(|_| is_of)?))
        })
    }

    /// None, where they cannot be listed: they can be done without.
    fn listed(&self) -> Vec<Revision> {
        self.revisions().unwrap_or_else(|error| {
            tracing::warn!(%error, "the snapshots are not known; the log is read instead");
            Vec::new()
        })
    }

    /// The end of the log that one of them is of.
    pub(crate) fn tail(&self, revision: Revision) -> Result<Tail, Error> {
        let path = self.path(revision);
        let head = file::checked(&path).and_then(|_| file::head(&path));
        head.map(|head| head.tail())
            .map_err(|reason| unusable(&path, reason))
    }

    /// A file for one, which has no name before it is finished.
    pub(crate) fn begin(&self, revision: Revision) -> Result<WholeFile, Error> {
        private::make_own(&self.directory)?;
        let path = self.path(revision);
        let begun = WholeFile::begin_as(&path, path.with_extension(UNFINISHED));
        begun.map_err(self.failed("making"))
    }

    pub(crate) fn finish(&self, file: WholeFile) -> Result<(), Error> {
        file.finish().map_err(self.failed("finishing"))
    }

    fn failed(&self, what: &str) -> impl FnOnce(std::io::Error) -> Error {
        Error::io(format!("{what} a snapshot in {}", self.directory.display()))
    }

    /// The newest that can be read; those that cannot are set aside with a warning.
    pub fn newest(&self, empty: &State) -> Option<Base> {
        self.find(empty, |_, _| true)
    }

    /// The newest of this log that is not after this revision.
    pub(crate) fn until(
        &self,
        log: &dyn Storage,
        revision: Revision,
        empty: &State,
    ) -> Option<Base> {
        self.find(empty, |path, head| {
            head.revision <= revision && is_of(log, path, head)
        })
    }

    /// The newest of this log of which every commit and restore was made at this time or before.
    pub(crate) fn until_time(&self, log: &dyn Storage, time: Time, empty: &State) -> Option<Base> {
        self.find(empty, |path, head| {
            head.latest <= time && is_of(log, path, head)
        })
    }

    fn find(&self, empty: &State, wanted: impl Fn(&Path, &Head) -> bool) -> Option<Base> {
        let usable = |revision: &Revision| {
            let path = self.path(*revision);
            let head = file::head(&path);
            let read = match head {
                Ok(head) if wanted(&path, &head) => self.read(*revision, empty.clone()),
                Ok(_) => return None,
                Err(reason) => Err(unusable(&path, reason)),
            };
            read.map_err(|error| pass_over(&path, &error)).ok()
        };
        self.listed().iter().find_map(usable)
    }

    /// Refuses a log that ends before the newest of them, or is another there. A damaged one says nothing.
    pub(crate) fn check_newest(&self, log: &dyn Storage) -> Result<(), Error> {
        for revision in self.listed() {
            let path = self.path(revision);
            let head = file::head(&path).ok();
            let Some(head) = head.filter(|head| head.tail().revision == revision) else {
                continue;
            };
            let passed = base::passes(log, head.tail());
            if passed.is_ok() || file::checked(&path).is_ok() {
                return passed;
            }
        }
        Ok(())
    }

    /// Removes those up to here but for these, and what is left of those that were damaged before any of these was
    /// made.
    pub(crate) fn retain(&self, until: Revision, kept: &[Revision]) -> Result<(), Error> {
        self.check_place()?;
        for revision in self.up_to(until)? {
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
        for revision in self.named(suffix)?.into_iter().filter(|one| is_old(*one)) {
            std::fs::remove_file(self.named_as(revision, suffix))
                .map_err(Error::io("removing what is left of a snapshot"))?;
        }
        Ok(())
    }

    pub(crate) fn path(&self, revision: Revision) -> PathBuf {
        self.named_as(revision, SUFFIX)
    }

    fn named_as(&self, revision: Revision, suffix: &str) -> PathBuf {
        self.directory.join(format!("{:020}.{suffix}", revision.0))
    }
}

/// Whether the log was once what it was made of. Copied here it may be of another, and a log that is
/// thinned has no place for it any more.
fn is_of(log: &dyn Storage, path: &Path, head: &Head) -> bool {
    let held = base::holds(log, head.tail());
    let is_over = || base::is_thinned_over(log, head.revision).unwrap_or_default();
    if let Err(error) = &held
        && !is_over()
    {
        tracing::warn!(file = %path.display(), %error, "a snapshot is not of this log; it is passed over");
    }
    held.is_ok()
}

fn unusable(path: &Path, reason: Unreadable) -> Error {
    match reason {
        Unreadable::Damaged(source) => Error::Snapshot {
            path: path.to_owned(),
            source,
        },
        Unreadable::Short => unusable(path, "it is too short".into()),
        Unreadable::Io(source) => Error::io(format!("reading {}", path.display()))(source),
    }
}

/// What is damaged gets another name. What was not read may be whole, and is left alone.
fn pass_over(path: &Path, error: &Error) {
    let what = if !matches!(error, Error::Snapshot { .. }) {
        "a snapshot was not read"
    } else if std::fs::rename(path, path.with_extension(DAMAGED)).is_ok() {
        "a snapshot is set aside"
    } else {
        "a snapshot cannot be set aside"
    };
    tracing::warn!(%error, "{what}; the log is read instead");
}

/// What the system does not say is not known: it says nothing about the file.
fn is_file(path: &Path) -> std::io::Result<bool> {
    match path.metadata() {
        Ok(found) => Ok(found.is_file()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
