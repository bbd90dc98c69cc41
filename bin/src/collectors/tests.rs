//! What the collectors do when they fall behind, are refused, or panic.

mod parts;

use super::*;
use crate::published::UNTOLD_MAX;
use crate::testing::{failure, plane};
use crate::{Config, ControlPlane, published};
use crossbeam_channel::never;
use hindsight_core::command::{Create, Delete, FieldValidation, Patch, PatchObject, Target};
use hindsight_core::{
    Actor, Cause, Change, GroupResource, Intent, ObjectKey, Revision, Rule, Unavailable,
};
use hindsight_gc::Identity;
use hindsight_log::Publish;
use hindsight_projector::Window;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

fn write(plane: &ControlPlane, object: serde_json::Value) -> Arc<Change> {
    let create = Create {
        key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", ""),
        version: "v1".into(),
        object,
        validation: FieldValidation::Ignore,
    };
    let before = plane.state().revision;
    let step = Step {
        by: Identity::GarbageCollector,
        cause: Cause::Request,
        intent: Intent::Create(create),
    };
    let command = step.command(effects::now(), effects::seed());
    let answers = plane.submit_blocking(vec![command]).expect("it is open");
    assert!(answers.iter().all(Result::is_ok));
    let mut changes = plane.changes_after(before, 1).expect("in the window");
    changes.remove(0)
}

/// A dependent of an owner that does not exist.
fn dependent(name: &str) -> serde_json::Value {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    json!({"metadata": {"name": name, "ownerReferences": [owner]}})
}

fn alone(plane: &ControlPlane, feed: CollectorFeed) -> Driver {
    let state = plane.state();
    Driver {
        collector: Collector::new(&state),
        state,
        surroundings: Surroundings {
            reader: plane.reader().clone(),
            feed,
            writer: Weak::new(),
            event_ttl: None,
            clock: Clock::new(effects::now),
        },
        turn: next_batch,
        stopped: never(),
        woken: never(),
        idle: IDLE,
        health: Health::default(),
        part_bytes: PartBytes::default(),
    }
}

fn batch(driver: &mut Driver) -> Vec<Step> {
    let now = driver.now();
    next_batch(&mut driver.collector, &driver.state, now)
}

/// A driver with room for that many changes, which has to take in a dependent without an owner and a later
/// change.
fn driver(changes_max: usize) -> Driver {
    let plane = plane();
    let state = plane.state();
    let window = Window::new(state.revision, changes_max, usize::MAX);
    let (mut publisher, feed) = published::channel(State::clone(&state), window, Time(0));
    let driver = alone(&plane, feed);
    for object in [dependent("d"), json!({"metadata": {"name": "other"}})] {
        let change = write(&plane, object);
        publisher.publish(State::clone(&plane.state()), vec![change]);
    }
    driver
}

#[test]
fn collectors_that_fell_behind_miss_nothing() {
    for changes_max in [100, 1] {
        let mut driver = driver(changes_max);
        driver.observe();
        assert_eq!(batch(&mut driver).len(), 1);
    }
}

/// Whoever looks at every object again also reads the log back again, and may be behind again by then.
#[test]
fn collectors_that_fell_behind_look_only_at_what_changed() {
    let plane = plane();
    let state = plane.state();
    let window = Window::new(state.revision, 1, usize::MAX);
    let (mut publisher, feed) = published::channel(State::clone(&state), window, Time(0));
    let mut driver = alone(&plane, feed);
    let mut write_all = |objects: &[serde_json::Value]| {
        for object in objects {
            let change = write(&plane, object.clone());
            publisher.publish(State::clone(&plane.state()), vec![change]);
        }
    };
    write_all(&[dependent("d")]);
    driver.observe();
    assert_eq!(batch(&mut driver).len(), 1);
    let refused = Err(Rejection::Unprocessable);
    driver.settle(1, &Ok(vec![refused]));
    write_all(&["a", "b", "c"].map(|name| json!({"metadata": {"name": name}})));
    driver.observe();
    assert_eq!(
        batch(&mut driver).len(),
        0,
        "what was refused is not asked for again"
    );
    assert_eq!(driver.state.revision, plane.state().revision);
    write_all(&["e", "f"].map(dependent));
    driver.observe();
    assert_eq!(batch(&mut driver).len(), 2);
}

