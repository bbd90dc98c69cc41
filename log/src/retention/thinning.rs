//! Replaces whole frames by thinned ones, one piece at a time. The cost of a piece does not depend on how
//! much history is kept.

use super::group::{BODIES_BYTES, Group};
use super::index::Index;
use crate::chain::Links;
use crate::frame::decoded::{Coverage, DecodedFrame, read};
use crate::storage::Purpose;
use crate::{Error, Reader, Records, Storage, Tail};
use hindsight_core::{GroupResource, Revision, State};

/// The most frames that are read at a time, and their stored bytes.
pub(crate) const TURN_FRAMES: usize = 256;
pub(crate) const TURN_BYTES: usize = 512 << 10;
/// The most earlier frames that a new one is merged with. Two, because a large version that is now gone
/// may have separated two frames with nothing left in them.
const BEFORE_MAX: usize = 2;
/// Frames that are rewritten at a time because little of them is still needed.
const RENEWED_MAX: usize = 4;
/// The most frames that one rewritten frame replaces.
const TOGETHER_MAX: usize = 8;
/// The most tidying steps between two pauses. Each is a sync.
const TIDIED_MAX: usize = 16;
/// More than all that one piece writes.
const SPACE_BYTES: usize = 1 << 20;

/// Thins every frame up to `floor`, which must be the end of a frame and not before the current floor.
/// The commits that are kept, folded into `empty`, give the state at `floor`. After a failure nothing may
/// be appended.
pub fn thin(
    storage: &dyn Storage,
    reader: &Reader,
    floor: Revision,
    empty: State,
    kinds: &[GroupResource],
) -> Result<(), Error> {
    let mut thinning = Thinning::new(reader.floor()?, empty, kinds.to_vec());
    while thinning.walk(storage, |_| {})? {}
    while thinning.advance(storage, floor, |_| {})? || thinning.renew(storage)? {
        while tidy(storage)? {}
    }
    thinning.sync(storage)
}

/// Has the frame that begins at `first` state this floor, and keeps all of its commits. False if it is too
/// large for a thinned frame.
pub(crate) fn state_floor(
    storage: &dyn Storage,
    first: Revision,
    floor: Revision,
) -> Result<bool, Error> {
    let mut group = Group::default();
    group.add_kept(fetch(storage, first)?, |_| true)?;
    group.put(storage, floor)
}

