//! What an object of a built-in kind has before anybody says anything: the structures that its Go
//! type cannot be without. They are nobody's, only what is in them.

use serde_json::{Map, Value};

/// Those below the ones of each row, from the outside in.
const STRUCTURES: [(&str, &[&str]); 6] = [
    ("", &["spec", "status"]),
    (
        "/spec",
        &[
            "template",
            "jobTemplate",
            "strategy",
            "updateStrategy",
            "scaleTargetRef",
            "resources",
            "names",
        ],
    ),
    ("/spec/template", &["metadata", "spec"]),
    ("/spec/jobTemplate", &["metadata", "spec"]),
    ("/spec/jobTemplate/spec", &["template"]),
    ("/spec/jobTemplate/spec/template", &["metadata", "spec"]),
];
/// Its template may be missing.
const WITHOUT_TEMPLATE: &str = "ReplicationController";

/// The structures that this object has, empty.
pub(super) fn blank(object: &Value) -> Value {
    let has = |name: &str| object.get(name).is_some_and(Value::is_object);
    if !has("spec") && !has("status") {
        return Value::Object(Map::new());
    }
    let kind = object.get("kind").and_then(Value::as_str);
    let mut blank = Value::Object(Map::new());
    for (path, names) in STRUCTURES {
        let Some(members) = blank.pointer_mut(path).and_then(Value::as_object_mut) else {
            continue;
        };
        let here = object.pointer(path);
        for name in names {
            let is_there = here
                .and_then(|here| here.get(name))
                .is_some_and(Value::is_object);
            if is_there && !(*name == "template" && kind == Some(WITHOUT_TEMPLATE)) {
                members.insert((*name).to_owned(), Value::Object(Map::new()));
            }
        }
    }
    blank
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_structures_that_are_there_and_that_must_be() {
        for (object, expected) in [
            (json!({"kind": "ConfigMap", "data": {"k": "v"}}), json!({})),
            (
                json!({"kind": "Lease", "spec": {"holderIdentity": "h"}}),
                json!({"spec": {}}),
            ),
            (
                json!({"kind": "Deployment", "spec": {"strategy": {"rollingUpdate": {}}, "selector": {},
                    "template": {"metadata": {"labels": {}}, "spec": {"containers": []}}}}),
                json!({"spec": {"strategy": {}, "template": {"metadata": {}, "spec": {}}}}),
            ),
            (
                json!({"kind": "ReplicationController", "spec": {"template": {"spec": {}}}}),
                json!({"spec": {}}),
            ),
            (json!({"kind": "Lease", "spec": null}), json!({})),
        ] {
            assert_eq!(blank(&object), expected, "{object}");
        }
    }
}