#[test]
fn what_is_refused_as_a_whole_comes_again() {
    let mut driver = driver(100);
    driver.observe();
    for (error, refusal) in [
        (Unavailable::Overloaded, Refusal::Overloaded),
        (Unavailable::Full, Refusal::NoRoom),
    ] {
        let steps = batch(&mut driver);
        assert_eq!(steps.len(), 1, "before {error}");
        let outcome = driver.settle(1, &Err(error));
        assert_eq!(outcome, BatchOutcome::Refused(refusal));
    }
    assert_eq!(batch(&mut driver).len(), 1);
}

#[test]
fn a_part_that_was_refused_does_not_hold_up_the_other() {
    let refused = BatchOutcome::Refused(Refusal::NoRoom);
    for (one, other, both) in [
        (BatchOutcome::Progress, refused, BatchOutcome::Progress),
        (BatchOutcome::Idle, refused, refused),
        (
            BatchOutcome::Idle,
            BatchOutcome::Progress,
            BatchOutcome::Progress,
        ),
        (BatchOutcome::Idle, BatchOutcome::Idle, BatchOutcome::Idle),
    ] {
        assert_eq!((one.and(other), other.and(one)), (both, both));
    }
}

#[test]
fn a_collector_that_waits_for_the_clock_stops_when_told_to() {
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let state = plane.state();
    let window = Window::new(state.revision, 1, 1);
    let (mut publisher, feed) = published::channel(State::clone(&state), window, Time(0));
    let (stop, stopped) = bounded(0);
    let (wake, woken) = bounded(1);
    let mut driver = Driver {
        idle: Duration::MAX,
        stopped,
        woken,
        ..alone(&plane, feed)
    };
    publisher.publish(State::clone(&state), vec![write(&plane, dependent("d"))]);
    publisher.answered();
    assert!(driver.wait().is_continue(), "something is due");
    wake.send(()).expect("there is room");
    assert!(driver.wait().is_continue(), "the clock has changed");
    let waits = std::thread::spawn(move || driver.wait());
    drop(stop);
    assert!(waits.join().expect("it ends").is_break());
    drop(publisher);
}

/// To be woken for each write would take a thread longer than what it does then.
#[test]
fn collectors_are_notified_at_once_of_what_is_urgent_and_now_and_then_of_the_rest() {
    let plane = plane();
    let state = plane.state();
    let window = Window::new(state.revision, 1, 1);
    let (mut publisher, feed) = published::channel(State::clone(&state), window, Time(0));
    let plain = write(&plane, json!({"metadata": {"name": "plain"}}));
    let urgent = write(&plane, dependent("d"));
    let mut is_notified = |change: &Arc<Change>| {
        publisher.publish(State::clone(&state), vec![Arc::clone(change)]);
        publisher.answered();
        feed.notified.try_recv().is_ok()
    };
    for _ in 0..2 {
        assert!(is_notified(&urgent));
        let after = (1..=2 * UNTOLD_MAX).find(|_| is_notified(&plain));
        assert_eq!(after, Some(UNTOLD_MAX));
    }
    assert!(!is_notified(&plain) && is_notified(&urgent));
}

#[test]
fn a_collector_that_is_to_stop_does_not_read_the_log_first() {
    let plane = plane();
    let owner = write(&plane, json!({"metadata": {"name": "o"}}));
    let owner_of = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": owner.commit.uid.as_str()}]);
    write(
        &plane,
        json!({"metadata": {"name": "d", "ownerReferences": owner_of}}),
    );
    let removed = delete(&plane, &owner);
    let causes = |stopped| {
        let (_, feed) = published::channel(
            State::clone(&plane.state()),
            Window::new(removed, 1, 1),
            Time(0),
        );
        let mut driver = alone(&plane, feed);
        driver.stopped = stopped;
        driver.recall();
        let steps = batch(&mut driver);
        steps.into_iter().map(|step| step.cause).collect::<Vec<_>>()
    };
    let (stop, stopped) = bounded(0);
    assert_eq!(causes(stopped.clone()), [Cause::Commit(removed)]);
    drop(stop);
    assert_ne!(causes(stopped), [Cause::Commit(removed)]);
}

