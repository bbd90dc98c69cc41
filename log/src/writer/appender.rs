//! Turns commits into frames: encodes, compresses and chains them, and appends them to storage.

use crate::frame::{self, Hash};
use crate::{Backup, Error, Storage, Tail, codec, packing};
use hindsight_core::{Change, Commit, Revision};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Default limit of a frame of several decisions that were not submitted together, in bytes before compression.
const BYTES_MAX: usize = 64 << 10;

/// Limit of a frame, in bytes. A longer one would poison the log, so [`DECISION_BYTES_MAX`] keeps what becomes
/// one frame below it. A defect shows here, before the log holds a frame whose length its header cannot state.
const FRAME_BYTES_MAX: usize = 256 << 20;
/// The largest buffer that is kept between frames: most fit.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Limit of a decision, by the estimate of its commits. A decision is never split, and may share its frame with
/// what was decided before it. What is planned as one is far smaller: a deadlock of 32 MiB, or definitions of 4
/// MiB that get names, and a few objects.
pub(super) const DECISION_BYTES_MAX: usize = FRAME_BYTES_MAX - (1 << 20);
// What shares the frame of a decision, and the header.
const _: () = assert!(FRAME_BYTES_MAX - DECISION_BYTES_MAX > 2 * BYTES_MAX);
// Otherwise a log could be written that has no backup.
const _: () = assert!(FRAME_BYTES_MAX <= Backup::FRAME_BYTES_MAX);

/// Appends frames at the end of the log.
pub(super) struct Appender {
    storage: Arc<dyn Storage>,
    last: Hash,
    /// Limit of a frame of several decisions, in bytes before compression. A larger commit has a frame of its
    /// own; a decision is never split, nor is what the decider joined.
    pub(super) bytes_max: usize,
    /// Limit of a frame, in bytes. A longer one is not appended.
    frame_bytes_max: usize,
    /// Like `packed`, kept between frames to reuse its allocation.
    bytes: Vec<u8>,
    packed: Vec<u8>,
}