/// Does some of the clean-up that replacing leaves to the storage. False if none is left, or no disk space for
/// it.
pub(crate) fn tidy(storage: &dyn Storage) -> Result<bool, Error> {
    for _ in 0..TIDIED_MAX {
        if !storage.ensure_space(SPACE_BYTES, Purpose::Deletions) || !storage.tidy()? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How far a log is thinned, and which commits of that part were superseded since.
#[derive(Debug)]
pub(super) struct Thinning {
    index: Index,
    /// How far the log was read.
    walked: Cursor,
    /// How far the log is thinned.
    thinned: Cursor,
    /// The floor that the log had when this was created.
    initial_floor: Revision,
    is_unsynced: bool,
}

impl Thinning {
    /// For a log with this floor.
    pub(super) fn new(floor: Revision, empty: State, kinds: Vec<GroupResource>) -> Self {
        Self {
            index: Index::new(empty, kinds),
            walked: Cursor::start(),
            thinned: Cursor::start(),
            initial_floor: floor,
            is_unsynced: false,
        }
    }

    pub(super) const fn floor(&self) -> Revision {
        self.thinned.tail.revision
    }

    /// Reads the next frames that are not known yet, and passes those beyond the floor that are not thinned to
    /// `whole`: commits, and the marks of restores. False once all are known.
    pub(super) fn walk(
        &mut self,
        records: &dyn Records,
        mut whole: impl FnMut(&DecodedFrame),
    ) -> Result<bool, Error> {
        let mut bytes = 0;
        for _ in 0..TURN_FRAMES {
            let frame = match self.walked.next(records)? {
                Visit::End => return Ok(false),
                Visit::Leftover(revision) => {
                    self.index.mark_leftover(revision);
                    continue;
                }
                Visit::Frame(frame) => frame,
            };
            bytes += frame.links.stored_bytes;
            self.index.note_causes(&frame);
            if frame.links.last() <= self.initial_floor {
                self.index.add(&frame);
                self.thinned = self.walked.clone();
            } else {
                whole(&frame);
            }
            if bytes >= TURN_BYTES {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Thins some more frames, not beyond `until`, and passes each of them to `thinned`. False if there
    /// is nothing to thin, or no disk space. Requires that [`Self::walk`] has ended.
    pub(super) fn advance(
        &mut self,
        storage: &dyn Storage,
        until: Revision,
        mut thinned: impl FnMut(&DecodedFrame),
    ) -> Result<bool, Error> {
        if self.floor() >= until || !storage.ensure_space(SPACE_BYTES, Purpose::Deletions) {
            return Ok(false);
        }
        // Nothing may be dropped without it, so the floor may not be written either.
        storage.ensure_witnessed(until)?;
        let frames = self.take_frames(storage, until)?;
        let Some(last) = frames.last() else {
            return Ok(false);
        };
        let floor = last.links.last();
        for frame in &frames {
            self.index.add(frame);
            thinned(frame);
        }
        self.write_floor(storage, floor)?;
        let mut group = Group::default();
        for frame in frames {
            let is_mark = matches!(frame.links.coverage, Coverage::Restored(_));
            if is_mark || self.is_full(&group, &frame) {
                self.put(storage, std::mem::take(&mut group), floor)?;
            }
            if is_mark {
                continue;
            }
            if group.is_empty() {
                self.begin_group(storage, &mut group, frame.links.first)?;
                if !group.has_room(&frame, &self.index) {
                    group = Group::default();
                }
            }
            group.add(frame, &self.index)?;
        }
        self.put(storage, group, floor)?;
        Ok(true)
    }

    /// Rewrites frames of which little is still needed. False if there are none, or no disk space.
    pub(super) fn renew(&mut self, storage: &dyn Storage) -> Result<bool, Error> {
        for _ in 0..RENEWED_MAX {
            let Some(due) = self.index.due() else {
                return Ok(false);
            };
            if !storage.ensure_space(SPACE_BYTES, Purpose::Deletions) {
                return Ok(false);
            }
            let group = self.renewed(storage, due)?;
            self.put(storage, group, self.floor())?;
        }
        Ok(true)
    }

    /// A frame that is due, with those of its neighbours that it has place for. What they hold is known only
    /// roughly before they are read; one that is too large must not keep the others as they are.
    fn renewed(&self, records: &dyn Records, due: Revision) -> Result<Group, Error> {
        let mut group = Group::default();
        for first in self.neighbourhood(due) {
            let frame = fetch(records, first)?;
            if !group.has_room(&frame, &self.index) {
                if first > due {
                    break;
                }
                group = Group::default();
            }
            group.add(frame, &self.index)?;
        }
        Ok(group)
    }

    /// Makes all replacements durable.
    pub(super) fn sync(&mut self, storage: &dyn Storage) -> Result<(), Error> {
        if std::mem::take(&mut self.is_unsynced) {
            storage.sync()?;
        }
        Ok(())
    }

    fn take_frames(
        &mut self,
        records: &dyn Records,
        until: Revision,
    ) -> Result<Vec<DecodedFrame>, Error> {
        let mut frames: Vec<DecodedFrame> = Vec::new();
        let mut bytes = 0;
        while frames.len() < TURN_FRAMES && bytes < TURN_BYTES && self.floor() < until {
            let before = self.thinned.clone();
            match self.thinned.next(records)? {
                Visit::Frame(frame) if frame.links.last() <= until => {
                    bytes += frame.links.stored_bytes;
                    frames.push(frame);
                }
                Visit::Leftover(_) => {}
                Visit::Frame(_) | Visit::End => {
                    self.thinned = before;
                    break;
                }
            }
        }
        Ok(frames)
    }

    /// Writes the new floor into the first thinned frame, before anything is dropped.
    fn write_floor(&mut self, storage: &dyn Storage, floor: Revision) -> Result<(), Error> {
        let Some(floor_frame_start) = self.index.floor_frame_start() else {
            return Ok(());
        };
        let mut group = Group::default();
        group.add(fetch(storage, floor_frame_start)?, &self.index)?;
        if self.put(storage, group, floor)? {
            return Ok(());
        }
        Err(Error::corrupt(floor_frame_start, "it cannot be rewritten"))
    }

    /// Whether the group must be closed before this frame. The frame that states the floor is rewritten
    /// often, so it stays small.
    fn is_full(&self, group: &Group, frame: &DecodedFrame) -> bool {
        let is_floor_frame = self.index.floor_frame_start().is_none() && !group.is_empty();
        is_floor_frame || !group.has_room(frame, &self.index)
    }

    /// Begins a group with the frames before it, if they hold little.
    fn begin_group(
        &self,
        records: &dyn Records,
        group: &mut Group,
        first: Revision,
    ) -> Result<(), Error> {
        let floor_frame_start = self.index.floor_frame_start();
        let (mut firsts, mut bytes) = (Vec::new(), 0);
        while firsts.len() < BEFORE_MAX
            && let at = firsts.last().copied().unwrap_or(first)
            && let Some((before, summary)) = self.index.before(at)
            && (summary.end == at && !summary.is_whole && floor_frame_start != Some(before))
            && bytes + summary.bytes() <= BODIES_BYTES / 2
        {
            bytes += summary.bytes();
            firsts.push(before);
        }
        for first in firsts.into_iter().rev() {
            group.add(fetch(records, first)?, &self.index)?;
        }
        Ok(())
    }

    /// A frame that is due, and its neighbours that fit into one frame with it.
    fn neighbourhood(&self, due: Revision) -> Vec<Revision> {
        let floor_frame_start = self.index.floor_frame_start();
        let bytes = |first: Revision| {
            self.index
                .summary(first)
                .map_or(0, super::index::FrameSummary::bytes)
        };
        let mut firsts = vec![due];
        let mut together = bytes(due);
        if floor_frame_start == Some(due) {
            return firsts;
        }
        if let Some((before, summary)) = self.index.before(due)
            && summary.end == due
            && floor_frame_start != Some(before)
            && together + summary.bytes() <= BODIES_BYTES
        {
            together += summary.bytes();
            firsts.insert(0, before);
        }
        let mut end = self.index.summary(due).map(|summary| summary.end);
        while let Some(next) = end
            && let Some(summary) = self.index.summary(next)
            && together + summary.bytes() <= BODIES_BYTES
            && firsts.len() < TOGETHER_MAX
        {
            together += summary.bytes();
            firsts.push(next);
            end = Some(summary.end);
        }
        firsts
    }

    fn put(&mut self, storage: &dyn Storage, group: Group, floor: Revision) -> Result<bool, Error> {
        let Some((first, end)) = group.extent() else {
            return Ok(false);
        };
        let is_put = group.put(storage, floor)?;
        if is_put {
            self.is_unsynced = true;
            self.index.replaced(first, end, &group.retained);
        } else {
            self.index.postpone(first, end);
        }
        Ok(is_put)
    }
}

fn fetch(records: &dyn Records, first: Revision) -> Result<DecodedFrame, Error> {
    match records.at_or_after(first)? {
        Some((found, bytes)) if found == first => read(first, &bytes),
        _ => Err(Error::absent_record(first)),
    }
}

/// A position between two frames, from which the next one is found.
#[derive(Debug, Clone)]
struct Cursor {
    links: Links,
    tail: Tail,
    /// Where to look: just behind the first revision of the last frame, because frames that it replaced
    /// may still be there.
    from: Revision,
}

enum Visit {
    Frame(DecodedFrame),
    /// A frame that begins at this revision, within the last frame, which has replaced it.
    Leftover(Revision),
    End,
}

impl Cursor {
    fn start() -> Self {
        Self {
            links: Links::after(Tail::START),
            tail: Tail::START,
            from: Revision(1),
        }
    }

    fn next(&mut self, records: &dyn Records) -> Result<Visit, Error> {
        let Some((first, bytes)) = records.at_or_after(self.from)? else {
            return Ok(Visit::End);
        };
        if first <= self.tail.revision {
            self.from = self.tail.revision.next();
            return Ok(Visit::Leftover(first));
        }
        let frame = read(first, &bytes)?;
        self.links.follow(records, &frame.links)?;
        self.tail = frame.links.tail();
        self.from = first.next();
        Ok(Visit::Frame(frame))
    }
}
