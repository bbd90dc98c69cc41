//! Opens the database: when no other process has it, with disk space for what sled writes then, and
//! without damaged side files.

pub(super) mod start;

use super::super::reserve::{RESERVE_BYTES, Reserve};
use super::super::space::{KEPT_BYTES, OPENING_BYTES, OTHERS_BYTES};
use super::super::{blocks, page_cache};
use super::journal::CAPACITY_BYTES;
use super::{SEGMENT_BYTES, engine, hidden, settings, side};
use crate::layout::{BLOBS, CONFIGURATION, DATABASE, witness_path};
use crate::place::{above, examined_device};
use crate::system_error::is_full;
use crate::{EngineCall, Error, regular};
use hindsight_core::Revision;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Result as IoResult};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

const CACHE_BYTES: u64 = 8 << 20;
const ATTEMPTS_MAX: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);
/// For the first records, and for the small files that are made before them.
const FIRST_BYTES: u64 = 1 << 20;
/// Disk space that a new log needs: by the time of the first records all of this is taken, or left for others.
pub const NEW_LOG_BYTES: u64 = SEGMENT_BYTES as u64
    + KEPT_BYTES
    + RESERVE_BYTES
    + CAPACITY_BYTES as u64
    + FIRST_BYTES
    + OTHERS_BYTES;
/// The length that the file of a new database needs: the first segment, another, and what is kept behind them.
const NEW_DATABASE_BYTES: u64 = 2 * SEGMENT_BYTES as u64 + KEPT_BYTES + OPENING_BYTES;

/// Waits until nobody has the database open. A process that writes to it holds a lock on it, even if
/// somebody has removed the lock of the directory. If this process has just closed it, sled's threads
/// release it a moment later.
pub(super) fn wait_until_free(database: &Path) -> Result<(), Error> {
    let Some(file) = regular::open_if_there(database, File::options().read(true))? else {
        return Ok(());
    };
    for _ in 0..ATTEMPTS_MAX {
        if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            // sled locks it again, and reports any error of the system. A child process that is being started
            // has this descriptor too for a moment, so closing it does not release the lock.
            file.unlock().ok();
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    Err(Error::Locked {
        directory: database.to_owned(),
        holder: "a process that has it open".into(),
    })
}

/// sled does not survive a write beyond the limit on the length of a file. `Space` prevents that in the
/// same way as a full disk, except for what sled writes when it opens: up to the end of a segment.
fn refuse_short_files(database: &Path) -> Result<(), Error> {
    let segment = SEGMENT_BYTES as u64;
    let needed = match database.metadata() {
        Ok(found) if found.len() > 0 => found.len().next_multiple_of(segment) + segment,
        _ => NEW_DATABASE_BYTES,
    };
    let limit = blocks::longest_file();
    if limit >= needed {
        return Ok(());
    }
    Err(Error::ShortFiles { limit, needed })
}

/// Opens the database, and releases as much of the reserve as that takes. Frames up to `synced` are known
/// to have been durable.
fn open_with_reserve(
    directory: &Path,
    synced: Revision,
    reserve: &mut Reserve,
) -> Result<::sled::Db, Error> {
    reserve.release_if_space_is_low()?;
    loop {
        let error = match open_whole(directory, synced)? {
            Err(error) => opening_error(directory, error),
            Ok(database) => return Ok(database),
        };
        if !matches!(&error, Error::Io { source, .. } if is_full(source)) {
            return Err(error);
        }
        side::drop_unfinished(directory)?;
        if !reserve.release_part()? {
            return Err(error);
        }
    }
}

/// The engine's error names no file. It is about `blobs` if that cannot be listed, and else about what is in the
/// directory or cannot be made there.
fn opening_error(directory: &Path, error: ::sled::Error) -> Error {
    match engine(EngineCall::Open, error) {
        Error::Io { what, source } => {
            let blobs = directory.join(BLOBS);
            let listed = std::fs::read_dir(&blobs);
            let is_blobs = listed.is_err_and(|error| error.kind() == source.kind());
            let place = if is_blobs { &blobs } else { directory };
            let what = format!("{what} in {}", place.display());
            Error::Io { what, source }
        }
        other => other,
    }
}

/// Which part of the database was examined depends on the side files, so without them it is examined
/// again before sled has another try. It panics over some of them.
fn open_whole(directory: &Path, synced: Revision) -> Result<::sled::Result<::sled::Db>, Error> {
    side::drop_unfinished(directory)?;
    settings::drop_unusable(directory)?;
    let opened = open_database(directory)?;
    let is_damaged = match &opened {
        Err(::sled::Error::Corruption { .. }) => true,
        Err(::sled::Error::Io(error)) if error.kind() == ErrorKind::InvalidData => {
            !side::newest_first(directory)?.is_empty()
        }
        _ => false,
    };
    if !is_damaged {
        return Ok(opened);
    }
    side::quarantine_all(directory)?;
    hidden::refuse_incomplete(directory, synced)?;
    match open_database(directory) {
        // What panicked has it still.
        Err(Error::Locked { .. }) => Ok(opened),
        again => again,
    }
}

pub(super) fn open_database(directory: &Path) -> Result<::sled::Result<::sled::Db>, Error> {
    wait_until_free(&directory.join(DATABASE))?;
    let config = ::sled::Config::new()
        .path(directory)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None);
    Ok(attempt(&config))
}