impl Appender {
    pub(super) fn new(storage: Arc<dyn Storage>, last: Hash) -> Self {
        Self {
            storage,
            last,
            bytes_max: BYTES_MAX,
            frame_bytes_max: FRAME_BYTES_MAX,
            bytes: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// Appends the commits of a batch and makes them durable with one sync. A crash before that leaves
    /// whole frames: commits in `joined` are stored in the frame of the commit before them, however long
    /// it gets.
    pub(super) fn store(
        &mut self,
        changes: &[Arc<Change>],
        joined: &BTreeSet<Revision>,
    ) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut pending: Vec<&Commit> = Vec::with_capacity(changes.len());
        let mut bytes = 0;
        for change in changes {
            let commit = &*change.commit;
            let mut estimated = commit.estimated_bytes_after(pending.last().copied());
            let is_joined = joined.contains(&commit.revision);
            if bytes + estimated > self.bytes_max && !is_joined {
                self.append(&pending, bytes)?;
                pending.clear();
                bytes = 0;
                estimated = commit.estimated_bytes();
            }
            bytes += estimated;
            pending.push(commit);
        }
        self.append(&pending, bytes)?;
        self.storage.sync()?;
        if let Some(newest) = pending.last() {
            self.storage.witness(&self.tail(newest.revision));
        }
        Ok(())
    }

    /// The end of the log, if this is its newest revision.
    pub(super) const fn tail(&self, revision: Revision) -> Tail {
        Tail {
            revision,
            hash: self.last,
        }
    }

    /// Appends these commits as one frame, which will take about so many bytes.
    fn append(&mut self, commits: &[&Commit], estimated: usize) -> Result<(), Error> {
        let Some(first) = commits.first() else {
            return Ok(());
        };
        let count = u32::try_from(commits.len()).unwrap_or(u32::MAX);
        frame::begin(&mut self.bytes);
        self.bytes.reserve(estimated);
        codec::encode(commits, &mut self.bytes)?;
        let format = packing::pack(&mut self.bytes, &mut self.packed);
        frame::seal(&mut self.bytes, format, first.revision, count, &self.last);
        if self.bytes.len() > self.frame_bytes_max {
            return Err(self.too_long(first.revision));
        }
        self.storage.append(first.revision, &self.bytes)?;
        self.last = frame::hash(&self.bytes);
        for buffer in [&mut self.bytes, &mut self.packed] {
            buffer.truncate(KEPT_BYTES_MAX);
            buffer.shrink_to(KEPT_BYTES_MAX);
        }
        Ok(())
    }

    fn too_long(&self, first: Revision) -> Error {
        let (length, most) = (self.bytes.len(), self.frame_bytes_max);
        let why = format!(
            "the record at revision {first} would take {length} bytes, and a record may take {most}"
        );
        Error::defect("appending a record", why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::tests::{create, empty};
    use crate::{MemoryStorage, Records};
    use hindsight_core::event::{OwnerClass, OwnerFinding};
    use hindsight_core::{Event, OwnerReference, Request, Rule, Uid, decide};

    #[test]
    fn a_frame_that_is_too_long_is_not_appended() {
        let decision = decide(&empty(), create("a")).expect("decided");
        let commit = Arc::clone(&decision.commits[0]);
        let changes = [Arc::new(Change {
            commit,
            previous: None,
        })];
        let storage = Arc::new(MemoryStorage::default());
        let is_empty = || {
            let first = storage.at_or_after(Revision(1));
            first.expect("read").is_none()
        };
        let mut frames = Appender::new(Arc::clone(&storage) as _, Hash::default());
        frames.frame_bytes_max = 10;
        let refused = frames.store(&changes, &BTreeSet::new());
        let why = refused.expect_err("refused").to_string();
        assert!(why.contains("a record may take 10"), "{why}");
        assert!(!why.contains("restore a backup"), "{why}");
        assert!(is_empty());
        frames.frame_bytes_max = frames.bytes.len();
        frames.store(&changes, &BTreeSet::new()).expect("stored");
        assert!(!is_empty());
    }

    #[test]
    fn a_long_frame_leaves_no_long_buffer() {
        let decision = decide(&empty(), create("a")).expect("decided");
        let mut commit = Commit::clone(&decision.commits[0]);
        commit.request = Arc::new(Request {
            user_agent: "v".repeat(2 * KEPT_BYTES_MAX),
            ..Request::default()
        });
        let change = Arc::new(Change {
            commit: Arc::new(commit),
            previous: None,
        });
        let storage = Arc::new(MemoryStorage::default());
        let mut appender = Appender::new(storage, Hash::default());
        let stored = appender.store(&[change], &BTreeSet::new());
        stored.expect("stored");
        for buffer in [&appender.bytes, &appender.packed] {
            assert!((1..=KEPT_BYTES_MAX).contains(&buffer.capacity()));
        }
    }

    /// What the facts of a commit repeat counts, and where it comes from: otherwise a batch of small removals
    /// could be a record that is too long.
    #[test]
    fn a_frame_ends_whatever_it_is_that_makes_its_commits_long() {
        let long = "v".repeat(BYTES_MAX / 2);
        let owner = OwnerReference {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: long.as_str().into(),
            uid: Uid::from("u"),
            controller: None,
            block_owner_deletion: None,
        };
        let finding = OwnerFinding {
            owner: owner.clone(),
            class: OwnerClass::Dangling,
        };
        let removed = |owners| Event::ObjectDeleted {
            rule: Rule::OwnersAbsent,
            owners,
            decided_at: Revision(1),
        };
        for (events, agent, frames) in [
            (vec![removed(vec![finding])], "", 2),
            (vec![Event::OwnerRemoved { owner }, removed(vec![])], "", 2),
            (vec![removed(vec![])], long.as_str(), 2),
            (vec![removed(vec![])], "kubectl", 1),
        ] {
            let decision = decide(&empty(), create("a")).expect("decided");
            let change = |revision: u64| {
                let mut commit = Commit::clone(&decision.commits[0]);
                commit.revision = Revision(revision);
                commit.events.clone_from(&events);
                commit.request = Arc::new(Request {
                    // Each request is another one, so that their origins differ.
                    uri: revision.to_string(),
                    user_agent: agent.to_owned(),
                    ..Request::default()
                });
                Arc::new(Change {
                    commit: Arc::new(commit),
                    previous: None,
                })
            };
            let storage = Arc::new(MemoryStorage::default());
            let mut appender = Appender::new(Arc::clone(&storage) as _, Hash::default());
            let stored = appender.store(&[change(1), change(2)], &BTreeSet::new());
            stored.expect("stored");
            let second = storage.at_or_after(Revision(2)).expect("read");
            assert_eq!(1 + usize::from(second.is_some()), frames);
        }
    }
}
