//! Verifies a log from its first frame to its last and reports what it holds.

use crate::frame::Hash;
use crate::frame::decoded::Coverage;
use crate::{Base, Error, Reader, Snapshots, Tail};
use hindsight_core::{Commit, Revision, State, Time};
use std::collections::BTreeMap;

/// The contents of a whole, intact log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of frames.
    pub frames: u64,
    /// Number of commits.
    pub commits: u64,
    /// Bytes of the commits before compression.
    pub commit_bytes: u64,
    /// Bytes of the frames as they are stored.
    pub frame_bytes: u64,
    /// Number of events, by name.
    pub events: BTreeMap<&'static str, u64>,
    /// The newest revision.
    pub newest: Revision,
    /// The last revision that is known to have been acknowledged; `None` without a witness.
    pub witnessed: Option<Revision>,
    /// The revision from which on every commit is kept; zero if none was dropped.
    pub floor: Revision,
    /// The revisions at which backups were restored.
    pub restores: Vec<Revision>,
    /// The time of the first commit.
    pub first_time: Option<Time>,
    /// The time of the last commit.
    pub last_time: Option<Time>,
    /// Hash of the last frame, in hex: a fingerprint of every commit that was ever in the log.
    pub chain: String,
    /// Hash of all frames as they are stored, in hex: a fingerprint of what is kept, also for a thinned
    /// log.
    pub content: String,
}

/// Accumulates the hash over many frames.
#[derive(Debug, Default)]
pub(crate) struct Content(blake3::Hasher);

impl Content {
    /// Adds the next frame, by the hash of its bytes as they are stored.
    pub(crate) fn add(&mut self, stored: &Hash) {
        self.0.update(stored);
    }

    /// The hash of all frames that were added.
    pub(crate) fn hash(&self) -> Hash {
        *self.0.finalize().as_bytes()
    }
}

pub(crate) fn hex(hash: Hash) -> String {
    blake3::Hash::from_bytes(hash).to_hex().to_string()
}

/// Checks frames, checksums, hash chain, revisions and the acknowledged end. The error names the first
/// bad record.
pub fn verify(reader: &Reader, mut progress: impl FnMut(Revision)) -> Result<Report, Error> {
    let witnessed = reader.records().witnessed()?;
    let mut report = Report {
        witnessed: witnessed.map(|tail| tail.revision),
        ..Report::default()
    };
    let mut content = Content::default();
    for frame in reader.verified_frames(Tail::START)? {
        let frame = frame?;
        for commit in &frame.commits {
            report.count(commit);
        }
        if let Coverage::Restored(_) = frame.links.coverage {
            report.restores.push(frame.links.last());
        }
        report.frames += 1;
        report.commit_bytes += frame.commit_bytes as u64;
        report.frame_bytes += frame.links.stored_bytes as u64;
        report.newest = frame.links.last();
        report.floor = report.floor.max(frame.links.stated_floor());
        report.chain = hex(frame.links.hash);
        content.add(&frame.links.stored_hash);
        progress(report.newest);
    }
    report.content = hex(content.hash());
    Ok(report)
}

/// The state at the floor, folded from the first frame and not from a snapshot. Also compares every
/// readable snapshot with the log at its revision: its state, unless the log no longer gives that, and the
/// frame that it names. The error names the first that differs, or is of a revision at which no frame ends, unless the
/// log was thinned over that. Refuses a floor at which no frame ends.
pub fn state_at_floor(reader: &Reader, empty: &State, floor: Revision) -> Result<State, Error> {
    let snapshots = reader.snapshots();
    let written = snapshots.map_or_else(|| Ok(Vec::new()), Snapshots::revisions)?;
    let mut base = Base::empty(empty.clone());
    let mut at_floor = (floor == Revision::ZERO).then(|| empty.clone());
    for frame in reader.verified_frames(Tail::START)? {
        let frame = frame?;
        base.fold(&frame);
        let revision = base.state.revision;
        if revision == floor {
            at_floor = Some(base.state.clone());
        }
        let Some(snapshots) = snapshots else { continue };
        let from = match frame.links.coverage {
            Coverage::Thinned { .. } => revision,
            Coverage::Whole | Coverage::Restored(_) => frame.links.first,
        };
        for named in written
            .iter()
            .filter(|one| (from..=revision).contains(*one))
        {
            // Below the floor, versions are missing from the fold that were current then.
            snapshots.check_agrees(*named, &base, revision >= floor, empty)?;
        }
    }
    at_floor.ok_or_else(|| {
        Error::corrupt(
            floor,
            "history was dropped up to it, but no record ends there",
        )
    })
}

impl Report {
    fn count(&mut self, commit: &Commit) {
        self.commits += 1;
        self.first_time.get_or_insert(commit.time);
        self.last_time = Some(commit.time);
        for event in &commit.events {
            *self.events.entry(event.name()).or_default() += 1;
        }
    }
}
