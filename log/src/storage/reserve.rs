//! Disk space reserved for a start on a full disk: a file whose blocks are released while the database is
//! opened. No more of them are released than opening needs, because any other process may take what is
//! released.

use super::blocks;
use crate::layout::SPARE_WITHIN;
use crate::system_error::is_full;
use crate::{Error, owner_only, place, regular};
use std::fs::File;
use std::io::{ErrorKind, Result as IoResult};
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
/// For the side files that the engine writes while it is opened.
pub(super) const RESERVE_BYTES: u64 = 8 * MIB;
/// Bytes that are released first.
const PART_BYTES: u64 = MIB;
/// Once others have taken so many parts, no more is released: they take whatever is, and there is to be something left
/// for the next start.
const TAKEN_MAX: u32 = 2;
const BLOCK_BYTES: u64 = 4096;

#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    /// An empty file. On a file system without free inodes, its inode is released for the first side
    /// file; later side files take the inode of the one before.
    spare: PathBuf,
    /// Bytes that the file held when it was found.
    found: u64,
    /// Bytes that it still holds.
    left: u64,
    /// Bytes that were released last and then were free. Some file systems free blocks only later: then it is not known
    /// what becomes of them, and this is zero.
    freed: u64,
    /// How many parts others took before they could be used.
    taken: u32,
}

impl Reserve {
    /// Refuses what is in the place of its files and is no regular file, which nobody opens then.
    pub(super) fn check(path: &Path) -> Result<(), Error> {
        regular::check(path, u64::MAX)?;
        regular::check(&spare_of(path), u64::MAX)
    }

    pub(super) fn at(path: PathBuf) -> Self {
        let held = File::open(&path).and_then(|file| blocks::held(&file));
        let found = held.unwrap_or_default();
        Self {
            spare: spare_of(&path),
            path,
            found,
            left: found,
            freed: 0,
            taken: 0,
        }
    }

    /// Releases a part if the disk has little space without it.
    pub(super) fn release_if_space_is_low(&mut self) -> Result<(), Error> {
        if self.left > 0 && self.available() < RESERVE_BYTES {
            self.release_part()?;
        }
        Ok(())
    }

    /// Releases as much as is needed for this many bytes to be free, as far as the reserve goes.
    pub(super) fn release_until_free(&mut self, bytes: u64) -> Result<(), Error> {
        *self = Self::at(self.path.clone());
        let has_space =
            |one: &Self| blocks::available_at(one.directory()).unwrap_or(bytes) >= bytes;
        while self.left > 0 && !has_space(self) && self.release_part()? {}
        Ok(())
    }

    /// Releases as much as was released so far, and finally the file itself; or one part more, if others took the last.
    /// Returns whether anything was released: there may be nothing, or others may take all of it.
    pub(super) fn release_part(&mut self) -> Result<bool, Error> {
        if self.is_part_gone() {
            self.taken += 1;
        }
        if self.taken >= TAKEN_MAX {
            return Ok(false);
        }
        let is_without_files = blocks::has_no_files_left(self.directory());
        let done = if is_without_files && self.spare.exists() {
            remove(&self.spare)
        } else if is_without_files || self.left == 0 {
            self.left = 0;
            remove(&self.path)
        } else {
            self.shorten().map(|()| true)
        };
        done.map_err(Error::io("releasing the disk reserve"))
    }

    /// Whether what was released last is free no more. The engine keeps nothing of it when it fails to open.
    fn is_part_gone(&self) -> bool {
        self.available() < self.freed / 2
    }

    fn available(&self) -> u64 {
        blocks::available_at(self.directory()).unwrap_or_default()
    }

    fn directory(&self) -> &Path {
        place::above(&self.path)
    }

    fn shorten(&mut self) -> IoResult<()> {
        let released = self.found - self.left;
        let part = if self.taken > 0 { 0 } else { released }.max(PART_BYTES);
        let left = self.left.saturating_sub(part);
        let file = File::options().write(true).open(&self.path)?;
        // Blocks may be allocated behind the end of the file; only shortening the file frees them.
        file.set_len(self.left)?;
        file.set_len(left)?;
        let (part, available) = (self.left - left, self.available());
        self.freed = if available < part { 0 } else { part };
        self.left = left;
        Ok(())
    }

