//! The decision tables of deletion, row by row.

mod collected;
mod contents;
mod marks;

use crate::command::Propagation::{self, Background, Foreground, Orphan};
use crate::object::Uid;
use crate::testing::World;
use crate::{Decision, Event, Outcome, Rejection, Revision, Rule};
use serde_json::{Value, json};

/// What is left of an object, in short: `gone`, or its finalizers and whether it is being deleted.
fn left(world: &World, resource: &str, name: &str) -> String {
    let Some(object) = world.get(resource, name) else {
        return "gone".into();
    };
    let finalizers: Vec<&str> = object.meta.finalizers.iter().map(|one| &**one).collect();
    let state = if object.is_deleting() {
        "deleting"
    } else {
        "live"
    };
    format!("{state} [{}]", finalizers.join(" "))
}

fn with(resource: &str, finalizers: &[&str]) -> World {
    let mut world = World::new();
    let object = json!({"metadata": {"name": "a", "finalizers": finalizers}, "spec": {}});
    world.create(resource, object).expect("created");
    world
}

#[test]
fn the_first_delete_follows_policy_and_finalizers() {
    let rows: &[(&[&str], Option<Propagation>, &str)] = &[
        (&[], None, "gone"),
        (&[], Some(Background), "gone"),
        (&["orphan"], Some(Background), "gone"),
        (&["foregroundDeletion"], Some(Background), "gone"),
        (&["x/a"], None, "deleting [x/a]"),
        (&["x/a", "orphan"], Some(Background), "deleting [x/a]"),
        (&[], Some(Foreground), "deleting [foregroundDeletion]"),
        (&[], Some(Orphan), "deleting [orphan]"),
        (
            &["x/a"],
            Some(Foreground),
            "deleting [x/a foregroundDeletion]",
        ),
        (&["orphan", "x/a"], Some(Orphan), "deleting [orphan x/a]"),
        (
            &["orphan", "x/a"],
            Some(Foreground),
            "deleting [x/a foregroundDeletion]",
        ),
        (&["orphan"], None, "deleting [orphan]"),
        (
            &["foregroundDeletion"],
            None,
            "deleting [foregroundDeletion]",
        ),
    ];
    for (finalizers, policy, expected) in rows {
        let mut world = with("configmaps", finalizers);
        world.delete("configmaps", "a", *policy).expect("accepted");
        assert_eq!(
            left(&world, "configmaps", "a"),
            *expected,
            "{finalizers:?} {policy:?}"
        );
    }
}

#[test]
fn a_second_delete_decides_again() {
    let rows: &[(&[&str], Propagation, Option<Propagation>, &str)] = &[
        (&[], Foreground, None, "deleting [foregroundDeletion]"),
        (&[], Foreground, Some(Background), "gone"),
        (&[], Foreground, Some(Orphan), "deleting [orphan]"),
        (
            &[],
            Orphan,
            Some(Foreground),
            "deleting [foregroundDeletion]",
        ),
        (&[], Orphan, Some(Background), "gone"),
        (
            &["x/a"],
            Background,
            Some(Foreground),
            "deleting [x/a foregroundDeletion]",
        ),
        (&["x/a"], Foreground, Some(Background), "deleting [x/a]"),
    ];
    for (finalizers, first, second, expected) in rows {
        let mut world = with("configmaps", finalizers);
        world
            .delete("configmaps", "a", Some(*first))
            .expect("accepted");
        world.delete("configmaps", "a", *second).expect("accepted");
        assert_eq!(
            left(&world, "configmaps", "a"),
            *expected,
            "{first:?} then {second:?}"
        );
    }
}

#[test]
fn a_repeated_delete_writes_nothing() {
    for policy in [Foreground, Orphan] {
        let mut world = with("configmaps", &[]);
        world
            .delete("configmaps", "a", Some(policy))
            .expect("accepted");
        let again = world
            .delete("configmaps", "a", Some(policy))
            .expect("accepted");
        assert!(again.commits.is_empty(), "{policy:?}");
        assert!(matches!(again.outcome, Outcome::Deleting(_)));
    }
}

