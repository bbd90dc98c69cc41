//! A group of consecutive frames that one thinned frame replaces.

use super::Retained;
use super::index::{self, Index};
use crate::codec::{self, Placeholder};
use crate::frame::decoded::{Coverage, DecodedFrame};
use crate::frame::{self, Format, Hash};
use crate::storage::REPLACING_BYTES;
use crate::{Error, Storage, packing};
use hindsight_core::{Commit, Revision, Time};

/// Bytes of object bodies in a thinned frame: with everything else in the frame still below
/// `REPLACING_BYTES`.
pub(super) const BODIES_BYTES: usize = 40 << 10;
/// The most frames that one replaces, and their stored bytes: nobody else can write while they are
/// replaced.
const FRAMES_MAX: usize = 64;
const STORED_BYTES_MAX: usize = 256 << 10;

#[derive(Default)]
pub(super) struct Group {
    pub(super) retained: Retained,
    bytes: usize,
    stored: usize,
    frames: usize,
    /// First revision of the first frame, and the revision after the last frame.
    extent: Option<(Revision, Revision)>,
    previous: Hash,
    hash: Hash,
    latest: Option<Time>,
}

impl Group {
    pub(super) const fn extent(&self) -> Option<(Revision, Revision)> {
        self.extent
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Whether the group, with this frame, stays within its limits.
    pub(super) fn has_room(&self, frame: &DecodedFrame, index: &Index) -> bool {
        let kept = frame.commits.iter().filter(|commit| index.keeps(commit));
        let begin = self.extent.map_or(frame.links.first, |(first, _)| first);
        self.is_empty()
            || self.bytes + index::bytes(kept) <= BODIES_BYTES
                && self.stored + frame.links.stored_bytes <= STORED_BYTES_MAX
                && self.frames < FRAMES_MAX
                && u32::try_from(frame.links.end.0 - begin.0).is_ok()
    }

    /// Adds the next frame.
    pub(super) fn add(&mut self, frame: DecodedFrame, index: &Index) -> Result<(), Error> {
        self.add_kept(frame, |commit| index.keeps(commit))
    }

    /// Adds the next frame, of which these commits are kept.
    pub(super) fn add_kept(
        &mut self,
        frame: DecodedFrame,
        keeps: impl FnMut(&Commit) -> bool,
    ) -> Result<(), Error> {
        let (first, end) = (frame.links.first, frame.links.end);
        let follows = (first, frame.links.previous);
        let (begin, expected) = match self.extent {
            None => (first, follows),
            Some((begin, end)) => (begin, (end, self.hash)),
        };
        if expected != follows {
            return Err(Error::unchained(first));
        }
        if self.is_empty() {
            self.previous = frame.links.previous;
        }
        let times = frame.commits.iter().map(|commit| commit.time);
        let known = match frame.links.coverage {
            Coverage::Thinned { latest, .. } => Some(latest),
            Coverage::Whole | Coverage::Restored(_) => None,
        };
        self.latest = times.chain(known).chain(self.latest).max();
        self.extent = Some((begin, end));
        self.hash = frame.links.hash;
        self.frames += 1;
        self.stored += frame.links.stored_bytes;
        let (kept, dropped): (Vec<_>, Vec<_>) = frame.commits.into_iter().partition(keeps);
        self.bytes += index::bytes(&kept);
        self.retained.commits.extend(kept);
        let dropped = dropped.into_iter().map(|commit| commit.revision);
        self.retained.dropped.extend(dropped);
        Ok(())
    }

    /// Replaces all frames of the group by one. False if a single large object would make that too large:
    /// then all are left as they are.
    pub(super) fn put(&self, storage: &dyn Storage, floor: Revision) -> Result<bool, Error> {
        let Some((first, end)) = self.extent else {
            return Ok(false);
        };
        let commits: Vec<&Commit> = self.retained.commits.iter().collect();
        let revisions: Vec<Revision> = commits.iter().map(|commit| commit.revision).collect();
        let mut kept = Vec::new();
        codec::encode(&commits, &mut kept)?;
        let (Ok(count), false) = (
            u32::try_from(end.0 - first.0),
            kept.len() > packing::PAYLOAD_BYTES_MAX,
        ) else {
            return Ok(false);
        };
        let kept = packing::packed(&kept);
        let latest = self.latest.unwrap_or_default();
        let mut bytes = Vec::new();
        frame::begin(&mut bytes);
        Placeholder::thinned(self.hash, floor, latest, &revisions, &kept).encode(&mut bytes)?;
        let format = Format::Placeholder;
        frame::seal(&mut bytes, format, first, count, &self.previous);
        if bytes.len() >= REPLACING_BYTES {
            return Ok(false);
        }
        let witnessed = storage.ensure_witnessed(end.previous())?;
        storage.replace(first, witnessed, &bytes)?;
        Ok(true)
    }
}
