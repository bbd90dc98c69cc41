//! Allocates disk space before it is needed. The storage engine does not survive a full disk, so it must
//! never meet one: blocks of the database are allocated ahead of its end, and the limit on the length of
//! a file is checked too. See `docs/decisions/0008-a-full-disk.md`.

use super::reserve::Reserve;
use super::sled::SEGMENT_BYTES;
use super::{Purpose, blocks};
use crate::copy_on_write;
use crate::place::Place;
use crate::system_error::is_full;
use std::fs::File;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const MIB: u64 = 1 << 20;
/// What the engine writes besides the records: its own pages, the rest of its segments, and pending
/// writes.
const ENGINE_BYTES: u64 = 16 * MIB;
/// How often the engine writes a record: once, and again whenever its page is rewritten.
pub(super) const WRITE_AMPLIFICATION: u64 = 4;
/// Reserved for deletions.
const DELETIONS_BYTES: u64 = 8 * MIB;
/// Allocated in addition if there is enough, so that allocation is rare.
const STEP_BYTES: u64 = 8 * MIB;
/// What is allocated behind the last segment, besides the records, while writes are let in.
pub(super) const KEPT_BYTES: u64 = ENGINE_BYTES + DELETIONS_BYTES;
/// What writes leave of the longest file there may be, for what the engine writes when it opens: on a full disk, that
/// comes from the reserve.
pub(super) const OPENING_BYTES: u64 = SEGMENT_BYTES as u64;
/// What writes will need soon; a snapshot must leave this free.
const AHEAD_BYTES: u64 = KEPT_BYTES + STEP_BYTES;
/// Never allocated: left for small files.
pub(super) const OTHERS_BYTES: u64 = MIB;

/// Keeps space allocated for the database file.
#[derive(Debug)]
pub(crate) struct Space {
    file: File,
    reserve: Reserve,
    /// While the database is not at its path, no reserve is made beside it.
    place: Arc<Place>,
    /// The limit on the length of a file.
    longest: u64,
    is_unsupported: AtomicBool,
    /// What is allocated is no space for what is overwritten: that takes new blocks, so only free ones count.
    is_copied: bool,
}

impl Space {
    /// For a database file; `reserve` is the one beside it.
    pub(super) fn new(file: File, reserve: Reserve, place: Arc<Place>) -> Self {
        blocks::allocate_whole(&file);
        let copier = copy_on_write::copier(&file);
        if let Some(kind) = copier {
            tracing::warn!(
                "the event log is on {kind}, which takes new space for what is overwritten, so none can be kept for it: \
                 if another program fills the disk, the log fails. See the section about a full disk in docs/operating.md"
            );
        }
        Self {
            is_copied: copier.is_some(),
            file,
            reserve,
            place,
            longest: blocks::longest_file(),
            is_unsupported: AtomicBool::new(false),
        }
    }

    /// Restores the reserve, of which some may have been released.
    pub(super) fn replenish_reserve(&self) {
        self.reserve.replenish();
    }

    /// Makes sure that this many bytes can be written. True if that cannot be found out: the write itself
    /// will fail then.
    pub(crate) fn ensure(&self, bytes: usize, purpose: Purpose) -> bool {
        if self.is_unsupported.load(Ordering::Relaxed) {
            return true;
        }
        let ensured = match purpose {
            Purpose::Writes => {
                let longest = self.longest.saturating_sub(OPENING_BYTES);
                self.make_space(bytes, KEPT_BYTES, longest)
            }
            Purpose::Deletions => self.make_space(bytes, ENGINE_BYTES, self.longest),
            Purpose::Snapshot { thins: true } => self.has_spare(bytes, 0),
            Purpose::Snapshot { thins: false } => self.has_spare(bytes, AHEAD_BYTES),
        };
        ensured.unwrap_or_else(|error| {
            if is_full(&error) {
                return false;
            }
            if error.kind() == ErrorKind::Unsupported {
                tracing::warn!(%error, "this file system cannot reserve disk space; a full disk will stop the log");
                self.is_unsupported.store(true, Ordering::Relaxed);
            } else {
                tracing::warn!(%error, "could not reserve disk space this time");
            }
            true
        })
    }

