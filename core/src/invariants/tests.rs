//! Every invariant refuses a commit that breaks it, and lets every decision of a busy world pass.

mod finalizers;
mod grounds;
mod marks;
mod owners;

use super::check;
use crate::command::{Patch, Propagation};
use crate::event::{Cause, Commit, Event, OwnerClass, OwnerFinding};
use crate::object::{Mark, Object, ObjectKey};
use crate::testing::World;
use crate::{GroupResource, Revision, Rule, State};
use serde_json::{Value, json};
use std::sync::Arc;

/// Two namespaces, one of them being deleted; an owner, its dependent, and an object that a finalizer
/// holds.
fn world() -> World {
    let mut world = World::new();
    let owner = create(&mut world, json!({"name": "owner"}));
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner.meta.uid.as_str()});
    create(
        &mut world,
        json!({"name": "dependent", "ownerReferences": [reference]}),
    );
    create(&mut world, json!({"name": "held", "finalizers": ["x/y"]}));
    world
        .create("namespaces", json!({"metadata": {"name": "going"}}))
        .expect("a namespace");
    world.delete("namespaces", "going", None).expect("marked");
    world.delete("configmaps", "held", None).expect("marked");
    world
}

fn create(world: &mut World, metadata: Value) -> Arc<Object> {
    let created = world.create("configmaps", json!({"metadata": metadata}));
    Arc::clone(created.expect("created").outcome.object())
}

/// A commit made by hand that follows the last one of the world.
fn commit(world: &World, key: ObjectKey, uid: &str, events: Vec<Event>) -> Commit {
    let like = world.commits.last().expect("there are commits");
    Commit {
        revision: world.state.revision.next(),
        key,
        uid: uid.into(),
        events,
        ..(**like).clone()
    }
}

fn deleted(rule: Rule, owners: Vec<OwnerFinding>) -> Event {
    Event::ObjectDeleted {
        rule,
        owners,
        decided_at: Revision(1),
    }
}

fn version(state: &State, key: &ObjectKey, change: impl FnOnce(&mut Value)) -> Arc<Object> {
    let old = state.get(key).expect("it is there");
    let mut document = old.document();
    change(&mut document["metadata"]);
    let version = Object::from_value(key.clone(), document, state.revision.next(), old.mark);
    Arc::new(version.expect("an object"))
}

#[track_caller]
fn refused(world: &World, commit: &Commit, what: &str) {
    let violation = check(&world.state, commit).expect_err(what).to_string();
    assert!(violation.contains(what), "{violation}");
}

#[test]
fn steps_that_break_the_order_are_refused() {
    let world = world();
    let owner = world.get("configmaps", "owner").expect("it is there");
    let removal = |change: fn(&mut Commit)| {
        let events = vec![deleted(Rule::Requested, Vec::new())];
        let mut commit = commit(&world, owner.key.clone(), owner.meta.uid.as_str(), events);
        change(&mut commit);
        commit
    };
    assert_eq!(check(&world.state, &removal(|_| {})), Ok(()));
    let skips = removal(|commit| commit.revision = commit.revision.next());
    refused(&world, &skips, "its revision should be");
    let backwards = removal(|commit| commit.cause = Cause::Commit(commit.revision));
    refused(&world, &backwards, "does not precede it");
    refused(
        &world,
        &removal(|commit| commit.events.clear()),
        "the commit has no events",
    );
    refused(
        &world,
        &removal(|commit| commit.uid = "other".into()),
        "another uid",
    );
    let twice = removal(|commit| commit.events.push(deleted(Rule::Requested, Vec::new())));
    refused(&world, &twice, "two outcomes");
    let nobody = removal(|commit| commit.key.name = "nobody".into());
    refused(&world, &nobody, "ObjectDeleted over no object");
}

#[test]
fn a_version_of_another_object_or_revision_is_refused() {
    let world = world();
    let owner = world.get("configmaps", "owner").expect("it is there");
    let dependent = world.get("configmaps", "dependent").expect("it is there");
    let next = world.state.revision.next();
    let uid = owner.meta.uid.as_str();
    for (key, of, revision) in [
        (&dependent.key, &owner, next),
        (&owner.key, &dependent, next),
        (&owner.key, &owner, next.next()),
    ] {
        let object = Object::from_value(key.clone(), of.document(), revision, None);
        let object = Arc::new(object.expect("an object"));
        let events = vec![Event::ObjectUpdated { object }];
        refused(
            &world,
            &commit(&world, owner.key.clone(), uid, events),
            "the version is of another object or revision",
        );
    }
}

