//! What is above a deadlock is looked at again before its release, once for all members.

use super::{absent, is_stale, make, overtake_below, passed, reference, target};
use crate::command::{Basis, Collect, Deadlock, Patch, Propagation, Target};
use crate::object::Object;
use crate::testing::World;
use crate::{Decision, Intent, Rejection};
use serde_json::{Value, json};

fn own(world: &mut World, name: &str, owners: &[Value]) {
    let owners = Patch::Merge(json!({"metadata": {"ownerReferences": owners}}));
    world.patch("configmaps", name, owners).expect("owned");
}

/// So many objects that own each other in a ring, wait, and are held by another finalizer. The last one is owned by
/// this object too.
fn ring(world: &mut World, length: usize, also: &Object) -> Vec<Target> {
    let names: Vec<String> = (0..length).map(|number| format!("r{number:02}")).collect();
    let made = names.iter();
    let made = made.map(|name| make(world, json!({"name": name, "finalizers": ["x/y"]})));
    let made: Vec<_> = made.collect();
    for (name, owner) in names.iter().zip(made.iter().cycle().skip(1)) {
        own(world, name, &[reference(owner)]);
    }
    let last = names.last().expect("a member");
    own(world, last, &[reference(&made[0]), reference(also)]);
    for name in &names {
        let marked = world.delete("configmaps", name, Some(Propagation::Foreground));
        marked.expect("marked");
    }
    made.iter().map(|one| target(one)).collect()
}

/// The release of a ring, planned now.
fn planned(world: &World, members: Vec<Target>, also: &Object) -> Intent {
    let above = members.iter().map(|member| &member.key).chain([&also.key]);
    let basis = Basis {
        above: above.cloned().collect(),
        ..Basis::at(world.state.revision)
    };
    Intent::Collect(Collect::BreakDeadlock(Deadlock { members, basis }))
}

/// What becomes of a ring if a request is made between the plan and its decision.
fn broken_after(request: impl FnOnce(&mut World)) -> Result<Decision, Rejection> {
    let mut world = World::new();
    let [also, other] = ["also", "other"].map(|name| make(&mut world, json!({"name": name})));
    let owners = json!([reference(&other)]);
    make(
        &mut world,
        json!({"name": "below", "ownerReferences": owners}),
    );
    let members = ring(&mut world, 3, &also);
    let planned = planned(&world, members, &also);
    request(&mut world);
    world.run(planned)
}

#[test]
fn whoever_has_to_be_decided_before_any_member_makes_a_deadlock_stale() {
    let broken = broken_after(|world| own(world, "other", &[absent()]));
    assert_eq!(broken.expect("it is above no member").commits.len(), 3);
    is_stale(broken_after(|world| own(world, "also", &[absent()])));
}

#[test]
fn what_is_above_a_deadlock_is_not_passed_again_for_each_member() {
    const LENGTH: usize = 50;
    let mut world = World::new();
    let also = make(&mut world, json!({"name": "also"}));
    let members = ring(&mut world, LENGTH, &also);
    let planned = planned(&world, members, &also);
    own(&mut world, "also", &[reference(&also)]);
    let (broken, passed) = passed(|| world.run(planned));
    let broken = broken.expect("nothing is decided first");
    assert_eq!(broken.commits.len(), LENGTH);
    assert!((LENGTH..=5 * LENGTH).contains(&passed), "{passed}");
}

#[test]
fn what_is_above_the_namespace_of_a_deadlock_is_passed_once() {
    const MANY: usize = 1_000;
    let mut world = World::new();
    let also = make(&mut world, json!({"name": "also"}));
    let members = ring(&mut world, 20, &also);
    let planned = planned(&world, members, &also);
    overtake_below(&mut world, MANY);
    let (broken, passed) = passed(|| world.run(planned));
    broken.expect("nothing is decided first");
    assert!((MANY..2 * MANY).contains(&passed), "{passed}");
}
