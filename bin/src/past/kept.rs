//! The states of which clients read lists page by page. They were the newest when their lists began and share with it
//! what has not changed since, so that no page waits for a fold. They are derived from the log, so any of them may be
//! dropped: its next page is folded from the log.

use super::shelf::Shelf;
use hindsight_core::{Change, Object, ObjectKey, Revision, State, webhook};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::Instant;

/// The most states that are kept. The longest unused one goes first.
pub(super) const STATES_MAX: usize = 128;
/// How much may have been replaced since the oldest of them was kept, in bytes: versions of objects, and what states make
/// of definitions and of the configurations of webhooks. No state holds anything else that the newest does not, so this
/// bounds what all of them hold together, as far as the sizes are estimated well: what regular expressions note while
/// they match is not counted. Nor is what was replaced between the beginning of a request and the page that has its
/// state kept.
pub(super) const REPLACED_MAX: usize = 64 << 20;
/// What a change replaces beside the object itself: the nodes above it, in the set of objects and in the maps of their
/// owners. These hold pointers, and are seldom larger together.
const NODES_BYTES: usize = 2 << 10;

#[derive(Debug)]
pub(crate) struct Kept {
    states: Shelf<Revision, KeptState>,
    /// How many bytes were replaced since the start.
    replaced: AtomicUsize,
}

#[derive(Debug, Clone)]
struct KeptState {
    state: Arc<State>,
    /// [`Kept::replaced`] when it was first kept.
    since: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            states: Shelf::new(STATES_MAX),
            replaced: AtomicUsize::new(0),
        }
    }
}

impl Kept {
    /// Keeps what was the newest state when a page of it began, for the next page. What is replaced counts from here
    /// on.
    pub(super) fn keep(&self, state: Arc<State>, now: Instant) {
        self.states.keep(state.revision, now, |before| KeptState {
            since: before.map_or_else(|| self.replaced_so_far(), |one| one.since),
            state,
        });
    }

    /// The state at this revision, if it is kept.
    pub(super) fn get(&self, revision: Revision, now: Instant) -> Option<Arc<State>> {
        self.states.get(revision, now).map(|one| one.state)
    }

    /// Notes that the newest state has moved on by so much, and drops the states that hold too much now.
    pub(crate) fn replaced(&self, bytes: usize, now: Instant) {
        self.replaced.fetch_add(bytes, Ordering::Relaxed);
        self.drop_unused(now);
    }

    /// Only asked while the states are locked, so that none was kept when there was more.
    fn replaced_so_far(&self) -> usize {
        self.replaced.load(Ordering::Relaxed)
    }

    /// Drops the states that nobody has used for long, and those that hold too much.
    pub(super) fn drop_unused(&self, now: Instant) {
        let holds_too_much = |one: &KeptState| self.replaced_so_far() - one.since > REPLACED_MAX;
        self.states.sweep(now, holds_too_much);
    }

    /// Drops all states, and keeps none any more.
    pub(crate) fn close(&self) {
        self.states.close();
    }
}

/// How much these changes, which led from one state to the other, leave to states from before them.
pub(crate) fn replaced_by(changes: &[Arc<Change>], before: &State, after: &State) -> usize {
    let objects = changes.iter().map(|change| {
        let replaced = change.previous.as_deref();
        NODES_BYTES + replaced.map_or(0, held_bytes)
    });
    let keys = changes.iter().map(|change| &change.commit.key);
    let definitions: BTreeSet<&ObjectKey> = keys.filter(|key| key.is_definition()).collect();
    let definitions = definitions.into_iter().map(|key| {
        let resource = key.defined_resource();
        before.kinds.replaced_bytes(&after.kinds, &resource)
    });
    objects.chain(definitions).sum()
}

/// What a state holds because of an object, if that defines no kind.
fn held_bytes(object: &Object) -> usize {
    let is_of_webhooks = &*object.key.resource.group == webhook::GROUP;
    let webhooks = if is_of_webhooks {
        webhook::estimated_bytes(object)
    } else {
        0
    };
    object.memory_bytes() + webhooks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::empty_state;
    use crate::past::UNUSED_MAX;
    use std::time::Duration;

    fn state(revision: u64) -> Arc<State> {
        let mut state = empty_state();
        state.revision = Revision(revision);
        Arc::new(state)
    }

    fn is_kept(kept: &Kept, revision: u64) -> bool {
        kept.states.keys().contains(&Revision(revision))
    }

    #[test]
    fn of_the_states_whose_pages_are_read_the_longest_unused_goes_first() {
        let (kept, now) = (Kept::default(), Instant::now());
        let most = STATES_MAX as u64;
        for revision in 1..=most {
            kept.keep(state(revision), now);
        }
        assert!(kept.get(Revision(1), now).is_some());
        // Another list of the same state takes no second place.
        kept.keep(state(2), now);
        assert!(is_kept(&kept, 3));
        kept.keep(state(most + 1), now);
        let found = [1, 2, 3, 4, most + 1].map(|revision| is_kept(&kept, revision));
        assert_eq!(found, [true, true, false, true, true]);
        assert_eq!(kept.states.keys().len(), STATES_MAX);
    }

    #[test]
    fn the_states_that_hold_too_much_of_what_was_replaced_go_however_they_are_used() {
        let (kept, now) = (Kept::default(), Instant::now());
        kept.replaced(REPLACED_MAX, now);
        kept.keep(state(1), now);
        kept.replaced(REPLACED_MAX / 2, now);
        kept.keep(state(2), now);
        kept.replaced(REPLACED_MAX / 2, now);
        // Another list began with it. It holds what it has held since it was kept first.
        kept.keep(state(1), now);
        assert!(is_kept(&kept, 1) && is_kept(&kept, 2));
        kept.replaced(1, now);
        assert!(!is_kept(&kept, 1) && is_kept(&kept, 2));
    }

    #[test]
    fn a_state_whose_next_page_nobody_asks_for_goes_after_some_minutes() {
        let (kept, begun) = (Kept::default(), Instant::now());
        kept.keep(state(1), begun);
        kept.keep(state(2), begun);
        let later = begun + UNUSED_MAX;
        assert!(kept.get(Revision(2), later).is_some());
        kept.drop_unused(later);
        assert!(is_kept(&kept, 1) && is_kept(&kept, 2));
        kept.drop_unused(later + Duration::from_secs(1));
        assert!(!is_kept(&kept, 1) && is_kept(&kept, 2));
    }

    #[test]
    fn what_is_closed_holds_no_states_and_keeps_no_more() {
        let (kept, now) = (Kept::default(), Instant::now());
        kept.keep(state(1), now);
        kept.close();
        kept.keep(state(2), now);
        assert!(!is_kept(&kept, 1) && !is_kept(&kept, 2));
    }
}
