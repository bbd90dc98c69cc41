//! What follows from the answers to a batch.

mod cost;
mod reports;
mod turns;

use super::Collector;
use crate::Identity;
use crate::steps::Step;
use crate::testing::{empty, put, remove, world, write};
use crate::trial::{anonymous_request, carry_out};
use hindsight_core::command::{
    Collect, DropReason, FieldValidation, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::{Intent, Object, Rejection, State, Time};
use serde_json::{Value, json};

fn steps(collector: &mut Collector, state: &State) -> usize {
    collector.next_batch(state, Time(0), 10).len()
}

fn definition_that_goes() -> State {
    let mut state = empty();
    let document = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", "deletionTimestamp": "2024-01-01T00:00:00Z",
            "finalizers": ["customresourcecleanup.apiextensions.k8s.io"]}});
    let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
    put(&mut state, definitions, document);
    state
}

#[test]
fn what_was_out_of_date_is_looked_at_again_and_what_was_refused_is_not() {
    for state in [world(&[("d", &["gone"])]), definition_that_goes()] {
        let key = state.objects().next().expect("the object").key.clone();
        let stale = Rejection::Stale {
            key,
            reason: "another version".into(),
        };
        for (answer, again) in [(stale, 1), (Rejection::Internal("no".into()), 0)] {
            let mut collector = Collector::new(&state);
            assert_eq!(steps(&mut collector, &state), 1);
            collector.settle([Err(&answer)].into_iter());
            assert_eq!(steps(&mut collector, &state), again, "{answer:?}");
        }
    }
}

/// In whatever version it is by then: it may be written to all the time.
#[test]
fn an_instance_that_waits_while_its_definition_goes_waits_no_longer() {
    let mut state = definition_that_goes();
    let instance = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w",
        "namespace": "here", "deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}});
    let instance = put(&mut state, ("example.com", "widgets"), instance);
    let batch = Collector::new(&state).next_batch(&state, Time(0), 10);
    let targets = batch.into_iter().filter_map(|step| {
        let Intent::Delete(delete) = step.intent else {
            return None;
        };
        Some((delete.target, delete.propagation))
    });
    let target = Target {
        uid: Some(instance.meta.uid.clone()),
        ..Target::any(instance.key.clone())
    };
    let expected = (target, Some(Propagation::Background));
    assert_eq!(targets.collect::<Vec<_>>(), [expected]);
}

/// A dependent whose owner is in another namespace: it is deleted, and a warning says why.
fn dependent_from_elsewhere(number: usize) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "owner"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata":
        {"name": format!("d{number}"), "namespace": "here", "ownerReferences": [owner]}})
}

fn dependents_from_elsewhere(count: usize) -> State {
    let mut state = empty();
    let owner = json!({"metadata": {"name": "owner", "namespace": "there"},
        "apiVersion": "v1", "kind": "ConfigMap"});
    put(&mut state, CONFIG_MAPS, owner);
    for number in 0..count {
        put(&mut state, CONFIG_MAPS, dependent_from_elsewhere(number));
    }
    state
}

/// A namespace in deletion that is held by an object with a finalizer, and reports it in its conditions.
fn namespace_that_is_held() -> State {
    let mut state = namespace_that_goes(0);
    let mut held = config_map("going", "held");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    held["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    put(&mut state, CONFIG_MAPS, held);
    state
}

fn job_that_is_due() -> State {
    let mut state = empty();
    let ended = json!({"type": "Complete", "status": "True",
        "lastTransitionTime": "1969-01-01T00:00:00Z"});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"},
        "spec": {"ttlSecondsAfterFinished": 1}, "status": {"conditions": [ended]}});
    put(&mut state, ("batch", "jobs"), job);
    state
}

fn intents(batch: &[Step]) -> Vec<String> {
    let mut told: Vec<String> = batch
        .iter()
        .map(|step| format!("{:?}", step.intent))
        .collect();
    told.sort();
    told
}

