//! How much work the collector does for shapes of ownership that are easy to make and long to walk. Counted
//! in objects that are looked at and in objects and references that are visited on the way, because times
//! say little.

use crate::BATCH_STEPS_MAX;
use crate::collector::{AGAIN_MAX, Collector, Counters};
use crate::testing::{empty, put, remove, world};
use crate::trial::{anonymous_command, carry_out};
use hindsight_core::object::DEFINITION_FINALIZER;
use hindsight_core::{State, Time};
use serde_json::{Value, json};

/// The work until nothing is left to do.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    batches: usize,
    counters: Counters,
}

/// Runs the collector, and returns what is left and what it took.
fn run(mut state: State) -> (State, Cost) {
    let mut collector = Collector::new(&state);
    let mut cost = Cost::default();
    loop {
        let batch = collector.next_batch(&state, Time(0), BATCH_STEPS_MAX);
        cost.batches += 1;
        if batch.is_empty() {
            cost.counters = collector.counters;
            return (state, cost);
        }
        let mut answers = Vec::new();
        for step in batch {
            let done = carry_out(&mut state, anonymous_command(step, Time(0)));
            answers.push(done.map(|(_, changes)| {
                changes.iter().for_each(|change| collector.observe(change));
            }));
        }
        collector.settle(answers.iter().map(|answer| answer.as_ref().copied()));
    }
}

/// Objects in the order of their numbers, each with the owners that it is given.
fn objects<'a>(owners: impl IntoIterator<Item = (String, Vec<&'a str>)>) -> State {
    let named: Vec<(String, Vec<&str>)> = owners.into_iter().collect();
    let objects: Vec<(&str, &[&str])> = named
        .iter()
        .map(|(name, owners)| (&**name, &owners[..]))
        .collect();
    world(&objects)
}

/// A chain from the first of these names to the last, of which each is also owned by an owner that is gone,
/// and the first by one that stays.
fn chain(names: &[String]) -> State {
    let above = std::iter::once("stays").chain(names.iter().map(|name| &**name));
    let chain = names.iter().zip(above);
    let chain = chain.map(|(name, above)| (name.clone(), vec![above, "gone"]));
    objects(std::iter::once(("stays".into(), Vec::new())).chain(chain))
}

#[test]
fn a_chain_with_a_common_owner_that_is_gone_is_looked_at_where_it_is_decided() {
    const LENGTH: usize = 300;
    let ascending: Vec<String> = (0..LENGTH).map(|number| format!("c{number:03}")).collect();
    let descending: Vec<String> = ascending.iter().rev().cloned().collect();
    for names in [ascending, descending] {
        let (left, cost) = run(chain(&names));
        assert!(left.objects().all(|object| object.owners().len() <= 1));
        assert_eq!(left.objects().count(), LENGTH + 1);
        // One object is decided in each batch. Each is looked at when it is queued, when it is decided, and
        // after that; and a few others in each batch.
        assert!(cost.batches <= LENGTH + 1, "{cost:?}");
        assert!(cost.counters.looks <= (3 + AGAIN_MAX) * LENGTH, "{cost:?}");
        // In each batch the chain is walked once at most, and each of its objects classified once.
        assert!(cost.counters.visited <= 4 * LENGTH * LENGTH, "{cost:?}");
    }
}

#[test]
fn leaves_below_an_owner_and_its_owner_do_not_each_walk_past_all_the_others() {
    const LEAVES: usize = 5000;
    let leaves = (0..LEAVES).map(|number| (format!("d{number:04}"), vec!["t!", "x!"]));
    let above = [
        ("t!foregroundDeletion".into(), Vec::new()),
        ("x".into(), vec!["t!"]),
    ];
    let (left, cost) = run(objects(above.into_iter().chain(leaves)));
    assert_eq!(left.objects().count(), 0);
    assert!(cost.batches <= LEAVES / BATCH_STEPS_MAX + 6, "{cost:?}");
    assert!(cost.counters.looks <= 4 * LEAVES, "{cost:?}");
    // In each batch the leaves that remain are visited on the way through `x`.
    assert!(cost.counters.visited <= 30 * LEAVES, "{cost:?}");
}

