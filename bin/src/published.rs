//! What is durable, as everybody in the process sees it: replaced as one value after every batch.

#[cfg(feature = "http")]
use crate::past::{Kept, replaced_by};
use crate::unpoisoned::unpoisoned;
use arc_swap::ArcSwap;
use crossbeam_channel::{Receiver, Sender, bounded};
use hindsight_core::{Change, Revision, State, Time};
use hindsight_gc::is_urgent;
use hindsight_log::Publish;
use hindsight_projector::Window;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
#[cfg(feature = "http")]
use tokio::time::Instant;

pub(crate) const WINDOW_CHANGES_MAX: usize = 100_000;
const WINDOW_BYTES_MAX: usize = 16 << 20;

/// An empty window after this revision.
pub(crate) fn window_after(revision: Revision) -> Window {
    Window::new(revision, WINDOW_CHANGES_MAX, WINDOW_BYTES_MAX)
}

/// After so many changes that may wait, the collectors are notified of them: they observe them while the window
/// holds them. A change counts once more for each [`UNTOLD_BYTES`].
pub(crate) const UNTOLD_MAX: usize = 256;
const UNTOLD_BYTES: usize = WINDOW_BYTES_MAX / 4 / UNTOLD_MAX;

/// The newest durable state, and the changes that led to it.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) state: Arc<State>,
    pub(crate) window: Window,
    /// The latest time of any commit or restore that led to the state.
    #[cfg_attr(
        not(feature = "http"),
        expect(dead_code, reason = "only requests name times")
    )]
    pub(crate) latest: Time,
}

/// Publishes to readers and watchers before anybody is answered, and notifies the collectors afterwards.
pub(crate) struct Publisher {
    published: Arc<ArcSwap<Published>>,
    changed: watch::Sender<Revision>,
    collectors: Sender<()>,
    /// What the collectors were not notified of, as [`UNTOLD_MAX`] counts it; as much or more if a part of it is urgent.
    untold: usize,
    window: Arc<Mutex<Window>>,
    latest: Time,
    #[cfg(feature = "http")]
    kept: Arc<Kept>,
}

/// Puts earlier changes in front of the window.
#[cfg(feature = "http")]
#[derive(Debug, Clone)]
pub(crate) struct WindowFront {
    published: Arc<ArcSwap<Published>>,
    window: Arc<Mutex<Window>>,
}

/// What a collector gets: a notification that there may be something to do, and where to find it. However far it
/// falls behind, nothing queues up for it.
#[derive(Debug)]
pub(crate) struct CollectorFeed {
    pub(crate) published: Arc<ArcSwap<Published>>,
    pub(crate) notified: Receiver<()>,
}

pub(crate) fn channel(state: State, window: Window, latest: Time) -> (Publisher, CollectorFeed) {
    let (changed, _) = watch::channel(state.revision);
    let (collectors, notified) = bounded(1);
    let first = Published {
        state: Arc::new(state),
        window: window.clone(),
        latest,
    };
    let published = Arc::new(ArcSwap::from_pointee(first));
    let feed = CollectorFeed {
        published: Arc::clone(&published),
        notified,
    };
    let publisher = Publisher {
        published,
        changed,
        collectors,
        untold: 0,
        window: Arc::new(Mutex::new(window)),
        latest,
        #[cfg(feature = "http")]
        kept: Arc::default(),
    };
    (publisher, feed)
}

impl Publisher {
    /// Notifies whenever the state has advanced.
    pub(crate) fn changed(&self) -> watch::Receiver<Revision> {
        self.changed.subscribe()
    }

    #[cfg(feature = "http")]
    pub(crate) fn window_front(&self) -> WindowFront {
        WindowFront {
            published: Arc::clone(&self.published),
            window: Arc::clone(&self.window),
        }
    }

    /// The states that are kept for lists; it is told what each newer state replaced.
    #[cfg(feature = "http")]
    pub(crate) fn kept(&self) -> Arc<Kept> {
        Arc::clone(&self.kept)
    }
}

#[cfg(feature = "http")]
impl WindowFront {
    pub(crate) fn window(&self) -> Window {
        self.published.load().window.clone()
    }

    /// See [`Window::extend_back`]. A writer that publishes meanwhile waits: no longer than it takes to join two
    /// windows.
    pub(crate) fn extend_back(&self, earlier: Window) {
        let mut window = unpoisoned(self.window.lock());
        window.extend_back(earlier);
        let newest = self.published.load();
        self.published.store(Arc::new(Published {
            state: Arc::clone(&newest.state),
            window: window.clone(),
            latest: newest.latest,
        }));
    }
}

