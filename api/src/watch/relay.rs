//! Tells watches of new revisions.
//!
//! The backend publishes from a thread of its own. If each watch waited for that, the thread would wake a
//! thousand tasks, each through the queue that the workers of the runtime share. So it wakes one task, which
//! wakes the others from within the runtime; some at a time, so that the first of them have sent what they have
//! before the last are woken.

use crate::backend::Backend;
use crate::unpoisoned::unpoisoned;
use hindsight_core::Revision;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch::{self, Receiver, Sender};
use tokio::task::{AbortHandle, yield_now};

/// How many groups of watches are woken one after the other.
const GROUPS: usize = 16;
/// How many watches that begin one after the other are in one group: they tend to share a connection, which then sends
/// what all of them have at once.
const NEIGHBOURS: usize = 32;

/// One task for all watches of an API, begun by the first of them.
#[derive(Clone, Default)]
pub(crate) struct Relay(Arc<Shared>);

#[derive(Default)]
struct Shared {
    running: Mutex<Option<Running>>,
    has_ended: AtomicBool,
}

/// The task that wakes others.
struct Running {
    groups: Vec<Receiver<Revision>>,
    task: AbortHandle,
    /// How many watches have begun.
    begun: usize,
}

impl Relay {
    /// Notifies whenever the state of the backend has advanced; ends with the backend, with the runtime in which
    /// the relay was begun, or as [`Self::end`] says.
    pub(crate) fn subscribe(&self, backend: &dyn Backend) -> Receiver<Revision> {
        let mut running = unpoisoned(self.0.running.lock());
        let ended = || watch::channel(Revision::ZERO).1;
        if self.has_ended() {
            return ended();
        }
        let live = running.take().filter(Running::is_live);
        let running = running.insert(live.unwrap_or_else(|| Running::begin(backend.changed())));
        running.next().unwrap_or_else(ended)
    }

    /// Ends every watch, and from now on each that begins.
    pub(crate) fn end(&self) {
        let mut running = unpoisoned(self.0.running.lock());
        self.0.has_ended.store(true, Ordering::SeqCst);
        if let Some(running) = running.take() {
            running.task.abort();
        }
    }

    /// Whether every watch is to end, even one that has something to send.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::SeqCst)
    }
}

impl Running {
    fn begin(mut published: Receiver<Revision>) -> Self {
        let revision = *published.borrow_and_update();
        let channels = (0..GROUPS).map(|_| watch::channel(revision));
        let (senders, groups): (Vec<Sender<Revision>>, _) = channels.unzip();
        let task = tokio::spawn(async move {
            while published.changed().await.is_ok() {
                for sender in &senders {
                    // Not marked as seen: the first groups are to hear of it too.
                    let revision = *published.borrow();
                    let others = sender.receiver_count() > 1;
                    sender.send_replace(revision);
                    if others {
                        yield_now().await;
                    }
                }
            }
        });
        Self {
            groups,
            task: task.abort_handle(),
            begun: 0,
        }
    }

    fn is_live(&self) -> bool {
        self.groups.iter().all(|group| group.has_changed().is_ok())
    }

    /// The receiver of one more watch.
    fn next(&mut self) -> Option<Receiver<Revision>> {
        let group = self.begun / NEIGHBOURS % self.groups.len().max(1);
        self.begun = self.begun.wrapping_add(1);
        self.groups.get(group).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::fake::Fake;

    fn runtime() -> tokio::runtime::Runtime {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime")
    }

    #[test]
    fn the_backend_notifies_one_receiver_and_that_one_notifies_each_watch() {
        let fake = Fake::new();
        let relay = Relay::default();
        runtime().block_on(async {
            let mut watches: Vec<_> = (0..3).map(|_| relay.subscribe(&fake)).collect();
            assert_eq!(fake.receivers(), 1);
            for revision in (1..=2).map(Revision) {
                fake.move_to(revision);
                for watch in &mut watches {
                    watch.changed().await.expect("it goes on");
                    assert_eq!(*watch.borrow_and_update(), revision);
                }
            }
        });
    }

    #[test]
    fn watches_are_woken_some_at_a_time_and_each_hears_of_what_comes_meanwhile() {
        let fake = Fake::new();
        let relay = Relay::default();
        runtime().block_on(async {
            let mut watches: Vec<_> = (0..=NEIGHBOURS).map(|_| relay.subscribe(&fake)).collect();
            let mut last = watches.pop().expect("one of the second group");
            fake.move_to(Revision(1));
            for watch in &mut watches {
                watch.changed().await.expect("it goes on");
            }
            assert!(!last.has_changed().expect("it goes on"));
            fake.move_to(Revision(2));
            last.changed().await.expect("it goes on");
            for _ in 0..10 * GROUPS {
                yield_now().await;
            }
            for watch in watches.iter().chain([&last]) {
                assert_eq!(*watch.borrow(), Revision(2));
            }
        });
    }

    #[test]
    fn it_ends_with_its_runtime_and_the_next_watch_begins_it_anew() {
        let fake = Fake::new();
        let relay = Relay::default();
        let mut first = runtime().block_on(async { relay.subscribe(&fake) });
        runtime().block_on(async {
            assert!(first.changed().await.is_err());
            let mut second = relay.subscribe(&fake);
            fake.move_to(Revision(1));
            second.changed().await.expect("it goes on");
        });
    }

    #[test]
    fn it_ends_with_the_backend() {
        let fake = Fake::new();
        runtime().block_on(async {
            let mut watch = Relay::default().subscribe(&fake);
            drop(fake);
            assert!(watch.changed().await.is_err());
        });
    }

    #[test]
    fn once_it_was_ended_no_watch_goes_on_or_begins() {
        let fake = Fake::new();
        let relay = Relay::default();
        runtime().block_on(async {
            let mut watch = relay.subscribe(&fake);
            relay.clone().end();
            assert!(watch.changed().await.is_err());
            let mut later = relay.subscribe(&fake);
            fake.move_to(Revision(1));
            assert!(later.changed().await.is_err());
        });
    }
}