/// As pods do that stop one after the other.
#[test]
fn dependents_that_end_one_by_one_are_not_all_visited_for_each_that_ends() {
    const DEPENDENTS: usize = 300;
    let name = |number: usize| format!("d{number:03}");
    let held = (0..DEPENDENTS).map(|number| (format!("{}!a/b", name(number)), vec!["t!"]));
    let above = ("t!foregroundDeletion".into(), Vec::new());
    let mut state = objects(std::iter::once(above).chain(held));
    let mut collector = Collector::new(&state);
    let mut rest = 0..DEPENDENTS;
    let released = loop {
        let batch = collector.next_batch(&state, Time(0), BATCH_STEPS_MAX);
        let Some(ended) = rest.next() else {
            break batch.len();
        };
        assert!(batch.is_empty(), "{batch:?}");
        let change = remove(&mut state, ("", "configmaps"), ("n", &name(ended)));
        collector.observe(&change);
    };
    assert_eq!(released, 1);
    let visited = collector.counters.visited;
    assert!(visited <= 10 * DEPENDENTS, "{visited}");
}

#[test]
fn a_ring_of_owners_that_wait_for_each_other_is_opened_by_one_of_them() {
    const LENGTH: usize = 3000;
    let name = |number: usize| format!("c{:04}", number % LENGTH);
    let owners: Vec<String> = (0..LENGTH).map(|number| name(number + 1) + "!").collect();
    let ring = owners.iter().enumerate();
    let ring = ring.map(|(number, owner)| {
        let object = name(number) + "!foregroundDeletion";
        (object, vec![&**owner])
    });
    let (left, cost) = run(objects(ring));
    assert_eq!(left.objects().count(), 0);
    assert_eq!(cost.batches, 2, "{cost:?}");
    assert!(cost.counters.looks <= 2 * LENGTH, "{cost:?}");
    assert!(cost.counters.visited <= 10 * LENGTH, "{cost:?}");
}

/// Nothing ends the search for a dependent that could change: one unknown owner protects each.
#[test]
fn owners_in_foreground_deletion_look_at_their_common_dependents_once_for_all() {
    const OWNERS: usize = 200;
    const DEPENDENTS: usize = 50;
    let names: Vec<String> = (0..OWNERS).map(|number| format!("o{number:03}")).collect();
    let waiting = names.iter();
    let waiting = waiting.map(|name| (format!("{name}!foregroundDeletion"), Vec::new()));
    let mut owners = vec!["?unknown"];
    owners.extend(names.iter().map(|name| &**name));
    let dependents = (0..DEPENDENTS).map(|number| (format!("d{number:02}"), owners.clone()));
    let (left, cost) = run(objects(waiting.chain(dependents)));
    assert_eq!(left.objects().count(), DEPENDENTS);
    assert_eq!(cost.batches, 2, "{cost:?}");
    let references = OWNERS * DEPENDENTS;
    assert!(cost.counters.visited <= 10 * references, "{cost:?}");
}