impl Publish for Publisher {
    fn publish(&mut self, state: State, changes: Vec<Arc<Change>>) {
        for change in &changes {
            self.latest = self.latest.max(change.commit.time);
            let untold = if is_urgent(change) {
                UNTOLD_MAX
            } else {
                1 + Window::bytes_of(change) / UNTOLD_BYTES
            };
            self.untold = self.untold.saturating_add(untold);
        }
        let revision = state.revision;
        #[cfg(feature = "http")]
        let replaced = replaced_by(&changes, &self.published.load().state, &state);
        let mut window = unpoisoned(self.window.lock());
        window.push(changes);
        let published = Published {
            state: Arc::new(state),
            window: window.clone(),
            latest: self.latest,
        };
        self.published.store(Arc::new(published));
        drop(window);
        self.changed.send_replace(revision);
        #[cfg(feature = "http")]
        self.kept.replaced(replaced, Instant::now());
    }

    fn answered(&mut self) {
        // What may wait is observed with what comes later, or when they look at the clock: to wake a thread for
        // each write takes longer than what it does then.
        if self.untold < UNTOLD_MAX {
            return;
        }
        self.untold = 0;
        // Full: the collectors have not looked since the last notification. Closed: there are none.
        self.collectors.try_send(()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Part;
    use hindsight_core::kind::{BuiltinKinds, BuiltinSchemas};
    use hindsight_core::{
        Actor, Cause, Commit, Event, GroupResource, Object, ObjectKey, Request, builtin,
    };
    use std::sync::{OnceLock, mpsc};

    const REVISIONS: u64 = 20_000;

    fn empty(schemas: Option<Box<dyn BuiltinSchemas>>) -> State {
        State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), schemas)))
    }

    /// Who has put changes in front of the window meanwhile would put the replaced state back, and a write that was
    /// answered would disappear from reads.
    #[test]
    fn a_state_is_replaced_while_nobody_else_may_change_the_window() {
        let (is_locked, told) = mpsc::channel();
        let place = Arc::new(OnceLock::new());
        let window: Arc<OnceLock<Arc<Mutex<Window>>>> = Arc::clone(&place);
        let part = Part(move || {
            let window = window.get();
            let found = window.is_some_and(|window| window.try_lock().is_err());
            is_locked.send(found).ok();
        });
        let first = empty(Some(Box::new(part)));
        let window = Window::new(Revision::ZERO, 1, 1);
        let (mut publisher, _feed) = channel(first, window, Time(0));
        place.set(Arc::clone(&publisher.window)).expect("set once");
        assert!(told.try_recv().is_err(), "the first state is there");
        publisher.publish(empty(None), Vec::new());
        assert_eq!(told.try_recv(), Ok(true));
    }

    /// A watcher that is told of a revision and finds an older one would wait for the next change.
    #[test]
    fn a_revision_that_was_announced_can_be_read() {
        let empty = empty(None);
        let window = Window::new(Revision::ZERO, 1, 1);
        let (mut publisher, feed) = channel(empty.clone(), window, Time(0));
        let mut changed = publisher.changed();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut told = Revision::ZERO;
                while told < Revision(REVISIONS) {
                    told = *changed.borrow_and_update();
                    let found = feed.published.load().state.revision;
                    assert!(found >= told, "told of {told}, found {found}");
                }
            });
            for revision in (1..=REVISIONS).map(Revision) {
                let mut state = empty.clone();
                state.revision = revision;
                publisher.publish(state, Vec::new());
            }
        });
    }

    /// An update of a large object that nothing waits for.
    fn updated(revision: Revision) -> Arc<Change> {
        let key = ObjectKey::new(GroupResource::new("", "configmaps"), "n", "a");
        let document = serde_json::json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "n", "uid": "u"},
            "data": {"k": "v".repeat(1 << 20)},
        });
        let object = Object::from_value(key.clone(), document, revision, None);
        let object = Arc::new(object.expect("readable"));
        let commit = Commit {
            revision,
            time: Time(0),
            actor: Arc::new(Actor::new("a")),
            request: Arc::new(Request::default()),
            cause: Cause::Request,
            key,
            uid: object.meta.uid.clone(),
            events: vec![Event::ObjectUpdated { object }],
        };
        Arc::new(Change {
            commit: Arc::new(commit),
            previous: None,
        })
    }

    /// Collectors whose position has left the window read the log instead, which may be thinned by then.
    #[test]
    fn the_collectors_are_notified_of_large_changes_while_the_window_holds_them() {
        let (mut publisher, feed) = channel(empty(None), window_after(Revision::ZERO), Time(0));
        let (mut told, mut times) = (Revision::ZERO, 0);
        for revision in (1..=40).map(Revision) {
            let change = updated(revision);
            assert!(!is_urgent(&change));
            let mut state = empty(None);
            state.revision = revision;
            publisher.publish(state, vec![change]);
            publisher.answered();
            let window = feed.published.load().window.clone();
            assert!(window.after(told, 1).is_ok(), "{told} of {revision}");
            if feed.notified.try_recv().is_ok() {
                told = revision;
                times += 1;
            }
        }
        assert!((3..40).contains(&times), "{times}");
    }
}
