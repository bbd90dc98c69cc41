//! What an embedder is told is what the command line and HTTP are told.

use crate::core::command::{Create, Delete, FieldValidation, Propagation, Target, Update};
use crate::core::{
    Actor, Command, GroupResource, Intent, Object, ObjectKey, Rejection, Request, Rule, Uid,
};
use crate::gc::Identity;
use crate::projector::Fate;
use crate::{Config, ControlPlane};
use serde_json::{Value, json};
use std::sync::Arc;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
}

fn command(plane: &ControlPlane, intent: Intent) -> Command {
    let request = Request {
        verb: "asked".into(),
        ..Request::default()
    };
    Command {
        request: Arc::new(request),
        ..Command::new(
            Arc::new(Actor::new("alice")),
            plane.now(),
            plane.seed(),
            intent,
        )
    }
}

fn run(plane: &ControlPlane, intent: Intent) -> Arc<Object> {
    let mut answers = plane
        .submit_blocking(vec![command(plane, intent)])
        .expect("written");
    let decision = answers.pop().expect("an answer").expect("it is taken");
    Arc::clone(decision.outcome.object())
}

fn create(plane: &ControlPlane, name: &str, owner: Option<&Object>) -> Arc<Object> {
    let owner = owner.map(|owner| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": &*owner.key.name,
            "uid": owner.meta.uid.as_str()})
    });
    let owners: Vec<Value> = owner.into_iter().collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
    make(plane, &key(name), object)
}

fn delete(name: &str) -> Intent {
    let delete = Delete {
        propagation: Some(Propagation::Background),
        ..Delete::new(Target::any(key(name)), "v1".into(), Rule::Requested)
    };
    Intent::Delete(delete)
}

/// Waits until the collectors have done this to an object.
fn wait_for(plane: &ControlPlane, name: &str, is_done: impl Fn(Option<&Arc<Object>>) -> bool) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut changed = plane.changed();
    while !is_done(plane.state().get(&key(name))) {
        runtime.block_on(changed.next()).expect("it goes");
    }
}

#[test]
fn a_deletion_is_foretold_and_then_explained() {
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let owner = create(&plane, "owner", None);
    create(&plane, "child", Some(&owner));
    let before = plane.state().revision;

    let foretold = plane
        .forecast(command(&plane, delete("owner")))
        .expect("the log is read");
    let commits = foretold.course.changes.iter().map(|change| &change.commit);
    let who: Vec<_> = commits
        .map(|commit| (commit.key.clone(), Identity::of(&commit.actor)))
        .collect();
    let by_collector = (key("child"), Some(Identity::GarbageCollector));
    assert_eq!(who, [(key("owner"), None), by_collector]);
    assert!(foretold.course.is_complete && foretold.due.changes.is_empty());
    assert_eq!(plane.state().revision, before, "nothing is written");
    let refused = plane.forecast(command(&plane, delete("nobody")));
    let refused = refused.expect("the log is read").answer;
    assert!(matches!(refused, Err(Rejection::NotFound { .. })));

    let there = plane.explain(&key("child"), None).expect("read");
    assert_eq!(there.explanation.state, Fate::Live);
    assert_eq!(there.reasons, ["its owner ConfigMap owner exists"]);
    run(&plane, delete("owner"));
    wait_for(&plane, "child", |child| child.is_none());
    let child = plane.explain(&key("child"), None).expect("read");
    let why = child.explanation;
    assert_eq!(
        (why.state, why.rule),
        (Fate::Deleted, Some(Rule::OwnersAbsent))
    );
    assert_eq!(why.object.kind, "ConfigMap");
    let then = plane.forecast_at(before, command(&plane, delete("owner")));
    assert_eq!(then.expect("kept").course.changes.len(), 2);
    let root = why.root.expect("it is kept");
    assert_eq!((&*root.user, &*root.verb), ("alice", "asked"));
    assert!(child.reasons.is_empty());
    let other = plane.explain(&key("child"), Some(&Uid::from("other")));
    assert_eq!(other.expect("read").explanation.state, Fate::Unknown);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut changed = plane.changed();
    plane.close();
    // What was not waited for yet, and then the end.
    while runtime.block_on(changed.next()).is_some() {}
}

/// A definition of a kind in a group.
fn defined(group: &str, plural: &str, kind: &str) -> (ObjectKey, Value) {
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object"}}});
    let key = ObjectKey::definition(&format!("{plural}.{group}"));
    let metadata = json!({"name": &*key.name, "finalizers": ["x.io/hold"],
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}});
    let spec = json!({"group": group, "scope": "Namespaced", "versions": [version],
        "names": {"plural": plural, "kind": kind}});
    (key, json!({"metadata": metadata, "spec": spec}))
}

fn make(plane: &ControlPlane, key: &ObjectKey, object: Value) -> Arc<Object> {
    let create = Create {
        key: key.clone(),
        version: "v1".into(),
        object,
        validation: FieldValidation::Strict,
    };
    run(plane, Intent::Create(create))
}

