//! An index of the superseded commits in the thinned part of the log. It is derived from the frames, so
//! that a round need not read frames that have not changed.

use super::Retained;
use super::revisions::Revisions;
use crate::frame::decoded::{Coverage, DecodedFrame};
use hindsight_core::{Cause, Commit, GroupResource, ObjectKey, Revision, State};
use std::collections::{BTreeMap, BTreeSet};

/// The key of an object, shortened to the part of its hash that rules out collisions.
type KeyHash = [u8; 16];

#[derive(Debug)]
pub(super) struct Index {
    kinds: Vec<GroupResource>,
    /// The commit of the current version of each object.
    current: BTreeMap<KeyHash, Current>,
    frames: BTreeMap<Revision, FrameSummary>,
    /// The first revisions of frames to be rewritten: those of which little is needed, and those that are
    /// still whole.
    due: BTreeSet<Revision>,
    /// Commits of versions that were replaced and that no rule keeps for themselves.
    superseded: Revisions,
    /// Commits that are the cause of other commits.
    causes: Revisions,
    /// The parts of the state other than its objects (`State::image`), and the commits on which they
    /// rest.
    beside: State,
    pinned: BTreeSet<Revision>,
}

#[derive(Debug, Clone, Copy)]
struct Current {
    revision: Revision,
    /// Whether the commit is kept even when the version is replaced.
    is_kept: bool,
}

/// A frame, summarised.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameSummary {
    /// The revision after its last one.
    pub(super) end: Revision,
    pub(super) is_whole: bool,
    commits: usize,
    superseded: usize,
    bytes: usize,
}

impl FrameSummary {
    /// Roughly the bytes of the commits that are still needed.
    pub(super) const fn bytes(&self) -> usize {
        let needed = self.commits.saturating_sub(self.superseded);
        match self.commits {
            0 => 0,
            commits => self.bytes / commits * needed,
        }
    }

    const fn is_empty(&self) -> bool {
        self.commits == 0
    }

    const fn is_sparse(&self) -> bool {
        self.superseded * 2 > self.commits
    }
}

impl Index {
    pub(super) const fn new(empty: State, kinds: Vec<GroupResource>) -> Self {
        Self {
            kinds,
            current: BTreeMap::new(),
            frames: BTreeMap::new(),
            due: BTreeSet::new(),
            superseded: Revisions::new(),
            causes: Revisions::new(),
            beside: empty,
            pinned: BTreeSet::new(),
        }
    }

    /// Notes which commits this frame names as causes, wherever in the log it is.
    pub(super) fn note_causes(&mut self, frame: &DecodedFrame) {
        for commit in &frame.commits {
            if let Cause::Commit(cause) = commit.cause {
                self.causes.insert(cause);
            }
        }
    }

    /// Adds the next frame of the thinned part.
    pub(super) fn add(&mut self, frame: &DecodedFrame) {
        if matches!(frame.links.coverage, Coverage::Restored(_)) {
            return;
        }
        let summary = FrameSummary {
            end: frame.links.end,
            is_whole: frame.links.coverage == Coverage::Whole,
            commits: frame.commits.len(),
            superseded: 0,
            bytes: bytes(&frame.commits),
        };
        let before = self.before(frame.links.first);
        let joins_previous = before.is_some_and(|(_, before)| {
            before.end == frame.links.first && before.is_empty() && summary.is_empty()
        });
        self.frames.insert(frame.links.first, summary);
        if summary.is_whole || joins_previous {
            self.due.insert(frame.links.first);
        }
        let mut has_changed_beside = false;
        for commit in &frame.commits {
            let was_held = self.beside.is_held(&commit.uid);
            let changes_beside = self.beside.apply_to_image(commit);
            // While an owner waits for its dependents, each version of it is kept, and the one that ends the wait:
            // otherwise a second deletion would seem to have begun with the first. Every version of a definition is
            // in the image; that alone is no reason to keep it.
            let is_about_waiting = was_held || self.beside.is_held(&commit.uid);
            let is_lasting = changes_beside && (!commit.key.is_definition() || is_about_waiting);
            self.note(commit, is_lasting);
            has_changed_beside |= changes_beside;
        }
        if has_changed_beside {
            self.pin();
        }
    }