#[test]
fn the_old_option_and_the_types_default_have_their_places() {
    let rows: &[(&str, Option<bool>, Option<Propagation>, &str)] = &[
        ("configmaps", Some(true), None, "deleting [orphan]"),
        ("configmaps", Some(false), None, "gone"),
        ("jobs", None, None, "deleting [orphan]"),
        ("jobs", None, Some(Background), "gone"),
        ("jobs", Some(false), None, "gone"),
        ("events", None, Some(Foreground), "gone"),
    ];
    for (resource, orphan, policy, expected) in rows {
        let mut world = with(resource, &[]);
        let decided = world.delete_with(resource, "a", |delete| {
            delete.orphan_dependents = *orphan;
            delete.propagation = *policy;
        });
        decided.expect("accepted");
        assert_eq!(
            left(&world, resource, "a"),
            *expected,
            "{resource} {orphan:?} {policy:?}"
        );
    }
}

#[test]
fn a_generation_that_a_client_chose_grows_up_to_the_last_one() {
    for (sent, marked) in [(7, 8), (i64::MAX - 1, i64::MAX), (i64::MAX, i64::MAX)] {
        let mut world = World::new();
        let object = json!({"metadata": {"name": "a", "generation": sent}});
        world.create("configmaps", object).expect("created");
        world
            .delete("configmaps", "a", Some(Foreground))
            .expect("marked");
        let object = world.get("configmaps", "a").expect("it waits");
        assert_eq!(object.meta.generation, marked);
    }
}