fn take_away(plane: &ControlPlane, key: &ObjectKey) -> Arc<Object> {
    let delete = Delete::new(Target::any(key.clone()), "v1".into(), Rule::Requested);
    run(plane, Intent::Delete(delete))
}

#[test]
fn what_takes_an_object_along_is_told() {
    let plane = crate::testing::plane();
    let (definition, document) = defined("example.com", "widgets", "Widget");
    let instance = ObjectKey::new(GroupResource::new("example.com", "widgets"), "default", "w");
    make(&plane, &definition, document);
    make(&plane, &instance, json!({"metadata": {"name": "w"}}));
    let reasons = |key| plane.explain(key, None).expect("read").reasons;
    assert_eq!(reasons(&instance), [""; 0]);
    let going = take_away(&plane, &definition);
    let since = going
        .meta
        .deletion_timestamp
        .expect("it waits")
        .to_rfc3339();
    let along = format!(
        "its definition widgets.example.com has been terminating since {since}, and takes it along"
    );
    assert_eq!(reasons(&instance), [along]);
    let holder = "waits for customresourcecleanup.apiextensions.k8s.io: 1 instance left";
    let held = reasons(&definition);
    assert!(held.contains(&holder.into()), "{held:?}");
}

/// A built-in kind needs no definition, and is not an instance of one.
#[test]
fn a_definition_is_no_instance_of_itself() {
    let plane = crate::testing::plane();
    let (other, document) = defined("example.com", "widgets", "Widget");
    make(&plane, &other, document);
    let kind = "CustomResourceDefinition";
    let (own, document) = defined("apiextensions.k8s.io", "customresourcedefinitions", kind);
    make(&plane, &own, document);
    take_away(&plane, &own);
    let reasons = |key| plane.explain(key, None).expect("read").reasons;
    let held = reasons(&own);
    assert!(held.contains(&"waits for x.io/hold".into()), "{held:?}");
    assert_eq!(reasons(&other), [""; 0], "nobody takes it along");
}

fn reasons_of(plane: &ControlPlane, name: &str) -> Vec<String> {
    plane.explain(&key(name), None).expect("read").reasons
}

#[test]
fn an_owner_that_is_created_again_says_nothing_of_what_went_with_the_first() {
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let owner = create(&plane, "owner", None);
    create(&plane, "kid", Some(&owner));
    run(&plane, delete("owner"));
    wait_for(&plane, "kid", |kid| kid.is_none());
    assert_eq!(reasons_of(&plane, "kid"), [""; 0]);
    let owner = create(&plane, "owner", None);
    assert_eq!(
        reasons_of(&plane, "kid"),
        [""; 0],
        "the reference was right"
    );

    // Now it is there again before the collector looks.
    create(&plane, "late", Some(&owner));
    let again = Create {
        key: key("owner"),
        version: "v1".into(),
        object: json!({"metadata": {"name": "owner"}}),
        validation: FieldValidation::Strict,
    };
    let both = [delete("owner"), Intent::Create(again)];
    let both = both.map(|intent| command(&plane, intent));
    for answer in plane.submit_blocking(both.into()).expect("written") {
        answer.expect("it is taken");
    }
    wait_for(&plane, "late", |late| late.is_none());
    assert_eq!(reasons_of(&plane, "late"), [""; 0]);
}

/// An object whose reference has a UID that no object ever had.
fn mistaken(name: &str, finalizers: &[&str]) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "made-up"});
    json!({"metadata": {"name": name, "finalizers": finalizers, "ownerReferences": [owner]}})
}

#[test]
fn what_was_wrong_with_a_reference_stays_known() {
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let owner = create(&plane, "owner", None);
    let wrong = format!(
        "its reference to ConfigMap owner has the uid made-up, and the ConfigMap owner that existed then had the uid \
         {}; an owner must match in kind, name and uid",
        owner.meta.uid
    );
    make(&plane, &key("kid"), mistaken("kid", &[]));
    wait_for(&plane, "kid", |kid| kid.is_none());
    assert_eq!(reasons_of(&plane, "kid"), std::slice::from_ref(&wrong));

    make(&plane, &key("held"), mistaken("held", &["x.io/hold"]));
    wait_for(&plane, "held", |held| {
        held.is_none_or(|held| held.is_deleting())
    });
    let waits = "waits for x.io/hold".to_owned();
    assert_eq!(reasons_of(&plane, "held"), [waits, wrong.clone()]);
    let released = Update {
        key: key("held"),
        version: "v1".into(),
        subresource: None,
        object: mistaken("held", &[]),
        validation: FieldValidation::Strict,
    };
    run(&plane, Intent::Update(released));
    assert!(plane.state().get(&key("held")).is_none());

    run(&plane, delete("owner"));
    for name in ["kid", "held"] {
        assert_eq!(
            reasons_of(&plane, name),
            std::slice::from_ref(&wrong),
            "{name}"
        );
    }
    create(&plane, "owner", None);
    for name in ["kid", "held"] {
        assert_eq!(
            reasons_of(&plane, name),
            std::slice::from_ref(&wrong),
            "{name}"
        );
    }
}
