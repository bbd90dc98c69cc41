//! Tables of documents, patches and results.

use super::apply;
use crate::Rejection;
use crate::command::Patch;
use serde_json::{Value, json};

fn check(live: Value, patch: Patch, expected: Value) {
    assert_eq!(
        apply(&live, &patch).expect("it applies"),
        expected,
        "{patch:?}"
    );
}

#[test]
fn merge_patches_follow_rfc_7386() {
    for (live, change, expected) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (
            json!({"a": "b"}),
            json!({"b": "c"}),
            json!({"a": "b", "b": "c"}),
        ),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        (
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        ),
    ] {
        check(live, Patch::Merge(change), expected);
    }
    assert!(apply(&json!({}), &Patch::Merge(json!(null))).is_err());
}

#[test]
fn json_patches_follow_upstreams_library() {
    let live = json!({"a": [1, 2, 3], "m": {"k": "v"}});
    for (operations, expected) in [
        (
            json!([{"op": "add", "path": "/a/-", "value": 4}]),
            json!({"a": [1, 2, 3, 4], "m": {"k": "v"}}),
        ),
        (
            json!([{"op": "add", "path": "/a/1", "value": 9}]),
            json!({"a": [1, 9, 2, 3], "m": {"k": "v"}}),
        ),
        (
            json!([{"op": "remove", "path": "/a/-1"}]),
            json!({"a": [1, 2], "m": {"k": "v"}}),
        ),
        (
            json!([{"op": "replace", "path": "/new", "value": 1}]),
            json!({"a": [1, 2, 3], "m": {"k": "v"}, "new": 1}),
        ),
        (
            json!([{"op": "move", "from": "/m/k", "path": "/k"}]),
            json!({"a": [1, 2, 3], "m": {}, "k": "v"}),
        ),
        (
            json!([{"op": "copy", "from": "/none", "path": "/n"}]),
            json!({"a": [1, 2, 3], "m": {"k": "v"}, "n": null}),
        ),
        (
            json!([{"op": "test", "path": "/none", "value": null}]),
            live.clone(),
        ),
        (json!(null), live.clone()),
    ] {
        check(live.clone(), Patch::Json(operations), expected);
    }
}

#[test]
fn json_patches_that_cannot_be_carried_out_are_refused() {
    let refuse = |operations: Value| apply(&json!({"a": [1]}), &Patch::Json(operations)).err();
    for operations in [
        json!([{"op": "remove", "path": "/none"}]),
        json!([{"op": "test", "path": "/a/0", "value": 2}]),
        json!([{"op": "add", "path": "/a/5", "value": 2}]),
        json!([{"op": "fly", "path": "/a"}]),
        json!([{"op": "add", "value": 2}]),
    ] {
        assert_eq!(refuse(operations), Some(Rejection::Unprocessable));
    }
    assert!(matches!(
        refuse(json!([{"op": 1}])),
        Some(Rejection::BadRequest(_))
    ));
    let many: Vec<Value> = vec![json!({"op": "test", "path": "/x", "value": null}); 10_001];
    assert!(matches!(refuse(many.into()), Some(Rejection::TooLarge(_))));
}

#[test]
fn strategic_merges_know_lists_by_their_keys() {
    let live = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}});
    let containers = |change: Value| json!({"spec": {"containers": change}});
    for (change, expected) in [
        (
            json!([{"name": "a", "tty": true}]),
            json!([{"name": "a", "image": "1", "tty": true}, {"name": "b"}]),
        ),
        (
            json!([{"name": "c"}]),
            json!([{"name": "a", "image": "1"}, {"name": "b"}, {"name": "c"}]),
        ),
        (
            json!([{"name": "a", "$patch": "delete"}]),
            json!([{"name": "b"}]),
        ),
        (
            json!([{"$patch": "replace"}, {"name": "z"}]),
            json!([{"name": "z"}]),
        ),
    ] {
        check(
            live.clone(),
            Patch::Strategic(containers(change)),
            containers(expected),
        );
    }
}

#[test]
fn strategic_merges_treat_finalizers_as_a_set_and_obey_directives() {
    let live = json!({"metadata": {"finalizers": ["a/b"]}, "spec": {"x": 1, "y": 2}, "l": [1, 2]});
    for (change, pointer, expected) in [
        (
            json!({"metadata": {"finalizers": ["c/d", "a/b"]}}),
            "/metadata/finalizers",
            json!(["a/b", "c/d"]),
        ),
        (
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}),
            "/metadata/finalizers",
            json!([]),
        ),
        (
            json!({"spec": {"$patch": "replace", "z": 3}}),
            "/spec",
            json!({"z": 3}),
        ),
        (
            json!({"spec": {"$retainKeys": ["x"], "x": 5}}),
            "/spec",
            json!({"x": 5}),
        ),
        (json!({"l": [3]}), "/l", json!([3])),
    ] {
        let result = apply(&live, &Patch::Strategic(change)).expect("it applies");
        assert_eq!(result.pointer(pointer), Some(&expected));
    }
    let unknown = json!({"spec": {"$patch": "fly"}});
    assert!(matches!(
        apply(&live, &Patch::Strategic(unknown)),
        Err(Rejection::Internal(_))
    ));
}

#[test]
fn strategic_merges_order_lists_and_keep_no_directive() {
    let live = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}});
    let order = json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}});
    let ordered = json!({"spec": {"containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}]}});
    check(live.clone(), Patch::Strategic(order), ordered);
    let change = json!({"spec": {"containers": [{"name": "n", "x": null, "$retainKeys": ["name"],
        "env": [{"name": "e", "$patch": "delete"}, {"name": "f"}]}]}});
    let result = apply(&live, &Patch::Strategic(change)).expect("it applies");
    assert_eq!(
        result["spec"]["containers"][3],
        json!({"name": "n", "env": [{"name": "f"}]})
    );
    let taints = json!({"spec": {"taints": [{"key": "a"}, {"key": "b"}]}});
    let fewer = json!({"spec": {"taints": [{"key": "a"}]}});
    check(taints, Patch::Strategic(fewer.clone()), fewer);
}