#[test]
fn what_was_never_decided_comes_again() {
    for (state, count) in [
        (world(&[("d", &["gone"])]), 1),
        (world(&[("o!foregroundDeletion", &[]), ("d", &["o!"])]), 1),
        (definition_that_goes(), 1),
        (namespace_that_goes(3), 4),
        (namespace_that_is_held(), 2),
        (dependents_from_elsewhere(3), 6),
        (job_that_is_due(), 1),
    ] {
        let mut collector = Collector::new(&state);
        let first = collector.next_batch(&state, Time(0), 10);
        assert_eq!(first.len(), count, "{first:#?}");
        for refuse in [
            |collector: &mut Collector, count| collector.requeue(count),
            |collector: &mut Collector, _| collector.requeue(usize::MAX),
            |_: &mut Collector, _| {},
        ] {
            refuse(&mut collector, count);
            let again = collector.next_batch(&state, Time(0), 10);
            assert_eq!(intents(&again), intents(&first));
        }
    }
}

#[test]
fn a_part_that_was_decided_does_not_come_again_with_the_part_that_was_not() {
    let state = dependents_from_elsewhere(3);
    let mut collector = Collector::new(&state);
    let batch = collector.next_batch(&state, Time(0), 10);
    let refused = Rejection::Internal("no".into());
    collector.settle(batch[..3].iter().map(|_| Err(&refused)));
    collector.requeue(2);
    collector.settle(std::iter::once(Err(&refused)));
    let again = collector.next_batch(&state, Time(0), 10);
    assert_eq!(intents(&again), intents(&batch[3..5]));
}

#[test]
fn deletions_come_before_reports_and_never_wait_for_them() {
    let state = dependents_from_elsewhere(10);
    let mut collector = Collector::new(&state);
    let mut batches: Vec<Vec<bool>> = Vec::new();
    for limit in [4, 100] {
        let batch = collector.next_batch(&state, Time(0), limit);
        let kinds = batch.iter().map(|step| step.intent.advances_deletion());
        batches.push(kinds.collect());
        collector.requeue(limit);
    }
    assert_eq!(batches[0], [true; 4]);
    assert_eq!(batches[1], [[true; 10], [false; 10]].concat());
}

const NAMESPACES: (&str, &str) = ("", "namespaces");
const CONFIG_MAPS: (&str, &str) = ("", "configmaps");

fn config_map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name, "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}]}})
}

/// A namespace in deletion with this many objects whose owner is gone, and another namespace with one of
/// these.
fn namespace_that_goes(contents: usize) -> State {
    let mut state = empty();
    let mut namespace = |metadata: Value| {
        let document = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata,
            "spec": {"finalizers": ["kubernetes"]}});
        put(&mut state, NAMESPACES, document);
    };
    namespace(json!({"name": "going", "deletionTimestamp": "2024-01-01T00:00:00Z"}));
    namespace(json!({"name": "staying"}));
    for number in 0..contents {
        put(
            &mut state,
            CONFIG_MAPS,
            config_map("going", &format!("c{number}")),
        );
    }
    put(&mut state, CONFIG_MAPS, config_map("staying", "elsewhere"));
    state
}

fn deleted(batch: &[Step]) -> Vec<(Identity, &str)> {
    let deleted = batch.iter().filter_map(|step| {
        let Intent::Delete(delete) = &step.intent else {
            return None;
        };
        Some((step.by, &*delete.target.key.name))
    });
    deleted.collect()
}

#[test]
fn a_namespace_that_is_emptied_decides_about_what_is_in_it_and_holds_up_nobody_else() {
    let state = namespace_that_goes(100);
    let mut collector = Collector::new(&state);
    let batch = collector.next_batch(&state, Time(0), 8);
    let found = deleted(&batch);
    let (last, contents) = found.split_last().expect("deletions");
    assert_eq!(
        *last,
        (Identity::GarbageCollector, "elsewhere"),
        "{found:?}"
    );
    let by_namespace = |one: &&(Identity, &str)| one.0 == Identity::NamespaceController;
    assert_eq!(contents.iter().filter(by_namespace).count(), 7, "{found:?}");
    assert_eq!(contents.len(), 7, "{found:?}");
}

#[test]
fn who_waited_for_a_namespace_is_looked_at_when_nothing_is_left_to_be_removed_there() {
    let mut state = namespace_that_goes(2);
    let mut collector = Collector::new(&state);
    assert_eq!(collector.next_batch(&state, Time(0), 2).len(), 2);
    // The mark of the namespace is taken away, which nobody does, but objects that wait must not wait for
    // ever.
    let document = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}});
    put(&mut state, NAMESPACES, document);
    let batch = collector.next_batch(&state, Time(0), 8);
    let found = deleted(&batch);
    assert!(
        found.contains(&(Identity::GarbageCollector, "c0")),
        "{found:?}"
    );
}