/// Opens sled. Over damaged files it may panic instead of returning an error.
fn attempt(config: &::sled::Config) -> ::sled::Result<::sled::Db> {
    catch_unwind(AssertUnwindSafe(|| config.open())).unwrap_or_else(|_| {
        let reason = "its files are too damaged for it to read";
        let error = std::io::Error::new(ErrorKind::InvalidData, reason);
        Err(::sled::Error::Io(error))
    })
}

/// Syncs the database and drops it from the page cache before sled reads it. sled continues from what it
/// reads, some of which may be in memory only, and blanks what that replaces. If it read pages that a failed
/// sync has kept from the disk, the journal, which has them, would be begun anew. The file is opened as sled
/// opens it, whose error would not name it.
pub(super) fn sync_before_reading(database: &Path) -> Result<(), Error> {
    let mut options = File::options();
    options.read(true).write(true);
    let Some(file) = regular::open_if_there(database, &options)? else {
        return Ok(());
    };
    let synced = page_cache::read_from_disk(&file, database);
    synced.map_err(Error::io("syncing the event log"))
}

/// Syncs the directories. A new file, or a new directory, survives a crash only if the directory above it
/// was synced. It is not known which are new, or whether the process that made them got that far, so all
/// are synced every time. Directories above a mount point are left out: they existed before it was mounted, and some
/// file systems cannot sync them. The witness is beside the directory as it is named, which may be a mount point itself
/// or a link to elsewhere.
fn sync_directories(directory: &Path) -> Result<(), Error> {
    sync_directories_by(directory, &DISK)
}

/// How directories are synced.
struct Syncs {
    open: fn(&Path) -> IoResult<File>,
    file_system: fn(&File) -> IoResult<()>,
    device: fn(&Path) -> IoResult<Option<u64>>,
}

const DISK: Syncs = Syncs {
    open: |path| File::open(path),
    file_system: blocks::sync_file_system,
    device: examined_device,
};

fn sync_directories_by(directory: &Path, by: &Syncs) -> Result<(), Error> {
    let found = |path: &Path| {
        let found = path.canonicalize();
        found.map_err(Error::io(format!("finding {}", path.display())))
    };
    let own = found(directory)?;
    let beside = found(above(directory))?;
    let inside = [CONFIGURATION, BLOBS].map(|name| own.join(name));
    // What cannot be examined may be there: opening it tells why.
    let is_absent = |path: &Path| matches!(path.try_exists(), Ok(false));
    let inside = inside.iter().filter(|path| !is_absent(path));
    let (of_own, of_beside) = (on_one_device(&own, by)?, on_one_device(&beside, by)?);
    let above = of_own.iter().copied().chain(of_beside);
    // In the usual place the one is above the other.
    let all: BTreeSet<&Path> = inside.map(PathBuf::as_path).chain(above).collect();
    for path in all.into_iter().rev() {
        match (by.open)(path) {
            // Who may not read it may have written to it all the same. The witness is there by now.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let within = if path.starts_with(&own) || of_own.contains(&path) {
                    own.clone()
                } else {
                    witness_path(directory)
                };
                sync_file_system(path, &within, by)?;
            }
            opened => {
                let file = opened.map_err(Error::io(format!("opening {}", path.display())))?;
                file.sync_all()
                    .map_err(Error::io(format!("syncing {}", path.display())))?;
            }
        }
    }
    Ok(())
}

