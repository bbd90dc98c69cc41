//! A plan of the collector is carried out only if its ground still holds.

mod deadlocks;
mod latecomers;
mod overtaken;
mod services;

use crate::command::{
    Basis, Collect, Deadlock, DropOwners, DropReason, FinalizeNamespace, Patch, Propagation,
    Release, Target,
};
use crate::object::{ORPHAN_FINALIZER, Object, ServerFinalizer};
use crate::state::PASSED;
use crate::testing::World;
use crate::{Decision, Intent, OwnerReference, Rejection, Revision};
use serde_json::{Value, json};
use std::sync::Arc;

fn make(world: &mut World, metadata: Value) -> Arc<Object> {
    let created = world.create("configmaps", json!({"metadata": metadata}));
    Arc::clone(created.expect("created").outcome.object())
}

/// What this does, and how many objects and references it passes on the way up.
fn passed<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = PASSED.get();
    let done = run();
    (done, PASSED.get() - before)
}

/// Gives the namespace so many references to nothing, then makes a request that overtakes what was planned by now.
fn overtake_below(world: &mut World, references: usize) {
    let absent = |at| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": format!("absent{at}")});
    let owners: Vec<Value> = (0..references).map(absent).collect();
    let owners = Patch::Merge(json!({"metadata": {"ownerReferences": owners}}));
    world.patch("namespaces", "default", owners).expect("owned");
}

fn reference(owner: &Object) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": &*owner.key.name,
        "uid": owner.meta.uid.as_str(), "blockOwnerDeletion": true})
}

fn absent() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": "absent"})
}

fn unknown() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Unknown", "name": "u", "uid": "u"})
}

fn target(object: &Object) -> Target {
    Target {
        key: object.key.clone(),
        uid: Some(object.meta.uid.clone()),
        revision: None,
    }
}

/// The uids that the dependent still refers to after dropping these references.
fn left(
    world: &mut World,
    dependent: &Object,
    dropped: &[Value],
    reason: DropReason,
) -> Result<Vec<String>, Rejection> {
    let read = |owner: &Value| serde_json::from_value::<OwnerReference>(owner.clone());
    let owners = dropped.iter().map(|owner| read(owner).expect("readable"));
    let decision = world.run(Intent::Collect(Collect::DropOwners(DropOwners {
        dependent: target(dependent),
        owners: owners.collect(),
        reason,
        basis: Basis::at(world.state.revision),
    })))?;
    let owners = decision.outcome.object().meta.owner_references.iter();
    Ok(owners.map(|owner| owner.uid.to_string()).collect())
}

/// Takes the absent owner from a dependent.
fn prune(world: &mut World, (dependent, basis): (Target, Basis)) -> Result<Decision, Rejection> {
    world.run(Intent::Collect(Collect::DropOwners(DropOwners {
        dependent,
        owners: vec![serde_json::from_value(absent()).expect("a reference")],
        reason: DropReason::SolidOwnerRemains,
        basis,
    })))
}

fn release(
    world: &mut World,
    owner: &Object,
    finalizer: ServerFinalizer,
) -> Result<Vec<String>, Rejection> {
    let decided_at = world.state.revision;
    release_as_of(world, owner, finalizer, decided_at)
}

fn release_as_of(
    world: &mut World,
    owner: &Object,
    finalizer: ServerFinalizer,
    decided_at: Revision,
) -> Result<Vec<String>, Rejection> {
    let decision = world.run(Intent::Collect(Collect::Release(Release {
        owner: target(owner),
        finalizer,
        basis: Basis::at(decided_at),
    })))?;
    let left = decision.outcome.object().meta.finalizers.iter();
    Ok(left.map(ToString::to_string).collect())
}

#[track_caller]
fn is_stale<T: std::fmt::Debug>(answer: Result<T, Rejection>) {
    assert!(matches!(answer, Err(Rejection::Stale { .. })), "{answer:?}");
}

#[test]
fn a_plan_for_another_uid_or_version_is_stale() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    let owners = json!([reference(&owner), absent()]);
    let object = make(&mut world, json!({"name": "a", "ownerReferences": owners}));
    let mut prune = |dependent| {
        let basis = Basis::at(world.state.revision);
        prune(&mut world, (dependent, basis))
    };
    let exact = Target {
        revision: Some(object.revision),
        ..target(&object)
    };
    let other_uid = Target {
        uid: Some("other".into()),
        ..exact.clone()
    };
    let other_version = Target {
        revision: Some(object.revision.next()),
        ..exact.clone()
    };
    is_stale(prune(other_uid));
    is_stale(prune(other_version));
    prune(exact).expect("this one");
}

