//! A log that is thinned while a question reads it: what is asked is answered from what is left.

use super::{create, frames, named, object, some_history, write, write_at};
use crate::history::{HistoryIndex, LogHistory};
use crate::inspect::{ObjectQuery, Selection, page, why};
use crate::testing::{plane, restored};
use crate::{Config, ControlPlane};
use hindsight_core::command::{Create, Delete, FieldValidation, Target};
use hindsight_core::{GroupResource, Intent, ObjectKey, Revision, Rule, State, Time};
use hindsight_log::{Error, MemoryStorage, Reader, Records, Storage, Stored, Tail, thin};
use hindsight_projector::Fate;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How many times the log is thinned while it is read.
const FLOORS: usize = 5;

/// A log that was restored, the state at its end, and an empty state.
struct Whole {
    frames: Vec<Stored>,
    state: State,
    empty: State,
}

fn whole() -> Whole {
    let plane = plane();
    write(&plane, [create("first")]);
    some_history(&plane);
    Whole {
        frames: frames(&plane),
        state: (*plane.state()).clone(),
        empty: plane.empty_state(),
    }
}

impl Whole {
    /// The last revisions of some frames, the highest first.
    fn floors(&self) -> Vec<Revision> {
        let steps = (1..=FLOORS).rev();
        let at = steps.map(|step| step * (self.frames.len() - 1) / (FLOORS + 1));
        at.map(|at| self.frames[at].0.previous()).collect()
    }

    /// The log with its first floor, which is thinned at this read and at every so many reads after it.
    fn overtaken(&self, at: usize, every: usize) -> Arc<Overtaken> {
        let storage = Arc::new(MemoryStorage::default());
        for (first, frame) in &self.frames {
            storage.append(*first, frame).expect("appended");
        }
        let overtaken = Overtaken {
            storage,
            empty: self.empty.clone(),
            floors: Mutex::new(self.floors()),
            reads: AtomicUsize::new(0),
            at,
            every,
        };
        overtaken.thin();
        Arc::new(overtaken)
    }
}

#[derive(Debug)]
struct Overtaken {
    storage: Arc<MemoryStorage>,
    empty: State,
    /// Up to where it is still to be thinned, the next last.
    floors: Mutex<Vec<Revision>>,
    reads: AtomicUsize,
    at: usize,
    every: usize,
}

impl Overtaken {
    fn thin(&self) {
        let Some(floor) = self.floors.lock().expect("a lock").pop() else {
            return;
        };
        let reader = Reader::new(Arc::clone(&self.storage) as _);
        let thinned = thin(&*self.storage, &reader, floor, self.empty.clone(), &[]);
        thinned.expect("thinned");
    }

    fn was_reached(&self) -> bool {
        self.reads.load(Ordering::SeqCst) > self.at
    }
}

impl Records for Overtaken {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        let since = self
            .reads
            .fetch_add(1, Ordering::SeqCst)
            .checked_sub(self.at);
        if since.is_some_and(|since| since.is_multiple_of(self.every)) {
            self.thin();
        }
        self.storage.at_or_after(from)
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.storage.at_or_before(until)
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.storage.witnessed()
    }
}

/// Asks a question of logs that are thinned at any of its reads, and at some of those after it.
fn at_every_read(whole: &Whole, ask: impl Fn(&Reader, &HistoryIndex)) {
    for every in [usize::MAX, 1, 3] {
        let mut at = 0;
        loop {
            let log = whole.overtaken(at, every);
            let reader = Reader::new(Arc::clone(&log) as _);
            ask(&reader, &HistoryIndex::new(1, usize::MAX));
            if !log.was_reached() {
                break;
            }
            at += 1;
        }
        assert!(at > 20, "{at} reads");
    }
}

#[test]
fn an_index_that_thinning_overtakes_lacks_nothing_of_what_is_left() {
    let whole = whole();
    at_every_read(&whole, |reader, index| {
        let all = index.extend(reader, Revision::MAX);
        all.expect("it is read");
        for commit in reader.scan(Revision(1)) {
            // The log may be thinned for the last time now.
            let Ok(commit) = commit else { break };
            let place = index.places().after(&commit.key, commit.revision);
            assert_eq!(place, Some(commit.revision));
        }
        assert!(index.covers() >= whole.state.revision);
    });
}

