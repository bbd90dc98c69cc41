//! Parts of documents that questions and answers of several kinds have in common.

use hindsight_core::Actor;
use hindsight_core::kind::GroupVersionKind;
use serde_json::{Value, json};

/// A kind, as discovery, OpenAPI and reviews name it.
pub(crate) fn gvk(kind: &GroupVersionKind) -> Value {
    json!({"group": &*kind.group, "version": &*kind.version, "kind": &*kind.kind})
}

/// A user, as reviews tell of one. No UID is written where there is none.
pub(crate) fn user_info(actor: &Actor) -> Value {
    let groups: Vec<&str> = actor.groups.iter().map(|group| &**group).collect();
    let mut user = json!({"username": &*actor.user, "groups": groups});
    if let Some(members) = user.as_object_mut().filter(|_| !actor.uid.is_empty()) {
        members.insert("uid".into(), Value::from(&*actor.uid));
    }
    user
}

/// The `Status` of what was done, with this member.
pub(crate) fn success(member: &str, value: Value) -> Value {
    let mut status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    if let Some(members) = status.as_object_mut() {
        members.insert(member.into(), value);
    }
    status
}