#[test]
fn only_named_and_unsolid_references_go_while_a_solid_owner_is_left() {
    use DropReason::SolidOwnerRemains;
    let mut world = World::new();
    let [solid, waiting] = ["solid", "waiting"].map(|name| make(&mut world, json!({"name": name})));
    let (s, w) = (reference(&solid), reference(&waiting));
    let dependent = |world: &mut World, name: &str, owners: Value| {
        make(world, json!({"name": name, "ownerReferences": owners}))
    };
    let all = dependent(&mut world, "all", json!([s, w, absent()]));
    let none = dependent(&mut world, "none", json!([absent()]));
    let strange = dependent(&mut world, "strange", json!([s, absent(), unknown()]));
    let foreground = Some(Propagation::Foreground);
    let marked = world.delete("configmaps", "waiting", foreground);
    marked.expect("marked");
    let uids = |owners: &[&Object]| -> Vec<String> {
        owners.iter().map(|one| one.meta.uid.to_string()).collect()
    };
    let after = left(
        &mut world,
        &all,
        std::slice::from_ref(&s),
        SolidOwnerRemains,
    );
    assert_eq!(after.expect("nothing to do").len(), 3);
    let after = left(&mut world, &all, &[absent()], SolidOwnerRemains);
    assert_eq!(after.expect("dropped"), uids(&[&solid, &waiting]));
    let after = left(&mut world, &all, &[w], SolidOwnerRemains);
    assert_eq!(after.expect("dropped"), uids(&[&solid]));
    is_stale(left(&mut world, &none, &[absent()], SolidOwnerRemains));
    is_stale(left(&mut world, &strange, &[absent()], SolidOwnerRemains));
}

#[test]
fn a_reference_is_orphaned_only_while_its_owner_orphans() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    let reference = reference(&owner);
    let dependent = json!({"name": "a", "ownerReferences": [reference, absent()]});
    let dependent = make(&mut world, dependent);
    for (policy, references) in [
        (None, 2),
        (Some(Propagation::Foreground), 2),
        (Some(Propagation::Orphan), 1),
    ] {
        if policy.is_some() {
            let marked = world.delete("configmaps", "owner", policy);
            marked.expect("marked");
        }
        let dropped = [reference.clone()];
        let reason = DropReason::Orphaning(owner.key.clone());
        let after = left(&mut world, &dependent, &dropped, reason);
        assert_eq!(after.expect("accepted").len(), references, "{policy:?}");
    }
}

#[test]
fn a_policy_that_no_longer_orphans_orphans_nobody() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    let reference = reference(&owner);
    let dependent = json!({"name": "a", "ownerReferences": [reference]});
    let dependent = make(&mut world, dependent);
    for policy in [Propagation::Orphan, Propagation::Foreground] {
        let marked = world.delete("configmaps", "owner", Some(policy));
        marked.expect("marked");
    }
    let reason = DropReason::Orphaning(owner.key.clone());
    let after = left(&mut world, &dependent, &[reference], reason);
    assert_eq!(after.expect("nothing to do").len(), 1);
}

#[test]
fn a_release_takes_one_finalizer_of_an_owner_that_goes() {
    let mut world = World::new();
    let finalizers = ["x/a", ORPHAN_FINALIZER];
    let owner = make(
        &mut world,
        json!({"name": "owner", "finalizers": finalizers}),
    );
    let alive = release(&mut world, &owner, ServerFinalizer::Orphan).expect("nothing to do");
    assert_eq!(alive, finalizers);
    let marked = world.delete("configmaps", "owner", Some(Propagation::Foreground));
    marked.expect("marked");
    let after = release(&mut world, &owner, ServerFinalizer::Foreground).expect("released");
    assert_eq!(after, ["x/a"]);
}

#[test]
fn a_dependent_that_comes_or_begins_to_block_makes_a_release_stale() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    let mut loose = reference(&owner);
    loose["blockOwnerDeletion"] = Value::Bool(false);
    make(
        &mut world,
        json!({"name": "old", "ownerReferences": [loose]}),
    );
    let marked = world.delete("configmaps", "owner", Some(Propagation::Foreground));
    marked.expect("marked");
    for step in ["comes", "blocks"] {
        let decided_at = world.state.revision;
        let metadata = |name| json!({"name": name, "ownerReferences": [reference(&owner)]});
        if step == "comes" {
            make(&mut world, metadata("new"));
        } else {
            let object = json!({"metadata": metadata("old")});
            let updated = world.update("configmaps", "", object);
            updated.expect("it blocks now");
        }
        let answer = release_as_of(&mut world, &owner, ServerFinalizer::Foreground, decided_at);
        assert!(matches!(answer, Err(Rejection::Stale { .. })), "{step}");
    }
    release(&mut world, &owner, ServerFinalizer::Foreground).expect("decided after both");
}

