//! What is kept for whoever asks for it again.

use super::UNUSED_MAX;
use crate::unpoisoned::unpoisoned;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

/// Values by their keys. Those that go are dropped once the lock is free: it may take as long as they are large, and
/// requests wait for the lock.
#[derive(Debug)]
pub(super) struct Shelf<K, T> {
    most: usize,
    held: Mutex<Held<K, T>>,
}

#[derive(Debug)]
struct Held<K, T> {
    /// With the time of the last use; the longest unused first.
    all: VecDeque<(K, T, Instant)>,
    is_closed: bool,
}

impl<K: Copy + PartialEq, T> Held<K, T> {
    fn take(&mut self, key: K) -> Option<T> {
        let at = self.all.iter().position(|(kept, ..)| *kept == key)?;
        self.all.remove(at).map(|(_, value, _)| value)
    }
}

impl<K: Copy + PartialEq, T: Clone> Shelf<K, T> {
    /// A shelf for so many at most: the longest unused one goes first.
    pub(super) fn new(most: usize) -> Self {
        let held = Held {
            all: VecDeque::new(),
            is_closed: false,
        };
        Self {
            most,
            held: Mutex::new(held),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held<K, T>> {
        unpoisoned(self.held.lock())
    }

    /// What is kept under this key.
    pub(super) fn get(&self, key: K, now: Instant) -> Option<T> {
        let mut held = self.held();
        let found = held.take(key)?;
        held.all.push_back((key, found.clone(), now));
        Some(found)
    }

    /// Keeps what is made of that which is kept under this key.
    pub(super) fn keep(&self, key: K, now: Instant, make: impl FnOnce(Option<&T>) -> T) {
        let mut held = self.held();
        if held.is_closed {
            return;
        }
        let before = held.take(key);
        let value = make(before.as_ref());
        held.all.push_back((key, value, now));
        let too_many = held.all.len() > self.most;
        let gone = too_many.then(|| held.all.pop_front());
        drop(held);
        drop((before, gone));
    }

    /// Drops what nobody has used for long, and what goes anyway.
    pub(super) fn sweep(&self, now: Instant, goes: impl Fn(&T) -> bool) {
        let mut held = self.held();
        let goes = |(_, value, used): &(K, T, Instant)| {
            now.saturating_duration_since(*used) > UNUSED_MAX || goes(value)
        };
        let mut gone = Vec::new();
        while let Some(at) = held.all.iter().position(goes) {
            gone.extend(held.all.remove(at));
        }
        drop(held);
        drop(gone);
    }

    /// Drops all, and keeps nothing any more.
    pub(super) fn close(&self) {
        let mut held = self.held();
        held.is_closed = true;
        let gone = std::mem::take(&mut held.all);
        drop(held);
        drop(gone);
    }

    #[cfg(test)]
    pub(super) fn keys(&self) -> Vec<K> {
        self.held().all.iter().map(|(key, ..)| *key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Part;
    use hindsight_core::kind::BuiltinSchemas;
    use std::sync::{Arc, mpsc};

    #[test]
    fn the_longest_unused_goes_first_and_no_more_are_kept_than_there_is_room_for() {
        let (shelf, now) = (Shelf::new(2), Instant::now());
        let keep = |key: u8| shelf.keep(key, now, |_| ());
        [0, 1].into_iter().for_each(keep);
        assert!(shelf.get(0, now).is_some());
        // Two requests at the same time have folded the same state.
        [2, 2].into_iter().for_each(keep);
        assert_eq!(shelf.keys(), [0, 2]);
    }

    #[test]
    fn nobody_waits_while_a_state_goes() {
        let shelf: Arc<Shelf<u8, Arc<dyn BuiltinSchemas>>> = Arc::new(Shelf::new(2));
        let (now, (is_locked, told)) = (Instant::now(), mpsc::channel());
        for key in [0, 0, 1, 2] {
            let (weak, is_locked) = (Arc::downgrade(&shelf), is_locked.clone());
            let part = Part(move || {
                let shelf = weak.upgrade().expect("it is there");
                is_locked.send(shelf.held.try_lock().is_err()).ok();
            });
            shelf.keep(key, now, |_| Arc::new(part));
        }
        shelf.sweep(now + 2 * UNUSED_MAX, |_| false);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [false; 4]);
    }
}
