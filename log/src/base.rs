//! Where a fold begins: with the empty state before the first commit, or with a snapshot.

use crate::frame::Hash;
use crate::frame::decoded::{Coverage, DecodedFrame};
use crate::{Error, Records, Tail};
use hindsight_core::{Revision, State, Time, apply};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A state, and the end of the log to which it belongs.
#[derive(Debug, Clone)]
pub struct Base {
    /// The state.
    pub state: State,
    /// The hash of the last frame that is folded into the state.
    pub(crate) hash: Hash,
    /// The latest time of any commit or restore that is folded into the state.
    pub latest: Time,
    /// The last revision at which a backup was restored; zero if none ever was.
    pub restored: Revision,
}

impl Base {
    /// The base before the first commit. Of the state only the built-in kinds are taken.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an empty state is made for this"
    )]
    pub fn empty(state: State) -> Self {
        Self {
            state: State::new(Arc::clone(state.kinds.builtin())),
            hash: [0; 32],
            latest: Time(i64::MIN),
            restored: Revision::ZERO,
        }
    }

    /// The end of the log to which this base belongs.
    pub const fn tail(&self) -> Tail {
        Tail {
            revision: self.state.revision,
            hash: self.hash,
        }
    }

    /// Folds the next frame into the state. After a thinned frame, the state is correct only from its
    /// floor on.
    pub(crate) fn fold(&mut self, frame: &DecodedFrame) {
        match self.fold_while(frame, |_, _| true, |_| {}) {
            ControlFlow::Continue(()) | ControlFlow::Break(()) => {}
        }
    }

    /// As [`Self::fold`], but breaks at the first commit or restore that is not `wanted`. What is folded
    /// already is passed over.
    pub(crate) fn fold_while(
        &mut self,
        frame: &DecodedFrame,
        wanted: impl Fn(Revision, Time) -> bool,
        mut progress: impl FnMut(Revision),
    ) -> ControlFlow<()> {
        let (from, end) = (self.state.revision.next(), frame.links.last());
        if end < from {
            return ControlFlow::Continue(());
        }
        // Which of the revisions that a thinned frame covers was the first unwanted one is not known: that
        // commit may be gone.
        if let Coverage::Thinned { latest, .. } = frame.links.coverage
            && !wanted(end, latest)
        {
            return ControlFlow::Break(());
        }
        for commit in frame.commits.iter().filter(|one| one.revision >= from) {
            if !wanted(commit.revision, commit.time) {
                return ControlFlow::Break(());
            }
            apply(&mut self.state, commit);
            self.latest = self.latest.max(commit.time);
            progress(commit.revision);
        }
        match frame.links.coverage {
            Coverage::Whole => {}
            Coverage::Thinned { latest, .. } => self.latest = self.latest.max(latest),
            Coverage::Restored(time) => {
                if !wanted(end, time) {
                    return ControlFlow::Break(());
                }
                self.latest = self.latest.max(time);
                self.restored = end;
            }
        }
        self.state.revision = end;
        self.hash = frame.links.hash;
        ControlFlow::Continue(())
    }

    /// Checks that this base was made from the log in `records`. A log that ends before it has lost
    /// acknowledged records.
    pub(crate) fn check_belongs_to(&self, records: &dyn Records) -> Result<(), Error> {
        self.tail().check_in(records).map_err(Error::of_snapshot)
    }
}