    /// Whether a file of this many bytes leaves `spare` bytes to the database.
    fn has_spare(&self, bytes: usize, spare: u64) -> std::io::Result<bool> {
        let available = blocks::available(&self.file)?.saturating_sub(OTHERS_BYTES);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Ok(bytes <= self.longest && bytes.saturating_add(spare) <= available)
    }

    fn make_space(&self, bytes: usize, spare: u64, longest: u64) -> std::io::Result<bool> {
        if self.is_copied {
            let factor = usize::try_from(WRITE_AMPLIFICATION).unwrap_or(usize::MAX);
            return self.has_spare(bytes.saturating_mul(factor), spare);
        }
        self.try_allocate(bytes, spare, longest)
    }

    /// The file is asked each time how far it has blocks: where the engine frees the end of the file, it shortens it on
    /// several threads at once, and what one of them frees another may make part of the file again, without blocks.
    fn try_allocate(&self, bytes: usize, spare: u64, longest: u64) -> std::io::Result<bool> {
        let file = self.file.metadata()?;
        let bytes = u64::try_from(bytes)
            .unwrap_or(u64::MAX)
            .saturating_mul(WRITE_AMPLIFICATION);
        // The engine uses the rest of its last segment itself.
        let until = file.len().next_multiple_of(SEGMENT_BYTES as u64);
        let wanted = until.saturating_add(bytes).saturating_add(spare);
        if wanted > longest {
            return Ok(false);
        }
        let allocated = blocks::allocated(&file);
        Ok(wanted <= allocated || self.extend(allocated, wanted)?)
    }

    /// Allocates blocks up to `wanted`, if there is space, and some more if there is plenty.
    fn extend(&self, allocated: u64, wanted: u64) -> std::io::Result<bool> {
        let available = blocks::available(&self.file)?.saturating_sub(OTHERS_BYTES);
        let ample = wanted.saturating_add(STEP_BYTES);
        let until = if ample <= self.longest && ample.saturating_sub(allocated) <= available {
            ample
        } else {
            wanted
        };
        if until.saturating_sub(allocated) > available {
            return Ok(false);
        }
        blocks::allocate(&self.file, allocated, until)?;
        if self.place.is_unmoved() {
            self.reserve.replenish();
        }
        Ok(true)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::path::Path;

    fn space(temporary: &Path) -> (File, Space) {
        let database = File::create(temporary.join("db")).expect("made");
        let copy = database.try_clone().expect("cloned");
        let reserve = Reserve::at(temporary.join("events.reserve"));
        let opened = temporary.metadata().expect("there");
        let place = Place::of(temporary, &opened).expect("there");
        (database, Space::new(copy, reserve, Arc::new(place)))
    }

    /// Two threads of the engine shorten the file, the one that frees less comes last.
    #[test]
    fn what_became_part_of_the_file_again_without_blocks_gets_some() {
        let temporary = tempfile::tempdir().expect("a directory");
        let (database, space) = space(temporary.path());
        database.set_len(40 * MIB).expect("made so long");
        assert!(space.ensure(1, Purpose::Writes));
        for length in [24, 32] {
            database.set_len(length * MIB).expect("made so long");
        }
        assert!(space.ensure(1, Purpose::Writes));
        let held = blocks::held(&database).expect("counted");
        assert!(held >= 32 * MIB + ENGINE_BYTES + DELETIONS_BYTES, "{held}");
    }

    #[test]
    fn beyond_what_a_file_may_have_there_is_no_room() {
        let temporary = tempfile::tempdir().expect("a directory");
        let (database, mut space) = space(temporary.path());
        // What was allocated by an earlier process does not count.
        blocks::allocate(&database, 0, 64 * MIB).expect("allocated");
        space.longest = 48 * MIB;
        for (length, writes, deletions) in [
            (0, true, true),
            (8, true, true),
            (16, false, true),
            // What the next start may take of what only deletions have.
            (24, false, true),
            (32, false, false),
            (40, false, false),
        ] {
            database.set_len(length * MIB).expect("made so long");
            let found =
                [Purpose::Writes, Purpose::Deletions].map(|purpose| space.ensure(1, purpose));
            assert_eq!(found, [writes, deletions], "{length} MiB");
        }
        assert!(!space.ensure(49 << 20, Purpose::Snapshot { thins: true }));
    }
}
