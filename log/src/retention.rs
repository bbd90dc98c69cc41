//! Thins the beginning of the log, as far as a policy says: `docs/decisions/0014-retention.md`.

mod thin;

pub use thin::thin;

use crate::reader::Holds;
use crate::{Error, Poison, Reader, Snapshots, Storage};
use hindsight_core::{GroupResource, Revision, State, Time};
use std::collections::VecDeque;
use std::sync::Arc;
use thin::{Causes, note_causes, thin_but};

/// How much history is kept. Deletions always are, and everything that the newest state needs.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Commits that are older may be dropped, in microseconds; without it age is no reason.
    pub age_micros: Option<i64>,
    /// The oldest commits may be dropped while the log has more bytes; without it size is no reason.
    pub bytes: Option<u64>,
    /// Every commit of these is kept.
    pub kinds: Vec<GroupResource>,
    /// What time it is.
    pub clock: fn() -> Time,
}

/// Applies a policy now and then.
#[derive(Debug)]
pub(crate) struct Pruner {
    storage: Arc<dyn Storage>,
    reader: Reader,
    snapshots: Snapshots,
    empty: State,
    policy: Retention,
    /// Of the writer: who learns of a failed sync must tell it.
    poison: Poison,
    /// The frames from the floor on.
    whole: VecDeque<Extent>,
    bytes: u64,
    /// Of the commits in them, and in those that were there before.
    causes: Causes,
}

/// One frame.
#[derive(Debug)]
struct Extent {
    /// Its last revision.
    end: Revision,
    bytes: u64,
    latest: Time,
}

impl Pruner {
    /// For the log in this storage; `empty` is what it is folded into.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        snapshots: Snapshots,
        empty: State,
        policy: Retention,
        poison: Poison,
    ) -> Self {
        let reader = Reader::new(Arc::clone(&storage)).with_snapshots(snapshots.clone());
        Self {
            storage,
            reader,
            snapshots,
            empty,
            policy,
            poison,
            whole: VecDeque::new(),
            bytes: 0,
            causes: Causes::default(),
        }
    }

    /// Thins what may be.
    pub(crate) fn round(&mut self) {
        let Err(error) = self.try_round() else {
            return;
        };
        tracing::warn!(%error, "the log was not thinned");
        if matches!(error, Error::Io { .. } | Error::Engine { .. }) {
            self.poison.set(error.to_string());
        }
    }

    /// Nothing after any of the snapshots: a start from one needs the frame that ends there.
    fn try_round(&mut self) -> Result<(), Error> {
        let oldest = self.snapshots.revisions().pop();
        self.extend(oldest.unwrap_or_default())?;
        let Some(floor) = self.cut() else {
            return Ok(());
        };
        let state = self.reader.state_at(self.empty.clone(), floor)?;
        let kinds = &self.policy.kinds;
        thin_but(&*self.storage, &self.reader, &state, kinds, &self.causes)
    }

    /// Takes in the frames that were written since, up to this revision.
    fn extend(&mut self, until: Revision) -> Result<(), Error> {
        let known = match self.whole.back() {
            Some(last) => last.end,
            None => self.reader.floor()?,
        };
        for frame in self.reader.frames(known.next()) {
            let frame = frame?;
            let end = frame.end.previous();
            note_causes(&frame, &mut self.causes);
            if end > until || end <= known || frame.holds != Holds::All {
                continue;
            }
            let bytes = u64::try_from(frame.bytes).unwrap_or(u64::MAX);
            let times = frame.commits.iter().map(|commit| commit.time);
            self.bytes += bytes;
            self.whole.push_back(Extent {
                end,
                bytes,
                latest: times.max().unwrap_or_default(),
            });
        }
        Ok(())
    }

    /// The last revision that need not be kept, if there is any. The newest frame always is.
    fn cut(&mut self) -> Option<Revision> {
        let oldest = self.policy.age_micros;
        let oldest = oldest.map(|age| Time((self.policy.clock)().0.saturating_sub(age)));
        let mut cut = None;
        while self.whole.len() > 1
            && let Some(first) = self.whole.front()
        {
            let is_old = oldest.is_some_and(|oldest| first.latest < oldest);
            let is_much = self.policy.bytes.is_some_and(|limit| self.bytes > limit);
            if !is_old && !is_much {
                break;
            }
            cut = Some(first.end);
            self.bytes -= first.bytes;
            self.whole.pop_front();
        }
        cut
    }
}
