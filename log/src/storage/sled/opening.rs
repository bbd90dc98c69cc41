//! Opens the database: when no other process has it, with disk space for what sled writes then, and
//! without damaged side files.

use super::super::blocks;
use super::super::reserve::Reserve;
use super::{SEGMENT_BYTES, engine, settings, side};
use crate::Error;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

const CACHE_BYTES: u64 = 8 << 20;
const ATTEMPTS_MAX: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);
/// Space that an empty log needs.
const NEW_BYTES: u64 = 40 << 20;

/// Waits until nobody has the database open. A process that writes to it holds a lock on it, even if
/// somebody has removed the lock of the directory. If this process has just closed it, sled's threads
/// release it a moment later.
pub(super) fn wait_until_free(database: &Path) -> Result<(), Error> {
    let file = match File::open(database) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(Error::io(format!("opening {}", database.display())))?,
    };
    for _ in 0..ATTEMPTS_MAX {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            // sled locks it again, and reports any error of the system.
            _ => return Ok(()),
        }
    }
    Err(Error::Locked {
        directory: database.to_owned(),
        holder: "a process that has it open".into(),
    })
}

/// sled does not survive a write beyond the limit on the length of a file. `Room` prevents that in the
/// same way as a full disk, except for what sled writes when it opens: up to the end of a segment.
pub(super) fn refuse_short_files(database: &Path) -> Result<(), Error> {
    let segment = SEGMENT_BYTES as u64;
    let needed = match database.metadata() {
        Ok(found) if found.len() > 0 => found.len().next_multiple_of(segment) + segment,
        _ => NEW_BYTES,
    };
    let limit = blocks::longest_file();
    if limit >= needed {
        return Ok(());
    }
    Err(Error::ShortFiles { limit, needed })
}

/// Opens the database, and releases as much of the reserve as that takes.
pub(super) fn open_in_room(directory: &Path, reserve: &mut Reserve) -> Result<::sled::Db, Error> {
    reserve.release_if_space_is_low()?;
    loop {
        let error = match open_whole(directory)? {
            Err(error) => engine("opening", error),
            Ok(database) => return Ok(database),
        };
        let is_full = matches!(&error, Error::Io { source, .. } if blocks::is_full(source));
        if !is_full || !reserve.release_part()? {
            return Err(error);
        }
    }
}

fn open_whole(directory: &Path) -> Result<::sled::Result<::sled::Db>, Error> {
    side::drop_unfinished_snapshots(directory)?;
    side::quarantine_unreadable_snapshots(directory)?;
    settings::drop_unfinished(directory)?;
    let opened = open_database(directory)?;
    if !matches!(opened, Err(::sled::Error::Corruption { .. })) {
        return Ok(opened);
    }
    side::quarantine_snapshots(directory)?;
    open_database(directory)
}

pub(super) fn open_database(directory: &Path) -> Result<::sled::Result<::sled::Db>, Error> {
    wait_until_free(&directory.join("db"))?;
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
