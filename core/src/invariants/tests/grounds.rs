//! A deletion that no request asked for needs the ground that its rule names.

use super::{check, commit, create, deleted, refused, release, version, world};
use crate::command::Propagation;
use crate::event::{Cause, Commit, Event, OwnerClass, OwnerFinding};
use crate::object::{Mark, Object};
use crate::testing::World;
use crate::{Revision, Rule, Time};
use serde_json::{Value, json};

const CAUSE: Cause = Cause::Commit(Revision(1));

fn policy() -> Cause {
    Cause::Policy("keep-ten".into())
}

/// Two commits for an object and a rule: one removes it, one marks it.
fn removal_and_mark(world: &World, of: (&str, &str), rule: Rule, cause: Cause) -> [Commit; 2] {
    let object = world.get(of.0, of.1).expect("it is there");
    removal_and_mark_of(world, &object, rule, cause)
}

fn removal_and_mark_of(world: &World, object: &Object, rule: Rule, cause: Cause) -> [Commit; 2] {
    removal_and_mark_at(world, object, rule, cause, world.now())
}

fn removal_and_mark_at(
    world: &World,
    object: &Object,
    rule: Rule,
    cause: Cause,
    time: Time,
) -> [Commit; 2] {
    let end = object.meta.deletion_timestamp.unwrap_or(time);
    let marked = version(&world.state, &object.key, |metadata| {
        metadata["deletionTimestamp"] = end.to_rfc3339().into();
    });
    let marked = Object {
        mark: object.mark.or(Some(Mark {
            revision: marked.revision,
            rule,
        })),
        ..(*marked).clone()
    };
    let requested = Event::DeletionRequested {
        rule,
        propagation: Propagation::Background,
        grace_period_seconds: None,
        owners: Vec::new(),
        decided_at: Revision(1),
    };
    let updated = Event::ObjectUpdated {
        object: marked.into(),
    };
    [vec![deleted(rule, Vec::new())], vec![requested, updated]].map(|events| Commit {
        time,
        cause: cause.clone(),
        ..commit(world, object.key.clone(), object.meta.uid.as_str(), events)
    })
}

#[track_caller]
fn all_refused(world: &World, steps: &[Commit], what: &str) {
    for step in steps {
        refused(world, step, what);
    }
}

#[track_caller]
fn all_pass(world: &World, steps: &[Commit]) {
    for step in steps {
        assert_eq!(check(&world.state, step), Ok(()), "{step:?}");
    }
}

#[test]
fn whoever_says_requested_was_requested() {
    let world = world();
    let owner = ("configmaps", "owner");
    for rule in [
        Rule::Requested,
        Rule::RequestedForeground,
        Rule::RequestedOrphan,
        Rule::RequestedCollection,
    ] {
        for cause in [CAUSE, policy()] {
            let steps = removal_and_mark(&world, owner, rule, cause);
            all_refused(&world, &steps, "no request asked for it");
        }
        let steps = removal_and_mark(&world, owner, rule, Cause::Request);
        all_pass(&world, &steps);
    }
}

#[test]
fn a_policy_that_asks_has_a_name() {
    let world = world();
    let owner = ("configmaps", "owner");
    let unnamed = removal_and_mark(&world, owner, Rule::Policy, CAUSE);
    all_refused(&world, &unnamed, "it names no policy");
    all_pass(
        &world,
        &removal_and_mark(&world, owner, Rule::Policy, policy()),
    );
}

#[test]
fn a_namespace_that_takes_its_objects_along_is_going() {
    let mut world = world();
    let rule = Rule::NamespaceDeleted;
    let not_going = "its namespace is not being deleted";
    let in_a_live_one = removal_and_mark(&world, ("configmaps", "owner"), rule, CAUSE);
    all_refused(&world, &in_a_live_one, not_going);
    let [_, in_none] = removal_and_mark(&world, ("namespaces", "going"), rule, CAUSE);
    refused(&world, &in_none, not_going);
    let namespace = json!({"metadata": {"name": "later"}});
    world.create("namespaces", namespace).expect("created");
    let map = json!({"metadata": {"name": "map"}});
    let created = world.create_in("later", "configmaps", map);
    let map = created.expect("created");
    let map = map.outcome.object();
    world.delete("namespaces", "later", None).expect("marked");
    all_pass(&world, &removal_and_mark_of(&world, map, rule, CAUSE));
}

#[test]
fn a_definition_that_takes_its_instances_along_is_going() {
    let mut world = world();
    let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let made = world.create("customresourcedefinitions", definition);
    made.expect("created");
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
    world.create("widgets", widget).expect("created");
    let steps = |world: &World, of| removal_and_mark(world, of, Rule::CrdDeleted, CAUSE);
    let widget = ("widgets", "w");
    let not_going = "the definition of its kind is not being deleted";
    all_refused(&world, &steps(&world, widget), not_going);
    let marked = world.delete("customresourcedefinitions", "widgets.example.com", None);
    marked.expect("marked");
    all_pass(&world, &steps(&world, widget));
    let map = ("configmaps", "owner");
    all_refused(&world, &steps(&world, map), not_going);
}

#[test]
fn endpoints_go_along_only_with_a_service_that_is_gone() {
    let mut world = world();
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    world.create("services", service).expect("created");
    for name in ["s", "t"] {
        let endpoints = json!({"metadata": {"name": name}});
        world.create("endpoints", endpoints).expect("created");
    }
    let steps = |of| removal_and_mark(&world, of, Rule::ServiceDeleted, CAUSE);
    all_pass(&world, &steps(("endpoints", "t")));
    let why = "it is not the Endpoints of a service that is gone";
    for other in [("endpoints", "s"), ("configmaps", "owner")] {
        all_refused(&world, &steps(other), why);
    }
}

