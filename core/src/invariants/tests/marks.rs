//! Only a later deletion may change a mark, its end and its grace period, and only in allowed ways.

use super::{check, commit, refused, version};
use crate::command::Propagation;
use crate::event::{Cause, Commit, Event};
use crate::object::{Mark, Object};
use crate::testing::World;
use crate::{Revision, Rule, Time};
use serde_json::{Value, json};
use std::sync::Arc;

/// A running pod that was given 30 seconds a quarter of a minute ago, a config map that a finalizer holds,
/// and one of each that is not being deleted.
fn world() -> World {
    let mut world = World::new();
    for name in ["going", "live"] {
        let pod = json!({"metadata": {"name": name, "finalizers": ["x/y"]},
            "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}});
        world.create("pods", pod).expect("created");
        let map = json!({"metadata": {"name": name, "finalizers": ["x/y"]}});
        world.create("configmaps", map).expect("created");
    }
    for resource in ["pods", "configmaps"] {
        world.delete(resource, "going", None).expect("marked");
    }
    world.advance(15);
    world
}

/// A version whose deletion ends so many seconds from now, with this grace period; `is_told` says whether a
/// deletion request comes with it.
fn moved(world: &World, of: (&str, &str), end: i64, grace: Option<i64>, is_told: bool) -> Commit {
    let now = world.now();
    let object = world.get(of.0, of.1).expect("it is there");
    let object = version(&world.state, &object.key, |metadata| {
        metadata["deletionTimestamp"] = now.plus_seconds(end).to_rfc3339().into();
        metadata["deletionGracePeriodSeconds"] = json!(grace);
    });
    let mark = object.mark.unwrap_or(Mark {
        revision: object.revision,
        rule: Rule::Requested,
    });
    let object = Object {
        mark: Some(mark),
        ..(*object).clone()
    };
    let told = Event::DeletionRequested {
        rule: Rule::Requested,
        propagation: Propagation::Background,
        grace_period_seconds: grace,
        owners: Vec::new(),
        decided_at: Revision(1),
    };
    let (key, uid) = (object.key.clone(), object.meta.uid.clone());
    let updated = Event::ObjectUpdated {
        object: object.into(),
    };
    let events = is_told.then_some(told).into_iter().chain([updated]);
    Commit {
        // Half a second later, since objects record whole seconds.
        time: Time(now.0 + 500_000),
        ..commit(world, key, uid.as_str(), events.collect())
    }
}

/// When the deletion of the object ends, in seconds from now.
fn end_of(world: &World, of: (&str, &str)) -> i64 {
    let object = world.get(of.0, of.1).expect("it is there");
    let end = object.meta.deletion_timestamp.expect("it is going");
    (end.0 - world.now().0) / 1_000_000
}

#[test]
fn an_end_moves_only_with_a_shorter_grace_and_only_to_be_sooner() {
    let world = world();
    let (pod, map) = (("pods", "going"), ("configmaps", "going"));
    let (left, past) = (end_of(&world, pod), end_of(&world, map));
    assert!(left > 10 && past < -10, "{left} {past}");
    for (of, end, grace) in [
        (pod, left, Some(30)),
        (pod, left - 10, Some(20)),
        (pod, 0, Some(1)),
        (pod, 0, Some(0)),
        (map, past, Some(0)),
        (map, past, None),
    ] {
        let moves = moved(&world, of, end, grace, true);
        assert_eq!(check(&world.state, &moves), Ok(()), "{of:?} {end}");
    }
    for (of, end, grace, what) in [
        (pod, left + 1, Some(30), "moved to a later time"),
        (pod, left + 1, Some(20), "moved to a later time"),
        (pod, left, Some(31), "grace period became longer"),
        (pod, -1, Some(1), "is before the request"),
        (map, past + 1, Some(0), "moved to a later time"),
        (map, 0, Some(0), "moved to a later time"),
        (map, past, Some(1), "grace period became longer"),
        (map, past - 1, Some(0), "is before the request"),
    ] {
        refused(&world, &moved(&world, of, end, grace, true), what);
    }
    for (of, end, grace) in [(pod, left - 10, 20), (pod, left, 20), (pod, left - 1, 30)] {
        let moves = moved(&world, of, end, Some(grace), false);
        refused(&world, &moves, "moved without a deletion request");
    }
    let same = moved(&world, pod, left, Some(30), false);
    assert_eq!(check(&world.state, &same), Ok(()));
}

#[test]
fn a_grace_that_was_over_may_end_now_and_not_later() {
    let mut world = world();
    world.advance(60);
    let pod = ("pods", "going");
    let past = end_of(&world, pod);
    assert!(past < -10, "{past}");
    let ends = moved(&world, pod, 0, Some(1), true);
    assert_eq!(check(&world.state, &ends), Ok(()));
    refused(
        &world,
        &moved(&world, pod, 0, Some(30), true),
        "moved to a later time",
    );
    refused(
        &world,
        &moved(&world, pod, 1, Some(1), true),
        "moved to a later time",
    );
}

#[test]
fn a_first_mark_ends_when_its_grace_says() {
    let world = world();
    let (pod, map) = (("pods", "live"), ("configmaps", "live"));
    for (of, end, grace) in [(pod, 30, Some(30)), (pod, 0, Some(0)), (map, 0, None)] {
        let marks = moved(&world, of, end, grace, true);
        assert_eq!(check(&world.state, &marks), Ok(()), "{of:?} {end}");
        refused(
            &world,
            &moved(&world, of, end, grace, false),
            "marked for deletion without a rule",
        );
        for other in [end - 1, end + 1] {
            let marks = moved(&world, of, other, grace, true);
            refused(&world, &marks, "does not match its grace period");
        }
    }
    refused(
        &world,
        &moved(&world, map, 5, Some(5), true),
        "a grace period, which its kind does not have",
    );
}

#[test]
fn a_first_version_is_not_marked() {
    let world = world();
    let live = world.get("configmaps", "live").expect("it is there");
    let mut document = live.document();
    document["metadata"]["name"] = "new".into();
    let now = world.now().to_rfc3339();
    for (mark, is_refused) in [(Value::Null, false), (now.into(), true)] {
        document["metadata"]["deletionTimestamp"] = mark;
        let key = world.key("configmaps", "new");
        let next = world.state.revision.next();
        let object = Object::from_value(key.clone(), document.clone(), next, None);
        let object = Arc::new(object.expect("an object"));
        let uid = live.meta.uid.as_str();
        let created = commit(&world, key, uid, vec![Event::ObjectCreated { object }]);
        if is_refused {
            refused(&world, &created, "created with a deletion mark");
        } else {
            assert_eq!(check(&world.state, &created), Ok(()));
        }
    }
}

#[test]
fn a_collector_gives_nothing_its_finalizers_but_by_a_deletion() {
    let world = world();
    let held = world.get("configmaps", "going").expect("it is there");
    let gained = version(&world.state, &held.key, |metadata| {
        metadata["finalizers"] = json!(["x/y", "orphan"]);
    });
    let events = vec![Event::ObjectUpdated { object: gained }];
    let uid = held.meta.uid.as_str();
    let by_hand = commit(&world, held.key.clone(), uid, events);
    assert_eq!(check(&world.state, &by_hand), Ok(()), "clients may");
    let by_itself = Commit {
        cause: Cause::Commit(Revision(1)),
        ..by_hand
    };
    refused(&world, &by_itself, "it gained finalizer orphan");
}
