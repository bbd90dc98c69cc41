//! A plan is carried out only if no request since then may have changed what comes before it.

use super::{absent, is_stale, make, passed, prune, reference, release_as_of, target};
use crate::command::{Basis, Collect, Delete, Intent, Patch, Propagation, Seen, Target, Unblock};
use crate::object::{Object, ObjectKey, ServerFinalizer};
use crate::state::{ABOVE_MAX_FOR_DEFINITIONS, REFERENCES_ABOVE_MAX};
use crate::testing::World;
use crate::{Decision, Rejection, Rule};
use serde_json::{Value, json};
use std::sync::Arc;

fn owned(world: &mut World, name: &str, owners: Value) -> Arc<Object> {
    make(world, json!({"name": name, "ownerReferences": owners}))
}

fn delete(world: &mut World, name: &str, policy: Propagation) {
    let deleted = world.delete("configmaps", name, Some(policy));
    deleted.expect("deleted");
}

/// The object as it is now, and a plan on what is known now.
fn planned(world: &World, name: &str, above: &[&Object]) -> (Target, Basis) {
    let object = world.get("configmaps", name).expect("it is there");
    let basis = Basis {
        above: above.iter().map(|one| one.key.clone()).collect(),
        seen: Some(Seen::of(&object)),
        ..Basis::at(world.state.revision)
    };
    (target(&object), basis)
}

fn unblock(world: &mut World, name: &str) -> Result<Decision, Rejection> {
    let (dependent, basis) = planned(world, name, &[]);
    world.run(Intent::Collect(Collect::Unblock(Unblock {
        dependent,
        basis,
    })))
}

fn collect(
    world: &mut World,
    (target, basis): (Target, Basis),
    policy: Propagation,
) -> Result<Decision, Rejection> {
    world.run(Intent::Delete(Delete {
        propagation: Some(policy),
        basis: Some(basis),
        ..Delete::new(target, "v1".into(), Rule::OwnerForeground)
    }))
}

/// `owner` waits for `middle`, which blocks it and has the dependent `lowest`.
fn three() -> World {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner", "finalizers": ["x/y"]}));
    let middle = owned(&mut world, "middle", json!([reference(&owner)]));
    owned(&mut world, "lowest", json!([reference(&middle)]));
    delete(&mut world, "owner", Propagation::Foreground);
    world
}

#[test]
fn a_dependent_is_unblocked_only_while_it_blocks_and_one_of_its_own_waits() {
    let mut world = three();
    is_stale(unblock(&mut world, "middle"));
    delete(&mut world, "lowest", Propagation::Foreground);
    unblock(&mut world, "middle").expect("its dependent waits");
    is_stale(unblock(&mut world, "middle"));

    let mut world = three();
    delete(&mut world, "lowest", Propagation::Foreground);
    let stays = Patch::Merge(json!({"metadata": {"finalizers": ["x/y"]}}));
    world.patch("configmaps", "owner", stays).expect("held");
    is_stale(unblock(&mut world, "middle"));
}

#[test]
fn an_object_goes_in_the_foreground_exactly_if_it_has_dependents_and_closes_no_cycle() {
    use Propagation::{Background, Foreground};
    let now = |world: &World| planned(world, "middle", &[]);
    let mut world = three();
    let plan = now(&world);
    is_stale(collect(&mut world, plan, Background));
    let plan = now(&world);
    collect(&mut world, plan, Foreground).expect("it has a dependent");

    let mut world = three();
    let plan = now(&world);
    delete(&mut world, "lowest", Background);
    is_stale(collect(&mut world, plan.clone(), Foreground));
    collect(&mut world, plan, Background).expect("it is a leaf now");

    let mut world = three();
    let plan = now(&world);
    delete(&mut world, "lowest", Foreground);
    is_stale(collect(&mut world, plan, Foreground));
    unblock(&mut world, "middle").expect("its dependent waits");
    let plan = now(&world);
    collect(&mut world, plan, Foreground).expect("it blocks nobody");
}

