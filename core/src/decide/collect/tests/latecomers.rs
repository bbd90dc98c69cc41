//! An owner that orphans is released together with those who came to refer to it meanwhile.

use super::{is_stale, make, overtake_below, passed, reference, release_as_of, target};
use crate::command::{Basis, Collect, Propagation, Release};
use crate::object::{Object, ServerFinalizer};
use crate::testing::World;
use crate::{Decision, Intent, Rejection};
use serde_json::{Value, json};
use std::sync::Arc;

fn come(world: &mut World, name: &str, owners: &[&Object]) {
    let owners: Vec<Value> = owners.iter().map(|owner| reference(owner)).collect();
    make(world, json!({"name": name, "ownerReferences": owners}));
}

fn orphan(world: &mut World, name: &str) {
    let orphan = Some(Propagation::Orphan);
    world.delete("configmaps", name, orphan).expect("marked");
}

/// An owner that orphans, and a plan to release it at this moment.
fn planned(world: &World, owner: &Arc<Object>) -> Release {
    Release {
        owner: target(owner),
        finalizer: ServerFinalizer::Orphan,
        basis: Basis::at(world.state.revision),
    }
}

fn release(world: &mut World, plan: &Release) -> Result<Decision, Rejection> {
    world.run(Intent::Collect(Collect::Release(plan.clone())))
}

fn owners(world: &World, name: &str) -> usize {
    let object = world.get("configmaps", name).expect("it is there");
    object.owners().len()
}

#[test]
fn who_came_before_and_after_the_plan_loses_the_owner_with_its_release() {
    let mut world = World::new();
    let [owner, other] = ["owner", "other"].map(|name| make(&mut world, json!({"name": name})));
    orphan(&mut world, "owner");
    come(&mut world, "early", &[&owner]);
    let plan = planned(&world, &owner);
    come(&mut world, "late", &[&other, &owner]);
    let decision = release(&mut world, &plan).expect("released");
    let names: Vec<&str> = decision.commits.iter().map(|one| &*one.key.name).collect();
    assert_eq!(names, ["early", "late", "owner"]);
    assert!(world.get("configmaps", "owner").is_none());
    assert_eq!((owners(&world, "early"), owners(&world, "late")), (0, 1));
}

#[test]
fn who_referred_to_it_before_it_orphaned_makes_a_release_stale() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    come(&mut world, "old", &[&owner]);
    orphan(&mut world, "owner");
    come(&mut world, "late", &[&owner]);
    let plan = planned(&world, &owner);
    is_stale(release(&mut world, &plan));
    let labels = json!({"metadata": {"labels": {"x": "y"}}});
    let labels = crate::command::Patch::Merge(labels);
    world.patch("configmaps", "old", labels).expect("changed");
    is_stale(release(&mut world, &plan));
    world.delete("configmaps", "old", None).expect("gone");
    let decision = release(&mut world, &plan).expect("released");
    assert_eq!(decision.commits.len(), 2);
}

#[test]
fn who_comes_and_goes_again_or_changes_its_mind_is_no_latecomer() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    orphan(&mut world, "owner");
    for name in ["gone", "free", "held"] {
        come(&mut world, name, &[&owner]);
    }
    world.delete("configmaps", "gone", None).expect("gone");
    let free = json!({"metadata": {"ownerReferences": null}});
    let free = crate::command::Patch::Merge(free);
    world.patch("configmaps", "free", free).expect("changed");
    let owner = world.get("configmaps", "owner").expect("it waits");
    let known = world.state.latecomers(&owner).expect("one");
    let names: Vec<&str> = known.iter().map(|one| &*one.key.name).collect();
    assert_eq!(names, ["held"]);
}

#[test]
fn an_owner_without_dependents_is_released_whatever_referred_to_it_since_the_plan() {
    let (orphan, foreground) = (Propagation::Orphan, Propagation::Foreground);
    for (policy, finalizer) in [
        (orphan, ServerFinalizer::Orphan),
        (foreground, ServerFinalizer::Foreground),
    ] {
        for since in ["an event", "gone", "free"] {
            let mut world = World::new();
            let owner = make(&mut world, json!({"name": "owner"}));
            let marked = world.delete("configmaps", "owner", Some(policy));
            marked.expect("marked");
            let planned_at = world.state.revision;
            let metadata = json!({"name": "late", "ownerReferences": [reference(&owner)]});
            if since == "an event" {
                let event =
                    json!({"metadata": metadata, "involvedObject": {"namespace": "default"}});
                world.create("events", event).expect("created");
            } else {
                make(&mut world, metadata);
            }
            if since == "gone" {
                world.delete("configmaps", "late", None).expect("gone");
            }
            if since == "free" {
                let free = json!({"metadata": {"ownerReferences": null}});
                let free = crate::command::Patch::Merge(free);
                world.patch("configmaps", "late", free).expect("changed");
            }
            let released = release_as_of(&mut world, &owner, finalizer, planned_at);
            assert!(released.is_ok(), "{policy:?}, {since}: {released:?}");
        }
    }
}

#[test]
fn more_than_one_decision_takes_are_orphaned_before() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    orphan(&mut world, "owner");
    for number in 0..257 {
        come(&mut world, &format!("late{number}"), &[&owner]);
    }
    let plan = planned(&world, &owner);
    is_stale(release(&mut world, &plan));
    world.delete("configmaps", "late0", None).expect("gone");
    let decision = release(&mut world, &plan).expect("released");
    assert_eq!(decision.commits.len(), 257);
}

#[test]
fn more_bytes_than_one_decision_takes_are_orphaned_before() {
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    orphan(&mut world, "owner");
    let data = json!({"large": "x".repeat(1 << 20)});
    for number in 0..32 {
        let name = format!("late{number}");
        let metadata = json!({"name": name, "ownerReferences": [reference(&owner)]});
        let late = json!({"metadata": metadata, "data": data});
        world.create("configmaps", late).expect("created");
    }
    let plan = planned(&world, &owner);
    is_stale(release(&mut world, &plan));
    world.delete("configmaps", "late0", None).expect("gone");
    let decision = release(&mut world, &plan).expect("released");
    assert_eq!(decision.commits.len(), 32);
}

#[test]
fn what_is_above_the_namespace_of_those_who_came_is_passed_once() {
    const MANY: usize = 1_000;
    let mut world = World::new();
    let owner = make(&mut world, json!({"name": "owner"}));
    orphan(&mut world, "owner");
    for number in 0..20 {
        come(&mut world, &format!("late{number}"), &[&owner]);
    }
    let plan = planned(&world, &owner);
    overtake_below(&mut world, MANY);
    let (released, passed) = passed(|| release(&mut world, &plan));
    assert_eq!(released.expect("released").commits.len(), 21);
    // For those who came, and for the owner before and after they lose it.
    assert!((MANY..4 * MANY).contains(&passed), "{passed}");
}