#[test]
fn a_mark_says_when_how_and_why() {
    let mut world = with("deployments", &["x/a"]);
    world.delete("deployments", "a", None).expect("accepted");
    let object = world.get("deployments", "a").expect("held");
    let document = object.document();
    assert_eq!(document["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(
        document["metadata"]["generation"], 2,
        "grows where the kind keeps one"
    );
    assert_eq!(object.mark.map(|mark| mark.rule), Some(Rule::Requested));
    let mut world = with("configmaps", &["x/a"]);
    world
        .delete("configmaps", "a", Some(Foreground))
        .expect("accepted");
    let object = world.get("configmaps", "a").expect("held");
    assert_eq!(object.document()["metadata"]["generation"], Value::Null);
    assert_eq!(
        object.mark.map(|mark| mark.rule),
        Some(Rule::RequestedForeground)
    );
}

fn pod(node: &str, grace: i64, finalizers: &[&str]) -> World {
    let mut world = World::new();
    let pod = json!({"metadata": {"name": "a", "finalizers": finalizers},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": grace}});
    world.create("pods", pod).expect("created");
    world
}

fn delete_pod(world: &mut World, grace: Option<i64>) -> Decision {
    world
        .delete_with("pods", "a", |delete| delete.grace_period_seconds = grace)
        .expect("accepted")
}

fn grace_of(world: &World) -> Option<i64> {
    world.get("pods", "a")?.meta.deletion_grace_period_seconds
}

#[test]
fn a_running_pod_gets_its_grace_and_any_other_none() {
    for (node, own, asked, expected) in [
        ("n", 30, None, Some(30)),
        ("n", 30, Some(5), Some(5)),
        ("n", 30, Some(-7), Some(1)),
        ("n", 30, Some(0), None),
        ("n", 0, None, None),
        ("", 30, None, None),
        ("", 30, Some(9), None),
    ] {
        let mut world = pod(node, own, &[]);
        let decision = delete_pod(&mut world, asked);
        assert_eq!(grace_of(&world), expected, "{node:?} {own} {asked:?}");
        let commits = if expected.is_none() { 2 } else { 1 };
        assert_eq!(
            decision.commits.len(),
            commits,
            "without grace it is marked, then removed"
        );
    }
}

#[test]
fn a_stopping_pod_can_only_be_hurried() {
    for (second, expected, writes) in [
        (None, Some(30), 0),
        (Some(60), Some(30), 0),
        (Some(30), Some(30), 0),
        (Some(5), Some(5), 1),
    ] {
        let mut world = pod("n", 30, &[]);
        delete_pod(&mut world, None);
        let decision = delete_pod(&mut world, second);
        assert_eq!(
            (grace_of(&world), decision.commits.len()),
            (expected, writes),
            "{second:?}"
        );
    }
    let mut world = pod("n", 30, &[]);
    delete_pod(&mut world, None);
    delete_pod(&mut world, Some(0));
    assert_eq!(left(&world, "pods", "a"), "gone");
}

#[test]
fn a_period_that_is_over_ends_now() {
    for (asked, expected) in [(20, Some(20)), (5, Some(1)), (-1, Some(1)), (0, None)] {
        let mut world = pod("n", 30, &[]);
        delete_pod(&mut world, None);
        world.advance(15);
        delete_pod(&mut world, Some(asked));
        assert_eq!(grace_of(&world), expected, "{asked}");
        let end = world
            .get("pods", "a")
            .and_then(|pod| pod.meta.deletion_timestamp);
        assert!(
            end.is_none_or(|end| end >= world.now()),
            "{asked}: it ended in the past"
        );
    }
}

#[test]
fn a_pods_last_finalizer_does_not_end_its_grace() {
    let mut world = pod("n", 30, &["x/a"]);
    delete_pod(&mut world, None);
    let patch = crate::command::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    world.patch("pods", "a", patch).expect("accepted");
    assert_eq!(left(&world, "pods", "a"), "deleting []");
    delete_pod(&mut world, Some(0));
    assert_eq!(left(&world, "pods", "a"), "gone");
}

#[test]
fn preconditions_hold_or_nothing_happens() {
    let mut world = with("configmaps", &["orphan"]);
    let revision = world.get("configmaps", "a").expect("there").revision;
    let wrong_uid = world.delete_with("configmaps", "a", |delete| {
        delete.target.uid = Some(Uid::from("other"));
        delete.target.revision = Some(Revision(1));
    });
    let message = wrong_uid.expect_err("refused").to_string();
    assert!(
        message.contains("on ConfigMap \"a\": the UID in the precondition (other)"),
        "{message}"
    );
    let stale = world.delete_with("configmaps", "a", |delete| {
        delete.target.revision = Some(revision.previous());
    });
    assert!(matches!(stale, Err(Rejection::Conflict { .. })));
    let right = world.delete_with("configmaps", "a", |delete| {
        delete.target.revision = Some(revision);
        delete.propagation = Some(Background);
    });
    right.expect("upstream refuses this one by mistake");
    assert_eq!(left(&world, "configmaps", "a"), "gone");
    let missing = world.delete("configmaps", "a", None).expect_err("gone");
    assert_eq!(missing.to_string(), "configmaps \"a\" not found");
}

#[test]
fn namespaces_wait_for_their_contents_and_some_never_go() {
    let mut world = with("namespaces", &[]);
    world.delete("namespaces", "a", None).expect("accepted");
    let namespace = world.get("namespaces", "a").expect("it waits").document();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    assert_eq!(
        namespace["metadata"]["deletionGracePeriodSeconds"],
        Value::Null
    );
    let again = world
        .delete("namespaces", "a", Some(Foreground))
        .expect("accepted");
    assert!(again.commits.is_empty());
    let refused = world
        .delete("namespaces", "default", None)
        .expect_err("immortal");
    assert!(
        refused
            .to_string()
            .contains("this namespace may not be deleted"),
        "{refused}"
    );
}

#[test]
fn the_collector_is_refused_where_an_owner_came_back_to_life() {
    let mut world = World::new();
    let owner = world
        .create("configmaps", json!({"metadata": {"name": "o"}}))
        .expect("created");
    let uid = owner.outcome.object().meta.uid.to_string();
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid});
    let child = json!({"metadata": {"name": "a", "ownerReferences": [reference]}});
    world.create("configmaps", child).expect("created");
    let collect =
        |world: &mut World, rule| world.delete_with("configmaps", "a", |delete| delete.rule = rule);
    for rule in [Rule::OwnersAbsent, Rule::OwnerForeground] {
        assert!(
            matches!(collect(&mut world, rule), Err(Rejection::Stale { .. })),
            "{rule:?}"
        );
    }
    world.delete("configmaps", "o", None).expect("accepted");
    let decision = collect(&mut world, Rule::OwnersAbsent).expect("now it may");
    let Some(Event::ObjectDeleted { rule, owners, .. }) = decision.commits[0].events.last() else {
        panic!("not a removal")
    };
    assert_eq!((*rule, owners.len()), (Rule::OwnersAbsent, 1));
}

#[test]
fn the_first_mark_says_why_also_when_a_later_delete_removes() {
    let removal = |decision: &Decision| {
        let Event::ObjectDeleted { rule, .. } = decision.commits.last()?.events.last()? else {
            return None;
        };
        Some(*rule)
    };
    for (policy, expected) in [
        (Orphan, Rule::RequestedOrphan),
        (Foreground, Rule::RequestedForeground),
    ] {
        let mut world = with("configmaps", &[]);
        let marked = world.delete("configmaps", "a", Some(policy));
        assert_eq!(removal(&marked.expect("accepted")), None);
        let removed = world.delete("configmaps", "a", Some(Background));
        assert_eq!(removal(&removed.expect("accepted")), Some(expected));
    }
    let mut world = pod("n", 30, &[]);
    let marked = world.delete("pods", "a", Some(Foreground));
    marked.expect("accepted");
    let hurried = world.delete_with("pods", "a", |delete| {
        delete.propagation = Some(Background);
        delete.grace_period_seconds = Some(0);
    });
    let hurried = hurried.expect("accepted");
    assert_eq!(hurried.commits.len(), 2, "marked anew, then removed");
    assert_eq!(removal(&hurried), Some(Rule::RequestedForeground));
}

#[test]
fn an_end_that_does_not_fit_the_clock_moves_to_now() {
    let end = |world: &World, resource: &str| {
        let object = world.get(resource, "a").expect("it is there");
        object.meta.deletion_timestamp
    };
    let mut world = pod("n", 30, &[]);
    delete_pod(&mut world, None);
    world.advance(50);
    delete_pod(&mut world, Some(5));
    assert_eq!(end(&world, "pods"), Some(world.now()), "it was over");
    let mut world = with("configmaps", &["x/a"]);
    world.delete("configmaps", "a", None).expect("accepted");
    world.advance(-50);
    world.delete("configmaps", "a", None).expect("accepted");
    assert_eq!(end(&world, "configmaps"), Some(world.now()), "it was to be");
}

#[test]
fn what_has_no_owner_is_not_collected() {
    let mut world = with("configmaps", &[]);
    let collected = world.delete_with("configmaps", "a", |delete| {
        delete.rule = Rule::OwnersAbsent;
    });
    assert!(matches!(collected, Err(Rejection::Stale { .. })));
}

#[test]
fn a_period_that_outlives_the_calendar_ends_with_it() {
    for seconds in [300_000_000_000, i64::MAX] {
        let mut world = pod("n", 30, &[]);
        delete_pod(&mut world, Some(seconds));
        assert_eq!(left(&world, "pods", "a"), "deleting []", "{seconds}");
        let document = world.get("pods", "a").expect("it stops").document();
        let end = &document["metadata"]["deletionTimestamp"];
        assert_eq!(end, "9999-12-31T23:59:59Z", "{seconds}");
        delete_pod(&mut world, Some(30));
        let pod = world.get("pods", "a").expect("it stops");
        let soon = world.now().plus_seconds(30);
        assert_eq!(pod.meta.deletion_timestamp, Some(soon), "{seconds}");
        assert_eq!(grace_of(&world), Some(30), "{seconds}");
    }
}

#[test]
fn a_mark_that_cannot_be_read_is_a_mark() {
    let metadata = json!({"uid": "u", "deletionTimestamp": "+11533-07-06T20:21:27Z"});
    let metadata = metadata.as_object().expect("an object");
    let meta = crate::object::Meta::read(metadata).expect("readable");
    assert_eq!(meta.deletion_timestamp, Some(crate::Time::MAX));
}

#[test]
fn versions_are_compared_as_they_were_written() {
    let mut world = with("configmaps", &["x/a"]);
    let revision = world.get("configmaps", "a").expect("there").revision;
    let asked = |world: &mut World, text: &str| {
        let text = text.into();
        world.delete_with("configmaps", "a", |delete| {
            delete.preconditions.resource_version = Some(text);
        })
    };
    for text in [
        format!("0{revision}"),
        format!("+{revision}"),
        "y".into(),
        String::new(),
    ] {
        let refused = asked(&mut world, &text).expect_err("another text");
        let part = format!("ResourceVersion in the precondition ({text}) does not match");
        assert!(refused.to_string().contains(&part), "{refused}");
    }
    asked(&mut world, &revision.to_string()).expect("its version");
}

#[test]
fn of_a_collection_only_what_was_listed_goes() {
    for asked in [None, Some("other")] {
        let mut world = with("configmaps", &[]);
        let refused = world.delete_with("configmaps", "a", |delete| {
            delete.rule = Rule::RequestedCollection;
            delete.target.uid = Some(Uid::from("listed"));
            delete.preconditions.uid = asked.map(Uid::from);
        });
        let refused = refused.expect_err("another one has its name");
        let is_gone = matches!(refused, Rejection::NotFound { .. });
        let is_not_meant = matches!(refused, Rejection::Conflict { .. });
        assert_eq!((is_gone, is_not_meant), (asked.is_none(), asked.is_some()));
        assert_eq!(left(&world, "configmaps", "a"), "live []");
    }
}