/// All of these owners may still delete the namespace, so that nothing in it orphans anything.
#[test]
fn owners_that_orphan_look_once_for_all_at_what_may_delete_their_namespace() {
    const ABOVE: usize = 200;
    const ORPHANING: usize = 100;
    let mut state = empty();
    let object = |name: String, metadata: Value| {
        let mut document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        document["metadata"]["name"] = json!(name);
        document
    };
    let mut owners = Vec::new();
    for number in 0..ABOVE {
        let lost = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "stays", "uid": "stays"}]);
        let name = format!("a{number:03}");
        owners.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name}));
        let metadata = json!({"namespace": "other", "ownerReferences": lost});
        put(&mut state, ("", "configmaps"), object(name, metadata));
    }
    let stays = object("stays".into(), json!({"namespace": "other"}));
    put(&mut state, ("", "configmaps"), stays);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "n", "ownerReferences": owners}});
    put(&mut state, ("", "namespaces"), namespace);
    for number in 0..ORPHANING {
        let name = format!("o{number:03}");
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name});
        let metadata = json!({"namespace": "n", "finalizers": ["orphan"],
            "deletionTimestamp": "2024-01-01T00:00:00Z"});
        put(&mut state, ("", "configmaps"), object(name, metadata));
        let metadata = json!({"namespace": "n", "ownerReferences": [owner]});
        let dependent = object(format!("d{number:03}"), metadata);
        put(&mut state, ("", "configmaps"), dependent);
    }
    let (left, cost) = run(state);
    let within = left.objects().filter(|one| &*one.key.namespace == "n");
    let owned = within.map(|one| one.owners().len());
    assert_eq!(owned.collect::<Vec<_>>(), [0; ORPHANING]);
    assert!(
        cost.counters.visited <= 40 * (ABOVE + ORPHANING),
        "{cost:?}"
    );
}

/// Adds definitions of a group that are being deleted: their kinds are `K000` and so on.
fn put_ending(state: &mut State, count: usize) {
    for number in 0..count {
        let (plural, kind) = (format!("k{number:03}s"), format!("K{number:03}"));
        let metadata = json!({"name": format!("{plural}.e.io"), "finalizers": [DEFINITION_FINALIZER],
            "deletionTimestamp": "2024-01-01T00:00:00Z"});
        let names = json!({"plural": plural, "kind": kind});
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition", "metadata": metadata,
            "spec": {"group": "e.io", "scope": "Namespaced", "names": names,
                "versions": [{"name": "v1", "served": true, "storage": true}]},
            "status": {"acceptedNames": names,
                "conditions": [{"type": "Established", "status": "True"}]}});
        let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
        put(state, definitions, definition);
    }
}

fn put_dependents(state: &mut State, count: usize, owners: &[Value]) {
    for number in 0..count {
        let metadata = json!({"name": format!("d{number:04}"), "namespace": "n",
            "ownerReferences": owners});
        let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        put(state, ("", "configmaps"), document);
    }
}

fn reference(kind: &str) -> Value {
    json!({"apiVersion": "e.io/v1", "kind": kind, "name": "o", "uid": kind})
}

/// Each of them touches whoever names an unknown kind of their group.
#[test]
fn definitions_that_touch_the_same_objects_look_at_these_once_for_all_of_them() {
    const DEFINITIONS: usize = 40;
    const DEPENDENTS: usize = 500;
    let mut state = empty();
    put_ending(&mut state, DEFINITIONS);
    put_dependents(&mut state, DEPENDENTS, &[reference("Unknown")]);
    let (left, cost) = run(state);
    assert_eq!(left.objects().count(), DEPENDENTS);
    assert_eq!(
        cost.batches,
        DEFINITIONS + 1,
        "they end one after the other"
    );
    let all = DEFINITIONS + DEPENDENTS;
    // The end of one kind makes no other known.
    assert!(cost.counters.looks <= 2 * all, "{cost:?}");
    assert!(cost.counters.visited <= 6 * cost.batches * all, "{cost:?}");
}

/// Whether a kind is known is asked once for each kind, in each batch.
#[test]
fn definitions_whose_kinds_are_named_ask_once_for_each_kind_whether_it_is_known() {
    const DEFINITIONS: usize = 100;
    let mut state = empty();
    put_ending(&mut state, DEFINITIONS);
    let kinds = (0..DEFINITIONS).map(|number| reference(&format!("K{number:03}")));
    let owners: Vec<Value> = kinds.chain([reference("Unknown")]).collect();
    put_dependents(&mut state, 1, &owners);
    let (left, cost) = run(state);
    assert_eq!(left.objects().count(), 1);
    assert_eq!(
        cost.batches,
        DEFINITIONS + 1,
        "they end one after the other"
    );
    let visited_max = 8 * cost.batches * DEFINITIONS;
    assert!(cost.counters.visited <= visited_max, "{cost:?}");
}