    /// Restores the reserve for the next start: to its former size, or to half of the free space if that
    /// is more.
    pub(super) fn replenish(&self) {
        if let Err(error) = self.try_replenish() {
            tracing::warn!(%error, "cannot keep a disk reserve for starting on a full disk");
        }
    }

    fn try_replenish(&self) -> IoResult<()> {
        let mut options = owner_only::options();
        options.write(true).create(true).truncate(false);
        let file = options.open(&self.path)?;
        // Made after the reserve, which can stand in for it.
        let spare = owner_only::options()
            .write(true)
            .create(true)
            .open(&self.spare);
        drop(spare);
        let held = blocks::held(&file)?;
        if held >= RESERVE_BYTES {
            return Ok(());
        }
        let free = held.saturating_add(blocks::available(&file)?);
        let made = allocate_at_most(&file, wanted(self.found.max(held), free));
        if made.is_err() && blocks::held(&file)? == 0 {
            // An empty file would look like a reserve.
            std::fs::remove_file(&self.path).ok();
            return made;
        }
        Ok(())
    }
}

fn spare_of(path: &Path) -> PathBuf {
    if path.extension().is_some() {
        path.with_extension(SPARE_WITHIN)
    } else {
        path.with_file_name(SPARE_WITHIN)
    }
}

/// The former size, or half of the free space including the reserve itself, whichever is more.
fn wanted(had: u64, free: u64) -> u64 {
    had.max(free / 2).min(RESERVE_BYTES).min(free)
}

fn remove(path: &Path) -> IoResult<bool> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true),
    }
}

/// Allocates the bytes, or gradually fewer if there are not as many: others write meanwhile, and metadata
/// takes blocks too.
fn allocate_at_most(file: &File, bytes: u64) -> IoResult<()> {
    let mut bytes = bytes.max(BLOCK_BYTES);
    loop {
        match blocks::allocate(file, 0, bytes) {
            Err(error) if is_full(&error) && bytes > BLOCK_BYTES => {
                let less = bytes - bytes / 16;
                bytes = less.saturating_sub(BLOCK_BYTES).max(BLOCK_BYTES);
            }
            other => return other,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn held(path: &Path) -> Option<u64> {
        blocks::held(&File::open(path).ok()?).ok()
    }

    #[test]
    fn a_reserve_is_what_it_holds_and_not_that_it_is_there() {
        for bytes in [None, Some(0), Some(RESERVE_BYTES / 2), Some(RESERVE_BYTES)] {
            let temporary = tempfile::tempdir().expect("a directory");
            let path = temporary.path().join("events.reserve");
            if let Some(bytes) = bytes {
                let file = File::create(&path).expect("made");
                if bytes > 0 {
                    blocks::allocate(&file, 0, bytes).expect("allocated");
                }
            }
            Reserve::at(path.clone()).replenish();
            assert!(held(&path) >= Some(RESERVE_BYTES), "{bytes:?}");
        }
    }

    #[test]
    fn as_much_is_made_as_there_was_or_half_of_what_there_is() {
        for (had, free, made) in [
            (0, 100, 8),
            (0, 4, 2),
            (8, 8, 8),
            (8, 7, 7),
            (3, 4, 3),
            (3, 10, 5),
            (1, 0, 0),
        ] {
            assert_eq!(wanted(had * MIB, free * MIB), made * MIB, "{had} of {free}");
        }
    }

    /// A start that is killed in between leaves the rest, and the next one restores what is missing.
    #[test]
    fn a_reserve_is_let_go_in_parts_and_kept_whole() {
        let temporary = tempfile::tempdir().expect("a directory");
        let path = temporary.path().join("events.reserve");
        Reserve::at(path.clone()).replenish();
        let mut reserve = Reserve::at(path.clone());
        let mut seen = Vec::new();
        while reserve.release_part().expect("let go") {
            seen.push(held(&path).map(|bytes| bytes / MIB));
        }
        assert_eq!(seen, [Some(7), Some(6), Some(4), Some(0), None]);
        reserve.replenish();
        assert!(held(&path) >= Some(RESERVE_BYTES));
    }
}
