//! Past states that are likely to be asked for again: a list continues page by page, and a client that looks at
//! the past asks more than once. They are derived from the log, so any of them may be dropped.

use super::{Folded, UNUSED_MAX};
use crate::unpoisoned::unpoisoned;
use hindsight_api::AsOf;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

/// The most states that are kept. The least recently used one goes first; a state that is not kept is folded
/// from the log again.
const STATES_MAX: usize = 2;

#[derive(Debug, Default)]
pub(super) struct Recent {
    /// With the time of the last use.
    states: Mutex<VecDeque<(AsOf, Folded, Instant)>>,
}

impl Recent {
    fn states(&self) -> MutexGuard<'_, VecDeque<(AsOf, Folded, Instant)>> {
        unpoisoned(self.states.lock())
    }

    /// The state at this point, if it is kept.
    pub(super) fn get(&self, point: AsOf, now: Instant) -> Option<Folded> {
        let mut states = self.states();
        let at = states.iter().position(|(kept, ..)| *kept == point)?;
        let (_, found, _) = states.remove(at)?;
        states.push_back((point, found.clone(), now));
        Some(found)
    }

    /// Keeps a state for the next request.
    pub(super) fn keep(&self, point: AsOf, folded: &Folded, now: Instant) {
        let mut states = self.states();
        states.retain(|(kept, ..)| *kept != point);
        if states.len() >= STATES_MAX {
            states.pop_front();
        }
        states.push_back((point, folded.clone(), now));
    }

    /// Drops the states that nobody has used for long.
    pub(super) fn drop_unused(&self, now: Instant) {
        let mut states = self.states();
        let all = std::mem::take(&mut *states).into_iter();
        let (stay, gone): (VecDeque<_>, VecDeque<_>) =
            all.partition(|(.., used)| now.saturating_duration_since(*used) <= UNUSED_MAX);
        *states = stay;
        drop(states);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::kind::BuiltinKinds;
    use hindsight_core::{Revision, State, builtin};
    use std::sync::Arc;

    fn at(revision: u64) -> (AsOf, Folded) {
        let mut state = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
        state.revision = Revision(revision);
        let (state, gap) = (Arc::new(state), None);
        (AsOf::Revision(Revision(revision)), Folded { state, gap })
    }

    #[test]
    fn the_longest_unused_goes_first_and_no_more_are_kept_than_there_is_room_for() {
        let (recent, now) = (Recent::default(), Instant::now());
        for revision in 0..2 {
            let (point, state) = at(revision);
            recent.keep(point, &state, now);
        }
        assert!(recent.get(at(0).0, now).is_some());
        let (point, state) = at(2);
        recent.keep(point, &state, now);
        // Two requests at the same time have folded the same state.
        recent.keep(point, &state, now);
        let kept = |revision| recent.get(at(revision).0, now).is_some();
        assert_eq!([kept(0), kept(1), kept(2)], [true, false, true]);
    }
}
