//! What becomes of the answers to a batch.

use super::{Collector, Worker};
use crate::plan::Step;
use crate::testing::{empty, put, world};
use hindsight_core::{Intent, Rejection, State, Time};
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

const NAMESPACES: (&str, &str) = ("", "namespaces");
const CONFIG_MAPS: (&str, &str) = ("", "configmaps");

fn config_map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name, "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}]}})
}

/// A namespace that goes, with so many objects whose owner is gone; another with one of these.
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

fn deleted(batch: &[(Worker, Step)]) -> Vec<(Worker, &str)> {
    let deleted = batch.iter().filter_map(|(worker, step)| {
        let Intent::Delete(delete) = &step.intent else {
            return None;
        };
        Some((*worker, &*delete.target.key.name))
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
    assert_eq!(*last, (Worker::GarbageCollector, "elsewhere"), "{found:?}");
    let by_namespace = |one: &&(Worker, &str)| one.0 == Worker::NamespaceController;
    assert_eq!(contents.iter().filter(by_namespace).count(), 6, "{found:?}");
    assert_eq!(contents.len(), 6, "{found:?}");
}

#[test]
fn who_waited_for_a_namespace_is_looked_at_when_nothing_is_left_to_be_removed_there() {
    let mut state = namespace_that_goes(2);
    let mut collector = Collector::new(&state);
    assert_eq!(collector.next_batch(&state, Time(0), 2).len(), 2);
    // Somebody else takes the mark away from under it: nobody does so, but who waits must not wait for ever.
    let document = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}});
    put(&mut state, NAMESPACES, document);
    let batch = collector.next_batch(&state, Time(0), 8);
    let found = deleted(&batch);
    assert!(
        found.contains(&(Worker::GarbageCollector, "c0")),
        "{found:?}"
    );
}

#[test]
fn namespaces_that_are_emptied_take_turns() {
    let mut state = namespace_that_goes(20);
    let document = json!({"apiVersion": "v1", "kind": "Namespace", "metadata":
        {"name": "later", "deletionTimestamp": "2024-01-01T00:00:00Z"}, "spec": {"finalizers": ["kubernetes"]}});
    put(&mut state, NAMESPACES, document);
    put(&mut state, CONFIG_MAPS, config_map("later", "last"));
    let mut collector = Collector::new(&state);
    let taken = |batch: Vec<(Worker, Step)>| deleted(&batch).iter().any(|one| one.1 == "last");
    let turns: Vec<bool> = (0..2)
        .map(|_| taken(collector.next_batch(&state, Time(0), 4)))
        .collect();
    assert_eq!(turns, [false, true]);
}
