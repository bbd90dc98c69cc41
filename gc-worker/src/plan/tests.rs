//! The steps that are due on a state, and those that must wait for others.

use super::{due, fitting};
use crate::steps::Step;
use crate::testing::{add, empty, put, world};
use hindsight_core::command::{Collect, Seen};
use hindsight_core::{Intent, Rule, State};
use hindsight_projector::OwnershipGraph;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn describe(intent: &Intent) -> String {
    match intent {
        Intent::Delete(delete) => format!("delete {}", delete.target.key.name),
        Intent::Collect(Collect::DropOwners(dropped)) => {
            format!("drop owners of {}", dropped.dependent.key.name)
        }
        Intent::Collect(Collect::Unblock(intent)) => {
            format!("unblock {}", intent.dependent.key.name)
        }
        Intent::Collect(Collect::Release(release)) => {
            format!(
                "release {} from {}",
                release.owner.key.name,
                release.finalizer.name()
            )
        }
        Intent::Collect(Collect::BreakDeadlock(deadlock)) => {
            let members: Vec<&str> = deadlock.members.iter().map(|one| &*one.key.name).collect();
            format!("break {}", members.join(" and "))
        }
        Intent::Create(_)
        | Intent::Update(_)
        | Intent::Patch(_)
        | Intent::Collect(Collect::FinalizeNamespace(_))
        | Intent::Evict(_) => format!("{intent:?}"),
    }
}

#[track_caller]
fn only(objects: &[(&str, &[&str])], expected: &[&str]) {
    only_in(&world(objects), expected);
}

#[track_caller]
fn only_in(state: &State, expected: &[&str]) {
    let steps = due(&OwnershipGraph::rebuild(state), state);
    let found: BTreeSet<String> = steps.iter().map(|step| describe(&step.intent)).collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, expected);
}

#[test]
fn in_a_cycle_the_first_name_is_decided_first() {
    only(
        &[("p", &["q", "gone"]), ("q", &["p", "gone"])],
        &["drop owners of p"],
    );
}

#[test]
fn in_a_cycle_whoever_orphans_comes_before_lower_names() {
    only(
        &[
            ("a", &["gone", "c"]),
            ("b!orphan", &["a"]),
            ("c", &["b", "a"]),
        ],
        &["drop owners of c"],
    );
}

#[test]
fn a_deletion_rests_on_the_owners_that_were_looked_at_and_on_no_version() {
    let state = world(&[("d", &["gone"])]);
    let steps = due(&OwnershipGraph::rebuild(&state), &state);
    let object = state.objects().next().expect("it is there");
    let [step] = &steps[..] else {
        panic!("{steps:?}");
    };
    let Intent::Delete(delete) = &step.intent else {
        panic!("{step:?}");
    };
    let uid = Some(object.meta.uid.clone());
    assert_eq!((&delete.target.uid, delete.target.revision), (&uid, None));
    let seen = delete.basis.as_ref().and_then(|basis| basis.seen.clone());
    assert_eq!(seen, Some(Seen::of(object)));
}

#[test]
fn nobody_waits_for_those_above_something_that_goes() {
    only(
        &[("a", &["gone"]), ("b!x/a", &["a"]), ("c", &["b", "gone"])],
        &["delete a", "drop owners of c"],
    );
}

#[test]
fn whoever_is_below_an_owner_that_orphans_waits_for_it() {
    // A cycle with its owner, and with the owner's owner.
    only(
        &[("x!orphan", &[]), ("m", &["x", "b"]), ("b", &["m", "gone"])],
        &["drop owners of m"],
    );
    only(
        &[("x!orphan", &["b"]), ("a", &["x"]), ("b", &["a", "gone"])],
        &["drop owners of a"],
    );
}

#[test]
fn an_owner_that_orphans_is_released_after_its_owners_are_decided() {
    only(&[("p", &["gone"]), ("x!orphan", &["p"])], &["delete p"]);
    only(&[("x!orphan", &[])], &["release x from orphan"]);
}

#[test]
fn who_came_while_an_owner_orphaned_goes_with_it_only_once_its_owners_are_decided() {
    let late = |owners: &[&str]| {
        let mut state = world(&[("p", &["gone"]), ("x", owners)]);
        add(&mut state, "x!orphan", owners);
        add(&mut state, "d", &["x"]);
        state
    };
    only_in(&late(&["p"]), &["delete p", "drop owners of d"]);
    only_in(&late(&[]), &["delete p", "release x from orphan"]);
}

#[test]
fn a_waiting_owner_is_released_after_whoever_is_above_it_in_a_cycle_too() {
    only(
        &[
            ("a!foregroundDeletion", &["b"]),
            ("b", &["c", "gone"]),
            ("c", &["a", "?u"]),
        ],
        &["drop owners of b"],
    );
}

#[test]
fn a_waiting_owner_waits_for_dependents_that_do_not_block_it() {
    const W: (&str, &[&str]) = ("w!foregroundDeletion", &[]);
    only(&[W, ("d", &["w"])], &["delete d"]);
    only(&[W, ("d", &["~w"])], &["delete d"]);
    // Nothing follows from an owner of an unknown kind, until another owner has orphaned the object.
    only(
        &[W, ("d", &["w", "?u"])],
        &["release w from foregroundDeletion"],
    );
    only(
        &[W, ("x!orphan", &[]), ("d", &["w", "?x"])],
        &["drop owners of d"],
    );
}

#[test]
fn a_deadlock_is_broken_as_a_whole_and_after_all_its_dependents() {
    const A: (&str, &[&str]) = ("a!foregroundDeletion,x/a", &["b!"]);
    const B: (&str, &[&str]) = ("b!foregroundDeletion", &["a!"]);
    only(&[A, B], &["break a and b"]);
    only(&[A, B, ("d", &["b"])], &["delete d"]);
}

