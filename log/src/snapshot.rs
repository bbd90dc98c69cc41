//! Snapshots: states written to files, so that neither a start nor a question about the past has to fold
//! the whole log. They are derived data: one that cannot be read is set aside, and the log is folded
//! instead. See `docs/decisions/0012-snapshots.md`.

mod file;
mod snapshotter;
#[cfg(test)]
#[cfg(unix)]
mod tests;

#[cfg(test)]
pub(crate) use file::FORMAT;
pub(crate) use snapshotter::{Snapshotter, SnapshotterOptions, Written};

use crate::framing::Unreadable;
use crate::place::{self, Place};
use crate::{Base, Error, Records, WholeFile, owner_only, tail};
use file::Head;
use hindsight_core::{Revision, State, Time};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SUFFIX: &str = "snapshot";
const UNFINISHED: &str = "unfinished";
const DAMAGED: &str = "damaged";
/// Why a snapshot cannot be used that the log does not lead to: the log is what was acknowledged.
const OF_ANOTHER_LOG: &str = "it was not made from this log";

/// The snapshots in a directory, one file each, named by revision.
#[derive(Debug, Clone)]
pub struct Snapshots {
    directory: PathBuf,
    /// Where the directory above them was when the log was opened; set only for the owner of the log,
    /// which changes snapshots.
    place: Option<Arc<Place>>,
}

impl Snapshots {
    /// The snapshots in this directory, which need not exist.
    pub const fn at(directory: PathBuf) -> Self {
        Self {
            directory,
            place: None,
        }
    }

    /// As [`Self::at`], but changed only while the directory above is still at its path: one that
    /// replaces it holds another log, and so may one to which a link in the path leads later.
    pub(crate) fn in_place(self) -> Result<Self, Error> {
        let find = || {
            let directory = place::resolved(&self.directory)?;
            let above = directory.parent().unwrap_or(&directory);
            let place = Place::of(above, &above.metadata()?)?;
            Ok((directory, place))
        };
        let (directory, place) =
            find().map_err(Error::io("finding the directory that holds the snapshots"))?;
        Ok(Self {
            directory,
            place: Some(Arc::new(place)),
        })
    }

    fn check_place(&self) -> Result<(), Error> {
        self.place.as_ref().map_or(Ok(()), |place| place.check())
    }

    /// The revisions of all snapshots, newest first.
    pub fn revisions(&self) -> Result<Vec<Revision>, Error> {
        self.revisions_with(SUFFIX)
    }

    /// The revisions of the snapshots that can belong to a log that ends at `end`. A later one that does
    /// belong to the log shows that the log has lost its end; the check on start has ruled that out.
    pub(crate) fn revisions_up_to(&self, end: Revision) -> Result<Vec<Revision>, Error> {
        let mut revisions = self.revisions()?;
        revisions.retain(|revision| *revision <= end);
        Ok(revisions)
    }

