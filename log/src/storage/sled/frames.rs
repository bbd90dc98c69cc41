//! Stores frames as values of sled. Small frames that are stored together become one value (a bundle);
//! large frames are cut into pieces, because sled keeps whatever exceeds a quarter of a segment, a value
//! or a page of values, in blob files that it never syncs.

mod pieces;
#[cfg(test)]
mod tests;
mod write_account;

pub(super) use pieces::Piece;
pub(super) use write_account::{TIMES_WRITTEN, UNSYNCED_BYTES};

use super::bundle::{self, BundleIndex, Entry};
use super::pending::PendingFrame;
use super::{engine, open_tree};
use crate::storage::Stored;
use crate::unpoisoned::unpoisoned;
use crate::{EngineCall, Error};
use ::sled::{Db, IVec, Tree};
use hindsight_core::Revision;
use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use write_account::WriteAccount;

/// The frames of one format are in one tree; a release that knows more formats has more trees.
const FRAMES: &str = "frames-1";
const PIECES: &str = "pieces-1";
/// Empty trees. Their presence says that values in the tree of format 1 may be bundles, and first pieces
/// behind a magic, which an older release that does not know these trees would report as damage.
const LATER: [&str; 2] = ["frames-2", "frames-3"];

/// The first piece of every frame under its first revision, and the others in a second tree, by their
/// number.
#[derive(Debug)]
pub(super) struct FrameTrees {
    first: Tree,
    others: Tree,
    written: WriteAccount,
    /// The last bundle from which a frame was read, and its frames. As long as it is held, its memory
    /// cannot be reused for another value.
    unpacked: Mutex<Option<(IVec, Arc<[u8]>)>>,
}

/// Makes everything that was written durable, and returns how many bytes of the file that took.
type Sync<'a> = &'a dyn Fn() -> Result<usize, Error>;

impl FrameTrees {
    pub(super) fn open(database: &Db) -> Result<Self, Error> {
        let first = open_tree(database, FRAMES)?;
        for format in LATER {
            open_tree(database, format)?;
        }
        Ok(Self {
            written: WriteAccount::open(database, first.is_empty())?,
            first,
            others: open_tree(database, PIECES)?,
            unpacked: Mutex::new(None),
        })
    }

    /// Must be called before every sync.
    pub(super) fn note_sync(&self) {
        self.written.note_sync();
    }

    /// Has sled move some of the pages that replaced values call for, and makes that durable. False if no
    /// more need to be moved, or none is left.
    pub(super) fn move_pages(&self, sync: Sync<'_>) -> Result<bool, Error> {
        self.written.move_pages(sync)
    }

    fn put(&self, tree: &Tree, key: &[u8], value: &[u8], sync: Sync<'_>) -> Result<(), Error> {
        self.written.note_length(value.len())?;
        tree.insert(key, value)
            .map_err(|error| engine(EngineCall::Write, error))?;
        self.written.note_put(value.len(), sync)
    }

    fn drop_all(
        &self,
        tree: &Tree,
        found: impl Iterator<Item = ::sled::Result<(IVec, IVec)>>,
        sync: Sync<'_>,
    ) -> Result<(), Error> {
        let failed = |error| engine(EngineCall::Replace, error);
        for found in found {
            let (key, value) = found.map_err(failed)?;
            tree.remove(key).map_err(failed)?;
            self.written.note_removal(value.len(), sync)?;
        }
        Ok(())
    }

    /// Appends the newest frames behind all others, in their order.
    pub(super) fn append(&self, frames: &[PendingFrame], sync: Sync<'_>) -> Result<(), Error> {
        for group in bundle::groups(frames) {
            match group {
                [(first, frame)] => self.append_alone(*first, frame, sync)?,
                [(first, _), ..] => {
                    self.put(&self.first, &key(*first), &bundle::seal(group), sync)?;
                }
                [] => {}
            }
        }
        Ok(())
    }

    /// Writes a frame of its own. The first piece is written last: once it is there, the whole frame is.
    fn append_alone(&self, first: Revision, frame: &[u8], sync: Sync<'_>) -> Result<(), Error> {
        let (value, others) = pieces::cut(frame);
        for (number, piece) in (0..).zip(others) {
            self.put(&self.others, &other_key(first, number), piece, sync)?;
        }
        self.put(&self.first, &key(first), &value, sync)
    }

