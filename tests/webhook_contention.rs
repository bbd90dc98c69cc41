//! Many clients that write to one object while webhooks are asked about it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::admission::{Scene, map};
use hindsight_tests::http::MAPS;
use hindsight_tests::webhook::Answer;
use serde_json::{Value, json};

const WRITERS: usize = 24;

#[test]
fn writes_without_a_version_never_conflict_whoever_is_asked_about_them() {
    let nobody = json!({"objectSelector": {"matchLabels": {"no": "body"}}});
    let never = json!({"matchConditions": [{"name": "never", "expression": "false"}]});
    for (kind, hook, asks) in [
        ("validating", json!({}), true),
        ("mutating", json!({}), true),
        ("validating", nobody, false),
        ("mutating", never, false),
    ] {
        let scene = Scene::new(|_, _| Answer::allow());
        scene.ok("POST", MAPS, &map("a"));
        scene.configure(kind, &[("/allow", hook.clone())]);
        let keys: Vec<String> = (0..WRITERS).map(|key| format!("k{key}")).collect();
        std::thread::scope(|scope| {
            for key in &keys {
                let scene = &scene;
                scope.spawn(move || {
                    let patch = json!({"data": {key: "1"}});
                    scene.ok("PATCH", &format!("{MAPS}/a"), &patch);
                });
            }
        });
        let data = scene.ok("GET", &format!("{MAPS}/a"), &Value::Null)["data"].clone();
        for key in &keys {
            assert_eq!(data[key], "1", "{kind} {hook}");
        }
        assert_eq!(!scene.webhook.take().is_empty(), asks, "{kind} {hook}");
    }
}