#[test]
fn what_is_built_in_has_no_definition_that_could_take_it_along() {
    let mut world = world();
    let name = "ingresses.networking.k8s.io";
    let annotations = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    let metadata = json!({"name": name, "annotations": annotations, "finalizers": ["x/y"]});
    let definition = json!({"metadata": metadata, "spec": {
        "group": "networking.k8s.io", "scope": "Namespaced",
        "names": {"plural": "ingresses", "kind": "Ingress"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let made = world.create("customresourcedefinitions", definition);
    made.expect("created");
    let backend = json!({"service": {"name": "a", "port": {"number": 80}}});
    let ingress = json!({"metadata": {"name": "web"}, "spec": {"defaultBackend": backend}});
    world.create("ingresses", ingress).expect("created");
    let marked = world.delete("customresourcedefinitions", name, None);
    marked.expect("marked");
    let steps = removal_and_mark(&world, ("ingresses", "web"), Rule::CrdDeleted, CAUSE);
    all_refused(
        &world,
        &steps,
        "the definition of its kind is not being deleted",
    );
}

/// A world with an object that has this condition and this time to live.
fn world_with_ended(resource: &str, condition: Value, seconds: Value) -> World {
    let mut world = world();
    let created = world.create(resource, json!({"metadata": {"name": "j"}}));
    let job = created.expect("created");
    let mut document = job.outcome.object().document();
    document["spec"]["ttlSecondsAfterFinished"] = seconds;
    document["status"]["conditions"] = json!([
        {"type": "Suspended", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"},
        condition]);
    let key = job.outcome.object().key.clone();
    let next = world.state.revision.next();
    let finished = Object::from_value(key.clone(), document, next, None).expect("an object");
    let uid = finished.meta.uid.clone();
    let events = vec![Event::ObjectUpdated {
        object: finished.into(),
    }];
    let finished = commit(&world, key, uid.as_str(), events);
    crate::apply(&mut world.state, &finished);
    world
}

#[test]
fn only_a_job_that_finished_so_long_ago_is_over() {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": "2024-01-01T00:00:10Z"});
    let over = Time::parse("2024-01-01T00:00:40Z").expect("a time");
    let early = Time(over.0 - 1);
    for (condition, seconds, time, is_over) in [
        (condition("Complete", "True"), json!(30), over, true),
        (condition("Failed", "True"), json!(0), over, true),
        (condition("Complete", "True"), json!(30), early, false),
        (condition("Complete", "False"), json!(30), over, false),
        (condition("Suspended", "True"), json!(30), over, false),
        (condition("Complete", "True"), Value::Null, over, false),
    ] {
        let told = format!("{condition} {seconds} {time:?}");
        let world = world_with_ended("jobs", condition, seconds);
        for cause in [CAUSE, policy()] {
            let job = world.get("jobs", "j").expect("it is there");
            let rule = Rule::TtlAfterFinished;
            for step in removal_and_mark_at(&world, &job, rule, cause, time) {
                assert_eq!(check(&world.state, &step).is_ok(), is_over, "{told}");
            }
        }
    }
    let world = world_with_ended("configmaps", condition("Complete", "True"), json!(30));
    let map = world.get("configmaps", "j").expect("it is there");
    let rule = Rule::TtlAfterFinished;
    let steps = removal_and_mark_at(&world, &map, rule, policy(), over);
    all_refused(&world, &steps, "it is not a finished job");
}

#[test]
fn what_was_marked_goes_for_what_it_was_marked_for() {
    let mut world = world();
    let [_, mut silent] = removal_and_mark(&world, ("configmaps", "owner"), Rule::Requested, CAUSE);
    silent.events.remove(0);
    refused(&world, &silent, "marked for deletion without a rule");
    let foreground = Some(Propagation::Foreground);
    world
        .delete("configmaps", "owner", foreground)
        .expect("marked");
    let let_go = release(&world, "foregroundDeletion");
    assert_eq!(check(&world.state, &let_go), Ok(()));
    let [_, again] = removal_and_mark(&world, ("configmaps", "owner"), Rule::Requested, CAUSE);
    refused(&world, &again, "no request asked for it");
}

#[test]
fn a_dependent_that_misspells_an_owner_who_lets_it_go_is_not_collected() {
    let mut world = world();
    let owner = world.get("configmaps", "owner").expect("it is there");
    let misspelt = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other",
        "uid": owner.meta.uid.as_str()});
    let careless = create(
        &mut world,
        json!({"name": "careless", "ownerReferences": [misspelt]}),
    );
    let collected = |world: &World| {
        let owner = careless.meta.owner_references[0].clone();
        let found = OwnerFinding {
            owner,
            class: OwnerClass::Dangling,
        };
        let events = vec![deleted(Rule::OwnersAbsent, vec![found])];
        commit(
            world,
            careless.key.clone(),
            careless.meta.uid.as_str(),
            events,
        )
    };
    assert_eq!(check(&world.state, &collected(&world)), Ok(()));
    for (policy, is_refused) in [
        (Propagation::Foreground, false),
        (Propagation::Orphan, true),
    ] {
        let marked = world.delete("configmaps", "owner", Some(policy));
        marked.expect("marked");
        let step = collected(&world);
        if is_refused {
            refused(&world, &step, "is about to orphan it");
        } else {
            assert_eq!(check(&world.state, &step), Ok(()));
        }
    }
}