    /// Counts only regular files with the exact name that we would give: others may keep their files here
    /// too.
    fn revisions_with(&self, suffix: &str) -> Result<Vec<Revision>, Error> {
        let io = || Error::io(format!("listing {}", self.directory.display()));
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io())?,
        };
        let mut revisions = Vec::new();
        for entry in entries {
            let path = entry.map_err(io())?.path();
            if let Some(revision) = revision_named(&path, suffix)
                && is_file(&path).map_err(io())?
            {
                revisions.push(revision);
            }
        }
        revisions.sort_unstable();
        revisions.reverse();
        Ok(revisions)
    }

    /// Writes a snapshot. A crash leaves all of it or none.
    pub fn write(&self, base: &Base) -> Result<(), Error> {
        self.check_place()?;
        let file = self.begin(base.state.revision)?;
        self.fill(file, base)
    }

    /// Writes the snapshot into the file that was begun for it, which takes its time.
    fn fill(&self, file: WholeFile, base: &Base) -> Result<(), Error> {
        let written = file::write(file.file(), base).and_then(|()| file.file().sync_all());
        written.map_err(self.failed("writing"))?;
        if let Err(error) = self.check_place() {
            // The directory was replaced, and the new one belongs to another log.
            file.leave();
            return Err(error);
        }
        self.finish(file)
    }

    /// Roughly the length of the snapshot file of this state, in bytes.
    pub(crate) fn approximate_bytes(state: &State) -> usize {
        state.objects().map(|object| object.estimated_bytes()).sum()
    }

    /// Reads a snapshot, and compares the hash of its state with the one stored in it.
    pub fn read(&self, revision: Revision, empty: &State) -> Result<Base, Error> {
        let path = self.path(revision);
        let read = file::read(&path, empty).map_err(|reason| unusable(&path, reason))?;
        if read.state.revision == revision {
            return Ok(read);
        }
        Err(unusable(&path, "it is of a different revision".into()))
    }

    /// Refuses the snapshot of this revision, if it can be read, that was not made from the log of which `base` is
    /// folded, up to there or in one frame beyond it; and, if that `is_folded` from all of it, one that holds another
    /// state. The log is verified up to there, so it is the snapshot that is wrong.
    pub(crate) fn check_agrees(
        &self,
        revision: Revision,
        base: &Base,
        is_folded: bool,
        empty: &State,
    ) -> Result<(), Error> {
        let Ok(found) = self.read(revision, empty) else {
            return Ok(());
        };
        let refused = |why: &str| Err(unusable(&self.path(revision), why.into()));
        if found.tail() != base.tail() {
            return refused(OF_ANOTHER_LOG);
        }
        if is_folded && found.state.hash() != base.state.hash() {
            return refused("it holds a different state than the log");
        }
        Ok(())
    }

    /// The revisions of all snapshots; none if they cannot be listed, because snapshots can be done
    /// without.
    fn revisions_or_none(&self) -> Vec<Revision> {
        self.revisions().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list the snapshots; reading the log instead");
            Vec::new()
        })
    }

    /// Begins the file of a snapshot, which gets its name when it is finished.
    fn begin(&self, revision: Revision) -> Result<WholeFile, Error> {
        if self.is_ours_alone() {
            owner_only::make_restricted(&self.directory)?;
        }
        let path = self.path(revision);
        let begun = WholeFile::begin_as(&path, path.with_extension(UNFINISHED));
        begun.map_err(self.failed("creating"))
    }

    /// Whether nobody else keeps files here, who may want others to read them.
    fn is_ours_alone(&self) -> bool {
        let listed = place::paths_in(&self.directory);
        listed.map_or(true, |paths| {
            paths.iter().all(|path| has_name_of_ours(path))
        })
    }

    fn finish(&self, file: WholeFile) -> Result<(), Error> {
        file.finish().map_err(self.failed("finishing"))
    }

    fn failed(&self, what: &str) -> impl FnOnce(std::io::Error) -> Error {
        Error::io(format!("{what} a snapshot in {}", self.directory.display()))
    }

    /// The newest snapshot that can be read; unreadable ones are set aside with a warning.
    pub fn newest(&self, empty: &State) -> Option<Base> {
        self.find(empty, |_, _| true)
    }

    /// As [`Self::newest`], but passes over those that can no longer be placed in the log, because it was
    /// thinned over their revisions.
    pub fn newest_in(&self, log: &dyn Records, empty: &State) -> Option<Base> {
        self.find(empty, |path, head| {
            let is_over = tail::is_thinned_over(log, head.revision).unwrap_or_default();
            if is_over {
                tracing::warn!(
                    file = %path.display(),
                    "the log was thinned over the revision of a snapshot; an older one or the log is read instead"
                );
            }
            !is_over
        })
    }

    /// The newest snapshot of this log up to this revision.
    pub(crate) fn newest_until(
        &self,
        log: &dyn Records,
        revision: Revision,
        empty: &State,
    ) -> Option<Base> {
        self.find(empty, |path, head| {
            head.revision <= revision && belongs_to(log, path, head)
        })
    }

    /// The newest snapshot of this log that contains no commit or restore later than this time.
    pub(crate) fn newest_until_time(
        &self,
        log: &dyn Records,
        time: Time,
        empty: &State,
    ) -> Option<Base> {
        self.find(empty, |path, head| {
            head.latest <= time && belongs_to(log, path, head)
        })
    }

    fn find(&self, empty: &State, wanted: impl Fn(&Path, &Head) -> bool) -> Option<Base> {
        let usable = |revision: &Revision| {
            let path = self.path(*revision);
            let head = file::head(&path);
            let read = match head {
                Ok(head) if wanted(&path, &head) => self.read(*revision, empty),
                Ok(_) => return None,
                Err(reason) => Err(unusable(&path, reason)),
            };
            if let Err(error) = &read
                && !is_absent(error)
            {
                pass_over(&path, error);
            }
            read.ok()
        };
        self.revisions_or_none().iter().find_map(usable)
    }

    /// Refuses a log that ends before its newest snapshot, or differs there, and one whose snapshots are of a newer
    /// release. Damaged ones are ignored, and those that cannot be read.
    pub fn check_newest(&self, log: &dyn Records) -> Result<(), Error> {
        self.check_against(log, self.revisions_or_none(), |_| Ok(()), file::checked)
    }

    /// As [`Self::check_newest`], where there is no other evidence of what was acknowledged: what cannot be read is
    /// not taken for absent.
    pub(crate) fn check_newest_alone(&self, log: &dyn Records) -> Result<(), Error> {
        self.check_against(log, self.revisions()?, Err, file::checked)
    }

    fn check_against(
        &self,
        log: &dyn Records,
        revisions: Vec<Revision>,
        unread: impl Fn(Error) -> Result<(), Error>,
        checked: impl Fn(&Path) -> Result<(), Unreadable>,
    ) -> Result<(), Error> {
        for revision in revisions {
            let path = self.path(revision);
            let head = match file::head(&path) {
                Err(reason @ Unreadable::Newer { .. }) => return Err(unusable(&path, reason)),
                Err(reason @ Unreadable::Io(_)) => {
                    unread(unusable(&path, reason))?;
                    None
                }
                head => head.ok(),
            };
            let Some(head) = head.filter(|head| head.tail().revision == revision) else {
                continue;
            };
            let passed = head.tail().check_passed_by(log);
            let passed = passed.map_err(Error::of_snapshot);
            if passed.is_ok() {
                return passed;
            }
            match checked(&path) {
                Ok(()) => return passed,
                Err(error @ Unreadable::Io(_)) => unread(unusable(&path, error))?,
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Removes the snapshots up to `until` except those in `kept`, and damaged files that are older than
    /// all of these.
    pub(crate) fn retain(&self, until: Revision, kept: &[Revision]) -> Result<(), Error> {
        self.check_place()?;
        for revision in self.revisions_up_to(until)? {
            if !kept.contains(&revision) {
                std::fs::remove_file(self.path(revision))
                    .map_err(Error::io("removing a snapshot"))?;
            }
        }
        let oldest = kept.iter().min().copied().unwrap_or_default();
        self.sweep(DAMAGED, |revision| revision < oldest)
    }

    /// Removes the files of snapshots that were never finished. Only the process that writes snapshots
    /// may call this.
    pub(crate) fn sweep_unfinished(&self) -> Result<(), Error> {
        self.sweep(UNFINISHED, |_| true)
    }

    fn sweep(&self, suffix: &str, is_old: impl Fn(Revision) -> bool) -> Result<(), Error> {
        for revision in self
            .revisions_with(suffix)?
            .into_iter()
            .filter(|one| is_old(*one))
        {
            std::fs::remove_file(self.path_with(revision, suffix))
                .map_err(Error::io("removing an unfinished or damaged snapshot"))?;
        }
        Ok(())
    }

    pub(crate) fn path(&self, revision: Revision) -> PathBuf {
        self.path_with(revision, SUFFIX)
    }

    fn path_with(&self, revision: Revision, suffix: &str) -> PathBuf {
        self.directory.join(file_name(revision, suffix))
    }
}

fn file_name(revision: Revision, suffix: &str) -> String {
    format!("{:020}.{suffix}", revision.0)
}

/// The revision in the name of a file, if that is exactly the name that we would give.
fn revision_named(path: &Path, suffix: &str) -> Option<Revision> {
    let stem = path.file_stem()?.to_str()?;
    let revision = Revision(stem.parse().ok()?);
    path.ends_with(file_name(revision, suffix))
        .then_some(revision)
}

/// Whether a file among the snapshots has a name that we give.
pub(crate) fn has_name_of_ours(path: &Path) -> bool {
    let mut suffixes = [SUFFIX, UNFINISHED, DAMAGED].into_iter();
    suffixes.any(|suffix| revision_named(path, suffix).is_some())
}

/// Whether the snapshot was made from this log. It may have been copied here from another; and in a log
/// that was thinned over its revision it cannot be placed any more.
fn belongs_to(log: &dyn Records, path: &Path, head: &Head) -> bool {
    let Err(error) = head.tail().check_in(log) else {
        return true;
    };
    if tail::is_thinned_over(log, head.revision).unwrap_or_default() {
        return false;
    }
    // The log is not at fault, and nothing that witnesses it is to be thrown away.
    let error = match error {
        Error::Diverged { .. } => unusable(path, OF_ANOTHER_LOG.into()),
        other => other,
    };
    tracing::warn!(file = %path.display(), %error, "a snapshot does not belong to this log; ignoring it");
    false
}

fn unusable(path: &Path, reason: Unreadable) -> Error {
    match reason {
        Unreadable::Damaged(source) => Error::Snapshot {
            path: path.to_owned(),
            source,
        },
        Unreadable::Empty | Unreadable::Short => unusable(path, "it is too short".into()),
        Unreadable::Newer { found, known } => Error::NewerSnapshot {
            path: path.to_owned(),
            found,
            known,
        },
        Unreadable::Io(source) => Error::reading(path.display().to_string())(source),
    }
}

/// Whether the file is not there: it was removed since it was listed, as older ones are.
fn is_absent(error: &Error) -> bool {
    matches!(error, Error::Read { source, .. } if source.kind() == ErrorKind::NotFound)
}

/// Renames a damaged snapshot. One that could not be read may be intact, and is left alone.
fn pass_over(path: &Path, error: &Error) {
    let what = if !matches!(error, Error::Snapshot { .. }) {
        "cannot read a snapshot"
    } else if std::fs::rename(path, path.with_extension(DAMAGED)).is_ok() {
        "a damaged snapshot was set aside"
    } else {
        "cannot set a damaged snapshot aside"
    };
    tracing::warn!(file = %path.display(), reason = reason(error), "{what}; an older one or the log is read instead");
}

fn reason(error: &Error) -> String {
    match error {
        Error::Snapshot { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Whether this is a regular file. If the system cannot examine it, that is an error rather than a no.
fn is_file(path: &Path) -> std::io::Result<bool> {
    match path.metadata() {
        Ok(found) => Ok(found.is_file()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
