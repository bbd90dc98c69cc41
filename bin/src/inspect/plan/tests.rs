//! Plans that are cut off, and plans while other objects are going.

use super::*;
use crate::ControlPlane;
use crate::testing::plane;
use hindsight_core::GroupResource;
use hindsight_core::command::{Create, FieldValidation, Patch, PatchObject};
use serde_json::{Value, json};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
}

fn run(plane: &ControlPlane, intent: Intent) -> Arc<Object> {
    let command = Command::new(Arc::new(Actor::new("t")), plane.now(), plane.seed(), intent);
    let mut answers = plane.submit_blocking(vec![command]).expect("written");
    let decision = answers.pop().expect("an answer").expect("it is taken");
    Arc::clone(decision.outcome.object())
}

/// Creates an object; returns the reference by which others name it as their owner.
fn create(plane: &ControlPlane, name: &str, owner: &Value) -> Value {
    let object = run(
        plane,
        Intent::Create(Create {
            key: key(""),
            version: "v1".into(),
            object: json!({"metadata": {"name": name, "ownerReferences": [owner]}}),
            validation: FieldValidation::Ignore,
        }),
    );
    let uid = object.meta.uid.as_str();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true})
}

/// An owner with five dependents.
fn family(plane: &ControlPlane) {
    let owner = create(plane, "owner", &nobody());
    for number in 0..5 {
        create(plane, &format!("child{number}"), &owner);
    }
}

/// An owner of a kind that nobody serves: its dependents stay.
fn nobody() -> Value {
    json!({"apiVersion": "x.io/v1", "kind": "Nobody", "name": "n", "uid": "n"})
}

fn planned(plane: &ControlPlane, name: &str, changes_max: usize) -> Result<Planned, QueryError> {
    planned_as(plane, name, changes_max, Propagation::Foreground)
}

fn planned_as(
    plane: &ControlPlane,
    name: &str,
    changes_max: usize,
    policy: Propagation,
) -> Result<Planned, QueryError> {
    let object = ObjectQuery {
        kind: "configmap".into(),
        name: name.into(),
        ..ObjectQuery::default()
    };
    let world = World {
        reader: plane.reader(),
        state: &plane.state(),
        now: plane.now(),
    };
    match plan_within(changes_max, world, &object, policy)? {
        PlanAnswer::Found(planned) => Ok(planned),
        PlanAnswer::Missing(missing) => panic!("{missing:?}"),
    }
}

#[test]
fn what_was_not_followed_to_its_end_states_no_more_than_was_seen() {
    let plane = plane();
    family(&plane);
    let whole = planned(&plane, "owner", 100).expect("a plan");
    assert_eq!((whole.deleted, whole.complete), (6, true), "{whole:?}");
    for seen in 1..whole.entries.len() {
        let cut = planned(&plane, "owner", seen).expect("a plan");
        let told = (
            cut.entries.len(),
            cut.deleted,
            cut.waiting.len(),
            cut.complete,
        );
        assert_eq!(told, (seen, seen - 1, 0, false), "the owner waits at first");
    }
}

#[test]
fn what_goes_without_it_is_counted_apart() {
    let plane = plane();
    family(&plane);
    create(&plane, "bystander", &nobody());
    let delete = Delete::new(Target::any(key("owner")), "v1".into(), Rule::Requested);
    run(&plane, Intent::Delete(delete));
    let of_bystander = planned(&plane, "bystander", 100).expect("a plan");
    let told = of_bystander
        .entries
        .iter()
        .all(|entry| entry.object.ends_with("/bystander"));
    assert!(told, "{of_bystander:?}");
    assert_eq!((of_bystander.deleted, of_bystander.going_already), (1, 5));
    assert!(
        of_bystander.waiting.is_empty() && of_bystander.complete,
        "{of_bystander:?}"
    );
    // The object that is asked about is reported, although it goes anyway.
    let of_child = planned(&plane, "child1", 100).expect("a plan");
    assert_eq!((of_child.deleted, of_child.going_already), (1, 4));
}

/// The objects of the entries, those that wait, and how many go and how many go anyway.
fn told(plan: &Planned) -> (Vec<&str>, Vec<&str>, usize, usize) {
    let entries = plan.entries.iter().map(|entry| &*entry.object);
    let waiting = plan.waiting.iter().map(|one| &*one.object);
    (
        entries.collect(),
        waiting.collect(),
        plan.deleted,
        plan.going_already,
    )
}