static IS_BROKEN: AtomicBool = AtomicBool::new(false);

/// A defect that lasts for a while.
fn broken_turn(collector: &mut Collector, state: &State, now: Time) -> Vec<Step> {
    let steps = next_batch(collector, state, now);
    assert!(!IS_BROKEN.load(Ordering::Relaxed), "a defect");
    steps
}

fn comes(what: &str, is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_mins(2), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn after_a_panic_the_server_is_not_ready_until_everything_is_collected() {
    let plane = ControlPlane::open_with_turn(Config::default(), broken_turn).expect("it opens");
    assert_eq!(failure(&plane), None);
    IS_BROKEN.store(true, Ordering::Relaxed);
    let created = write(&plane, dependent("d"));
    comes("a panic", || failure(&plane).is_some());
    let reason = failure(&plane).expect("a reason");
    assert!(reason.contains("panicked"), "{reason}");
    // The collectors begin anew, and everything else goes on.
    comes("another", || {
        failure(&plane).is_some_and(|one| one != reason)
    });
    write(&plane, json!({"metadata": {"name": "other"}}));
    let key = &created.commit.key;
    assert!(plane.state().get(key).is_some());
    IS_BROKEN.store(false, Ordering::Relaxed);
    comes("readiness", || failure(&plane).is_none());
    comes("the collection", || plane.state().get(key).is_none());
}

#[test]
fn after_a_restart_what_is_collected_names_the_cause_that_it_had_before() {
    let directory = tempfile::tempdir().expect("a directory");
    let open = || {
        ControlPlane::open(Config {
            data_dir: Some(directory.path().join("data")),
            collectors: false,
            ..Config::default()
        })
        .expect("it opens")
    };
    let plane = open();
    let made = write(&plane, json!({"metadata": {"name": "owner"}}));
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": made.commit.uid.as_str()});
    let dependent = json!({"metadata": {"name": "child", "ownerReferences": [owner]}});
    write(&plane, dependent);
    let removed = delete(&plane, &made);
    drop(plane);

    let plane = open();
    let state = plane.state();
    let window = Window::new(state.revision, 1, usize::MAX);
    let (_, feed) = published::channel(State::clone(&state), window, Time(0));
    let mut driver = alone(&plane, feed);
    for begin in [Driver::recall, Driver::start_over] {
        begin(&mut driver);
        let now = effects::now();
        let steps = driver.collector.next_batch(&driver.state, now, 10);
        let causes: Vec<_> = steps.into_iter().map(|step| step.cause).collect();
        assert_eq!(causes, [Cause::Commit(removed)]);
    }
}

fn delete(plane: &ControlPlane, made: &Change) -> Revision {
    let target = Target::any(made.commit.key.clone());
    let delete = Delete::new(target, "v1".into(), Rule::Requested);
    let step = Step {
        by: Identity::GarbageCollector,
        cause: Cause::Request,
        intent: Intent::Delete(delete),
    };
    let command = step.command(effects::now(), effects::seed());
    let answers = plane.submit_blocking(vec![command]).expect("it is open");
    assert!(answers.iter().all(Result::is_ok));
    plane.state().revision
}

/// Events that were written one and zero hours ago, by a driver that keeps them for two.
fn with_events() -> (ControlPlane, Driver, [Time; 2]) {
    let plane = plane();
    let now = effects::now();
    let times = [now.plus_seconds(-3_600), now];
    for (time, name) in times.into_iter().zip(["a", "b"]) {
        write_event(&plane, time, name);
    }
    let state = plane.state();
    let window = Window::new(state.revision, 100, usize::MAX);
    let (_, feed) = published::channel(State::clone(&state), window, Time(0));
    let mut driver = alone(&plane, feed);
    driver.surroundings.event_ttl = Some(Duration::from_hours(2));
    (plane, driver, times)
}

fn write_event(plane: &ControlPlane, time: Time, name: &str) {
    let create = Create {
        key: ObjectKey::new(GroupResource::new("", "events"), "default", ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": name}, "involvedObject": {"namespace": "default"}}),
        validation: FieldValidation::Ignore,
    };
    carry_out(plane, time, Intent::Create(create));
}

fn carry_out(plane: &ControlPlane, time: Time, intent: Intent) {
    let actor = Arc::new(Actor::new("t"));
    let command = Command::new(actor, time, effects::seed(), intent);
    let answers = plane.submit_blocking(vec![command]).expect("it is open");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

/// The names of the events that are due at this time.
fn due(driver: &mut Driver, now: Time) -> Vec<String> {
    let steps = driver.collector.next_batch(&driver.state, now, 9);
    let name = |step: &Step| {
        let Intent::Delete(delete) = &step.intent else {
            panic!("no deletion: {step:?}");
        };
        delete.target.key.name.to_string()
    };
    steps.iter().map(name).collect()
}

#[test]
fn the_life_of_an_event_counts_from_its_last_write_and_not_from_a_start() {
    let (_plane, mut driver, [first, second]) = with_events();
    driver.begin();
    let end = first.plus_seconds(7_200);
    assert_eq!(due(&mut driver, Time(end.0 - 1)), [""; 0]);
    assert_eq!(due(&mut driver, end), ["a"]);
    assert_eq!(due(&mut driver, second.plus_seconds(7_200)), ["a", "b"]);
}

#[test]
fn whoever_begins_anew_remembers_when_events_were_written_that_have_not_changed() {
    let (plane, mut driver, [first, second]) = with_events();
    driver.begin();
    let change = PatchObject {
        key: ObjectKey::new(GroupResource::new("", "events"), "default", "b"),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"message": "again"})),
        validation: FieldValidation::Ignore,
    };
    carry_out(&plane, second, Intent::Patch(change));
    let state = plane.state();
    let window = Window::new(state.revision, 100, usize::MAX);
    driver.surroundings.feed = published::channel(State::clone(&state), window, Time(0)).1;
    driver.start_over();
    assert_eq!(due(&mut driver, first.plus_seconds(7_200)), ["a"]);
    assert_eq!(due(&mut driver, second.plus_seconds(7_200)), ["a"]);
    assert_eq!(due(&mut driver, second.plus_seconds(7_300)), ["a", "b"]);
}