#[test]
fn what_a_finalizer_holds_is_not_removed_and_a_mark_is_not_taken_back() {
    let world = world();
    let held = world.get("configmaps", "held").expect("it is there");
    let uid = held.meta.uid.as_str();
    let removal = vec![deleted(Rule::Requested, Vec::new())];
    refused(
        &world,
        &commit(&world, held.key.clone(), uid, removal),
        "removed while x/y holds it",
    );
    let forgotten = version(&world.state, &held.key, |metadata| {
        metadata["deletionTimestamp"] = Value::Null;
    });
    let events = vec![Event::ObjectUpdated { object: forgotten }];
    refused(
        &world,
        &commit(&world, held.key.clone(), uid, events),
        "its deletion mark was removed",
    );
    let other = Mark {
        revision: Revision(1),
        rule: Rule::Requested,
    };
    let next = world.state.revision.next();
    let remarked = Object::from_value(held.key.clone(), held.document(), next, Some(other));
    let object = Arc::new(remarked.expect("an object"));
    let events = vec![Event::ObjectUpdated { object }];
    refused(
        &world,
        &commit(&world, held.key.clone(), uid, events),
        "its deletion mark was removed or changed",
    );
    let gained = version(&world.state, &held.key, |metadata| {
        metadata["finalizers"] = json!(["x/y", "x/z"]);
    });
    let events = vec![Event::ObjectUpdated { object: gained }];
    refused(
        &world,
        &commit(&world, held.key.clone(), uid, events),
        "it gained finalizer x/z",
    );
}

#[test]
fn a_dependent_of_a_live_owner_is_not_collected() {
    let world = world();
    let dependent = world.get("configmaps", "dependent").expect("it is there");
    let owner = dependent.meta.owner_references[0].clone();
    let found = OwnerFinding {
        owner,
        class: OwnerClass::Dangling,
    };
    for (owners, what) in [
        (vec![found], "still keeps it"),
        (Vec::new(), "not all of its owners were looked at"),
    ] {
        let events = vec![deleted(Rule::OwnersAbsent, owners)];
        let key = dependent.key.clone();
        let uid = dependent.meta.uid.as_str();
        refused(&world, &commit(&world, key, uid, events), what);
    }
}

#[test]
fn a_dependent_of_an_unknown_owner_is_not_collected() {
    let mut world = world();
    let owner = json!({"apiVersion": "example.com/v1", "kind": "Unknown", "name": "u", "uid": "u"});
    let object = create(
        &mut world,
        json!({"name": "strange", "ownerReferences": [owner]}),
    );
    let found = OwnerFinding {
        owner: object.meta.owner_references[0].clone(),
        class: OwnerClass::Dangling,
    };
    let events = vec![deleted(Rule::OwnersAbsent, vec![found])];
    let removal = commit(&world, object.key.clone(), object.meta.uid.as_str(), events);
    refused(&world, &removal, "Unknown u still keeps it");
}

/// The commit by which the collector releases the owner of the world.
fn release(world: &World, finalizer: &str) -> Commit {
    let owner = world.get("configmaps", "owner").expect("it is there");
    let events = vec![
        Event::FinalizerRemoved {
            finalizer: finalizer.into(),
        },
        deleted(Rule::Requested, Vec::new()),
    ];
    Commit {
        cause: Cause::Commit(world.state.revision),
        ..commit(world, owner.key.clone(), owner.meta.uid.as_str(), events)
    }
}

#[test]
fn an_owner_is_not_let_go_before_its_dependents_are() {
    for (policy, finalizer, what) in [
        (Propagation::Orphan, "orphan", "1 objects still refer to it"),
        (
            Propagation::Foreground,
            "foregroundDeletion",
            "1 objects still block it",
        ),
    ] {
        let mut world = world();
        let owner = world.get("configmaps", "owner").expect("it is there");
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": owner.meta.uid.as_str(), "blockOwnerDeletion": true});
        let blocks = json!({"metadata": {"ownerReferences": [reference]}});
        let blocks = Patch::Merge(blocks);
        world
            .patch("configmaps", "dependent", blocks)
            .expect("it blocks");
        world
            .delete("configmaps", "owner", Some(policy))
            .expect("marked");
        refused(&world, &release(&world, finalizer), what);
        let by_hand = Commit {
            cause: Cause::Request,
            ..release(&world, finalizer)
        };
        assert_eq!(check(&world.state, &by_hand), Ok(()), "clients may");
        let free = Patch::Merge(json!({"metadata": {"ownerReferences": null}}));
        world.patch("configmaps", "dependent", free).expect("free");
        assert_eq!(check(&world.state, &release(&world, finalizer)), Ok(()));
    }
}

