//! Tables of documents, patches and results.

use super::{apply, json as patch};
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
fn nulls_inside_of_lists_are_left_to_the_objects_that_they_are_members_of() {
    let list = json!([1, null, {"x": null, "y": [{"z": null}, null]}]);
    let pruned = json!([1, null, {"y": [{}, null]}]);
    for live in [
        json!({}),
        json!({"a": null}),
        json!({"a": [2]}),
        json!({"a": "b"}),
    ] {
        check(live, Patch::Merge(json!({"a": list})), json!({"a": pruned}));
    }
    let live = json!({"a": {"b": "c"}});
    check(live, Patch::Merge(json!({"a": list})), json!({"a": list}));
    let inside = Patch::Merge(json!({"a": {"b": list, "c": null}}));
    check(json!({"a": [2]}), inside, json!({"a": {"b": pruned}}));
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
        (
            json!([{"op": "test", "path": "", "value": {"m": {"k": "v"}, "a": [1, 2, 3]}},
                {"op": "test", "path": "/a/-3", "value": 1}]),
            live.clone(),
        ),
        (
            json!([{"op": "test", "path": "/a/-0", "value": 1},
                {"op": "add", "path": "/a/-0", "value": 0}, {"op": "add", "path": "/a/-1", "value": 4},
                {"op": "replace", "path": "/a/+1", "value": 7}, {"op": "remove", "path": "/a/-0"}]),
            json!({"a": [7, 2, 3, 4], "m": {"k": "v"}}),
        ),
        (
            json!([{"op": "replace", "path": "", "value": {"b": 1}}]),
            json!({"b": 1}),
        ),
        (
            json!([{"op": "move", "from": "/a/0", "path": "/a/2"}]),
            json!({"a": [2, 3, 1], "m": {"k": "v"}}),
        ),
        (
            json!([{"op": "copy", "from": "/m", "path": "/m/m"}]),
            json!({"a": [1, 2, 3], "m": {"k": "v", "m": {"k": "v"}}}),
        ),
        (
            json!([{"op": "add", "path": "m/a~1b~0c"}]),
            json!({"a": [1, 2, 3], "m": {"k": "v"}, "a/b~c": null}),
        ),
        (json!(null), live.clone()),
    ] {
        check(live.clone(), Patch::Json(operations), expected);
    }
}

#[test]
fn json_patches_cannot_make_a_document_grow_without_end() {
    let doubling = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    // Enough operations for 14 MiB, so that the test ends even without the limit.
    let operations = Patch::Json(vec![doubling; 20].into());
    let live = json!({"a": ["0123456789"]});
    let refused = apply(&live, &operations);
    assert_eq!(refused, Err(Rejection::Unprocessable));
}

/// A there-and-back of a long list walks over it, and whatever happens at its beginning shifts it.
#[test]
fn json_patches_look_at_and_shift_only_so_many_values() {
    const ITEMS: usize = 1_000;
    const TIMES: usize = 1_000;
    let live = json!({"a": vec![0; ITEMS], "b": {}});
    let first = json!({"op": "add", "path": "/a/0", "value": 1});
    let no_first = json!({"op": "remove", "path": "/a/0"});
    let there = json!({"op": "move", "from": "/a", "path": "/b/c"});
    let back = json!({"op": "move", "from": "/b/c", "path": "/a"});
    let same = json!({"op": "test", "path": "/a", "value": vec![0; ITEMS]});
    for (pair, each) in [
        ([&first, &no_first], 2 * ITEMS),
        ([&there, &back], ITEMS),
        ([&same, &same], 2 * ITEMS),
    ] {
        let pairs = std::iter::repeat_n(pair, TIMES).flatten().cloned();
        let operations: Value = pairs.collect();
        let within = |work: usize| patch::apply_within(&live, &operations, work);
        // The last pair ends in what is too much; all of them need little more than is counted here.
        let refused = within(each * (TIMES - 1));
        assert_eq!(refused, Err(Rejection::Unprocessable), "{pair:?}");
        assert_eq!(within((each + 10) * TIMES).as_ref(), Ok(&live), "{pair:?}");
    }
    let ends: Value = (0..TIMES)
        .map(|_| json!({"op": "move", "from": "/a/999", "path": "/a/-"}))
        .collect();
    let within = patch::apply_within(&live, &ends, 10 * TIMES);
    assert_eq!(within, Ok(live), "nothing is shifted at the end of a list");
}

