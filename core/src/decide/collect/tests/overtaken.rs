//! A plan is carried out only if no request since then may have changed what comes before it.

use super::{absent, is_stale, make, prune, reference, target};
use crate::command::{Basis, Delete, Intent, Patch, Propagation, Target, Unblock};
use crate::object::Object;
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
    let target = Target {
        revision: Some(object.revision),
        ..target(&object)
    };
    let above = above.iter().map(|one| one.key.clone()).collect();
    let revision = world.state.revision;
    (target, Basis { revision, above })
}

fn unblock(world: &mut World, name: &str) -> Result<Decision, Rejection> {
    let (dependent, basis) = planned(world, name, &[]);
    world.run(Intent::Unblock(Unblock { dependent, basis }))
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
    is_stale(prune(&mut world, plan));
    let plan = planned(&world, "a", &[&owner]);
    prune(&mut world, plan).expect("planned after that");
}
