//! Tells watches of new revisions.
//!
//! The backend publishes from a thread of its own. If each watch waited for that, the thread would wake a
//! thousand tasks, each through the queue that the workers of the runtime share. So it wakes one task, which
//! wakes the others from within the runtime.

use crate::backend::Backend;
use crate::unpoisoned::unpoisoned;
use hindsight_core::Revision;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch::{self, Receiver};
use tokio::task::AbortHandle;

/// One task for all watches of an API, begun by the first of them.
#[derive(Clone, Default)]
pub(crate) struct Relay(Arc<Shared>);

#[derive(Default)]
struct Shared {
    begun: Mutex<Option<(Receiver<Revision>, AbortHandle)>>,
    has_ended: AtomicBool,
}

impl Relay {
    /// Notifies whenever the state of the backend has advanced; ends with the backend, with the runtime in which
    /// the relay was begun, or as [`Self::end`] says.
    pub(crate) fn subscribe(&self, backend: &dyn Backend) -> Receiver<Revision> {
        let mut begun = unpoisoned(self.0.begun.lock());
        if self.has_ended() {
            return watch::channel(Revision::ZERO).1;
        }
        let running = begun
            .take()
            .filter(|(receiver, _)| receiver.has_changed().is_ok());
        let (receiver, _) = begun.insert(running.unwrap_or_else(|| begin(backend.changed())));
        receiver.clone()
    }

    /// Ends every watch, and from now on each that begins.
    pub(crate) fn end(&self) {
        let mut begun = unpoisoned(self.0.begun.lock());
        self.0.has_ended.store(true, Ordering::SeqCst);
        if let Some((_, task)) = begun.take() {
            task.abort();
        }
    }

    /// Whether every watch is to end, even one that has something to send.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::SeqCst)
    }
}

fn begin(mut published: Receiver<Revision>) -> (Receiver<Revision>, AbortHandle) {
    let (sender, receiver) = watch::channel(*published.borrow_and_update());
    let task = tokio::spawn(async move {
        while published.changed().await.is_ok() {
            let revision = *published.borrow_and_update();
            sender.send_replace(revision);
        }
    });
    (receiver, task.abort_handle())
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
