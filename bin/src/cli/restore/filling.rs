//! Fills a directory that has no log from a backup.

use crate::data_dir::DataDir;
use crate::effects;
use crate::hint::hint;
use crate::lock_wait::{LockWait, RETRY_PAUSE};
use crate::restoring::{failed, is_there, is_unfinished, remove, settle};
use anyhow::{Result, bail};
use hindsight_log::layout::{EVENTS, PARTS};
use hindsight_log::{
    DirectoryLock, Error, Restore, RestoreStep, Restored, SledStorage, Storage, make_private,
};
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

/// Makes a log from a backup in a directory that has none. If that fails, a directory that was created for
/// it is removed.
pub(super) fn restore(
    directory: &Path,
    from: impl Read,
    bump: NonZeroU64,
    progress: impl FnMut(RestoreStep),
) -> Result<Restored> {
    effects::check_clock()?;
    let was_there = !matches!(directory.try_exists(), Ok(false));
    let lock = acquire(directory).inspect_err(|error| {
        if !was_there && !matches!(error, Error::Locked { .. }) {
            forget(directory);
        }
    })?;
    let restored = restore_locked(lock.directory(), from, bump, progress);
    if restored.is_err() && !was_there {
        // Removes nothing of anybody else: a directory that is not empty stays.
        lock.remove();
        std::fs::remove_dir(directory).ok();
    }
    restored
}

/// Takes the directory, as soon as nobody else holds it.
fn acquire(directory: &Path) -> Result<DirectoryLock, Error> {
    let mut wait = LockWait::begin(hint);
    loop {
        match DirectoryLock::acquire(directory) {
            Err(error) if wait.covers(&error) => std::thread::sleep(RETRY_PAUSE),
            taken => return taken,
        }
    }
}

/// Removes a directory for whose lock there was no room. Nothing of anybody else goes: a lock that has a
/// holder is not empty.
fn forget(directory: &Path) {
    let lock = DirectoryLock::path(directory);
    if lock.metadata().is_ok_and(|found| found.len() == 0) {
        std::fs::remove_file(lock).ok();
    }
    std::fs::remove_dir(directory).ok();
}

fn restore_locked(
    directory: &Path,
    from: impl Read,
    bump: NonZeroU64,
    progress: impl FnMut(RestoreStep),
) -> Result<Restored> {
    if is_unfinished(directory)? {
        for part in PARTS {
            remove(&directory.join(part))?;
        }
        remove(&DataDir(directory).restoring())?;
    }
    settle(directory)?;
    for part in PARTS {
        if is_there(&directory.join(part))? {
            bail!(
                "{} already contains a log ({part}); name another data directory, or move events* and snapshots \
                 out of it",
                directory.display()
            );
        }
    }
    let work = DataDir(directory).restoring();
    let filled = fill(&work, from, bump, progress);
    if filled.is_err() {
        remove(&work)?;
    }
    let restored = filled?;
    install(directory, &work)?;
    Ok(restored)
}

fn fill(
    work: &Path,
    from: impl Read,
    bump: NonZeroU64,
    progress: impl FnMut(RestoreStep),
) -> Result<Restored, Error> {
    make_private(work).map_err(failed("creating", work))?;
    let storage: Arc<dyn Storage> = Arc::new(SledStorage::open(&DataDir(work).events())?);
    let restore = Restore {
        storage: &storage,
        snapshots: &DataDir(work).snapshots(),
        bump,
        time: effects::now(),
    };
    let restored = restore.run(from, progress)?;
    // Everything is synced by now. But a disk that fails already is no place for what was just saved.
    storage.release()?;
    Ok(restored)
}

/// Moves the parts to their place. From here on a crash leaves either the work or the whole log.
fn install(directory: &Path, work: &Path) -> Result<(), Error> {
    sync(work)?;
    for part in PARTS {
        let from = work.join(part);
        if part == EVENTS {
            sync(directory)?;
        }
        if is_there(&from)? {
            std::fs::rename(&from, directory.join(part)).map_err(failed("moving", &from))?;
        }
    }
    sync(directory)?;
    remove(work)
}

fn sync(directory: &Path) -> Result<(), Error> {
    let synced = File::open(directory).and_then(|file| file.sync_all());
    synced.map_err(failed("syncing", directory))
}