#[test]
fn whoever_has_to_be_decided_first_since_a_plan_makes_it_stale() {
    for (deleted, is_above) in [("top", true), ("elsewhere", false)] {
        let mut world = World::new();
        let top = make(&mut world, json!({"name": "top"}));
        let middle = owned(&mut world, "middle", json!([reference(&top)]));
        owned(&mut world, "a", json!([reference(&middle), absent()]));
        let elsewhere = make(&mut world, json!({"name": "elsewhere"}));
        owned(&mut world, "b", json!([reference(&elsewhere)]));
        let plan = planned(&world, "a", &[&middle]);
        delete(&mut world, deleted, Propagation::Background);
        let pruned = prune(&mut world, plan);
        if is_above {
            is_stale(pruned);
            let plan = planned(&world, "a", &[&middle]);
            prune(&mut world, plan).expect("planned after that");
        } else {
            pruned.expect("nothing above it was decided");
        }
    }
}

/// Other contents of a namespace that goes may have waited for what a request removed from it.
#[test]
fn what_leaves_a_namespace_that_goes_is_of_concern_to_its_contents_alone() {
    for (left, is_above) in [("n", true), ("other", false)] {
        let mut world = World::new();
        for namespace in ["n", "other"] {
            let document = json!({"metadata": {"name": namespace}});
            world.create("namespaces", document).expect("created");
            put(&mut world, namespace, json!({"name": "leaves"}));
        }
        let owner = put(&mut world, "n", json!({"name": "solid"}));
        let owners = json!([reference(&owner), absent()]);
        let dependent = put(
            &mut world,
            "n",
            json!({"name": "a", "ownerReferences": owners}),
        );
        for namespace in ["n", "other"] {
            world.delete("namespaces", namespace, None).expect("marked");
        }
        let basis = Basis {
            seen: Some(Seen::of(&dependent)),
            ..Basis::at(world.state.revision)
        };
        let leaves = ObjectKey::new(dependent.key.resource.clone(), left, "leaves");
        let leave = Delete::new(Target::any(leaves), "v1".into(), Rule::Requested);
        world.run(Intent::Delete(leave)).expect("deleted");
        let pruned = prune(&mut world, (target(&dependent), basis));
        if is_above {
            is_stale(pruned);
        } else {
            pruned.expect("nothing left its namespace");
        }
    }
}

fn put(world: &mut World, namespace: &str, metadata: Value) -> Arc<Object> {
    let document = json!({"metadata": metadata});
    let created = world.create_in(namespace, "configmaps", document);
    Arc::clone(created.expect("created").outcome.object())
}

#[test]
fn an_object_that_an_owner_orphans_is_not_pruned() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    owned(&mut world, "a", json!([reference(&owner), absent()]));
    delete(&mut world, "owner", Propagation::Orphan);
    let plan = planned(&world, "a", &[]);
    is_stale(prune(&mut world, plan));
}

#[test]
fn an_object_with_too_much_above_it_waits_for_a_moment_without_requests() {
    let mut world = World::new();
    let mut owner = make(&mut world, json!({"name": "o"}));
    for at in 0..=crate::state::ABOVE_MAX {
        owner = owned(&mut world, &format!("o{at}"), json!([reference(&owner)]));
    }
    owned(&mut world, "a", json!([reference(&owner), absent()]));
    let elsewhere = make(&mut world, json!({"name": "elsewhere"}));
    owned(&mut world, "b", json!([reference(&elsewhere)]));
    let plan = planned(&world, "a", &[&owner]);
    delete(&mut world, "elsewhere", Propagation::Background);
    let refused = prune(&mut world, plan).expect_err("it is out of date");
    let told = refused.to_string();
    assert!(told.contains("1000 objects or more are above it"), "{told}");
    let plan = planned(&world, "a", &[&owner]);
    prune(&mut world, plan).expect("planned after that");
}

/// Each such commit looks up while a definition is being deleted, so it does not look far.
#[test]
fn who_comes_far_below_others_may_be_below_a_definition() {
    for (length, may_be) in [(3, false), (ABOVE_MAX_FOR_DEFINITIONS + 1, true)] {
        let mut world = World::new();
        world.define_things(&[]);
        let mut owner = make(&mut world, json!({"name": "o"}));
        for at in 1..length {
            owner = owned(&mut world, &format!("o{at}"), json!([reference(&owner)]));
        }
        let marked = world.delete("customresourcedefinitions", "things.x.io", None);
        let decision = marked.expect("marked");
        let definition = decision.outcome.object();
        let decided_at = world.state.revision;
        owned(&mut world, "a", json!([reference(&owner)]));
        let finalizer = ServerFinalizer::Definition;
        let released = release_as_of(&mut world, definition, finalizer, decided_at);
        if may_be {
            is_stale(released);
        } else {
            released.expect("nothing came below it");
        }
    }
}

