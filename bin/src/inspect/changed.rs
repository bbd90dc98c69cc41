//! What an update changed, as paths of at most two members.

use super::bounded_texts::BoundedTexts;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Metadata that every write changes, or that is reported as an event of its own. Who manages which fields is reported
/// if nothing else has changed.
const UNREPORTED: [&str; 7] = [
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
];

/// The members that differ, such as `spec.replicas`; where only one side is an object, the member above.
pub(super) fn changed(before: &Value, after: &Value) -> BoundedTexts {
    let mut paths = BoundedTexts::default();
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else {
        return paths;
    };
    for member in differing(before, after) {
        let sides = [before, after].map(|side| side.get(member).and_then(Value::as_object));
        let [Some(before), Some(after)] = sides else {
            paths.push(member.clone());
            continue;
        };
        let below = differing(before, after).into_iter();
        let below =
            below.filter(|below| member != "metadata" || !UNREPORTED.contains(&below.as_str()));
        below.for_each(|below| paths.push(format!("{member}.{below}")));
    }
    if paths == BoundedTexts::default() && are_managers_all(before, after) {
        paths.push("metadata.managedFields".to_owned());
    }
    paths
}

/// Whether who manages which fields is all that differs in the metadata, beside what every write changes.
fn are_managers_all(before: &Map<String, Value>, after: &Map<String, Value>) -> bool {
    let sides = [before, after].map(|side| side.get("metadata").and_then(Value::as_object));
    let [Some(before), Some(after)] = sides else {
        return false;
    };
    let mut differing = differing(before, after);
    differing.retain(|member| !["generation", "resourceVersion"].contains(&member.as_str()));
    differing.iter().eq(&["managedFields"])
}

fn differing<'a>(
    before: &'a Map<String, Value>,
    after: &'a Map<String, Value>,
) -> BTreeSet<&'a String> {
    let members = before.keys().chain(after.keys());
    members
        .filter(|member| before.get(*member) != after.get(*member))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_named_two_members_deep() {
        let before = json!({"kind": "K", "metadata": {"name": "a", "resourceVersion": "1", "generation": 1},
            "spec": {"replicas": 1, "template": {"a": 1}}});
        let after = json!({"kind": "K", "metadata": {"name": "a", "resourceVersion": "2", "generation": 2,
            "labels": {}}, "spec": {"replicas": 2, "template": {"a": 1}}, "status": {"x": 1}});
        let expected = ["metadata.labels", "spec.replicas", "status"];
        assert_eq!(changed(&before, &after).texts, expected);
        assert_eq!(changed(&after, &before).texts, expected);
        assert_eq!(changed(&after, &after), BoundedTexts::default());
    }

    #[test]
    fn who_manages_which_fields_is_named_if_nothing_else_differs() {
        let before =
            json!({"metadata": {"resourceVersion": "1", "managedFields": [1]}, "data": {"a": "b"}});
        let after =
            json!({"metadata": {"resourceVersion": "2", "managedFields": [2]}, "data": {"a": "b"}});
        assert_eq!(changed(&before, &after).texts, ["metadata.managedFields"]);
        for (pointer, value, expected) in [
            ("/data/a", json!("c"), &["data.a"][..]),
            ("/metadata/managedFields", json!([1]), &[]),
        ] {
            let mut after = after.clone();
            *after.pointer_mut(pointer).expect("a member") = value;
            assert_eq!(changed(&before, &after).texts, expected, "{pointer}");
        }
        let mut after = after;
        after["metadata"]["finalizers"] = json!(["x.io/hold"]);
        let told = changed(&before, &after).texts;
        assert!(told.is_empty(), "an event tells of it: {told:?}");
    }
}
