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
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// With the time of the last use; the longest unused first.
    states: VecDeque<(AsOf, Folded, Instant)>,
    is_closed: bool,
}

impl Held {
    fn take(&mut self, point: AsOf) -> Option<Folded> {
        let mut all = self.states.iter();
        let at = all.position(|(kept, ..)| *kept == point)?;
        self.states.remove(at).map(|(_, folded, _)| folded)
    }
}

/// States that go are dropped once the lock is free: it may take as long as they are large, and requests wait for the
/// lock.
impl Recent {
    fn held(&self) -> MutexGuard<'_, Held> {
        unpoisoned(self.held.lock())
    }

    /// The state at this point, if it is kept.
    pub(super) fn get(&self, point: AsOf, now: Instant) -> Option<Folded> {
        let mut held = self.held();
        let found = held.take(point)?;
        held.states.push_back((point, found.clone(), now));
        Some(found)
    }

    /// Keeps a state for the next request.
    pub(super) fn keep(&self, point: AsOf, folded: &Folded, now: Instant) {
        let mut held = self.held();
        if held.is_closed {
            return;
        }
        let before = held.take(point);
        held.states.push_back((point, folded.clone(), now));
        let too_many = held.states.len() > STATES_MAX;
        let gone = too_many.then(|| held.states.pop_front());
        drop(held);
        drop((before, gone));
    }

    /// Drops the states that nobody has used for long.
    pub(super) fn drop_unused(&self, now: Instant) {
        let mut held = self.held();
        let all = std::mem::take(&mut held.states).into_iter();
        let (stay, gone): (VecDeque<_>, VecDeque<_>) =
            all.partition(|(.., used)| now.saturating_duration_since(*used) <= UNUSED_MAX);
        held.states = stay;
        drop(held);
        drop(gone);
    }

    /// Drops all states, and keeps none any more.
    pub(super) fn close(&self) {
        let mut held = self.held();
        held.is_closed = true;
        let gone = std::mem::take(&mut held.states);
        drop(held);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Part;
    use hindsight_core::kind::{BuiltinKinds, BuiltinSchemas};
    use hindsight_core::{Revision, State, builtin};
    use std::sync::{Arc, mpsc};

    fn at(revision: u64) -> (AsOf, Folded) {
        with(revision, None)
    }

    fn with(revision: u64, schemas: Option<Box<dyn BuiltinSchemas>>) -> (AsOf, Folded) {
        let mut state = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), schemas)));
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

    #[test]
    fn nobody_waits_while_a_state_goes() {
        let (recent, now) = (Arc::new(Recent::default()), Instant::now());
        let (is_locked, told) = mpsc::channel();
        let new = |revision| {
            let (recent, is_locked) = (Arc::downgrade(&recent), is_locked.clone());
            let part = Part(move || {
                let recent = recent.upgrade().expect("it is there");
                is_locked.send(recent.held.try_lock().is_err()).ok();
            });
            with(revision, Some(Box::new(part)))
        };
        let kept = [0, 0, 1, 2].map(new);
        for (point, folded) in kept {
            recent.keep(point, &folded, now);
        }
        recent.drop_unused(now + 2 * UNUSED_MAX);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [false; 4]);
    }

    #[test]
    fn what_is_closed_holds_no_states_and_keeps_no_more() {
        let (recent, now) = (Recent::default(), Instant::now());
        let (point, state) = at(1);
        recent.keep(point, &state, now);
        recent.close();
        assert!(recent.get(point, now).is_none());
        recent.keep(point, &state, now);
        assert!(recent.get(point, now).is_none());
    }
}
