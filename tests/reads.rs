//! Reads of what has not happened yet, and watches from long ago.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Config, ControlPlane};
use hindsight_tests::http::{Answer, Client};
use serde_json::{Value, json};
use std::path::Path;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn open(data: &Path) -> (ControlPlane, Client) {
    let config = Config {
        data_dir: Some(data.to_owned()),
        ..Config::default()
    };
    let plane = ControlPlane::open(config).expect("a control plane");
    let client = Client::new(&plane);
    (plane, client)
}

fn create(client: &Client, name: &str) -> Answer {
    let body = json!({"metadata": {"name": name}}).to_string();
    client.send("POST", MAPS, "application/json", &body)
}

/// The events of a stream that ends by itself.
fn events(answer: &Answer) -> Vec<Value> {
    let lines = answer.text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}

/// Kinds and names of what happened after a revision.
fn watched(client: &Client, after: u64) -> Vec<String> {
    // What ends other requests is nothing to a watch, whatever it says.
    let path = format!("{MAPS}?watch=1&resourceVersion={after}&timeoutSeconds=1&timeout=tomorrow");
    let named = |event: &Value| {
        let field = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or("-");
        format!("{} {}", field("/type"), field("/object/metadata/name"))
    };
    events(&client.send("GET", &path, "", ""))
        .iter()
        .map(named)
        .collect()
}

#[test]
fn a_watch_goes_on_after_a_restart() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let (plane, client) = open(&data);
    create(&client, "a");
    let seen = client.revision();
    create(&client, "b");
    let labels = json!({"metadata": {"labels": {"x": "y"}}}).to_string();
    let merge = "application/merge-patch+json";
    client.send("PATCH", &format!("{MAPS}/a"), merge, &labels);
    client.send("DELETE", &format!("{MAPS}/b"), "", "");
    drop((client, plane));
    let (_plane, client) = open(&data);
    create(&client, "c");
    let expected = ["ADDED b", "MODIFIED a", "DELETED b", "ADDED c"];
    assert_eq!(watched(&client, seen), expected);
}

#[test]
fn the_future_is_waited_for_and_then_refused() {
    let plane = ControlPlane::open(Config::default()).expect("a control plane");
    let client = Client::new(&plane);
    create(&client, "a");
    let far = client.revision() + 1000;
    let list = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=9";
    let paths = [
        format!("{MAPS}/a?resourceVersion={far}"),
        format!("{MAPS}?resourceVersion={far}"),
        format!("{MAPS}?resourceVersion={far}&{list}"),
    ];
    // Side by side: each is waited for.
    let answers = std::thread::scope(|scope| {
        let ask = |path| {
            let client = Client::new(&plane);
            scope.spawn(move || client.send("GET", path, "", ""))
        };
        let asked = paths.each_ref().map(|path| ask(path));
        let answers = asked.into_iter().map(|one| one.join().expect("an answer"));
        answers.collect::<Vec<_>>()
    });
    for answer in &answers[..2] {
        assert_eq!(answer.code, 504);
        let cause = &answer.json()["details"]["causes"][0]["reason"];
        assert_eq!(cause, "ResourceVersionTooLarge");
    }
    let events = events(&answers[2]);
    assert_eq!(answers[2].code, 200);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["type"], "ERROR");
    assert_eq!(events[0]["object"]["code"], 504);
}

/// kubectl would wait for each of its questions, and say nothing.
#[test]
fn a_past_that_is_yet_to_be_is_refused_at_once() {
    let plane = ControlPlane::open(Config::default()).expect("a control plane");
    let client = Client::new(&plane);
    let far = client.revision() + 1000;
    for path in [MAPS, "/api", "/apis"] {
        let answer = client.send("GET", &format!("/as-of/{far}{path}"), "", "");
        assert_eq!(answer.code, 400, "{}", answer.text);
        assert!(
            answer.text.contains("has not happened yet"),
            "{}",
            answer.text
        );
        assert!(
            !answer.text.contains("retryAfterSeconds"),
            "{}",
            answer.text
        );
    }
}
