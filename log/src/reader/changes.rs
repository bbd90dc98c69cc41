//! Reads changes back: commits, each with the version that it replaced.

use super::Reader;
use crate::Error;
use crate::frame::decoded::{Coverage, DecodedFrame};
use hindsight_core::{Change, Revision, State, apply};
use std::sync::Arc;

impl Reader {
    /// Folds the log up to `until`, from the newest snapshot that is not after `from` or else from the
    /// beginning, and passes on the changes on the way: those of one record at a time, oldest first.
    /// Returns the revision at which the fold began.
    ///
    /// Where revisions are missing between two changes, retention has dropped some, or a restore has passed
    /// over them. The next change is the first from which on all are kept.
    pub fn changes(
        &self,
        empty: State,
        from: Revision,
        until: Revision,
        mut pass_on: impl FnMut(Vec<Arc<Change>>),
    ) -> Result<Revision, Error> {
        let mut base = self.base_until(empty, from);
        let begun = base.state.revision;
        let mut floor = Revision::ZERO;
        for frame in self.resumed_frames(begun.next(), until) {
            let frame = frame?;
            floor = floor.max(frame.links.stated_floor());
            // Below the floor the state lacks what was dropped, and so do the versions that are replaced.
            if frame.links.coverage != Coverage::Whole || frame.links.first <= floor {
                base.fold(&frame);
                continue;
            }
            let changes = follow(&mut base.state, frame, until);
            if !changes.is_empty() {
                pass_on(changes);
            }
        }
        Ok(begun)
    }
}

/// Applies the commits of a whole frame up to `until`. A snapshot may contain the first of them.
fn follow(state: &mut State, frame: DecodedFrame, until: Revision) -> Vec<Arc<Change>> {
    let from = state.revision.next();
    let wanted = from..=until;
    let commits = frame.commits.into_iter();
    let commits = commits.filter(|commit| wanted.contains(&commit.revision));
    let changes = commits.map(|commit| {
        let previous = apply(state, &commit);
        let commit = Arc::new(commit);
        Arc::new(Change { commit, previous })
    });
    changes.collect()
}
