//! Makes a log from a backup, in a directory that has none: for the command line, and for programs.

use crate::data_dir::DataDir;
use crate::effects;
use crate::restoring::{self, failed, remove, settle};
use crate::shell;
use hindsight_core::Revision;
use hindsight_log::layout::{EVENTS, PARTS};
use hindsight_log::regular::{is_there, leads_nowhere};
use hindsight_log::{
    DirectoryLock, Error, Restore, RestoreStep, Restored, SledStorage, Snapshots, Storage, device,
    make_private, overwrite_in_place, sync_directory,
};
use std::ffi::OsStr;
use std::io::{self, BufReader, Read};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

/// Why a backup could not be restored into a directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The backup, or the directory, cannot be used.
    #[error(transparent)]
    Log(#[from] Error),
    /// Something is in the place of the log: what, and what to do.
    #[error("{0}")]
    InTheWay(String),
}

/// Makes a log from a backup, in a directory that has none and is created if it does not exist.
/// [`crate::ControlPlane::open`] then continues it, at revisions above all that were issued since the backup: `bump`
/// is how far above, as [`hindsight_log::Restore`] has it, and [`hindsight_log::DEFAULT_BUMP`] fits unless the clock
/// of the system was set back. `progress` is told of each frame when it is written, and again when it is read back
/// from the disk.
///
/// Blocks. Refuses a directory in use ([`Error::Locked`]; it does not wait, and has read nothing of the backup then).
/// After a failure there is no log in the directory, and one that was created for it is removed; but if all that fails
/// is to sync the directory at the end, the log is there, whole, and a power cut may take it. If the process ends
/// meanwhile, or what it has made can be neither completed nor removed, nothing else accepts the directory until the
/// restore is run again.
pub fn restore(
    directory: &Path,
    from: impl Read,
    bump: NonZeroU64,
    progress: impl FnMut(RestoreStep),
) -> Result<Restored, RestoreError> {
    effects::check_clock()?;
    let was_there = !matches!(directory.try_exists(), Ok(false));
    let lock = DirectoryLock::acquire(directory).inspect_err(|error| {
        if !was_there && !matches!(error, Error::Locked { .. }) {
            // There was no room for the lock. With one in it, even a blank one, it may be somebody's already.
            std::fs::remove_dir(directory).ok();
        }
    })?;
    let restored = restore_locked(lock.directory(), BufReader::new(from), bump, progress);
    if restored.is_err() && !was_there {
        // Removes nothing of anybody else: a directory that is not empty stays.
        lock.remove();
        std::fs::remove_dir(directory).ok();
    }
    restored
}

fn restore_locked(
    directory: &Path,
    from: impl Read,
    bump: NonZeroU64,
    progress: impl FnMut(RestoreStep),
) -> Result<Restored, RestoreError> {
    refuse_dangling(directory)?;
    match restoring::check(directory) {
        Err(Error::UnfinishedRestore(_)) => restoring::discard(directory)?,
        checked => checked?,
    }
    for part in PARTS {
        if is_there(&directory.join(part))? {
            return Err(in_the_way(directory, part));
        }
    }
    settle(directory)?;
    let work = DataDir(directory).restoring();
    let filled = fill(&work, from, bump, progress);
    if filled.is_err() {
        // Why is what is told. What stays is refused by all but a restore.
        remove(&work).ok();
    }
    let restored = filled?;
    let installed = install(directory, &work);
    if installed.is_err() && restoring::is_unfinished(directory).unwrap_or(false) {
        // What stays is refused by all but a restore.
        restoring::discard(directory).ok();
    }
    installed?;
    restoring::remove_work(DataDir(directory));
    overwrite_in_place(directory, &PARTS);
    Ok(restored)
}

/// Refuses a link that leads nowhere in the place of a part: what it leads to may be a log, on a disk that is missing.
fn refuse_dangling(directory: &Path) -> Result<(), Error> {
    for path in PARTS.map(|part| directory.join(part)) {
        if leads_nowhere(&path)? {
            let newest = Revision::ZERO;
            return Err(Error::Dangling { path, newest });
        }
    }
    Ok(())
}

