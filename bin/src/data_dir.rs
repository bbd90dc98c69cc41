//! What a data directory contains, and under which names.

#[cfg(feature = "http")]
use hindsight_log::DirectoryLock;
use hindsight_log::{Snapshots, layout};
#[cfg(feature = "http")]
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A data directory, or one that is laid out like it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataDir<'a>(pub(crate) &'a Path);

impl DataDir<'_> {
    /// The database of the log.
    pub(crate) fn events(self) -> PathBuf {
        self.0.join(layout::EVENTS)
    }

    /// The file that witnesses how far the log was acknowledged.
    #[cfg(feature = "http")]
    pub(crate) fn tail(self) -> PathBuf {
        self.0.join(layout::TAIL)
    }

    /// The snapshots of the log.
    pub(crate) fn snapshots(self) -> Snapshots {
        Snapshots::at(self.0.join(layout::SNAPSHOTS))
    }

    /// Where a restore works until it is complete.
    pub(crate) fn restoring(self) -> PathBuf {
        self.0.join("restoring")
    }

    /// The copy that a verification reads, which stays behind if it is killed. The copy holds every Secret.
    pub(crate) fn verifying(self) -> PathBuf {
        self.0.join("verifying")
    }

    /// The keys and certificates of the server.
    #[cfg(feature = "http")]
    pub(crate) fn pki(self) -> PathBuf {
        self.0.join("pki")
    }

    /// The administrator's kubeconfig.
    #[cfg(feature = "http")]
    pub(crate) fn kubeconfig(self) -> PathBuf {
        self.0.join("admin.kubeconfig")
    }

    /// Everything that has a name of ours.
    #[cfg(feature = "http")]
    fn parts(self) -> impl Iterator<Item = PathBuf> {
        let beside = [
            DirectoryLock::path(self.0),
            self.0.join(layout::SPARE),
            self.restoring(),
            self.verifying(),
            self.pki(),
            self.kubeconfig(),
        ];
        let of_log = layout::PARTS.map(|part| self.0.join(part));
        of_log.into_iter().chain(beside)
    }

    /// What of ours a file at this place would replace, or be in. Links, mounts and other names of the same file do
    /// not hide it; the place need not exist.
    #[cfg(feature = "http")]
    pub(crate) fn part_at(self, place: &Path) -> Option<PathBuf> {
        let above = hindsight_log::above(place);
        let folders = above.canonicalize().unwrap_or_else(|_| above.to_owned());
        let within: Vec<_> = folders.ancestors().filter_map(identity).collect();
        let is_here = identity(self.0).is_some_and(|here| identity(&folders) == Some(here));
        let file = identity(place);
        let is_file = |path: &Path| file.is_some() && identity(path) == file;
        self.parts().find(|part| {
            place.starts_with(part)
                || (is_here && place.file_name() == part.file_name())
                || identity(part).is_some_and(|found| within.contains(&found))
                || is_file(part)
                || entries(part).any(|entry| is_file(&entry))
        })
    }
}

/// The device and the number of what a path leads to.
#[cfg(feature = "http")]
fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// What is in a directory; nothing if it cannot be listed.
#[cfg(feature = "http")]
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = directory.read_dir().into_iter().flatten();
    entries.flatten().map(|entry| entry.path())
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use crate::testing::fill;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn whatever_leads_to_a_part_of_the_directory_is_told_from_what_lies_beside_it() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        let [data, none] = ["data", "none"].map(|name| at.join(name));
        let [data, none] = [&data, &none].map(|path| DataDir(path));
        fill(
            at,
            &["data/lock", "data/pki/", "mounted/db", "secrets/key", "own"],
        );
        for (of, link) in [
            ("mounted", "data/events"),
            ("secrets/key", "data/pki/ca.key"),
            ("data", "linked"),
        ] {
            symlink(at.join(of), at.join(link)).expect("linked");
        }
        fs::hard_link(at.join("data/lock"), at.join("same")).expect("linked");
        for (place, part) in [
            ("data/lock", Some("lock")),
            ("same", Some("lock")),
            ("linked/lock", Some("lock")),
            ("data/./../data/events.tail", Some("events.tail")),
            ("data/events.place", Some("events.place")),
            ("data/events.reserve", Some("events.reserve")),
            ("data/admin.kubeconfig", Some("admin.kubeconfig")),
            ("data/snapshots/new", Some("snapshots")),
            ("data/restoring/events/new", Some("restoring")),
            ("data/verifying/new", Some("verifying")),
            ("mounted/db", Some("events")),
            ("mounted/new", Some("events")),
            ("linked/pki/new", Some("pki")),
            ("secrets/key", Some("pki")),
            ("secrets/new", None),
            ("own", None),
            ("events.tail", None),
            ("missing/lock", None),
            ("data/own", None),
            ("data/missing/lock", None),
            ("linked/events.backup", None),
        ] {
            let found = data.part_at(&at.join(place));
            assert_eq!(found, part.map(|part| data.0.join(part)), "{place}");
        }
        let made = none.part_at(&at.join("none/lock"));
        assert_eq!(made, Some(at.join("none/lock")), "a start makes it");
    }
}
