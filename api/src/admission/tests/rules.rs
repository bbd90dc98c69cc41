//! Objects whose rules take longer than one turn of the writer.

use super::*;
use crate::offload::LONG_BYTES;

const THINGS: &str = "/apis/x.io/v1/namespaces/default/things";

/// A scene with a kind whose rule compares every item with every other, and without a configuration of webhooks.
fn scene() -> Scene {
    let webhook = Webhook {
        answers: Box::new(|_| None),
        seen: Mutex::default(),
    };
    let scene = Scene {
        fake: Arc::new(Fake::new()),
        webhook: Arc::new(webhook),
    };
    scene.write(create("", "namespaces", "", &named("default")));
    let rule = "self.items.all(one, self.items.all(other, one == other || one != 'bad'))";
    let items = json!({"type": "array", "maxItems": 500, "items": {"type": "string"}});
    let spec = json!({"type": "object", "properties": {"items": items, "size": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": rule}]});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let definition = json!({"metadata": {"name": "things.x.io"}, "spec": {"group": "x.io", "scope": "Namespaced",
        "versions": [version], "names": {"plural": "things", "kind": "Thing"}}});
    let group = "apiextensions.k8s.io";
    scene.write(create(group, "customresourcedefinitions", "", &definition));
    scene
}

fn thing(items: usize, last: &str) -> Value {
    let mut items: Vec<String> = (0..items).map(|number| format!("i{number}")).collect();
    items.push(last.into());
    json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"items": items}})
}

fn submissions(scene: &Scene) -> usize {
    std::mem::take(&mut *scene.fake.submitted.lock().expect("a lock")).len()
}

#[test]
fn what_takes_longer_than_a_turn_is_evaluated_aside_and_submitted_again() {
    for (items, last, code, expected) in [
        (3, "good", 201, 1),
        (3, "bad", 422, 1),
        (150, "good", 201, 2),
        // What is refused aside does not come to the writer again.
        (150, "bad", 422, 1),
    ] {
        let scene = scene();
        let object = thing(items, last);
        let answer = scene.send("POST", THINGS, "application/json", &object);
        assert_eq!(answer.code, code, "{items} {last}: {}", answer.body);
        assert_eq!(submissions(&scene), expected, "{items} {last}");
        let dry = format!("{THINGS}?dryRun=All&fieldManager=me");
        let mut other = object.clone();
        other["metadata"]["name"] = json!("b");
        let dry = scene.send("POST", &dry, "application/json", &other);
        assert_eq!((dry.code, submissions(&scene)), (code, 0));
    }
}

#[test]
fn what_changes_while_it_is_evaluated_is_evaluated_again() {
    let theirs = |size: usize| {
        let intent = Intent::Patch(PatchObject {
            key: key("x.io", "things", "default", "a"),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"spec": {"size": size}})),
            validation: FieldValidation::Ignore,
        });
        Command::new(actor(), Time(0), [0; 16], intent)
    };
    let change =
        json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"labels": {"a": "b"}}});
    // A long one is decided aside before it is submitted for the first time.
    for (media, length) in [(MERGE, 1), (APPLY, 1), (MERGE, LONG_BYTES)] {
        let scene = scene();
        let mut object = thing(150, "good");
        object["metadata"]["annotations"] = json!({"long": "v".repeat(length)});
        scene.write(create("x.io", "things", "default", &object));
        let path = format!("{THINGS}/a?fieldManager=me");
        scene.meanwhile(theirs(1));
        let answer = scene.send("PATCH", &path, media, &change);
        assert_eq!(answer.code, 200, "{}", answer.body);
        let found = &answer.body["spec"]["size"];
        assert_eq!(*found, 1, "the newest version was changed");
        assert_eq!(submissions(&scene), 2, "{media} {length}");
    }
}

#[test]
fn a_definition_is_checked_aside_and_submitted_once() {
    let scene = scene();
    let state = scene.fake.state();
    let stored = state.get(&ObjectKey::definition("things.x.io"));
    let mut definition = stored.expect("defined").document();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.x.io";
    definition["metadata"]["labels"] = json!({"a": "b"});
    let answer = scene.send("PUT", path, "application/json", &definition);
    assert_eq!(
        (answer.code, submissions(&scene)),
        (200, 1),
        "{}",
        answer.body
    );
    definition["metadata"]["resourceVersion"] = Value::Null;
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["type"] = json!("string");
    let answer = scene.send("PUT", path, "application/json", &definition);
    assert_eq!(
        (answer.code, submissions(&scene)),
        (422, 0),
        "{}",
        answer.body
    );
}