#[test]
fn namespaces_wait_for_a_second_between_reports_however_the_collectors_began() {
    let plane = plane();
    let create = |resource: &str, namespace: &str, metadata: serde_json::Value| {
        let create = Create {
            key: ObjectKey::new(GroupResource::new("", resource), namespace, ""),
            version: "v1".into(),
            object: json!({"metadata": metadata}),
            validation: FieldValidation::Ignore,
        };
        carry_out(&plane, Time(0), Intent::Create(create));
    };
    create("namespaces", "", json!({"name": "n"}));
    let held = json!({"name": "held", "finalizers": ["x/y"]});
    create("configmaps", "n", held);
    for (resource, namespace, name) in [("namespaces", "", "n"), ("configmaps", "n", "held")] {
        let key = ObjectKey::new(GroupResource::new("", resource), namespace, name);
        let delete = Delete::new(Target::any(key), "v1".into(), Rule::Requested);
        carry_out(&plane, Time(0), Intent::Delete(delete));
    }
    let state = plane.state();
    let window = Window::new(state.revision, 1, usize::MAX);
    let (_, feed) = published::channel(State::clone(&state), window, Time(0));
    let mut driver = alone(&plane, feed);
    for begin in [Driver::begin, Driver::start_over] {
        begin(&mut driver);
        let reports = [0, 1, 1_000_000].map(|after| {
            let steps = driver.collector.next_batch(&driver.state, Time(after), 9);
            steps.len()
        });
        assert_eq!(reports, [1, 0, 1]);
    }
}