    /// Adds a commit; `is_lasting` if the parts of the state besides its objects rest on it.
    fn note(&mut self, commit: &Commit, is_lasting: bool) {
        let key = key_hash(&commit.key);
        let is_kept = commit.deletions().next().is_some()
            || self.kinds.contains(&commit.key.resource)
            || is_lasting;
        let version = Current {
            revision: commit.revision,
            is_kept,
        };
        let before = match commit.object() {
            Some(_) => self.current.insert(key, version),
            None => self.current.remove(&key),
        };
        if let Some(before) = before.filter(|before| !before.is_kept) {
            self.superseded.insert(before.revision);
            self.count_superseded(before.revision);
        }
    }

    /// Replaces the set of pinned commits. Those on which the state no longer rests may be dropped.
    fn pin(&mut self) {
        let image = self.beside.image();
        let accepted = image.accepted.iter().map(|one| one.revision);
        let held = image.held_owners.iter().map(|(_, since)| *since);
        let pinned: BTreeSet<Revision> = accepted.chain(held).collect();
        let before = std::mem::replace(&mut self.pinned, pinned);
        for revision in before {
            if !self.pinned.contains(&revision) && self.superseded.contains(revision) {
                self.count_superseded(revision);
            }
        }
    }

    fn count_superseded(&mut self, superseded: Revision) {
        let found = self.frames.range_mut(..=superseded).next_back();
        if let Some((first, summary)) = found {
            summary.superseded += 1;
            if summary.is_sparse() {
                self.due.insert(*first);
            }
        }
    }

    /// Marks the frame that holds this revision for rewriting: it covers a leftover frame that no walk
    /// would meet.
    pub(super) fn mark_leftover(&mut self, revision: Revision) {
        let found = self.frames.range(..=revision).next_back();
        self.due.extend(found.map(|(first, _)| *first));
    }

    /// Whether a commit of the thinned part is kept.
    pub(super) fn keeps(&self, commit: &Commit) -> bool {
        let revision = commit.revision;
        !self.superseded.contains(revision)
            || self.causes.contains(revision)
            || self.pinned.contains(&revision)
    }

    /// Records that one frame has replaced those from `first` to `end`, with these commits in it.
    pub(super) fn replaced(&mut self, first: Revision, end: Revision, retained: &Retained) {
        for revision in &retained.dropped {
            self.superseded.remove(*revision);
        }
        let gone: Vec<_> = self.frames.range(first..end).map(|(at, _)| *at).collect();
        for first in gone {
            self.frames.remove(&first);
            self.due.remove(&first);
        }
        let summary = FrameSummary {
            end,
            is_whole: false,
            commits: retained.commits.len(),
            superseded: 0,
            bytes: bytes(&retained.commits),
        };
        self.frames.insert(first, summary);
    }

    /// Leaves these frames as they are until more of them is superseded.
    pub(super) fn postpone(&mut self, first: Revision, end: Revision) {
        let left: Vec<_> = self.due.range(first..end).copied().collect();
        for first in left {
            self.due.remove(&first);
        }
    }

    pub(super) fn due(&self) -> Option<Revision> {
        self.due.first().copied()
    }

    /// The first frame that is thinned; it states the floor.
    pub(super) fn floor_frame_start(&self) -> Option<Revision> {
        let thinned = self.frames.iter().find(|(_, summary)| !summary.is_whole);
        thinned.map(|(first, _)| *first)
    }

    pub(super) fn summary(&self, first: Revision) -> Option<&FrameSummary> {
        self.frames.get(&first)
    }

    /// The last frame that begins before this revision.
    pub(super) fn before(&self, revision: Revision) -> Option<(Revision, &FrameSummary)> {
        let found = self.frames.range(..revision).next_back();
        found.map(|(first, summary)| (*first, summary))
    }
}

/// The bytes that these commits take, or somewhat more.
pub(super) fn bytes<'a>(commits: impl IntoIterator<Item = &'a Commit>) -> usize {
    Commit::estimated_bytes_of_all(commits)
}

fn key_hash(key: &ObjectKey) -> KeyHash {
    let mut hasher = blake3::Hasher::new();
    for part in key.parts() {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    let hash = hasher.finalize();
    *hash.as_bytes().first_chunk().unwrap_or(&[0; 16])
}
