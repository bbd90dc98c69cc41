//! What objects in deletion wait for, in words.

use super::*;
use crate::ControlPlane;
use crate::testing::plane;
use hindsight_core::command::{
    Create, Delete, FieldValidation, Intent, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::kind::Subresource;
use hindsight_core::{Actor, Command, GroupResource, Rule};
use serde_json::{Value, json};

fn run(plane: &ControlPlane, intent: Intent) {
    let actor = Arc::new(Actor::new("t"));
    let command = Command::new(actor, plane.now(), plane.seed(), intent);
    let mut answers = plane.submit_blocking(vec![command]).expect("written");
    answers.pop().expect("an answer").expect("it is taken");
}

fn create(plane: &ControlPlane, resource: &str, namespace: &str, metadata: &Value) {
    let intent = Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", resource), namespace, ""),
        version: "v1".into(),
        object: json!({"metadata": metadata}),
        validation: FieldValidation::Ignore,
    });
    run(plane, intent);
}

fn delete(plane: &ControlPlane, key: &ObjectKey, propagation: Option<Propagation>) {
    let delete = Delete {
        propagation,
        ..Delete::new(Target::any(key.clone()), "v1".into(), Rule::Requested)
    };
    run(plane, Intent::Delete(delete));
}

fn map(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
}

fn uid_of(plane: &ControlPlane, name: &str) -> String {
    let state = plane.state();
    let object = state.get(&map(name)).expect("it is there");
    object.meta.uid.to_string()
}

#[test]
fn an_owner_in_the_foreground_says_who_blocks_it_and_why_these_stay() {
    let plane = plane();
    let reference = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true});
    let uid = |name: &str| uid_of(&plane, name);
    let kid = |name: &str, metadata: Value| {
        let mut metadata = metadata;
        metadata["name"] = name.into();
        create(&plane, "configmaps", "default", &metadata);
    };
    let delete = |name: &str, propagation| delete(&plane, &map(name), propagation);
    let told = || {
        let state = plane.state();
        Reasons::new(&state)
            .of(state.get(&map("a")).expect("it waits"))
            .join(" | ")
    };
    kid("a", json!({}));
    let (a, foreground) = (uid("a"), Some(Propagation::Foreground));
    kid("mid", json!({"ownerReferences": [reference("a", &a)]}));
    delete("a", foreground);
    assert_eq!(
        told(),
        "waits for foregroundDeletion: 1 dependent blocks it"
    );
    let unknown = json!({"apiVersion": "no.such/v1", "kind": "N", "name": "n", "uid": "u"});
    kid(
        "unres",
        json!({"ownerReferences": [reference("a", &a), unknown]}),
    );
    let stays = "configmaps default/unres stays: whether its owner N n exists is unknown: no.such/v1 is not \
        served here, or not in the scope that the reference looks in";
    let expected = format!("waits for foregroundDeletion: 2 dependents block it; {stays}");
    assert_eq!(told(), expected);
    // They wait for each other.
    kid(
        "end",
        json!({"ownerReferences": [reference("mid", &uid("mid"))]}),
    );
    let others = json!([reference("a", &a), reference("end", &uid("end"))]);
    run(
        &plane,
        Intent::Patch(PatchObject {
            key: map("mid"),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"metadata": {"ownerReferences": others}})),
            validation: FieldValidation::Ignore,
        }),
    );
    delete("mid", foreground);
    delete("end", foreground);
    let expected = format!(
        "waits for foregroundDeletion: 2 dependents block it; configmaps default/mid waits for \
         foregroundDeletion: 1 dependent blocks it; {stays}"
    );
    assert_eq!(told(), expected);
}

/// Makes a definition and an instance of it; returns their keys.
fn make_widget(plane: &ControlPlane) -> (ObjectKey, ObjectKey) {
    let make = |resource: &GroupResource, object: Value| {
        let intent = Intent::Create(Create {
            key: ObjectKey::new(resource.clone(), "", ""),
            version: "v1".into(),
            object,
            validation: FieldValidation::Ignore,
        });
        run(plane, intent);
    };
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let names = json!({"plural": "widgets", "kind": "Widget"});
    let spec =
        json!({"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]});
    let definition = ObjectKey::definition("widgets.example.com");
    let named = json!({"name": "widgets.example.com"});
    make(
        &definition.resource,
        json!({"metadata": named, "spec": spec}),
    );
    let widget = ObjectKey::new(GroupResource::new("example.com", "widgets"), "", "w");
    let (version, named) = ("example.com/v1", json!({"name": "w"}));
    make(
        &widget.resource,
        json!({"apiVersion": version, "kind": "Widget", "metadata": named}),
    );
    (definition, widget)
}

/// Each waits for the other.
#[test]
fn a_definition_that_blocks_its_own_instance_is_told_of_without_end_to_neither() {
    let plane = plane();
    let (definition, widget) = make_widget(&plane);
    let state = plane.state();
    let uid = state
        .get(&widget)
        .expect("an instance")
        .meta
        .uid
        .as_str()
        .to_owned();
    let owner = json!({"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": uid,
        "blockOwnerDeletion": true});
    run(
        &plane,
        Intent::Patch(PatchObject {
            key: definition.clone(),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}})),
            validation: FieldValidation::Ignore,
        }),
    );
    for (key, propagation) in [
        (&widget, Some(Propagation::Foreground)),
        (&definition, None),
    ] {
        delete(&plane, key, propagation);
    }
    let state = plane.state();
    let told = |key| {
        Reasons::new(&state)
            .held(state.get(key).expect("it waits"))
            .join(", ")
    };
    let of_widget = told(&widget);
    assert!(of_widget.contains("1 dependent blocks it; "), "{of_widget}");
    assert!(of_widget.ends_with(": 1 instance left"), "{of_widget}");
    let of_definition = told(&definition);
    assert!(
        of_definition.contains(": 1 instance left; "),
        "{of_definition}"
    );
    assert!(
        of_definition.ends_with(": 1 dependent blocks it"),
        "{of_definition}"
    );
}

