//! Puts thinned frames in the place of whole ones, up to the revision of a state.

use crate::codec::{self, Stands};
use crate::frame::{self, Hash};
use crate::reader::{Holds, Read};
use crate::storage::{Purpose, REPLACING_BYTES};
use crate::{Error, Reader, Storage};
use hindsight_core::{Cause, Commit, GroupResource, Revision, State, Time};
use std::collections::BTreeSet;

/// Bytes of bodies in a thinned frame: less than what may replace others, with all that is added.
const BODIES_BYTES: usize = 40 << 10;
/// What a commit needs beside its body.
const COMMIT_BYTES: usize = 256;
/// Written before what was written is synced. The storage may use the room of what was replaced again,
/// and must not while what replaces it is in memory only.
const SYNC_BYTES: usize = 1 << 20;
/// Frames that one replaces.
const FRAMES_MAX: usize = 256;

/// Thins every frame up to the revision of `state`, which must be the log's own at the end of a frame.
/// The commits that are kept fold to just this state. After a failure nothing may be appended.
pub fn thin(
    storage: &dyn Storage,
    reader: &Reader,
    state: &State,
    kinds: &[GroupResource],
) -> Result<(), Error> {
    let mut causes = Causes::default();
    for frame in reader.frames(state.revision.next()) {
        note_causes(&frame?, &mut causes);
    }
    thin_but(storage, reader, state, kinds, &causes)
}

/// As [`thin`], where these are the causes of what comes after.
pub(super) fn thin_but(
    storage: &dyn Storage,
    reader: &Reader,
    state: &State,
    kinds: &[GroupResource],
    causes: &Causes,
) -> Result<(), Error> {
    let mut kept = Kept::new(state, kinds, causes);
    for frame in up_to(reader, state.revision) {
        note_causes(&frame?, &mut kept.needed);
    }
    let mut group = Group::default();
    let mut unsynced = 0;
    for frame in up_to(reader, state.revision) {
        let frame = frame?;
        let bytes = kept.bytes(&frame);
        let is_mark = matches!(frame.holds, Holds::Restored(_));
        if is_mark || bytes + group.bytes > BODIES_BYTES || group.frames == FRAMES_MAX {
            unsynced += group.put(storage, state.revision)?;
        }
        if unsynced > SYNC_BYTES {
            storage.sync()?;
            unsynced = 0;
        }
        if !is_mark {
            group.add(frame, bytes, &kept);
        }
    }
    group.put(storage, state.revision)?;
    storage.sync()
}

/// The frames that end at this revision or before.
fn up_to(reader: &Reader, revision: Revision) -> impl Iterator<Item = Result<Read, Error>> {
    let is_within = move |frame: &Result<Read, Error>| {
        let frame = frame.as_ref();
        frame.map_or(true, |frame| frame.end <= revision.next())
    };
    reader.frames(Revision(1)).take_while(is_within)
}

/// Commits that made others necessary.
pub(super) type Causes = BTreeSet<Revision>;

pub(super) fn note_causes(frame: &Read, causes: &mut Causes) {
    causes.extend(
        frame
            .commits
            .iter()
            .filter_map(|commit| match &commit.cause {
                Cause::Commit(revision) => Some(*revision),
                Cause::Request | Cause::Policy(_) => None,
            }),
    );
}

/// Which commits stay.
struct Kept<'a> {
    state: &'a State,
    kinds: &'a [GroupResource],
    /// Those that explain others, and that say what does not follow from the objects.
    needed: Causes,
}

impl<'a> Kept<'a> {
    fn new(state: &'a State, kinds: &'a [GroupResource], causes: &Causes) -> Self {
        let image = state.image();
        let accepted = image.accepted.iter().map(|definition| definition.revision);
        let waiting = image.waiting.iter().map(|(_, since)| *since);
        Self {
            state,
            kinds,
            needed: accepted
                .chain(waiting)
                .chain(causes.iter().copied())
                .collect(),
        }
    }

    fn keeps(&self, commit: &Commit) -> bool {
        let current = self.state.get(&commit.key);
        current.is_some_and(|current| current.revision == commit.revision)
            || self.needed.contains(&commit.revision)
            || self.kinds.contains(&commit.key.resource)
            || commit.events.iter().any(|event| event.verdict().is_some())
    }

    fn bytes(&self, frame: &Read) -> usize {
        let kept = frame.commits.iter().filter(|commit| self.keeps(commit));
        let sizes = kept.map(|commit| commit.object().map_or(0, |object| object.body.len()));
        sizes.map(|size| size + COMMIT_BYTES).sum()
    }
}

/// Frames that one will replace.
#[derive(Default)]
struct Group {
    commits: Vec<Commit>,
    bytes: usize,
    frames: usize,
    /// First revision of the first frame and of the last, and the revision after it.
    extent: Option<(Revision, Revision, Revision)>,
    previous: Hash,
    hash: Hash,
    latest: Time,
}

impl Group {
    fn add(&mut self, frame: Read, bytes: usize, kept: &Kept<'_>) {
        let Read {
            first, end, hash, ..
        } = frame;
        if self.extent.is_none() {
            self.previous = frame.previous;
        }
        let begin = self.extent.map_or(first, |(begin, _, _)| begin);
        self.extent = Some((begin, first, end));
        let times = frame.commits.iter().map(|commit| commit.time);
        self.latest = times.fold(self.latest, Ord::max);
        if let Holds::Some(_, latest) = frame.holds {
            self.latest = self.latest.max(latest);
        }
        self.hash = hash;
        self.frames += 1;
        self.bytes += bytes;
        let kept = frame.commits.into_iter().filter(|one| kept.keeps(one));
        self.commits.extend(kept);
    }

    /// How many bytes were written. A group that is too large as one frame, because of a single large
    /// object, is left as it is.
    fn put(&mut self, storage: &dyn Storage, floor: Revision) -> Result<usize, Error> {
        let group = std::mem::take(self);
        let Some((first, last, end)) = group.extent else {
            return Ok(0);
        };
        let commits: Vec<&Commit> = group.commits.iter().collect();
        let revisions: Vec<Revision> = commits.iter().map(|commit| commit.revision).collect();
        let mut kept = Vec::new();
        codec::encode(&commits, &mut kept)?;
        if kept.len() > frame::PAYLOAD_BYTES_MAX {
            return Ok(0);
        }
        let kept = frame::packed(&kept);
        let mut bytes = Vec::new();
        frame::begin(&mut bytes);
        Stands::thinned(group.hash, floor, group.latest, &revisions, &kept).encode(&mut bytes)?;
        let count = u32::try_from(end.0 - first.0).unwrap_or(u32::MAX);
        frame::seal(&mut bytes, frame::STANDS, first, count, &group.previous);
        if bytes.len() >= REPLACING_BYTES || !storage.has_room(bytes.len(), Purpose::Writes) {
            return Ok(0);
        }
        storage.replace(first, last, &bytes)?;
        Ok(bytes.len())
    }
}