/// A request that leaves an object this finalizer alone.
fn keep_only(collector: &mut Collector, state: &mut State, object: &Object, finalizer: &str) {
    let patch = Intent::Patch(PatchObject {
        key: object.key.clone(),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"metadata": {"finalizers": [finalizer]}})),
        validation: FieldValidation::Ignore,
    });
    let patched = carry_out(state, anonymous_request(patch, Time(0)));
    let (_, changes) = patched.expect("accepted");
    assert_eq!(changes.len(), 1);
    changes.iter().for_each(|change| collector.observe(change));
}

/// The dependents that lose references because another owner is solid.
fn pruned(batch: &[Step]) -> Vec<&str> {
    let pruned = batch.iter().filter_map(|step| {
        let Intent::Collect(Collect::DropOwners(drop)) = &step.intent else {
            return None;
        };
        let is_pruned = drop.reason == DropReason::SolidOwnerRemains;
        is_pruned.then_some(&*drop.dependent.key.name)
    });
    pruned.collect()
}

/// The step that would have freed the dependent does nothing any more, and succeeds.
#[test]
fn a_dependent_is_looked_at_when_its_owner_orphans_nobody_any_more() {
    let mut state = world(&[("a!orphan,x/y", &[]), ("d", &["a", "gone"])]);
    let mut collector = Collector::new(&state);
    assert_eq!(steps(&mut collector, &state), 1);
    collector.settle(std::iter::once(Ok(())));
    let owner = state.objects().find(|object| &*object.key.name == "a");
    let owner = owner.cloned().expect("the owner");
    keep_only(&mut collector, &mut state, &owner, "x/y");
    let batch = collector.next_batch(&state, Time(0), 10);
    assert_eq!(pruned(&batch), ["d"]);
}

/// While its owner waited, it would have been deleted, which was refused for good.
#[test]
fn a_dependent_is_looked_at_when_its_owner_waits_for_nobody_any_more() {
    let mut state = empty();
    let roles = ("rbac.authorization.k8s.io", "clusterroles");
    let role = |name: &str| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "name": name, "uid": name})
    };
    let owner = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": [],
        "metadata": {"name": "a", "deletionTimestamp": "2024-01-01T00:00:00Z",
            "finalizers": ["foregroundDeletion", "x/y"]}});
    let owner = put(&mut state, roles, owner);
    let immortal = json!({"apiVersion": "v1", "kind": "Namespace", "metadata":
        {"name": "default", "ownerReferences": [role("a"), role("gone")]}});
    put(&mut state, NAMESPACES, immortal);
    let mut collector = Collector::new(&state);
    let batch = collector.next_batch(&state, Time(0), 10);
    let refused = Rejection::Internal("no".into());
    collector.settle(batch.iter().map(|_| Err(&refused)));
    assert_eq!(steps(&mut collector, &state), 0);
    keep_only(&mut collector, &mut state, &owner, "x/y");
    let batch = collector.next_batch(&state, Time(0), 10);
    assert_eq!(pruned(&batch), ["default"]);
}

#[test]
fn an_event_with_an_owner_that_is_gone_is_not_looked_at() {
    let mut state = empty();
    let gone = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"});
    let metadata = json!({"name": "e", "namespace": "n", "ownerReferences": [gone]});
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": metadata});
    let mut running = Collector::new(&state);
    let written = write(&mut state, ("", "events"), event);
    running.observe(&written);
    for mut collector in [running, Collector::new(&state)] {
        assert_eq!(steps(&mut collector, &state), 0);
        assert_eq!(collector.counters.looks, 0);
    }
}

#[test]
fn what_is_gone_waits_for_no_kind() {
    let mut state = world(&[("d", &["?owner"])]);
    let mut collector = Collector::new(&state);
    assert_eq!(steps(&mut collector, &state), 0);
    assert_eq!(collector.unresolved.len(), 1);
    let removed = remove(&mut state, CONFIG_MAPS, ("n", "d"));
    collector.observe(&removed);
    assert_eq!(steps(&mut collector, &state), 0);
    assert!(collector.unresolved.is_empty());
}