/// An object with so many references to nothing, which stays because of one to an unknown kind.
fn referring(world: &mut World, name: &str, references: usize) -> Arc<Object> {
    let absent = |at| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": format!("{name}{at}")});
    let unknown = json!({"apiVersion": "never.io/v1", "kind": "Never", "name": "a", "uid": "a"});
    let owners: Vec<Value> = (1..references).map(absent).chain([unknown]).collect();
    owned(world, name, owners.into())
}

#[test]
fn each_reference_above_a_step_is_looked_at_once() {
    const MANY: usize = 500;
    let mut world = World::new();
    let owner = referring(&mut world, "x", MANY);
    owned(&mut world, "a", json!([reference(&owner), absent()]));
    let elsewhere = make(&mut world, json!({"name": "elsewhere"}));
    owned(&mut world, "b", json!([reference(&elsewhere)]));
    let plan = planned(&world, "a", &[&owner]);
    delete(&mut world, "elsewhere", Propagation::Background);
    let (pruned, passed) = passed(|| prune(&mut world, plan));
    pruned.expect("nothing above it was decided");
    assert!((MANY..MANY + 50).contains(&passed), "{passed}");
}

/// However many references one object has. More than the largest object can have are too many.
#[test]
fn an_object_with_too_many_references_above_it_waits_too() {
    const EACH: usize = REFERENCES_ABOVE_MAX / 4 + 1;
    for (count, is_refused) in [(1, false), (5, true)] {
        let mut world = World::new();
        let names = (0..count).map(|at| format!("x{at}"));
        let above: Vec<_> = names
            .map(|name| referring(&mut world, &name, EACH))
            .collect();
        let owners = above.iter().map(|owner| reference(owner));
        let owners: Vec<Value> = owners.chain([absent()]).collect();
        owned(&mut world, "a", owners.into());
        let elsewhere = make(&mut world, json!({"name": "elsewhere"}));
        owned(&mut world, "b", json!([reference(&elsewhere)]));
        let above: Vec<&Object> = above.iter().map(|owner| &**owner).collect();
        let plan = planned(&world, "a", &above);
        delete(&mut world, "elsewhere", Propagation::Background);
        let (pruned, passed) = passed(|| prune(&mut world, plan));
        assert!(passed < REFERENCES_ABOVE_MAX + 50, "{passed}");
        if is_refused {
            let told = pruned.expect_err("it is out of date").to_string();
            assert!(told.contains("more than 65536 references"), "{told}");
        } else {
            pruned.expect("nothing above it was decided");
        }
    }
}

/// While a definition is being deleted, every request that changes references looks at what is above.
#[test]
fn who_comes_below_many_references_looks_at_few_of_them() {
    let mut world = World::new();
    world.define_things(&[]);
    let owner = referring(&mut world, "x", 3_000);
    let marked = world.delete("customresourcedefinitions", "things.x.io", None);
    let decision = marked.expect("marked");
    let decided_at = world.state.revision;
    let (_, passed) = passed(|| owned(&mut world, "a", json!([reference(&owner)])));
    assert!(passed < 50, "{passed}");
    let (definition, finalizer) = (decision.outcome.object(), ServerFinalizer::Definition);
    is_stale(release_as_of(&mut world, definition, finalizer, decided_at));
}

/// An object may name tens of thousands of kinds, and a group may have thousands.
#[test]
fn who_names_unknown_kinds_looks_at_each_ending_definition_of_their_group_once() {
    const DEFINITIONS: usize = 20;
    const REFERENCES: usize = 1_000;
    let mut world = World::new();
    for at in 0..DEFINITIONS {
        let plural = format!("k{at}s");
        world.define((&plural, &format!("K{at}")), &["x/y"]);
        let marked = world.delete("customresourcedefinitions", &format!("{plural}.x.io"), None);
        marked.expect("marked");
    }
    let unknown = |at| json!({"apiVersion": "x.io/v1", "kind": format!("Never{at}"), "name": "a", "uid": format!("{at}")});
    let owners: Vec<Value> = (0..REFERENCES).map(unknown).collect();
    let (_, passed) = passed(|| owned(&mut world, "a", owners.into()));
    assert!(passed < 2 * REFERENCES, "{passed}");
}

fn change(world: &mut World, name: &str, metadata: Value) {
    let change = Patch::Merge(json!({"metadata": metadata}));
    world.patch("configmaps", name, change).expect("changed");
}

