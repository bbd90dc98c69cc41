//! Room on the disk, taken before it is needed. The storage engine does not survive a full disk, so it
//! must never meet one: blocks of the database are allocated ahead of its end, and a reserve file
//! is let go while the database is opened. See `docs/decisions/0008-a-full-disk.md`.

use super::Purpose;
use super::sled::SEGMENT_BYTES;
use crate::{Error, private};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const MIB: u64 = 1 << 20;
/// What the engine writes beside the records: its own pages, and the rest of its segments.
const ENGINE_BYTES: u64 = 16 * MIB;
/// How often it writes a record: once, and again whenever its page is rewritten.
const ENGINE_TIMES: u64 = 4;
/// What only deletions may use.
const DELETIONS_BYTES: u64 = 8 * MIB;
/// Taken at once where there is enough, so that it is seldom done.
const STEP_BYTES: u64 = 8 * MIB;
/// What writes are about to want, and a snapshot leaves.
const AHEAD_BYTES: u64 = ENGINE_BYTES + DELETIONS_BYTES + STEP_BYTES;
/// The engine writes side files while it is opened.
const RESERVE_BYTES: u64 = 8 * MIB;
/// Never taken: for the small files that a server writes when it starts.
const OTHERS_BYTES: u64 = MIB;

/// Keeps room in the database file.
#[derive(Debug)]
pub(crate) struct Room {
    file: File,
    reserve: PathBuf,
    /// As far as blocks are allocated.
    allocated: AtomicU64,
    /// How long the file was then: a shorter one has lost its blocks.
    length: AtomicU64,
    is_unsupported: AtomicBool,
}

impl Room {
    /// The database file, and where the reserve is.
    pub(crate) fn new(file: File, reserve: PathBuf) -> Self {
        let allocated = system::allocated(&file);
        Self {
            file,
            reserve,
            allocated: AtomicU64::new(allocated),
            length: AtomicU64::new(0),
            is_unsupported: AtomicBool::new(false),
        }
    }

    /// Makes sure that so many bytes can be written. Where that cannot be known, the write itself will
    /// tell.
    pub(crate) fn take(&self, bytes: usize, purpose: Purpose) -> bool {
        if self.is_unsupported.load(Ordering::Relaxed) {
            return true;
        }
        let taken = match purpose {
            Purpose::Writes => self.try_take(bytes, ENGINE_BYTES + DELETIONS_BYTES),
            Purpose::Deletions => self.try_take(bytes, ENGINE_BYTES),
            Purpose::Snapshot { thins: true } => self.leaves(bytes, 0),
            Purpose::Snapshot { thins: false } => self.leaves(bytes, AHEAD_BYTES),
        };
        taken.unwrap_or_else(|error| {
            if is_full(&error) {
                return false;
            }
            if error.kind() == ErrorKind::Unsupported {
                tracing::warn!(%error, "no room can be kept on this file system; a full disk will stop the log");
                self.is_unsupported.store(true, Ordering::Relaxed);
            } else {
                tracing::warn!(%error, "no room was taken on the disk this time");
            }
            true
        })
    }

    /// Whether a file of so many bytes leaves so much to the database.
    fn leaves(&self, bytes: usize, spare: u64) -> std::io::Result<bool> {
        let available = system::available(&self.file)?.saturating_sub(OTHERS_BYTES);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Ok(bytes.saturating_add(spare) <= available)
    }

