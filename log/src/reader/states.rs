//! The state at a revision or a time, folded from the newest snapshot that can be used.

use super::Reader;
use crate::{Base, Error};
use hindsight_core::{FutureRevision, Pruned, PrunedTime, Revision, State, Time};

impl Reader {
    /// Folds the log into `base`, up to the first commit or restore that is not `wanted`, or to its end.
    pub fn fold(
        &self,
        base: Base,
        wanted: impl Fn(Revision, Time) -> bool,
        progress: impl FnMut(Revision),
    ) -> Result<State, Error> {
        self.fold_until(Revision::MAX, base, wanted, progress)
    }

    fn fold_until(
        &self,
        until: Revision,
        mut base: Base,
        wanted: impl Fn(Revision, Time) -> bool,
        mut progress: impl FnMut(Revision),
    ) -> Result<State, Error> {
        let mut floor = Revision::ZERO;
        for frame in self.resumed_frames(base.state.revision.next(), until) {
            let frame = frame?;
            floor = floor.max(frame.links.stated_floor());
            if base.fold_while(&frame, &wanted, &mut progress).is_break() {
                break;
            }
        }
        let state = base.state;
        if state.revision < floor {
            return Err(self.pruned(state.revision, floor));
        }
        Ok(state)
    }

    /// The state at the end of the log, folded from its beginning, as it would be found on start.
    pub fn base(&self, empty: State) -> Result<Base, Error> {
        let mut base = Base::empty(empty);
        for frame in self.verified_frames(base.tail())? {
            base.fold(&frame?);
        }
        Ok(base)
    }

    /// The state after this commit, folded from the newest snapshot that can be used and is not after it, with the
    /// built-in kinds of `empty`. A revision that a restore left out has the state of the last commit before it. [`Error::Future`] for a revision that has
    /// not happened, unless the end of the log cannot be read: then the error of that. [`Error::Pruned`] for one that
    /// is no longer kept.
    pub fn state_at(&self, empty: State, revision: Revision) -> Result<State, Error> {
        self.refuse_future(revision)?;
        self.state_until(empty, revision)
    }

    /// Refuses a revision that has not happened yet. If the end is damaged, revisions before it can still be read.
    pub(super) fn refuse_future(&self, asked: Revision) -> Result<(), Error> {
        if let Ok(newest) = self.newest()
            && newest < asked
        {
            return Err(Error::Future(FutureRevision { asked, newest }));
        }
        Ok(())
    }

    /// The state at the end of the log, folded from the newest snapshot.
    pub fn newest_state(&self, empty: State) -> Result<State, Error> {
        self.state_until(empty, Revision::MAX)
    }

    /// The newest snapshot that is not after this revision, or the beginning of the log.
    pub(super) fn base_until(&self, empty: State, revision: Revision) -> Base {
        let found = self.snapshots.as_ref();
        let found = found.and_then(|one| one.newest_until(&*self.records, revision, &empty));
        found.unwrap_or_else(|| Base::empty(empty))
    }

    fn state_until(&self, empty: State, revision: Revision) -> Result<State, Error> {
        let base = self.base_until(empty, revision);
        let folded = self.fold_until(revision, base, |at, _| at <= revision, |_| {});
        folded.map_err(|error| match error {
            Error::Pruned(Pruned { floor, .. }) if floor > revision => Error::Pruned(Pruned {
                asked: revision,
                floor,
            }),
            other => other,
        })
    }

    /// The state before the first commit or restore whose time is later than this. Clocks may step back;
    /// commits after that first one are ignored even if their times are earlier. The time is not compared
    /// with a clock: for a time in the future this is the newest state. [`Error::PrunedTime`] if the state is
    /// no longer kept.
    pub fn state_at_time(&self, empty: State, time: Time) -> Result<State, Error> {
        let found = self.snapshots.as_ref();
        let found = found.and_then(|one| one.newest_until_time(&*self.records, time, &empty));
        let base = found.unwrap_or_else(|| Base::empty(empty));
        let folded = self.fold(base, |_, at| at <= time, |_| {});
        folded.map_err(|error| match error {
            Error::Pruned(Pruned { floor, .. }) => {
                Error::PrunedTime(PrunedTime { asked: time, floor })
            }
            other => other,
        })
    }
}
