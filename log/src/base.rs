//! Where a fold begins: with the empty state before the first commit, or with a snapshot.

use crate::frame::Hash;
use crate::frame::decoded::{self, Coverage, DecodedFrame};
use crate::{Error, Records, Tail};
use hindsight_core::{Revision, State, Time, apply};
use std::ops::ControlFlow;

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
    /// The base before the first commit.
    pub const fn empty(state: State) -> Self {
        Self {
            state,
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
        check_tail(records, self.tail()).map_err(of_snapshot)
    }
}

/// The error of a snapshot that does not belong to the log.
pub(crate) fn of_snapshot(error: Error) -> Error {
    match error {
        Error::Diverged { revision } => Error::OtherSnapshot { revision },
        other => other,
    }
}

/// Whether a thinned frame covers this revision and later ones, so that no frame ends at it any more.
pub(crate) fn is_thinned_over(records: &dyn Records, revision: Revision) -> Result<bool, Error> {
    let found = records.at_or_before(revision)?;
    let found = found.map(|(first, bytes)| decoded::read(first, &bytes));
    Ok(found
        .transpose()?
        .is_some_and(|frame| frame.links.is_thinned() && frame.links.last() > revision))
}

/// Checks that the log once ended with exactly this tail.
pub(crate) fn check_tail(records: &dyn Records, tail: Tail) -> Result<(), Error> {
    let revision = tail.revision;
    if revision == Revision::ZERO {
        return Ok(());
    }
    let found = records.at_or_before(revision)?;
    let found = found.map(|(first, bytes)| decoded::read(first, &bytes));
    let Some(frame) = found.transpose()? else {
        return Err(Error::Lost {
            acknowledged: revision,
            newest: Revision::ZERO,
        });
    };
    let newest = frame.links.last();
    if newest < revision && records.at_or_after(frame.links.end)?.is_none() {
        return Err(Error::Lost {
            acknowledged: revision,
            newest,
        });
    }
    if newest == revision && frame.links.hash == tail.hash {
        return Ok(());
    }
    Err(Error::Diverged { revision })
}

/// As [`check_tail`], but accepts a tail that a thinned frame covers: of the frames that it replaces, only
/// the hash of the last is known.
pub(crate) fn check_passes_through(records: &dyn Records, tail: Tail) -> Result<(), Error> {
    match check_tail(records, tail) {
        Err(Error::Diverged { .. }) if is_thinned_over(records, tail.revision)? => Ok(()),
        held => held,
    }
}