    fn try_take(&self, bytes: usize, spare: u64) -> std::io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length < self.length.swap(length, Ordering::Relaxed) {
            self.allocated.store(length, Ordering::Relaxed);
        }
        let bytes = u64::try_from(bytes)
            .unwrap_or(u64::MAX)
            .saturating_mul(ENGINE_TIMES);
        let wanted = length.saturating_add(bytes).saturating_add(spare);
        let is_taken = wanted <= self.allocated.load(Ordering::Relaxed) || self.extend(wanted)?;
        if is_taken {
            self.lengthen(length)?;
        }
        Ok(is_taken)
    }

    /// Allocates blocks as far as is wanted, if there are any, and some more, if there are many.
    fn extend(&self, wanted: u64) -> std::io::Result<bool> {
        let allocated = self.allocated.load(Ordering::Relaxed);
        let available = system::available(&self.file)?.saturating_sub(OTHERS_BYTES);
        let ample = wanted.saturating_add(STEP_BYTES);
        // Another thread may have taken more meanwhile.
        let until = if ample.saturating_sub(allocated) <= available {
            ample
        } else {
            wanted
        };
        if until.saturating_sub(allocated) > available {
            return Ok(false);
        }
        system::allocate(&self.file, allocated, until)?;
        self.allocated.fetch_max(until, Ordering::Relaxed);
        self.keep_reserve();
        Ok(true)
    }

    /// Makes the file end where the segment does that the engine writes: a sync that has a new length to
    /// record takes half as long again. The next segment begins with one such sync, for a file that
    /// is longer than its segments makes the engine blank what is behind them when it is opened.
    fn lengthen(&self, length: u64) -> std::io::Result<()> {
        let until = length.next_multiple_of(SEGMENT_BYTES as u64);
        if until == length {
            return Ok(());
        }
        system::lengthen(&self.file, length, until)
    }

    /// Makes the reserve for the next start: the half of what room there is, where that is little, and
    /// the rest of it once there is plenty.
    pub(crate) fn keep_reserve(&self) {
        if let Err(error) = self.try_keep_reserve() {
            tracing::warn!(%error, "there is no reserve for starting on a full disk");
        }
    }

    fn try_keep_reserve(&self) -> std::io::Result<()> {
        let mut options = private::options();
        options.write(true).create(true).truncate(false);
        let file = options.open(&self.reserve)?;
        let held = system::held(&file)?;
        if held >= RESERVE_BYTES {
            return Ok(());
        }
        let available = system::available(&self.file)?;
        let bytes = match held {
            0 => (available / 2).min(RESERVE_BYTES),
            _ if available >= 2 * RESERVE_BYTES => RESERVE_BYTES,
            _ => return Ok(()),
        };
        let made = system::allocate(&file, 0, bytes.max(1));
        if made.is_err() && held == 0 {
            // An empty file would look like a reserve.
            std::fs::remove_file(&self.reserve).ok();
        }
        made
    }
}

/// Lets the reserve go, for the moment in which the database is opened.
pub(crate) fn release(reserve: &Path) -> Result<(), Error> {
    match std::fs::remove_file(reserve) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io("letting the reserve go")(error))
        }
        _ => Ok(()),
    }
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
    use rustix::io::retry_on_intr;
    use std::fs::File;
    use std::io::Result;
    use std::os::unix::fs::MetadataExt;

    /// Blocks that describe blocks are counted too.
    const MAP_BYTES: u64 = 1 << 16;

    pub(super) fn allocated(file: &File) -> u64 {
        held(file).unwrap_or_default().saturating_sub(MAP_BYTES)
    }

    /// Bytes of its blocks, however long it says that it is.
    pub(super) fn held(file: &File) -> Result<u64> {
        Ok(file.metadata()?.blocks() * 512)
    }

    pub(super) fn available(file: &File) -> Result<u64> {
        let found = fstatvfs(file)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Without making the file longer.
    pub(super) fn allocate(file: &File, from: u64, until: u64) -> Result<()> {
        taken(file, FallocateFlags::KEEP_SIZE, from, until)
    }

    /// Never shorter, whatever is written meanwhile.
    pub(super) fn lengthen(file: &File, from: u64, until: u64) -> Result<()> {
        taken(file, FallocateFlags::empty(), from, until)
    }

    fn taken(file: &File, flags: FallocateFlags, from: u64, until: u64) -> Result<()> {
        if until <= from {
            return Ok(());
        }
        Ok(retry_on_intr(|| {
            fallocate(file, flags, from, until - from)
        })?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;
    use std::io::{ErrorKind, Result};

    pub(super) fn allocated(_: &File) -> u64 {
        0
    }

    pub(super) fn held(_: &File) -> Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn available(_: &File) -> Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn allocate(_: &File, _: u64, _: u64) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn lengthen(_: &File, _: u64, _: u64) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_what_it_holds_and_not_that_it_is_there() {
        for held in [None, Some(0), Some(RESERVE_BYTES / 2), Some(RESERVE_BYTES)] {
            let temporary = tempfile::tempdir().expect("a directory");
            let reserve = temporary.path().join("events.reserve");
            if let Some(held) = held {
                let file = File::create(&reserve).expect("made");
                if held > 0 {
                    system::allocate(&file, 0, held).expect("allocated");
                }
            }
            let database = File::create(temporary.path().join("db")).expect("made");
            Room::new(database, reserve.clone()).keep_reserve();
            let file = File::open(&reserve).expect("a reserve");
            let bytes = system::held(&file).expect("measured");
            assert!(bytes >= RESERVE_BYTES, "{held:?}: {bytes}");
        }
    }
}
