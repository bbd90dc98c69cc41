//! States for tests, built object by object and without any checks.

use hindsight_core::kind::BuiltinKinds;
use hindsight_core::object::Mark;
use hindsight_core::{
    Actor, Cause, Change, Commit, Event, GroupResource, Object, ObjectKey, OwnerReference, Request,
    Rule, State, Time, Uid, apply, builtin,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn empty() -> State {
    State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
}

/// Adds this document as an object; its uid is its name unless it has one.
pub(crate) fn put(state: &mut State, resource: (&str, &str), document: Value) -> Arc<Object> {
    let change = write(state, resource, document);
    Arc::clone(change.commit.object().expect("an object"))
}

/// As [`put`], or adds the next version of the object, whose deletion has been requested with it if it is in deletion.
pub(crate) fn write(state: &mut State, resource: (&str, &str), mut document: Value) -> Change {
    let name = document["metadata"]["name"].as_str().expect("a name");
    let namespace = document["metadata"]["namespace"].as_str();
    let uid = Uid::from(document["metadata"]["uid"].as_str().unwrap_or(name));
    let group = GroupResource::new(resource.0, resource.1);
    let key = ObjectKey::new(group, namespace.unwrap_or_default(), name);
    document["metadata"]["uid"] = json!(uid.as_str());
    let revision = state.revision.next();
    let before = state.get(&key).cloned();
    let rule = Rule::Requested;
    let is_deleting = !document["metadata"]["deletionTimestamp"].is_null();
    let marked = before.is_some() && is_deleting;
    let mark = marked.then_some(Mark { revision, rule });
    let object = Object::from_value(key.clone(), document, revision, mark).expect("readable");
    let object = Arc::new(object);
    let Some(before) = before else {
        return applied(state, key, uid, vec![Event::ObjectCreated { object }]);
    };
    let is_new = |owner: &&OwnerReference| before.owners().iter().all(|one| one.uid != owner.uid);
    let new = object.owners().iter().filter(is_new).cloned();
    let mut events: Vec<Event> = new.map(|owner| Event::OwnerAdded { owner }).collect();
    events.push(Event::ObjectUpdated { object });
    applied(state, key, uid, events)
}

/// Removes an object.
pub(crate) fn remove(state: &mut State, resource: (&str, &str), place: (&str, &str)) -> Change {
    let key = ObjectKey::new(GroupResource::new(resource.0, resource.1), place.0, place.1);
    let uid = state.get(&key).expect("an object").meta.uid.clone();
    let event = Event::ObjectDeleted {
        rule: Rule::Requested,
        owners: Vec::new(),
        decided_at: state.revision,
    };
    applied(state, key, uid, vec![event])
}

fn applied(state: &mut State, key: ObjectKey, uid: Uid, events: Vec<Event>) -> Change {
    let commit = Arc::new(Commit {
        revision: state.revision.next(),
        time: Time(0),
        actor: Arc::new(Actor::new("")),
        request: Arc::new(Request::default()),
        cause: Cause::Request,
        key,
        uid,
        events,
    });
    let previous = apply(state, &commit);
    Change { commit, previous }
}

/// `NAME` is a live object, `NAME!A,B` one in deletion that is held by finalizers `A` and `B`. Owners:
/// `NAME`, `NAME!` if the reference blocks, `~NAME` with a wrong name, `?NAME` with an unknown kind; an
/// owner that is not among the objects does not exist.
pub(crate) fn world(objects: &[(&str, &[&str])]) -> State {
    let mut state = empty();
    for (object, owners) in objects {
        add(&mut state, object, owners);
    }
    state
}

/// Adds an object of [`world`], or its next version.
pub(crate) fn add(state: &mut State, object: &str, owners: &[&str]) {
    let owners: Vec<Value> = owners.iter().map(|owner| reference(owner)).collect();
    let (name, held) = object.split_once('!').unwrap_or((object, ""));
    let mut metadata = json!({"name": name, "namespace": "n", "ownerReferences": owners});
    if object.contains('!') {
        let held: Vec<&str> = held.split(',').collect();
        metadata["finalizers"] = json!(held);
        metadata["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    }
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    write(state, ("", "configmaps"), document);
}

fn reference(owner: &str) -> Value {
    let (blocks, owner) = (owner.ends_with('!'), owner.trim_end_matches('!'));
    let uid = owner.trim_start_matches(['~', '?']);
    let name = if owner.starts_with('~') { "other" } else { uid };
    let kind = if owner.starts_with('?') {
        "Unknown"
    } else {
        "ConfigMap"
    };
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": blocks})
}