/// Why this part of a log keeps another from its place, and what to do. A file system that is mounted there can
/// neither be moved nor be moved to.
fn in_the_way(directory: &Path, part: &str) -> RestoreError {
    let (shown, events) = (directory.display(), DataDir(directory).events());
    let word = |path: &Path| shell::word(&path.to_string_lossy()).into_owned();
    let copied = format!(
        "restore into another data directory and copy the log from there, first `cp -a NEW/events.tail {}`, then \
         `cp -a NEW/events/. {}`",
        word(directory),
        word(&events)
    );
    if part == EVENTS && is_without_files(&events) {
        return RestoreError::InTheWay(format!(
            "{} is in the way of a log, though it has none; remove it and restore again; or, if it is where a \
             file system is mounted, {copied}",
            events.display()
        ));
    }
    // The others may also be what was forgotten when a log was moved.
    let is_log = events.is_dir() && !is_without_files(&events);
    let part = if is_log { EVENTS } else { part };
    let log = format!("{shown} already contains a log ({part})");
    if device(&events).is_some_and(|own| Some(own) != device(directory)) {
        return RestoreError::InTheWay(format!(
            "{log}, and its events is a file system of its own; name another data directory, or move events.*, \
             snapshots and the files in events out of it, then {copied}"
        ));
    }
    RestoreError::InTheWay(format!(
        "{log}; name another data directory, or move events* and snapshots out of it"
    ))
}

/// Whether this is a directory that holds nothing, or only what some file systems have at their top.
fn is_without_files(directory: &Path) -> bool {
    let is_of_file_system = |name: &OsStr| name == "lost+found";
    directory.read_dir().is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| is_of_file_system(&entry.file_name())))
    })
}

fn fill(
    work: &Path,
    from: impl Read,
    bump: NonZeroU64,
    mut progress: impl FnMut(RestoreStep),
) -> Result<Restored, Error> {
    make_private(work).map_err(failed("creating", work))?;
    overwrite_in_place(work, &[]);
    let data = DataDir(work);
    let snapshots = data.snapshots();
    let storage = open(data)?;
    let written = target(&storage, &snapshots, bump).write(from, &mut progress)?;
    let storage = reopened(storage, data)?;
    let restored = target(&storage, &snapshots, bump).finish(written, progress)?;
    // Everything is synced by now. But a disk that fails already is no place for what was just saved.
    storage.release()?;
    Ok(restored)
}

/// Opened again, the database gives back what the disk has, and not what is in memory.
fn reopened(storage: Arc<dyn Storage>, work: DataDir<'_>) -> Result<Arc<dyn Storage>, Error> {
    storage.release()?;
    open(work)
}

fn open(work: DataDir<'_>) -> Result<Arc<dyn Storage>, Error> {
    Ok(Arc::new(SledStorage::open(&work.events())?))
}

fn target<'a>(
    storage: &'a Arc<dyn Storage>,
    snapshots: &'a Snapshots,
    bump: NonZeroU64,
) -> Restore<'a> {
    Restore {
        storage,
        snapshots,
        bump,
        time: effects::now(),
    }
}

/// Moves the parts to their place. From here on a crash leaves either the work or the whole log.
fn install(directory: &Path, work: &Path) -> Result<(), Error> {
    install_with(directory, work, sync_directory)
}