    /// Replaces frames by one. The new frame is written before the old ones are removed, and after a
    /// crash sled has everything that was written up to some point and nothing later: where an old frame
    /// is gone, the new one is there.
    pub(super) fn replace(
        &self,
        first: Revision,
        last: Revision,
        frame: &[u8],
        sync: Sync<'_>,
    ) -> Result<(), Error> {
        self.split_bundle(last.next(), sync)?;
        self.split_bundle(first, sync)?;
        self.put(&self.first, &key(first), frame, sync)?;
        let replaced = self.first.range(key(first.next())..=key(last));
        self.drop_all(&self.first, replaced, sync)?;
        let pieces = other_key(first, 0)..other_key(last.next(), 0);
        self.drop_all(&self.others, self.others.range(pieces), sync)
    }

    /// Divides a bundle that begins before this revision and continues behind it into two. Between the
    /// two writes some frames are in both, unchanged.
    fn split_bundle(&self, at: Revision, sync: Sync<'_>) -> Result<(), Error> {
        let Some(value) = self.last_until(at.previous())? else {
            return Ok(());
        };
        let entries = value.entries();
        let (before, behind) = entries.split_at(entries.partition_point(|(first, _)| *first < at));
        if behind.is_empty() {
            return Ok(());
        }
        let next = self.first_after(value.key.next())?;
        let current = behind.partition_point(|(first, _)| is_current(*first, next.as_ref()));
        let whole = self.frames_of(&value);
        let damaged = || Error::corrupt(value.key, "the frames of a bundle cannot be unpacked");
        for part in [behind.get(..current).unwrap_or_default(), before] {
            let frame = |(first, at): &Entry| Some((*first, whole.get(at.clone())?));
            let frames: Option<Vec<_>> = part.iter().map(frame).collect();
            let frames = frames.ok_or_else(damaged)?;
            if let Some((first, _)) = frames.first() {
                self.put(&self.first, &key(*first), &bundle::seal(&frames), sync)?;
            }
        }
        self.written.note_reusable(value.bytes.len());
        Ok(())
    }

