//! What a submitter is told if nobody is left to answer, and what clones of a closed plane can do.

use super::*;
use crate::testing::{failure, plane};
use futures_util::FutureExt;
use hindsight_core::command::{Create, FieldValidation};
use hindsight_core::{Actor, GroupResource, Intent, ObjectKey};
use serde_json::json;
use std::path::Path;
use std::task::{Context, Wake, Waker};

/// A watcher with a defect.
struct Broken;

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        panic!("a defect");
    }
}

fn create(plane: &ControlPlane, name: &str) -> Vec<Command> {
    let intent = Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "namespaces"), "", ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": name}}),
        validation: FieldValidation::Warn,
    });
    let actor = Arc::new(Actor::new("t"));
    vec![Command::new(actor, plane.now(), plane.seed(), intent)]
}

#[test]
fn a_write_that_a_panic_left_unanswered_is_not_reported_as_not_done() {
    let here: fn(&ControlPlane, Vec<Command>) -> _ = ControlPlane::submit_blocking;
    let waited = |plane: &ControlPlane, commands| {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(plane.submit(commands))
    };
    for submit in [here, waited] {
        let plane = plane();
        let mut changed = plane.changed();
        let mut watching = Box::pin(changed.next());
        let waker = Waker::from(Arc::new(Broken));
        let polled = watching.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        let before = plane.state().revision;
        let told = submit(&plane, create(&plane, "a"));
        assert!(matches!(told, Err(Unavailable::Poisoned(_))), "{told:?}");
        assert!(plane.poison().wait().contains("panic"));
        assert!(plane.reader().newest().expect("read") > before, "it was");
        let next = submit(&plane, create(&plane, "b"));
        assert!(matches!(next, Err(Unavailable::Poisoned(_))), "{next:?}");
    }
}

#[test]
fn a_wait_for_a_change_waits_for_one_that_comes_after_it_began() {
    let plane = plane();
    let write = |name| {
        let written = plane.submit_blocking(create(&plane, name));
        assert!(written.expect("open").iter().all(Result::is_ok));
        plane.state().revision
    };
    let mut changed = plane.changed();
    assert!(
        changed.next().now_or_never().is_none(),
        "the first objects came before"
    );
    let first = write("a");
    assert_eq!(changed.newest(), first);
    assert_eq!(changed.next().now_or_never(), Some(Some(first)));
    assert!(changed.next().now_or_never().is_none());
    assert!(
        plane.changed().next().now_or_never().is_none(),
        "so did this write"
    );
    // What was waited for is a value: nothing is borrowed while others write.
    let reached = changed.reached(first).now_or_never();
    assert_eq!(reached, Some(Some(first)));
    let second = write("b");
    let ahead = changed.reached(second.next()).now_or_never();
    assert!(ahead.is_none(), "{ahead:?}");
    assert_eq!(changed.reached(first).now_or_never(), Some(Some(second)));
}

#[test]
fn a_clone_of_a_closed_plane_does_not_hold_the_directory() {
    let temporary = tempfile::tempdir().expect("a directory");
    let config = || Config {
        data_dir: Some(temporary.path().join("data")),
        ..Config::default()
    };
    let plane = ControlPlane::open(config()).expect("it opens");
    let (clone, reader) = (plane.clone(), plane.reader().clone());
    let mut changed = plane.changed();
    let before = plane.state().revision;
    let tried = create(&plane, "a")
        .into_iter()
        .map(|one| plane.dry_run(one));
    assert!(
        tried
            .into_iter()
            .all(|one| one.is_ok_and(|done| !done.commits.is_empty()))
    );
    assert_eq!(plane.state().revision, before, "nothing is written");
    let written = plane.submit_blocking(create(&plane, "a")).expect("open");
    assert!(written.iter().all(Result::is_ok));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| plane.close());
        }
    });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let told = clone.submit_blocking(create(&plane, "b"));
    assert!(matches!(told, Err(Unavailable::Stopping)), "{told:?}");
    let told = runtime.block_on(clone.submit(create(&plane, "b")));
    assert!(matches!(told, Err(Unavailable::Stopping)), "{told:?}");
    let read = reader.newest();
    assert!(matches!(read, Err(Error::Closed)), "{read:?}");
    assert_eq!(failure(&clone).as_deref(), Some("the event log was closed"));
    let moved = async {
        let last = changed.next().await;
        (last, changed.next().await)
    };
    let (last, more) = runtime.block_on(moved);
    assert_eq!(last, Some(clone.state().revision));
    assert_eq!(more, None, "nothing moves any more");
    assert_eq!(runtime.block_on(changed.reached(Revision::MAX)), None);

    let again = ControlPlane::open(config()).expect("it opens again");
    assert_eq!(again.state().revision, clone.state().revision);
    let a = ObjectKey::new(GroupResource::new("", "namespaces"), "", "a");
    assert!(again.state().get(&a).is_some() && clone.state().get(&a).is_some());
    drop(plane);
    let written = again.submit_blocking(create(&again, "b")).expect("open");
    assert!(written.iter().all(Result::is_ok));
}

#[test]
fn a_fork_goes_its_own_way_from_where_it_began() {
    let plane = plane();
    let write = |plane: &ControlPlane, name| {
        let written = plane.submit_blocking(create(plane, name));
        assert!(written.expect("open").iter().all(Result::is_ok));
        plane.state().revision
    };
    let names = |plane: &ControlPlane| {
        let state = plane.state();
        let is_there = |name: &&str| {
            let resource = GroupResource::new("", "namespaces");
            state.get(&ObjectKey::new(resource, "", name)).is_some()
        };
        ["a", "b", "c"]
            .into_iter()
            .filter(is_there)
            .collect::<Vec<_>>()
    };
    let begun = write(&plane, "a");
    write(&plane, "b");
    let config = || Config {
        data_dir: Some("nothing is made here".into()),
        collectors: false,
        ..Config::default()
    };
    let fork = ControlPlane::fork(plane.reader(), begun, config()).expect("forked");
    assert_eq!((fork.state().revision, names(&fork)), (begun, vec!["a"]));
    assert_eq!(write(&fork, "c"), begun.next());
    assert_eq!(
        (names(&fork), names(&plane)),
        (vec!["a", "c"], vec!["a", "b"])
    );
    let first = |plane: &ControlPlane| plane.reader().state_at(plane.empty_state(), Revision(1));
    let [theirs, ours] = [&fork, &plane].map(|plane| first(plane).expect("kept").hash());
    assert_eq!(theirs, ours, "the fork knows what was before it");
    let ahead = ControlPlane::fork(plane.reader(), plane.state().revision.next(), config());
    assert!(matches!(ahead, Err(OpenError::Log(Error::Future(_)))));
    assert!(!Path::new("nothing is made here").exists());
}

#[test]
fn writes_are_stuck_once_none_was_answered_for_ten_seconds() {
    let told = |seconds| format!("writes are waiting, and none has been answered for {seconds} s");
    for (millis, failure) in [
        (0, None),
        (9_900, None),
        (10_000, Some(told(10))),
        (61_500, Some(told(61))),
    ] {
        let stalled_for = Duration::from_millis(millis);
        assert_eq!(stuck(stalled_for), failure, "{millis} ms");
    }
}