/// Decides a step that was planned before.
type Step = Box<dyn Fn(&mut World) -> Result<Decision, Rejection>>;

/// An object whose owner is gone, waits or is one of two, and the step that is planned for it.
fn busy(step: &str) -> (World, Step) {
    let mut world = World::new();
    let held = |name: &str| json!({"name": name, "finalizers": ["x/y"]});
    let [solid, gone] = ["solid", "gone"].map(|name| make(&mut world, held(name)));
    let owners = match step {
        "prune" => json!([reference(&solid), absent()]),
        "collect" => json!([absent()]),
        _ => json!([reference(&gone)]),
    };
    let busy = owned(&mut world, "busy", owners);
    if step == "unblock" {
        owned(&mut world, "below", json!([reference(&busy)]));
        delete(&mut world, "below", Propagation::Foreground);
    }
    delete(&mut world, "gone", Propagation::Foreground);
    let plan = planned(&world, "busy", &[]);
    let decide: Step = match step {
        "prune" => Box::new(move |world| prune(world, plan.clone())),
        "unblock" => Box::new(move |world| {
            let (dependent, basis) = plan.clone();
            world.run(Intent::Collect(Collect::Unblock(Unblock {
                dependent,
                basis,
            })))
        }),
        "collect" => Box::new(move |world| {
            let (target, basis) = plan.clone();
            world.run(Intent::Delete(Delete {
                propagation: Some(Propagation::Background),
                basis: Some(basis),
                ..Delete::new(target, "v1".into(), Rule::NoSuchOwner)
            }))
        }),
        _ => Box::new(move |world| collect(world, plan.clone(), Propagation::Background)),
    };
    (world, decide)
}

const BUSY: [&str; 4] = [
    "prune",
    "collect",
    "collect under a waiting owner",
    "unblock",
];

#[test]
fn a_write_that_changes_no_owner_does_not_make_a_plan_stale() {
    for step in BUSY {
        let (mut world, decide) = busy(step);
        change(&mut world, "busy", json!({"labels": {"x": "y"}}));
        let decision = decide(&mut world).expect(step);
        assert_eq!(decision.commits.len(), 1, "{step}");
        let left = world.get("configmaps", "busy");
        let label = left.map(|left| left.document()["metadata"]["labels"]["x"].clone());
        let stays = ["prune", "unblock"].contains(&step);
        assert_eq!(label, stays.then(|| json!("y")), "{step}");
    }
}

#[test]
fn whoever_changes_the_owners_of_an_object_makes_plans_about_them_stale() {
    for step in BUSY {
        let (mut world, decide) = busy(step);
        let object = world.get("configmaps", "busy").expect("it is there");
        let mut owners = object.document()["metadata"]["ownerReferences"].clone();
        let more =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "never"});
        owners.as_array_mut().expect("a list").push(more);
        change(&mut world, "busy", json!({"ownerReferences": owners}));
        is_stale(decide(&mut world));
    }
}

#[test]
fn whoever_deletes_an_object_says_how_it_goes_whatever_was_planned() {
    for step in BUSY {
        for policy in [Propagation::Orphan, Propagation::Foreground] {
            let (mut world, decide) = busy(step);
            delete(&mut world, "busy", policy);
            is_stale(decide(&mut world));
        }
    }
}

#[test]
fn an_object_goes_by_the_finalizers_that_it_has_by_then() {
    for (policy, finalizer) in [
        (Propagation::Orphan, "orphan"),
        (Propagation::Foreground, "foregroundDeletion"),
    ] {
        for step in ["collect", "collect under a waiting owner"] {
            let (mut world, decide) = busy(step);
            change(&mut world, "busy", json!({"finalizers": [finalizer]}));
            is_stale(decide(&mut world));
            let (target, basis) = planned(&world, "busy", &[]);
            let rule = match step {
                "collect" => Rule::NoSuchOwner,
                _ => Rule::OwnerForeground,
            };
            let again = world.run(Intent::Delete(Delete {
                propagation: Some(policy),
                basis: Some(basis),
                ..Delete::new(target, "v1".into(), rule)
            }));
            again.expect("planned after that");
            let marked = world.get("configmaps", "busy").expect("it is held");
            assert_eq!(*marked.meta.finalizers, [finalizer.into()], "{step}");
        }
    }
}