#[test]
fn a_cycle_of_owners_that_wait_is_let_go_as_a_whole() {
    let mut world = world();
    let owner = world.get("configmaps", "owner").expect("it is there");
    let dependent = world.get("configmaps", "dependent").expect("it is there");
    for (name, of) in [("owner", &dependent), ("dependent", &owner)] {
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": &*of.key.name,
            "uid": of.meta.uid.as_str(), "blockOwnerDeletion": true});
        let blocks = Patch::Merge(json!({"metadata": {"ownerReferences": [reference]}}));
        world.patch("configmaps", name, blocks).expect("it blocks");
    }
    let foreground = Some(Propagation::Foreground);
    world
        .delete("configmaps", "owner", foreground)
        .expect("marked");
    refused(
        &world,
        &release(&world, "foregroundDeletion"),
        "1 objects still block it",
    );
    world
        .delete("configmaps", "dependent", foreground)
        .expect("marked");
    assert_eq!(
        check(&world.state, &release(&world, "foregroundDeletion")),
        Ok(())
    );
    // The dependent as its own release leaves it, and then the causes that the owner may be released for.
    let let_go = version(&world.state, &dependent.key, |metadata| {
        metadata["finalizers"] = json!(["x/y"]);
    });
    let revision = let_go.revision;
    let events = vec![
        Event::FinalizerRemoved {
            finalizer: "foregroundDeletion".into(),
        },
        Event::ObjectUpdated { object: let_go },
    ];
    let uid = dependent.meta.uid.as_str();
    let first = commit(&world, dependent.key.clone(), uid, events);
    crate::apply(&mut world.state, &first);
    let because_of = |cause| Commit {
        revision: revision.next(),
        cause: Cause::Commit(cause),
        ..release(&world, "foregroundDeletion")
    };
    let marked = owner_mark(&world);
    refused(&world, &because_of(marked), "1 objects still block it");
    assert_eq!(check(&world.state, &because_of(revision)), Ok(()));
}

#[test]
fn somebody_beside_the_cycle_holds_the_owner_until_he_waits_too() {
    let mut world = world();
    let owner = world.get("configmaps", "owner").expect("it is there");
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner.meta.uid.as_str(), "blockOwnerDeletion": true});
    for name in ["member", "other"] {
        let held = json!({"name": name, "ownerReferences": [reference], "finalizers": ["x/y"]});
        create(&mut world, held);
    }
    for name in ["owner", "member"] {
        let foreground = Some(Propagation::Foreground);
        let marked = world.delete("configmaps", name, foreground);
        marked.expect("marked");
    }
    let what = "2 objects still block it";
    refused(&world, &release(&world, "foregroundDeletion"), what);
    let background = Some(Propagation::Background);
    let marked = world.delete("configmaps", "other", background);
    marked.expect("marked");
    create(&mut world, json!({"name": "unrelated"}));
    refused(&world, &release(&world, "foregroundDeletion"), what);
    let foreground = Some(Propagation::Foreground);
    let waits = world.delete("configmaps", "other", foreground);
    waits.expect("it waits");
    let all_wait = release(&world, "foregroundDeletion");
    assert_eq!(check(&world.state, &all_wait), Ok(()));
}

fn owner_mark(world: &World) -> Revision {
    let owner = world.get("configmaps", "owner").expect("it is there");
    owner.mark.expect("it is going").revision
}

#[test]
fn nothing_is_made_in_a_namespace_that_its_kind_does_not_have() {
    let world = world();
    let owner = world.get("configmaps", "owner").expect("it is there");
    for (resource, namespace) in [("namespaces", "default"), ("configmaps", "")] {
        let key = ObjectKey::new(GroupResource::new("", resource), namespace, "new");
        let next = world.state.revision.next();
        let object = Object::from_value(key.clone(), owner.document(), next, None);
        let object = Arc::new(object.expect("an object"));
        let events = vec![Event::ObjectCreated { object }];
        let commit = commit(&world, key, owner.meta.uid.as_str(), events);
        refused(&world, &commit, "created where its kind is not");
    }
}

#[test]
fn nothing_is_made_in_a_namespace_that_goes_and_nothing_outlives_one() {
    let world = world();
    let owner = world.get("configmaps", "owner").expect("it is there");
    for namespace in ["going", "nowhere"] {
        let key = ObjectKey::new(owner.key.resource.clone(), namespace, "new");
        let next = world.state.revision.next();
        let object = Object::from_value(key.clone(), owner.document(), next, None);
        let object = Arc::new(object.expect("an object"));
        let events = vec![Event::ObjectCreated { object }];
        refused(
            &world,
            &commit(&world, key, owner.meta.uid.as_str(), events),
            "created although its namespace",
        );
    }
    let namespace = world.get("namespaces", "default").expect("it is there");
    let events = vec![deleted(Rule::Requested, Vec::new())];
    let key = namespace.key.clone();
    let removal = commit(&world, key, namespace.meta.uid.as_str(), events);
    refused(&world, &removal, "3 objects remain");
}
