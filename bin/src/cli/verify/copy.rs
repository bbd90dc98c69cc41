//! The copy of a log that is verified: it is made in the data directory and removed afterwards, even if a
//! signal ends the command before.

use crate::cli::ask::Source;
use crate::cli::signal_guard::SignalGuard;
use crate::data_dir::DataDir;
use crate::{effects, restoring};
use anyhow::Result;
use hindsight_log::{
    DirectoryLock, Error, Reader, SledStorage, is_read_by_database, make_private, read_from_disk,
    regular,
};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ATTEMPTS_MAX: usize = 100;

/// A copy of the log in its data directory, removed when it is dropped.
pub(super) struct LogCopy {
    directory: PathBuf,
    lock: Option<DirectoryLock>,
    guard: SignalGuard,
}

impl LogCopy {
    pub(super) fn of(directory: &Path) -> Result<Self, Error> {
        effects::check_clock()?;
        let lock = DirectoryLock::acquire(directory)?;
        let locked = lock.directory().to_owned();
        restoring::check(&locked)?;
        let data = DataDir(&locked);
        SledStorage::check_files(&data.events())?;
        SledStorage::check_free(&data.events())?;
        SledStorage::check_ours(&data.events())?;
        let half_made = data.verifying();
        // Nothing of an earlier copy may pass for a part of this one.
        restoring::remove_copy(data)?;
        let copy = Self {
            directory: half_made.clone(),
            lock: Some(lock),
            guard: SignalGuard::after(move || remove_all(&half_made)).map_err(failed(directory))?,
        };
        let copied = DataDir(&copy.directory);
        copy_directory(
            &data.events(),
            &copied.events(),
            is_read_by_database,
            &copy.guard,
        )?;
        if regular::is_there(&data.tail())? {
            copy_file(&data.tail(), &copied.tail())?;
        }
        Ok(copy)
    }

    pub(super) fn reader(&self) -> Result<Source> {
        let data = self.directory.parent().unwrap_or(&self.directory);
        let storage = SledStorage::open(&DataDir(&self.directory).events())
            .map_err(|error| of_original(error, &self.directory, data))?;
        Ok(Source::Directory {
            reader: Reader::new(Arc::new(storage)).with_snapshots(DataDir(data).snapshots()),
            _lock: Some(DirectoryLock::acquire(&self.directory)?),
        })
    }

    /// Removes what a completed restore has left beside the log, once that is known to be one.
    pub(super) fn accept(&self) {
        let data = self.directory.parent().unwrap_or(&self.directory);
        restoring::remove_work(DataDir(data));
    }
}

/// The error about a file of the copy as one about the file that was copied: the copy is gone when it is read.
fn of_original(error: Error, copy: &Path, data: &Path) -> Error {
    let original = |path: PathBuf| {
        path.strip_prefix(copy)
            .map_or(path.clone(), |file| data.join(file))
    };
    match error {
        Error::Damaged { path, at } => Error::Damaged {
            path: original(path),
            at,
        },
        Error::Foreign(path) => Error::Foreign(original(path)),
        Error::NotAFile(path) => Error::NotAFile(original(path)),
        Error::TooLong { path, longest } => Error::TooLong {
            path: original(path),
            longest,
        },
        other => other,
    }
}

impl Drop for LogCopy {
    fn drop(&mut self) {
        // If copying failed because a signal removed the copy, the process ends here.
        let remove = || warn_if_left(&self.directory, removed(&self.directory));
        self.guard.unless_signalled(remove);
        self.lock = None;
    }
}

/// Removes the copy while it may still be written to.
fn remove_all(directory: &Path) {
    warn_if_left(directory, remove_repeatedly(directory, removed));
}