/// Syncs a directory that cannot be opened, with everything else on its file system, by what is `within` that.
fn sync_file_system(path: &Path, within: &Path, by: &Syncs) -> Result<(), Error> {
    let file = (by.open)(within).map_err(Error::io(format!("opening {}", within.display())))?;
    match (by.file_system)(&file) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            tracing::warn!(
                directory = %path.display(),
                "this user may not read the directory, and it cannot be synced: a power cut may take what is new in \
                 it, such as the whole log; give this user read permission there"
            );
            Ok(())
        }
        synced => synced.map_err(Error::io(format!(
            "syncing the file system of {}",
            path.display()
        ))),
    }
}

/// A directory and those above it, up to where its file system is mounted. One above that this user may not examine may
/// be among them, and so is; with any other error, it is not known whether all is synced.
fn on_one_device<'a>(directory: &'a Path, by: &Syncs) -> Result<Vec<&'a Path>, Error> {
    let examining = |path: &Path| Error::io(format!("examining {}", path.display()));
    let own = (by.device)(directory).map_err(examining(directory))?;
    let mut found = Vec::new();
    for path in directory.ancestors() {
        match (by.device)(path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            examined => {
                if examined.map_err(examining(path))? != own {
                    break;
                }
            }
        }
        found.push(path);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who may write to the directory above and not read it, as where all users make directories of their own.
    #[test]
    fn above_what_cannot_be_opened_is_synced_with_its_file_system() {
        const CLOSED: &str = "closed";
        fn open(path: &Path) -> IoResult<File> {
            if path.ends_with(CLOSED) {
                return Err(ErrorKind::PermissionDenied.into());
            }
            File::open(path)
        }
        fn unexamined(path: &Path) -> IoResult<Option<u64>> {
            if path.ends_with(CLOSED) {
                return Err(ErrorKind::PermissionDenied.into());
            }
            examined_device(path)
        }
        fn refused(file: &File) -> IoResult<()> {
            assert!(file.metadata().is_ok_and(|found| found.is_dir()));
            Err(ErrorKind::StorageFull.into())
        }
        let temporary = tempfile::tempdir().expect("a directory");
        let closed = temporary.path().join(CLOSED);
        let events = closed.join("data/events");
        std::fs::create_dir_all(&events).expect("made");
        let by = |file_system, device| Syncs {
            open,
            file_system,
            device,
        };
        let closed = closed.canonicalize().expect("there");
        let begins = format!("syncing the file system of {}: ", closed.display());
        for device in [examined_device, unexamined] {
            let told = sync_directories_by(&events, &by(refused, device));
            let told = told.expect_err("it is not synced").to_string();
            assert!(told.starts_with(&begins), "{told}");
            for file_system in [blocks::sync_file_system, |_: &File| {
                Err(ErrorKind::Unsupported.into())
            }] {
                let synced = sync_directories_by(&events, &by(file_system, device));
                synced.expect("as far as can be");
            }
        }
        let opened = Syncs {
            file_system: refused,
            ..DISK
        };
        sync_directories_by(&events, &opened).expect("each by itself");
    }

    #[test]
    fn what_cannot_be_examined_is_not_left_unsynced() {
        const UNKNOWN: &str = "unknown";
        fn device(path: &Path) -> IoResult<Option<u64>> {
            if path.ends_with(UNKNOWN) {
                return Err(ErrorKind::Other.into());
            }
            examined_device(path)
        }
        let temporary = tempfile::tempdir().expect("a directory");
        let by = Syncs { device, ..DISK };
        for events in ["data/unknown", "unknown/events", "unknown/data/events"] {
            let events = temporary.path().join(events);
            std::fs::create_dir_all(&events).expect("made");
            let told = sync_directories_by(&events, &by).expect_err("it is not synced");
            assert!(told.to_string().starts_with("examining "), "{told}");
        }
    }

    #[test]
    fn an_error_of_the_engine_names_where_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let (directory, blobs) = (directory.path(), directory.path().join(BLOBS));
        std::fs::write(&blobs, "").expect("written");
        for (kind, place) in [
            (ErrorKind::NotADirectory, &*blobs),
            (ErrorKind::PermissionDenied, directory),
        ] {
            let told = opening_error(directory, ::sled::Error::Io(kind.into())).to_string();
            let begins = format!("opening the event log in {}: ", place.display());
            assert!(told.starts_with(&begins), "{told}");
        }
    }
}