#[test]
fn a_json_patch_may_be_long() {
    let live = json!({"list": [], "map": {}, "deep": {"a": {"b": vec![0; 2_000]}}});
    for (operation, count) in [
        (
            json!({"op": "add", "path": "/list/0", "value": {"a": "b"}}),
            10_000,
        ),
        (
            json!({"op": "add", "path": "/list/-", "value": {"a": "b"}}),
            10_000,
        ),
        (
            json!({"op": "test", "path": "/deep/a/b/1", "value": 0}),
            10_000,
        ),
        (
            json!({"op": "replace", "path": "/deep/a/b", "value": vec![1; 2_000]}),
            100,
        ),
    ] {
        let operations = Patch::Json(vec![operation.clone(); count].into());
        assert!(apply(&live, &operations).is_ok(), "{operation}");
    }
}

#[test]
fn json_patches_cannot_make_a_document_deeper_than_it_is_read() {
    // Each copy doubles the depth: some thirty would need gigabytes of stack.
    let deeper = |times: u32| {
        let mut operations = Vec::new();
        for time in 0..times {
            let path = "/a".repeat(1 << time);
            operations.push(json!({"op": "copy", "from": "/a", "path": format!("{path}/a")}));
        }
        Patch::Json(operations.into())
    };
    let live = json!({"a": {}});
    let deep = apply(&live, &deeper(6)).expect("it is read back");
    let read: Value = serde_json::from_str(&deep.to_string()).expect("read");
    assert_eq!(read, deep);
    assert_eq!(apply(&live, &deeper(7)), Err(Rejection::Unprocessable));
    // Step by step, with each operation that can place a value.
    for operation in [
        |path: &str| json!({"op": "add", "path": path, "value": {"a": {}}}),
        |path: &str| json!({"op": "replace", "path": path, "value": {"a": {}}}),
    ] {
        let mut path = String::new();
        let steps = (0..200).map(|_| {
            path.push_str("/a");
            operation(&path)
        });
        let operations = Patch::Json(steps.collect());
        assert_eq!(apply(&live, &operations), Err(Rejection::Unprocessable));
    }
    let inner = serde_json::from_str::<Value>(&format!("{}1{}", "[".repeat(100), "]".repeat(100)));
    let live = json!({"a": {"b": {}}, "from": inner.expect("read")});
    let under = format!("/a/b{}", "/c".repeat(30));
    let mut moves: Vec<Value> = (1..=30)
        .map(|deep| json!({"op": "add", "path": format!("/a/b{}", "/c".repeat(deep)), "value": {}}))
        .collect();
    moves.push(json!({"op": "move", "from": "/from", "path": format!("{under}/d")}));
    assert_eq!(
        apply(&live, &Patch::Json(moves.into())),
        Err(Rejection::Unprocessable)
    );
}

#[test]
fn json_patches_that_cannot_be_carried_out_are_refused() {
    let refuse = |operations: Value| apply(&json!({"a": [1]}), &Patch::Json(operations)).err();
    for operations in [
        json!([{"op": "remove", "path": "/none"}]),
        json!([{"op": "test", "path": "/a/0", "value": 2}]),
        json!([{"op": "add", "path": "/a/5", "value": 2}]),
        json!([{"op": "fly", "path": "/a"}]),
        json!([{"op": null, "path": "/a"}]),
        json!([{"path": "/a"}]),
        json!([null]),
        json!([{"op": "add", "value": 2}]),
        json!([{"op": "add", "path": "", "value": {}}]),
        json!([{"op": "replace", "path": "", "value": 7}]),
        json!([{"op": "remove", "path": ""}]),
        json!([{"op": "test", "path": "/none/deep", "value": null}]),
        json!([{"op": "test", "path": "/a/1", "value": null}]),
        json!([{"op": "test", "path": "/a/-", "value": 1}]),
        json!([{"op": "test", "path": "/a/-+1", "value": 1}]),
        json!([{"op": "test", "path": "/a/-2", "value": null}]),
        json!([{"op": "add", "path": "/a/-3", "value": 1}]),
        json!([{"op": "test", "path": "/a/9223372036854775808", "value": null}]),
        json!([{"op": "copy", "from": "/none/deep", "path": "/b"}]),
        json!([{"op": "copy", "path": "/b"}]),
        json!([{"op": "move", "from": "/a", "path": "/a/b"}]),
        json!([{"op": "move", "from": "/none", "path": "/b"}]),
        json!([{"op": "replace", "path": "/a/1", "value": 1}]),
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