#[test]
fn a_namespace_loses_its_token_alone_and_only_when_it_goes_and_is_empty() {
    let mut world = World::new();
    let object = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["example.com/t"]}});
    world.create("namespaces", object).expect("created");
    let config = json!({"metadata": {"name": "a"}});
    let created = world.create_in("n", "configmaps", config);
    let content = Arc::clone(created.expect("created").outcome.object());
    let finalize = |world: &mut World| {
        let namespace = world.get("namespaces", "n").expect("it is there");
        let decision = world.run(Intent::Collect(Collect::FinalizeNamespace(
            FinalizeNamespace {
                target: target(&namespace),
            },
        )))?;
        let document = decision.outcome.object().document();
        Ok(document["spec"]["finalizers"].clone())
    };
    let live = finalize(&mut world).expect("nothing to do");
    assert_eq!(live, json!(["example.com/t", "kubernetes"]));
    world.delete("namespaces", "n", None).expect("marked");
    is_stale(finalize(&mut world));
    let remove = crate::command::Delete::new(target(&content), "v1".into(), crate::Rule::Requested);
    world.run(Intent::Delete(remove)).expect("removed");
    let after = finalize(&mut world).expect("the token goes");
    assert_eq!(after, json!(["example.com/t"]));
}

/// Two objects that own and block each other, are held by another finalizer, and wait.
fn ring(world: &mut World) -> Vec<Target> {
    for name in ["a", "b"] {
        make(world, json!({"name": name, "finalizers": ["x/y"]}));
    }
    for (name, owner) in [("a", "b"), ("b", "a")] {
        let owner = world.get("configmaps", owner).expect("it is there");
        let change = json!({"metadata": {"ownerReferences": [reference(&owner)]}});
        let change = Patch::Merge(change);
        world.patch("configmaps", name, change).expect("owned");
    }
    for name in ["a", "b"] {
        let marked = world.delete("configmaps", name, Some(Propagation::Foreground));
        marked.expect("marked");
    }
    members(world)
}

fn members(world: &World) -> Vec<Target> {
    let member = |name| {
        let object = world.get("configmaps", name).expect("it is there");
        target(&object)
    };
    ["a", "b"].map(member).to_vec()
}

fn break_deadlock(
    world: &mut World,
    members: &[Target],
    decided_at: Revision,
) -> Result<usize, Rejection> {
    let decision = world.run(Intent::Collect(Collect::BreakDeadlock(Deadlock {
        members: members.to_vec(),
        basis: Basis::at(decided_at),
    })))?;
    Ok(decision.commits.len())
}

#[test]
fn all_of_a_deadlock_are_let_go_or_none_is() {
    let mut world = World::new();
    let members = ring(&mut world);
    let now = world.state.revision;
    for reversed in [false, true] {
        let mut world = World::new();
        let mut members = ring(&mut world);
        if reversed {
            members.reverse();
        }
        assert_eq!(break_deadlock(&mut world, &members, now), Ok(2));
        let [.., first, second] = &world.commits[..] else {
            panic!("two commits");
        };
        assert_eq!(second.cause, crate::Cause::Commit(first.revision));
        for name in ["a", "b"] {
            let object = world.get("configmaps", name).expect("held");
            assert_eq!(*object.meta.finalizers, ["x/y".into()]);
        }
        is_stale(break_deadlock(&mut world, &members, now));
    }
    assert_eq!(break_deadlock(&mut world, &members[..1], now), Ok(1));
    is_stale(break_deadlock(&mut world, &members, now));
}

#[test]
fn a_deadlock_that_is_another_by_now_is_not_let_go() {
    let mut world = World::new();
    let seen = ring(&mut world);
    let background = world.delete("configmaps", "b", Some(Propagation::Background));
    background.expect("it waits no longer");
    let now = world.state.revision;
    is_stale(break_deadlock(&mut world, &seen, now));
    let mut world = World::new();
    let seen = ring(&mut world);
    let now = world.state.revision;
    let free = Patch::Merge(json!({"metadata": {"ownerReferences": null}}));
    world.patch("configmaps", "b", free).expect("changed");
    is_stale(break_deadlock(&mut world, &seen, now));
    let mut world = World::new();
    let seen = ring(&mut world);
    let now = world.state.revision;
    let owner = world.get("configmaps", "a").expect("it is there");
    let late = json!({"name": "late", "ownerReferences": [reference(&owner)]});
    make(&mut world, late);
    is_stale(break_deadlock(&mut world, &seen, now));
}