    pub(super) fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.find_whole(|| {
            let value = self.last_until(from)?;
            let within = value.and_then(|value| Some((value.after(from)?, value)));
            if let Some((first, value)) = &within
                && *first == from
            {
                return Ok(Some(self.frame(value, *first)));
            }
            let next = self.first_after(from)?;
            let within = within.filter(|(first, _)| is_current(*first, next.as_ref()));
            let found = within.or_else(|| next.map(|next| (next.key, next)));
            Ok(found.map(|(first, value)| self.frame(&value, first)))
        })
    }

    pub(super) fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.find_whole(|| {
            let value = self.last_until(until)?;
            Ok(value.map(|value| self.frame(&value, value.before(until))))
        })
    }

    /// The frame in this value that begins at `first`; for a frame in pieces, the value itself.
    fn frame(&self, value: &StoredValue, first: Revision) -> Stored {
        let entry = value.entries().iter().find(|(one, _)| *one == first);
        let Some((_, at)) = entry else {
            return (first, value.bytes.to_vec());
        };
        let frames = self.frames_of(value);
        (first, frames.get(at.clone()).unwrap_or_default().to_vec())
    }

    /// The frames of a bundle, one behind the other. They are cached, because a reader of one usually
    /// reads the next.
    fn frames_of(&self, value: &StoredValue) -> Arc<[u8]> {
        let unpacked = || unpoisoned(self.unpacked.lock());
        if let Some((of, frames)) = &*unpacked()
            && std::ptr::eq(&raw const **of, &raw const *value.bytes)
        {
            return Arc::clone(frames);
        }
        let bundle = value.bundle.as_ref();
        let frames = bundle.map_or_else(Cow::default, |bundle| bundle.frames(&value.bytes));
        let frames: Arc<[u8]> = frames.into();
        *unpacked() = Some((value.bytes.clone(), Arc::clone(&frames)));
        frames
    }

    fn last_until(&self, until: Revision) -> Result<Option<StoredValue>, Error> {
        let found = self.first.range(..=key(until)).next_back();
        found.map(StoredValue::of).transpose()
    }

    fn first_after(&self, from: Revision) -> Result<Option<StoredValue>, Error> {
        let found = self.first.range(key(from)..).next();
        found.map(StoredValue::of).transpose()
    }

    /// Looks again if the frame that was found was replaced while its pieces were read: under its own
    /// key, or by an earlier frame that covers it. Such a frame has no pieces, so this ends.
    fn find_whole(
        &self,
        look: impl Fn() -> Result<Option<Stored>, Error>,
    ) -> Result<Option<Stored>, Error> {
        while let Some((first, value)) = look()? {
            if let Some(frame) = self.read_pieces(first, value)? {
                return Ok(Some((first, frame)));
            }
        }
        Ok(None)
    }

    /// Reads the other pieces of the frame in this value; `None` if it was replaced meanwhile.
    fn read_pieces(&self, first: Revision, value: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        let Piece::First(piece) = Piece::of(&value) else {
            return Ok(Some(value));
        };
        let length = piece.len();
        let mut frame = piece.to_vec();
        for number in 0.. {
            let piece = self.others.get(other_key(first, number));
            let piece = piece.map_err(|error| engine(EngineCall::Read, error))?;
            if piece.is_none() && !self.is_unreplaced(first, &value)? {
                return Ok(None);
            }
            // A missing piece leaves a frame that is shorter than its header says.
            let Some(piece) = piece else { break };
            frame.extend_from_slice(&piece);
            if piece.len() != length {
                break;
            }
        }
        Ok(Some(frame))
    }

    fn is_unreplaced(&self, first: Revision, value: &[u8]) -> Result<bool, Error> {
        let now = self.first.get(key(first));
        let now = now.map_err(|error| engine(EngineCall::Read, error))?;
        Ok(now.is_some_and(|now| &*now == value))
    }
}

/// A value of the tree of first pieces.
struct StoredValue {
    /// The first revision of the first frame in it.
    key: Revision,
    bytes: IVec,
    /// The index of a bundle; `None` if the value is a single frame.
    bundle: Option<BundleIndex>,
}

impl StoredValue {
    fn of(found: ::sled::Result<(IVec, IVec)>) -> Result<Self, Error> {
        let (key, bytes) = found.map_err(|error| engine(EngineCall::Read, error))?;
        let key = <[u8; 8]>::try_from(&*key)
            .map_err(|_| Error::engine(EngineCall::Read, "a key is not a revision"))?;
        let key = Revision(u64::from_be_bytes(key));
        Ok(Self {
            bundle: bundle::open(key, &bytes),
            key,
            bytes,
        })
    }

    fn entries(&self) -> &[Entry] {
        let bundle = self.bundle.as_ref();
        bundle.map_or(&[], |bundle| &bundle.entries)
    }

    /// The first revision of the first frame in it that does not begin before `from`.
    fn after(&self, from: Revision) -> Option<Revision> {
        let alone = Some(self.key).filter(|key| *key >= from);
        let later = self.entries().iter().find(|(first, _)| *first >= from);
        alone.or(later.map(|(first, _)| *first))
    }

    /// The first revision of the last frame in it that begins at or before `until`, as the value itself
    /// must.
    fn before(&self, until: Revision) -> Revision {
        let last = self.entries().iter().rfind(|(first, _)| *first <= until);
        last.map_or(self.key, |(first, _)| *first)
    }
}

/// Whether a frame of a bundle is current. If the next value begins at or before the frame, that value
/// holds it as it is now, or what has replaced it.
fn is_current(first: Revision, next: Option<&StoredValue>) -> bool {
    next.is_none_or(|next| first < next.key)
}

const fn key(revision: Revision) -> [u8; 8] {
    revision.0.to_be_bytes()
}

fn other_key(first: Revision, number: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    let whole = key(first).into_iter().chain(number.to_be_bytes());
    bytes
        .iter_mut()
        .zip(whole)
        .for_each(|(to, from)| *to = from);
    bytes
}