#[test]
fn a_namespace_whose_token_was_taken_out_waits_for_its_contents() {
    let plane = plane();
    create(&plane, "namespaces", "", &json!({"name": "n"}));
    run(
        &plane,
        Intent::Patch(PatchObject {
            key: ObjectKey::namespace("n"),
            version: "v1".into(),
            subresource: Some(Subresource::Finalize),
            patch: Patch::Merge(json!({"spec": {"finalizers": null}})),
            validation: FieldValidation::Ignore,
        }),
    );
    let held_map = json!({"name": "held", "finalizers": ["x.io/hold"]});
    create(&plane, "configmaps", "n", &held_map);
    delete(&plane, &ObjectKey::namespace("n"), None);
    let state = plane.state();
    let namespace = state.namespace("n").expect("it is held");
    let expected = "its contents: Some resources are remaining: configmaps. has 1 resource instances; \
        Some content in the namespace has finalizers remaining: x.io/hold in 1 resource instances";
    assert_eq!(Reasons::new(&state).held(namespace), [expected]);
}

#[test]
fn what_many_wait_for_is_looked_at_once() {
    let plane = plane();
    let mut owners = Vec::new();
    for name in ["a", "b"] {
        create(&plane, "configmaps", "default", &json!({"name": name}));
        owners.push(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name,
            "uid": uid_of(&plane, name), "blockOwnerDeletion": true}),
        );
    }
    let metadata = json!({"name": "kid", "ownerReferences": owners, "finalizers": ["x.io/hold"]});
    create(&plane, "configmaps", "default", &metadata);
    for (name, policy) in [
        ("kid", Propagation::Background),
        ("a", Propagation::Foreground),
        ("b", Propagation::Foreground),
    ] {
        delete(&plane, &map(name), Some(policy));
    }
    let state = plane.state();
    let reasons = Reasons::new(&state);
    let told = |name: &str| {
        reasons
            .held(state.get(&map(name)).expect("it waits"))
            .join(", ")
    };
    let of_a = told("a");
    assert!(of_a.ends_with("default/kid waits for x.io/hold"), "{of_a}");
    for known in reasons.numbers.borrow_mut().values_mut() {
        "what was found for a".clone_into(known);
    }
    let of_b = told("b");
    assert!(
        of_b.ends_with("default/kid waits for what was found for a"),
        "{of_b}"
    );
}

/// A dependent that stays whatever becomes of this owner, since another one is of a kind that is not served.
#[test]
fn of_the_owners_of_a_live_object_the_end_is_told_and_who_took_their_names() {
    let plane = plane();
    let reference = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid});
    let unknown = json!({"apiVersion": "no.such/v1", "kind": "N", "name": "n", "uid": "u"});
    let told = |name: &str| {
        let state = plane.state();
        let reasons = Reasons::new(&state).of(state.get(&map(name)).expect("it lives"));
        reasons.first().cloned().expect("an owner")
    };
    for (name, policy) in [("b", Propagation::Background), ("o", Propagation::Orphan)] {
        let metadata = json!({"name": name, "finalizers": ["x.io/hold"]});
        create(&plane, "configmaps", "default", &metadata);
        let owners = json!([reference(name, &uid_of(&plane, name)), unknown]);
        let kid = format!("kid-of-{name}");
        let metadata = json!({"name": kid, "ownerReferences": owners});
        create(&plane, "configmaps", "default", &metadata);
        assert_eq!(told(&kid), format!("its owner ConfigMap {name} exists"));
        delete(&plane, &map(name), Some(policy));
        let state = plane.state();
        let since = state
            .get(&map(name))
            .expect("it is held")
            .meta
            .deletion_timestamp;
        let since = since.expect("it is marked").to_rfc3339();
        let orphans = if policy == Propagation::Orphan {
            ", orphaning its dependents"
        } else {
            ""
        };
        let expected = format!(
            "its owner ConfigMap {name} exists, and has been terminating since {since}{orphans}"
        );
        assert_eq!(told(&kid), expected);
    }
    let owners = json!([reference("b", "made-up"), unknown]);
    let metadata = json!({"name": "kid-of-nobody", "ownerReferences": owners});
    create(&plane, "configmaps", "default", &metadata);
    let uid = uid_of(&plane, "b");
    let expected = format!(
        "its owner ConfigMap b is gone; the one that exists has the uid {uid}, and the reference made-up"
    );
    assert_eq!(told("kid-of-nobody"), expected);
}