/// Its dependents go because it waits for them, or because it is gone.
#[test]
fn what_becomes_of_an_object_that_is_going_is_told_and_others_are_not_for_their_rule() {
    let plane = plane();
    let owner = create(&plane, "owner", &nobody());
    create(&plane, "free", &owner);
    let delete = Delete {
        propagation: Some(Propagation::Foreground),
        ..Delete::new(Target::any(key("owner")), "v1".into(), Rule::Requested)
    };
    run(&plane, Intent::Delete(delete));
    let path = "configmaps default/owner";
    let again = planned(&plane, "owner", 100).expect("a plan");
    assert_eq!(told(&again).1, [""; 0]);
    assert!(again.entries.iter().any(|one| one.object == path));
    assert!(
        again.entries.iter().all(|one| one.object == path),
        "{again:?}"
    );
    assert_eq!((again.deleted, again.going_already), (1, 1));
    let sooner = planned_as(&plane, "owner", 100, Propagation::Background).expect("a plan");
    assert_eq!(told(&sooner), (vec![path], vec![], 1, 1), "{sooner:?}");

    let held = create(&plane, "held", &owner);
    create(&plane, "behind", &held);
    hold(&plane, "held");
    let sooner = planned_as(&plane, "owner", 100, Propagation::Background).expect("a plan");
    assert_eq!(told(&sooner), (vec![path], vec![], 1, 1), "{sooner:?}");
    let kept = planned_as(&plane, "owner", 100, Propagation::Orphan).expect("a plan");
    let children = kept.entries.iter().filter(|one| one.object != path);
    assert!(children.clone().count() > 0, "{kept:?}");
    assert!(
        children
            .clone()
            .all(|one| one.events.last().map(String::as_str) == Some("updated"))
    );
}

#[test]
fn where_more_is_due_than_is_looked_at_nothing_is_told() {
    let plane = plane();
    let owner = create(&plane, "owner", &nobody());
    for number in 0..11 {
        create(&plane, &format!("child{number}"), &owner);
    }
    create(&plane, "bystander", &nobody());
    let delete = Delete::new(Target::any(key("owner")), "v1".into(), Rule::Requested);
    run(&plane, Intent::Delete(delete));
    let refused = planned(&plane, "bystander", 1).expect_err("too much is due");
    assert!(
        refused.to_string().contains("ask again when fewer are due"),
        "{refused}"
    );
    let told = planned(&plane, "bystander", 2).expect("a plan");
    assert_eq!((told.deleted, told.going_already), (1, 11));
}

fn hold(plane: &ControlPlane, name: &str) {
    run(
        plane,
        Intent::Patch(PatchObject {
            key: key(name),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"metadata": {"finalizers": ["x.io/hold"]}})),
            validation: FieldValidation::Ignore,
        }),
    );
}

#[test]
fn who_goes_after_those_that_are_held_is_told_apart() {
    let plane = plane();
    let owner = create(&plane, "owner", &nobody());
    let child = create(&plane, "child", &owner);
    let grandchild = create(&plane, "grandchild", &child);
    create(&plane, "leaf", &grandchild);
    create(&plane, "bystander", &nobody());
    let in_background = |name, changes_max| {
        planned_as(&plane, name, changes_max, Propagation::Background).expect("a plan")
    };
    let whole = in_background("owner", 100);
    assert!(whole.once_let_go.is_none(), "nobody waits: {whole:?}");
    hold(&plane, "child");
    let whole = in_background("owner", 100);
    assert_eq!((whole.deleted, whole.waiting.len()), (1, 1), "{whole:?}");
    let later = whole.once_let_go.expect("those behind it");
    let behind = ["grandchild", "leaf"].map(|name| format!("configmaps default/{name}"));
    assert_eq!((later.deleted, later.complete), (behind.to_vec(), true));
    let cut = in_background("owner", 2).once_let_go.expect("the first");
    assert_eq!((cut.deleted, cut.complete), (behind[..1].to_vec(), false));

    let delete = Delete {
        propagation: Some(Propagation::Background),
        ..Delete::new(Target::any(key("child")), "v1".into(), Rule::Requested)
    };
    run(&plane, Intent::Delete(delete));
    let unknown = in_background("bystander", 1).once_let_go;
    let unknown = unknown.expect("more is going than was asked for");
    assert_eq!((unknown.deleted, unknown.complete), (vec![], false));
    let of_other = in_background("bystander", 100);
    assert_eq!(of_other.deleted, 1);
    assert!(
        of_other.once_let_go.is_none(),
        "it goes without that: {of_other:?}"
    );
}

/// The first deletion takes the grandchild along at once; the second would make it wait for the child.
#[test]
fn who_goes_at_once_without_the_deletion_is_not_said_to_go_later_because_of_it() {
    let plane = plane();
    let owner = create(&plane, "owner", &nobody());
    let child = create(&plane, "child", &owner);
    create(&plane, "grandchild", &child);
    hold(&plane, "child");
    let delete = Delete {
        propagation: Some(Propagation::Foreground),
        ..Delete::new(Target::any(key("owner")), "v1".into(), Rule::Requested)
    };
    run(&plane, Intent::Delete(delete));
    let again = planned_as(&plane, "owner", 100, Propagation::Background).expect("a plan");
    assert_eq!((again.deleted, again.waiting.len()), (1, 0), "{again:?}");
    assert!(again.once_let_go.is_none(), "{again:?}");
}
