//! Slots for connections. A stranger, a client that neither a certificate nor a token has identified yet, has
//! one of a few slots, and keeps it until others come: the newest is let in, and the one that has been a
//! stranger for the longest is displaced. So a client that identifies itself is always heard, however many
//! there are that never will.

#[cfg(test)]
mod tests;

use crate::unpoisoned::unpoisoned;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How many connections there may be, and how many of them may be strangers'.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) connections: usize,
    pub(super) strangers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8192,
            strangers: 1024,
        }
    }
}

/// The slots of all connections.
#[derive(Debug)]
pub(super) struct Slots {
    free: Arc<Semaphore>,
    strangers_max: usize,
    strangers: Mutex<Strangers>,
}

/// The strangers, in the order in which they came.
#[derive(Debug, Default)]
struct Strangers {
    waiting: BTreeMap<u64, Arc<Notify>>,
    ever: u64,
}

/// The slot of a connection, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: u64,
    displaced: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Slots {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            free: Arc::new(Semaphore::new(limits.connections)),
            strangers_max: limits.strangers,
            strangers: Mutex::default(),
        })
    }

    /// A slot for one more stranger. `None` if no connection is free: then the oldest stranger is displaced,
    /// to make room for the next to come.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Slot> {
        let permit = Arc::clone(&self.free).try_acquire_owned();
        let mut strangers = self.strangers();
        if permit.is_err() || strangers.waiting.len() >= self.strangers_max {
            strangers.displace_oldest();
        }
        let permit = permit.ok()?;
        let displaced = Arc::new(Notify::new());
        let number = strangers.ever;
        strangers.ever += 1;
        strangers.waiting.insert(number, Arc::clone(&displaced));
        drop(strangers);
        Some(Slot {
            slots: Arc::clone(self),
            number,
            displaced,
            _permit: permit,
        })
    }

    fn strangers(&self) -> MutexGuard<'_, Strangers> {
        unpoisoned(self.strangers.lock())
    }
}

impl Strangers {
    fn displace_oldest(&mut self) {
        if let Some((_, oldest)) = self.waiting.pop_first() {
            oldest.notify_one();
        }
    }
}

impl Slot {
    /// Notes that the client is known: no newcomer displaces it any more.
    pub(super) fn mark_known(&self) {
        self.slots.strangers().waiting.remove(&self.number);
    }

    /// Resolves once a newcomer has displaced this connection.
    pub(super) async fn displaced(&self) {
        self.displaced.notified().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.mark_known();
    }
}
