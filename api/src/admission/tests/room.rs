//! Small writes to large objects, behind a webhook that does not answer.

use super::*;
use crate::admission::room::decided_bytes;
use crate::body::Bodies;
use futures_util::future::join_all;
use std::time::Duration;

const BYTES: usize = 150 << 10;

fn large() -> Value {
    json!({"metadata": {"name": "a"}, "data": {"k": "v".repeat(BYTES)}})
}

fn small_patch() -> Intent {
    Intent::Patch(PatchObject {
        key: key("", "configmaps", "default", "a"),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"data": {"n": "1"}})),
        validation: FieldValidation::Ignore,
    })
}

/// How many of these requests, sent at once, have a webhook wait for its answer at a time, and their codes.
fn asked_at_once(operation: &str, method: &str, body: &Value) -> (usize, Vec<u16>) {
    let scene = Scene::new("validatingwebhookconfigurations", &[operation], |_| None);
    scene.write(create("", "configmaps", "default", &large()));
    let codes = codes_at_once(&scene, method, body);
    (scene.seen().len(), codes)
}

/// The codes of these requests.
fn codes_at_once(scene: &Scene, method: &str, body: &Value) -> Vec<u16> {
    let api = Api::new(Arc::clone(&scene.fake) as _, Arc::new(scene.admission()));
    // Room for 3 MiB.
    let api = api.with_bodies(Bodies::bounded(0, Duration::from_secs(30)));
    let media = if method == "PATCH" {
        MERGE
    } else {
        "application/json"
    };
    let send = async |_| {
        let request = Request::builder()
            .method(method)
            .uri(format!("{MAPS}/a"))
            .header("content-type", media)
            .body(Full::<Bytes>::from(body.to_string()));
        let answer = api.handle(request.expect("a request"), Some(actor()));
        answer.await.status().as_u16()
    };
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(join_all((0..20).map(send)))
}

#[test]
fn what_webhooks_make_of_a_short_write_has_room_before_it_is_decoded() {
    const MADE: usize = 1_000_000;
    let change = json!([{"op": "add", "path": "/data", "value": {"k": "v".repeat(MADE)}}]);
    let answers = move |request: &Value| {
        let is_changed = request["object"]["data"]["k"].is_string();
        (!is_changed).then(|| patched(&change))
    };
    let scene = Scene::new("mutatingwebhookconfigurations", &["UPDATE"], answers);
    scene.configure("validatingwebhookconfigurations", &["UPDATE"]);
    scene.write(create("", "configmaps", "default", &named("a")));
    let label = json!({"metadata": {"labels": {"n": "1"}}});
    let codes = codes_at_once(&scene, "PATCH", &label);
    let asked_further = scene.seen().len() - codes.len();
    // The tree by its weight, and four times its text, of 12 MiB.
    assert_eq!(asked_further, (12 << 20) / (6 * MADE), "{codes:?}");
    let refused = codes.iter().filter(|code| **code == 429).count();
    assert_eq!(refused, codes.len() - asked_further, "{codes:?}");
}

#[test]
fn writes_that_wait_for_a_webhook_have_room_for_what_they_hold() {
    let patch = json!({"data": {"n": "1"}});
    let (asked, codes) = asked_at_once("UPDATE", "PATCH", &patch);
    let held = (2 * BYTES) * 4;
    assert_eq!(asked, (3 << 20) / held);
    let refused = codes.iter().filter(|code| **code == 429).count();
    assert_eq!(refused, codes.len() - asked, "{codes:?}");
    let (asked, codes) = asked_at_once("DELETE", "PATCH", &patch);
    assert_eq!(asked, 0, "nobody is asked about a change");
    let done = codes.iter().filter(|code| **code == 200).count();
    assert_eq!(
        done,
        (3 << 20) / (BYTES + 1000),
        "those that have room for a version"
    );
    let (asked, _) = asked_at_once("DELETE", "DELETE", &json!({}));
    assert_eq!(asked, (3 << 20) / (BYTES * 4));
}

#[test]
fn a_small_patch_of_a_large_object_is_much_to_decide() {
    let scene = Scene::denying(&["DELETE"]);
    scene.write(create("", "configmaps", "default", &large()));
    let state = scene.fake.state();
    let decided = |intent, is_yaml| {
        let command = Command::new(actor(), Time(0), [0; 16], intent);
        decided_bytes(&state, &command, 10, is_yaml)
    };
    let bytes = |intent| decided(intent, false);
    let stored = state.get(&key("", "configmaps", "default", "a"));
    let stored = stored.expect("an object");
    assert!(stored.body.len() > BYTES);
    assert_eq!(bytes(small_patch()), stored.body.len() + 10);
    assert_eq!(
        bytes(delete("", "configmaps", "a").intent),
        stored.body.len()
    );
    let new = create("", "configmaps", "default", &named("b"));
    assert_eq!(bytes(new.intent), 10);
    // With aliases so few bytes may say so much.
    let aliased = create("", "configmaps", "default", &large());
    let (said, long) = (decided(aliased.intent, true), large().to_string().len());
    assert!(said.abs_diff(long) < 10, "{said} {long}");
}
