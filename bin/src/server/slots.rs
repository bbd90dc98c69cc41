//! Slots for connections. One that neither a certificate nor a token has authenticated yet has one of a few slots,
//! and keeps it until others come: the newest is let in, and the one that has been unauthenticated for the longest is
//! displaced. So a client that can authenticate is always heard, however many there are that never will.

#[cfg(test)]
mod tests;

use crate::unpoisoned::unpoisoned;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How many connections there may be, and how many of them may be unauthenticated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) connections: usize,
    pub(super) unauthenticated: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8192,
            unauthenticated: 1024,
        }
    }
}

/// The slots of all connections.
#[derive(Debug)]
pub(super) struct Slots {
    free: Arc<Semaphore>,
    unauthenticated_max: usize,
    unauthenticated: Mutex<Unauthenticated>,
}

/// The unauthenticated connections, in the order in which they came.
#[derive(Debug, Default)]
struct Unauthenticated {
    waiting: BTreeMap<u64, Arc<Notify>>,
    /// Those that were displaced and are not closed yet.
    leaving: BTreeSet<u64>,
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
            unauthenticated_max: limits.unauthenticated,
            unauthenticated: Mutex::default(),
        })
    }

    /// A slot for one more connection, unauthenticated as yet. `None` if none is free: then the oldest that is
    /// unauthenticated is displaced, to make room for the next to come.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Slot> {
        let permit = Arc::clone(&self.free).try_acquire_owned();
        let mut unauthenticated = self.unauthenticated();
        if permit.is_err() || unauthenticated.waiting.len() >= self.unauthenticated_max {
            unauthenticated.displace_oldest();
        }
        let permit = permit.ok()?;
        let displaced = Arc::new(Notify::new());
        let number = unauthenticated.ever;
        unauthenticated.ever += 1;
        unauthenticated
            .waiting
            .insert(number, Arc::clone(&displaced));
        drop(unauthenticated);
        Some(Slot {
            slots: Arc::clone(self),
            number,
            displaced,
            _permit: permit,
        })
    }

    /// Displaces the oldest that is unauthenticated, unless one that was displaced is still to be closed; false if
    /// there is none.
    pub(super) fn make_room(&self) -> bool {
        let mut unauthenticated = self.unauthenticated();
        !unauthenticated.leaving.is_empty() || unauthenticated.displace_oldest()
    }

    fn unauthenticated(&self) -> MutexGuard<'_, Unauthenticated> {
        unpoisoned(self.unauthenticated.lock())
    }
}

impl Unauthenticated {
    fn displace_oldest(&mut self) -> bool {
        let oldest = self.waiting.pop_first();
        oldest.is_some_and(|(number, oldest)| {
            oldest.notify_one();
            self.leaving.insert(number)
        })
    }
}

impl Slot {
    /// Notes that the client is authenticated: no newcomer displaces it any more.
    pub(super) fn mark_authenticated(&self) {
        self.slots.unauthenticated().waiting.remove(&self.number);
    }

    /// Resolves once a newcomer has displaced this connection.
    pub(super) async fn displaced(&self) {
        self.displaced.notified().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut unauthenticated = self.slots.unauthenticated();
        unauthenticated.waiting.remove(&self.number);
        unauthenticated.leaving.remove(&self.number);
    }
}