#[test]
fn who_waits_for_somebody_else_too_is_in_no_deadlock() {
    only(
        &[
            ("a!foregroundDeletion", &["b!"]),
            ("b!foregroundDeletion", &["a!"]),
            ("c!foregroundDeletion", &["b!"]),
            ("d!x/a", &["c!"]),
        ],
        &[],
    );
    only(
        &[
            ("a!foregroundDeletion", &["b!"]),
            ("b!foregroundDeletion", &["a!"]),
            ("c!foregroundDeletion", &["b!"]),
        ],
        &["release c from foregroundDeletion"],
    );
}

/// Puts the namespace of these objects, which one of them owns.
fn put_namespace(state: &mut State, owner: &str, mut metadata: Value) {
    metadata["name"] = json!("n");
    metadata["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": owner}]);
    let document = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
    put(state, ("", "namespaces"), document);
}

/// These objects, in a namespace that is being deleted and is owned by one of them.
fn in_a_namespace_that_goes(objects: &[(&str, &[&str])], owner: &str) -> State {
    let mut state = world(objects);
    let metadata = json!({"deletionTimestamp": "2024-01-01T00:00:00Z"});
    put_namespace(&mut state, owner, metadata);
    state
}

#[test]
fn a_namespace_that_is_emptied_comes_before_whoever_is_in_it_in_a_cycle_too() {
    let gone = ("a", &["gone"][..]);
    only_in(&in_a_namespace_that_goes(&[gone], "nobody"), &[]);
    only_in(&in_a_namespace_that_goes(&[gone], "a"), &[]);
    let orphans = ("x!orphan", &[][..]);
    only_in(&in_a_namespace_that_goes(&[orphans], "x"), &[]);
}

#[test]
fn of_a_deadlock_too_long_for_one_record_as_many_go_as_have_room_and_one_at_least() {
    let state = world(&[("a", &[]), ("b", &[]), ("c", &[])]);
    let members: Vec<_> = state.objects().collect();
    let room_for = |bytes| fitting(&members, bytes).len();
    assert_eq!([0, 1 << 11, 1 << 20].map(room_for), [1, 1, 3]);
}

/// A definition that was never established, and an instance that an earlier one left behind.
#[test]
fn a_definition_that_is_emptied_comes_before_what_an_earlier_one_left_in_it() {
    for (metadata, expected) in [
        (json!({"name": "us.e.io"}), &["delete a"][..]),
        (
            json!({"name": "us.e.io", "deletionTimestamp": "2024-01-01T00:00:00Z"}),
            &[],
        ),
    ] {
        let mut state = empty();
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition", "metadata": metadata});
        let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
        put(&mut state, definitions, definition);
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "gone"});
        let instance = json!({"apiVersion": "e.io/v1", "kind": "U",
            "metadata": {"name": "a", "ownerReferences": [owner]}});
        put(&mut state, ("e.io", "us"), instance);
        only_in(&state, expected);
    }
}

/// The namespace is above what waits in it, and owned by somebody who is below that.
#[test]
fn whoever_orphans_comes_first_in_a_cycle_through_its_namespace() {
    let mut state = world(&[
        ("z!orphan,foregroundDeletion", &[]),
        ("m", &["z"]),
        ("a", &["m", "gone"]),
    ]);
    put_namespace(&mut state, "a", json!({}));
    only_in(&state, &["drop owners of m"]);
}

#[test]
fn a_namespace_that_waits_and_is_emptied_is_released_after_its_owner_is_decided() {
    let mut state = world(&[("a", &["gone"])]);
    let metadata = json!({"deletionTimestamp": "2024-01-01T00:00:00Z",
        "finalizers": ["foregroundDeletion"]});
    put_namespace(&mut state, "a", metadata);
    only_in(&state, &[]);
}

/// An object with this uid exists, but the reference gives another name, kind or namespace.
#[test]
fn the_rule_of_a_deletion_says_where_the_owner_is() {
    for (resource, kind, namespace, rule) in [
        ("nodes", "Node", None, Rule::OwnersAbsent),
        ("configmaps", "ConfigMap", Some("n"), Rule::OwnersAbsent),
        (
            "configmaps",
            "ConfigMap",
            Some("m"),
            Rule::OwnerInOtherNamespace,
        ),
        ("configmaps", "ConfigMap", None, Rule::NoSuchOwner),
    ] {
        let mut state = empty();
        let owner = json!({"apiVersion": "v1", "kind": kind, "name": "other", "uid": "owner"});
        let metadata = json!({"name": "d", "namespace": "n", "ownerReferences": [owner]});
        let dependent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        put(&mut state, ("", "configmaps"), dependent);
        if namespace.is_some() || resource == "nodes" {
            let metadata = json!({"name": "owner", "namespace": namespace});
            let owner = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
            put(&mut state, ("", resource), owner);
        }
        let steps = due(&OwnershipGraph::rebuild(&state), &state);
        assert!(
            matches!(&steps[..], [Step { intent: Intent::Delete(delete), .. }] if delete.rule == rule),
            "{kind} in {namespace:?}: {steps:?}"
        );
    }
}

#[test]
fn a_namespace_that_nobody_can_delete_is_not_asked_to_go_again_and_again() {
    for (name, expected) in [("default", &[][..]), ("team", &["delete team"])] {
        let mut state = empty();
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "gone"});
        let metadata = json!({"name": name, "ownerReferences": [owner]});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        put(&mut state, ("", "namespaces"), namespace);
        only_in(&state, expected);
    }
}