/// The same with this way to sync a directory.
fn install_with(
    directory: &Path,
    work: &Path,
    sync: impl Fn(&Path) -> io::Result<()>,
) -> Result<(), Error> {
    sync(work).map_err(failed("syncing", work))?;
    for part in PARTS {
        let from = work.join(part);
        if part == EVENTS {
            sync(directory).map_err(failed("syncing", directory))?;
        }
        if is_there(&from)? {
            std::fs::rename(&from, directory.join(part)).map_err(failed("moving", &from))?;
        }
    }
    let what = format!(
        "syncing {}, in which the restored log is whole (`hindsight serve` syncs it again; until then a power cut may \
         take it)",
        directory.display()
    );
    sync(directory).map_err(Error::io(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fill, plane, tree};
    use crate::{Config, ControlPlane};
    use hindsight_core::Time;
    use std::fs;
    use std::io::ErrorKind;

    /// Restores the backup of a new log.
    fn restore_into(directory: &Path) -> Result<Restored, RestoreError> {
        let (plane, mut file) = (plane(), Vec::new());
        let made = plane.reader().backup(Time(0), &mut file, |_, _| {});
        made.expect("made");
        restore(directory, &*file, NonZeroU64::MIN, |_| {})
    }

    #[test]
    fn a_restored_log_goes_on_behind_its_backup_and_a_directory_in_use_is_refused_unread() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path().join("data");
        let restored = restore_into(&at).expect("restored");
        assert!(restored.revision > restored.backup.tail.revision);
        let config = Config {
            data_dir: Some(at.clone()),
            collectors: false,
            ..Config::default()
        };
        let opened = ControlPlane::open(config).expect("it opens");
        assert_eq!(opened.restored(), restored.revision);
        let mut unread = &b"unread"[..];
        let refused = restore(&at, &mut unread, NonZeroU64::MIN, |_| {});
        let refused = refused.expect_err("it is in use");
        assert!(matches!(refused, RestoreError::Log(Error::Locked { .. })));
        assert_eq!(unread, b"unread");
    }

    #[test]
    fn a_restore_begins_again_over_nothing_of_somebody_else() {
        for (others, named) in [
            (
                &[
                    "restoring/keep.txt",
                    "snapshots/photo.txt",
                    "events.reserve/",
                ][..],
                "restoring/keep.txt",
            ),
            (
                &["restoring/", "snapshots/photo.txt"],
                "snapshots/photo.txt",
            ),
            (&["restoring/", "events.reserve/"], "events.reserve"),
        ] {
            let temporary = tempfile::tempdir().expect("a directory");
            let at = temporary.path();
            fill(at, others);
            let before = tree(at);
            let told = restore_into(at).expect_err("it is refused").to_string();
            assert!(told.contains(&format!("{named} is, or")), "{told}");
            assert!(tree(at) == before, "{others:?}");
        }
    }

    #[test]
    fn where_only_the_last_sync_fails_it_is_told_that_the_log_is_there() {
        let temporary = tempfile::tempdir().expect("a directory");
        let [at, work] = ["data", "work"].map(|name| temporary.path().join(name));
        restore_into(&work).expect("restored");
        fs::create_dir(&at).expect("made");
        let told = install_with(&at, &work, |synced| {
            if DataDir(&at).events().exists() {
                assert_eq!(synced, at);
                return Err(ErrorKind::Other.into());
            }
            Ok(())
        });
        let told = told.expect_err("it is not synced").to_string();
        let begins = format!(
            "syncing {}, in which the restored log is whole ",
            at.display()
        );
        assert!(told.starts_with(&begins), "{told}");
        let config = Config {
            data_dir: Some(at),
            collectors: false,
            ..Config::default()
        };
        ControlPlane::open(config).expect("it opens").close();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_is_in_the_place_of_a_log_that_may_come_back() {
        for part in PARTS {
            let temporary = tempfile::tempdir().expect("a directory");
            let at = temporary.path().join("data");
            fs::create_dir(&at).expect("made");
            std::os::unix::fs::symlink("../disk", at.join(part)).expect("linked");
            let before = tree(&at);
            let told = restore_into(&at).expect_err("it is refused").to_string();
            let expected = format!("{part} is a link that leads nowhere, so it is unknown");
            assert!(told.contains(&expected), "{told}");
            assert!(tree(&at) == before, "{part}");
        }
    }

    #[test]
    fn what_an_interrupted_restore_left_goes_and_the_next_one_begins_again() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        let work = DataDir(at).restoring();
        let config = Config {
            data_dir: Some(work.clone()),
            ..Config::default()
        };
        ControlPlane::open(config).expect("it opens").close();
        for moved in PARTS.iter().filter(|part| **part != EVENTS) {
            fs::rename(work.join(moved), at.join(moved)).ok();
        }
        fs::create_dir(DataDir(at).verifying()).expect("made");
        restore_into(at).expect("restored");
        assert!(!work.exists() && !DataDir(at).verifying().exists());
        let refused = restore_into(at).expect_err("there is a log");
        assert!(
            refused
                .to_string()
                .contains("already contains a log (events)")
        );
    }
}