/// Removes in this way until nothing is left; fails as the last of many attempts.
fn remove_repeatedly(
    directory: &Path,
    mut remove: impl FnMut(&Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut last = Ok(());
    for _ in 0..ATTEMPTS_MAX {
        last = remove(directory);
        if !directory.exists() {
            return Ok(());
        }
    }
    last.and_then(|()| Err(std::io::ErrorKind::DirectoryNotEmpty.into()))
}

fn removed(directory: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn warn_if_left(directory: &Path, removed: std::io::Result<()>) {
    if let Err(error) = removed {
        tracing::warn!(%error, directory = %directory.display(), "the copy made for verification could not be removed");
    }
}

/// The error of what cannot be copied.
fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    Error::io(format!("copying {} for verification", path.display()))
}

/// Makes the copy closed to all but its owner, as the log is: it holds every Secret. Only what is wanted is copied, with
/// all that is in it.
fn copy_directory(
    from: &Path,
    to: &Path,
    is_wanted: fn(&Path) -> bool,
    guard: &SignalGuard,
) -> Result<(), Error> {
    make_private(to).map_err(failed(from))?;
    for entry in std::fs::read_dir(from).map_err(failed(from))? {
        let entry = entry.map_err(failed(from))?;
        if !is_wanted(&entry.path()) {
            continue;
        }
        if guard.is_signalled() {
            return Err(failed(from)(std::io::ErrorKind::Interrupted.into()));
        }
        let (original, target) = (entry.path(), to.join(entry.file_name()));
        // Skips pipes and devices, which might have no end.
        let metadata = std::fs::metadata(&original).map_err(failed(&original))?;
        if metadata.is_dir() {
            copy_directory(&original, &target, |_| true, guard)?;
        } else if metadata.is_file() {
            copy_file(&original, &target)?;
        }
    }
    Ok(())
}

/// Copies what the disk has of a file.
fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    let copied = File::open(from).and_then(|file| {
        read_from_disk(&file, from)?;
        std::fs::copy(from, to)
    });
    copied.map(drop).map_err(failed(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fill, tree};
    use crate::{Config, ControlPlane};
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_cannot_be_copied_is_named() {
        let temporary = tempfile::tempdir().expect("a directory");
        let [from, to] = ["from", "to"].map(|name| temporary.path().join(name));
        let link = from.join("blobs/7");
        std::fs::create_dir_all(from.join("blobs")).expect("made");
        symlink("nowhere", &link).expect("linked");
        let guard = SignalGuard::after(|| {}).expect("it waits");
        let refused =
            copy_directory(&from, &to, is_read_by_database, &guard).expect_err("it leads nowhere");
        let told = refused.to_string();
        let named = format!("copying {} for verification: ", link.display());
        assert!(told.starts_with(&named), "{told}");
    }

    /// What is written to it meanwhile is in the way, until it is removed too.
    #[test]
    fn a_copy_that_is_gone_in_the_end_was_removed_however_often_that_failed() {
        let temporary = tempfile::tempdir().expect("a directory");
        for (failures, is_removed) in [(0, true), (2, true), (ATTEMPTS_MAX, false)] {
            let copy = temporary.path().join("copy");
            fill(&copy, &["events/db"]);
            let mut attempts = 0;
            let found = remove_repeatedly(&copy, |directory| {
                attempts += 1;
                if attempts <= failures {
                    return Err(std::io::ErrorKind::DirectoryNotEmpty.into());
                }
                removed(directory)
            });
            assert_eq!(found.is_ok(), is_removed, "{failures}: {found:?}");
            assert_eq!(copy.exists(), !is_removed, "{failures}");
        }
    }

    /// Whether it is one is known when its end was read.
    #[test]
    fn what_a_restore_left_beside_a_log_stays_until_that_is_accepted() {
        let temporary = tempfile::tempdir().expect("a directory");
        let config = Config {
            data_dir: Some(temporary.path().to_owned()),
            collectors: false,
            ..Config::default()
        };
        ControlPlane::open(config).expect("it opens").close();
        let left = DataDir(temporary.path()).restoring();
        std::fs::create_dir(&left).expect("made");
        let copy = LogCopy::of(temporary.path()).expect("copied");
        drop(copy.reader().expect("opened"));
        assert!(left.exists());
        copy.accept();
        assert!(!left.exists());
    }

    /// It would be in the way of what removes a copy that is left.
    #[test]
    fn of_what_others_keep_beside_a_database_there_is_no_copy() {
        let temporary = tempfile::tempdir().expect("a directory");
        let [from, to] = ["from", "to"].map(|name| temporary.path().join(name));
        let ours = ["blobs/7", "conf", "db", "snap.7"];
        fill(&from, &ours);
        fill(&from, &["lost+found/", "lost+found/db", "notes.txt"]);
        // It may be there because nobody could read it.
        fill(&from, &["unread.snap.7.damaged"]);
        let guard = SignalGuard::after(|| {}).expect("watched");
        copy_directory(&from, &to, is_read_by_database, &guard).expect("copied");
        let expected = ours.iter().map(|name| to.join(name));
        let mut expected: Vec<_> = expected.chain([to.join("blobs")]).collect();
        expected.sort();
        let copied: Vec<_> = tree(&to).into_keys().collect();
        assert_eq!(copied, expected);
    }

    #[test]
    fn what_is_wrong_with_the_copy_is_told_of_the_file_that_was_copied() {
        let (data, copy) = (Path::new("/data"), Path::new("/data/verifying"));
        for (error, told) in [
            (
                Error::Damaged {
                    path: copy.join("events/db"),
                    at: 512,
                },
                "/data/events/db is damaged at byte 512",
            ),
            (Error::Foreign(copy.join("events")), "/data/events is, or"),
            (
                Error::NotAFile(copy.join("events.tail")),
                "/data/events.tail is not",
            ),
            (Error::NotAFile("/data/lock".into()), "/data/lock is not"),
            (
                Error::TooLong {
                    path: copy.join("events/conf"),
                    longest: 90,
                },
                "/data/events/conf is longer than 90 bytes",
            ),
        ] {
            let error = of_original(error, copy, data).to_string();
            assert!(error.starts_with(told), "{error}");
        }
    }
}