#[test]
fn why_answers_while_the_log_is_thinned() {
    let whole = whole();
    at_every_read(&whole, |reader, index| {
        let history = LogHistory::new(reader, index);
        for (name, fate) in [("never", Fate::Unknown), ("first", Fate::Live)] {
            let told = why(&history, &whole.state, &object(name)).expect("it is answered");
            assert_eq!(told.explanation.state, fate, "{name}");
            let lost = told
                .reasons
                .iter()
                .any(|reason| reason.contains("restored"));
            assert_eq!(lost, fate == Fate::Unknown, "{name}: {:?}", told.reasons);
        }
        let asked = ObjectQuery {
            uid: Some("of another".into()),
            ..object("c1")
        };
        let told = why(&history, &whole.state, &asked).expect("it is answered");
        assert_eq!(told.explanation.state, Fate::Unknown);
    });
}

#[test]
fn a_log_with_nothing_to_show_says_so_while_it_is_thinned() {
    let whole = whole();
    at_every_read(&whole, |reader, index| {
        let history = LogHistory::new(reader, index);
        let selection = Selection::of(&history, &named("never"), &whole.state);
        let selection = selection.expect("a known kind");
        let (mut next, mut restored) = (Some(Revision(1)), None);
        while let Some(from) = next {
            let page = page(&history, &selection, from).expect("a page");
            assert_eq!(page.entries, []);
            (next, restored) = (page.next, page.restored);
        }
        assert!(restored.is_some());
        // The names of a kind that is gone are looked for in all of the log.
        let defined = history.defined(|_, _| true).expect("it is read");
        assert_eq!(defined.len(), 0);
    });
}

fn made(key: &ObjectKey, object: Value) -> Intent {
    Intent::Create(Create {
        key: key.clone(),
        version: "v1".into(),
        object,
        validation: FieldValidation::Ignore,
    })
}

fn gone(key: &ObjectKey) -> Intent {
    let target = Target::any(key.clone());
    Intent::Delete(Delete::new(target, "v1".into(), Rule::Requested))
}

/// The definition of widgets, as this kind.
fn defined(key: &ObjectKey, kind: &str) -> Intent {
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object"}}});
    let names = json!({"plural": "widgets", "kind": kind});
    let spec = json!({"group": "example.com", "scope": "Namespaced", "versions": [version],
        "names": names});
    made(key, json!({"metadata": {"name": &*key.name}, "spec": spec}))
}

/// Times are cut to seconds in objects, and clocks are set back.
#[test]
fn an_object_of_which_no_version_is_kept_is_not_called_by_a_later_kind_whatever_the_clock_said() {
    const HOUR: i64 = 3_600_000_000;
    let definition = ObjectKey::definition("widgets.example.com");
    let widgets = GroupResource::new("example.com", "widgets");
    let key = ObjectKey::new(widgets, "default", "w");
    for set_back in [0, HOUR] {
        let plane = ControlPlane::open(Config::default()).expect("it opens");
        let now = plane.now();
        let widget = made(&key, json!({"metadata": {"name": "w"}}));
        for intent in [defined(&definition, "Widget"), widget, gone(&key)] {
            write_at(&plane, now, [intent]);
        }
        write_at(&plane, now, [gone(&definition)]);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let mut changed = plane.changed();
        while plane.state().get(&definition).is_some() {
            runtime.block_on(changed.next()).expect("it goes");
        }
        let later = Time(now.0 - set_back);
        write_at(&plane, later, [defined(&definition, "Gadget")]);

        let state = plane.state();
        let storage = restored(&plane);
        let reader = Reader::new(Arc::clone(&storage) as _);
        let floor = state.revision;
        let thinned = thin(&*storage, &reader, floor, plane.empty_state(), &[]);
        thinned.expect("thinned");
        let index = HistoryIndex::default();
        let asked = ObjectQuery {
            kind: "widgets.example.com".into(),
            ..object("w")
        };
        let told = why(&LogHistory::new(&reader, &index), &state, &asked).expect("answered");
        assert_eq!(told.explanation.state, Fate::Deleted, "{set_back}");
        assert_eq!(told.explanation.object.kind, "widgets", "{set_back}");
    }
}
