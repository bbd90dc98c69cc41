//! Tells watches of new revisions.
//!
//! The backend publishes from a thread of its own. If each watch waited for that, the thread would wake a
//! thousand tasks, each through the queue that the workers of the runtime share. So it wakes one task, which
//! wakes the others from within the runtime.

use crate::backend::Backend;
use crate::unpoisoned::unpoisoned;
use hindsight_core::Revision;
use std::sync::{Arc, Mutex};
use tokio::sync::watch::{self, Receiver};

/// One task for all watches of an API, begun by the first of them.
#[derive(Clone, Default)]
pub(crate) struct Relay(Arc<Mutex<Option<Receiver<Revision>>>>);

impl Relay {
    /// Notifies whenever the state of the backend has advanced; ends with the backend, or with the runtime in
    /// which the relay was begun.
    pub(crate) fn subscribe(&self, backend: &dyn Backend) -> Receiver<Revision> {
        let mut relayed = unpoisoned(self.0.lock());
        let running = relayed
            .clone()
            .filter(|relayed| relayed.has_changed().is_ok());
        let receiver = running.unwrap_or_else(|| begin(backend.changed()));
        *relayed = Some(receiver.clone());
        receiver
    }
}

fn begin(mut published: Receiver<Revision>) -> Receiver<Revision> {
    let (sender, receiver) = watch::channel(*published.borrow_and_update());
    tokio::spawn(async move {
        while published.changed().await.is_ok() {
            let revision = *published.borrow_and_update();
            sender.send_replace(revision);
        }
    });
    receiver
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
}
