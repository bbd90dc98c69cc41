//! Reads at revisions that do not exist yet, watches from long ago, and the options of lists.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::core::Revision;
use hindsight::{Config, ControlPlane};
use hindsight_tests::http::{Answer, Client, MAPS};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

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

/// The events of a watch that has ended by itself.
fn events(answer: &Answer) -> Vec<Value> {
    let lines = answer.text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}

/// Types and names of the events after a revision.
fn watched(client: &Client, after: u64) -> Vec<String> {
    // A watch ignores `timeout`, which bounds other requests, even if it is not valid.
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

/// More was written since than the window has room for.
#[test]
fn a_watch_from_before_the_window_goes_on_from_the_log() {
    const LARGE: usize = 20;
    const BYTES: usize = 1_000_000;
    let plane = ControlPlane::open(Config::default()).expect("a control plane");
    let client = Client::new(&plane);
    create(&client, "a");
    create(&client, "b");
    let seen = client.revision();
    let labels = json!({"metadata": {"labels": {"x": "y"}}}).to_string();
    let merge = "application/merge-patch+json";
    client.send("PATCH", &format!("{MAPS}/a"), merge, &labels);
    client.send("DELETE", &format!("{MAPS}/b"), "", "");
    for index in 0..LARGE {
        let data = json!({"k": "v".repeat(BYTES)});
        let body = json!({"metadata": {"name": format!("c{index}")}, "data": data});
        let made = client.send("POST", MAPS, "application/json", &body.to_string());
        assert_eq!(made.code, 201);
    }
    let expired = plane.changes_after(Revision(seen), 1);
    expired.expect_err("it is before the window");
    let path = format!("{MAPS}?watch=1&resourceVersion={seen}");
    let mut events = client.watch(&path, "");
    for expected in ["MODIFIED a", "DELETED b", "ADDED c0", "ADDED c1"] {
        let event = client.next(&mut events).expect("an event");
        let named = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or("-");
        let found = format!("{} {}", named("/type"), named("/object/metadata/name"));
        assert_eq!(found, expected);
    }
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
    // Concurrently, because the server waits for each.
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

/// If it were waited for, kubectl would wait in each of its requests, without a message.
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

/// Columns: `continue`, `resourceVersion` and `resourceVersionMatch`; then the outcome without a
/// limit and, if it differs, with a limit of six: the number of items, or the refusals, in order.
const LIST_OPTIONS: &str = "
-     -   -            10 6
-     -   NotOlderThan no-version
-     -   Exact        no-version
-     -   bad          no-version+unknown
-     0   -            10 6
-     0   NotOlderThan 10 6
-     0   Exact        zero
-     0   bad          unknown
-     old -            10 1
-     old NotOlderThan 10 6
-     old Exact        1
-     old bad          unknown
-     bad -            version
-     bad NotOlderThan version
-     bad Exact        version
-     bad bad          unknown
valid -   -            4
valid -   NotOlderThan no-version+continue
valid -   Exact        no-version+continue
valid -   bad          no-version+continue+unknown
valid 0   -            4
valid 0   NotOlderThan continue
valid 0   Exact        continue+zero
valid 0   bad          continue+unknown
valid old -            both
valid old NotOlderThan continue
valid old Exact        continue
valid old bad          continue+unknown
valid bad -            both
valid bad NotOlderThan continue
valid bad Exact        continue
valid bad bad          continue+unknown
bad   -   -            token
bad   -   NotOlderThan no-version+continue
bad   -   Exact        no-version+continue
bad   -   bad          no-version+continue+unknown
bad   0   -            token
bad   0   NotOlderThan continue
bad   0   Exact        continue+zero
bad   0   bad          continue+unknown
bad   old -            token
bad   old NotOlderThan continue
bad   old Exact        continue
bad   old bad          continue+unknown
bad   bad -            token
bad   bad NotOlderThan continue
bad   bad Exact        continue
bad   bad bad          continue+unknown";

/// The text of the refusal that a word of the table stands for.
fn refusal_text(word: &str) -> &'static str {
    match word {
        "no-version" => "resourceVersionMatch is forbidden unless resourceVersion is provided",
        "continue" => "resourceVersionMatch is forbidden when continue is provided",
        "unknown" => "supported values: \"Exact\", \"NotOlderThan\", \"\"",
        "zero" => "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        "token" => "continue key is not valid",
        "both" => "specifying resource version is not allowed when using continue",
        "version" => "Invalid value: \"bad\": strconv.ParseUint: parsing \"bad\": invalid syntax",
        other => panic!("no such word: {other}"),
    }
}

/// Upstream: `TestListOptions`, all of its combinations. No version is too old here.
#[test]
fn list_options_in_every_combination() {
    let plane = ControlPlane::open(Config::default()).expect("a control plane");
    let client = Client::new(&plane);
    create(&client, "a0");
    let old = client.revision().to_string();
    for name in 1..15 {
        create(&client, &format!("a{name}"));
    }
    for name in 0..5 {
        client.send("DELETE", &format!("{MAPS}/a{name}"), "", "");
    }
    let page = client.send("GET", &format!("{MAPS}?limit=6"), "", "");
    let token = page.json()["metadata"]["continue"]
        .as_str()
        .map(str::to_owned);
    let token = token.expect("a token");
    let mut seen = 0;
    for row in LIST_OPTIONS.lines().filter(|row| !row.is_empty()) {
        let words: Vec<&str> = row.split_whitespace().collect();
        for limit in [0, 6] {
            let token = words[0].replace("valid", &token);
            let version = words[1].replace("old", &old);
            let query = [
                ("continue", token.as_str()),
                ("resourceVersion", &version),
                ("resourceVersionMatch", words[2]),
            ];
            let query = query.iter().filter(|(_, value)| *value != "-");
            let query: Vec<String> = query
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let path = format!("{MAPS}?limit={limit}&{}", query.join("&"));
            let expected = if limit == 0 {
                words[3]
            } else {
                words[words.len() - 1]
            };
            assert_outcome(&client.send("GET", &path, "", ""), expected, &path);
            seen += 1;
        }
    }
    assert_eq!(seen, 96);
}

fn assert_outcome(answer: &Answer, expected: &str, what: &str) {
    let document = answer.json();
    let Ok(count) = expected.parse::<usize>() else {
        let causes = document
            .pointer("/details/causes")
            .and_then(Value::as_array);
        let message = || vec![document["message"].clone()];
        let found = causes.map_or_else(message, |causes| {
            causes
                .iter()
                .map(|cause| cause["message"].clone())
                .collect()
        });
        let code = if causes.is_some() { 422 } else { 400 };
        assert_eq!(answer.code, code, "{what}: {}", answer.text);
        let words: Vec<&str> = expected.split('+').collect();
        assert_eq!(found.len(), words.len(), "{what}: {}", answer.text);
        for (found, word) in found.iter().zip(words) {
            let found = found.as_str().unwrap_or_default();
            assert!(found.contains(refusal_text(word)), "{what}: {found}");
        }
        return;
    };
    assert_eq!(answer.code, 200, "{what}: {}", answer.text);
    let items = document["items"].as_array().expect("items");
    assert_eq!(items.len(), count, "{what}");
}

#[test]
fn whatever_the_past_lists_can_be_read_there() {
    let plane = ControlPlane::open(Config::default()).expect("a control plane");
    let client = Client::new(&plane);
    let past = format!("/as-of/{}", client.revision());
    let list = |path: &str| -> Vec<String> {
        let answer = client.send("GET", path, "", "");
        let paths = answer.json()["paths"].take();
        serde_json::from_value(paths).expect("a list of paths")
    };
    let (now, then) = (list("/"), list(&format!("{past}/")));
    for path in &then {
        let answer = client.send("GET", &format!("{past}{path}"), "", "");
        assert_eq!(answer.code, 200, "{path}: {}", answer.text);
    }
    let only_now: Vec<&String> = now.iter().filter(|path| !then.contains(path)).collect();
    assert_eq!(only_now, ["/healthz", "/livez", "/readyz"]);
}

/// A program that watches all kinds learns from the watch of definitions what there is to watch. Otherwise it would
/// begin a watch that has ended anew before that, and be told 404.
#[test]
fn a_watch_outlives_its_kind_for_a_second_and_tells_nothing() {
    let client = Client::in_memory();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object"}}});
    let definition = json!({"metadata": {"name": "zs.example.com"}, "spec": {"group": "example.com",
        "scope": "Namespaced", "names": {"plural": "zs", "kind": "Z"}, "versions": [version]}});
    let sent = client.send(
        "POST",
        definitions,
        "application/json",
        &definition.to_string(),
    );
    assert_eq!(sent.code, 201, "{}", sent.text);
    let mut instances = client.watch("/apis/example.com/v1/zs?watch=1", "application/json");
    let mut kinds = client.watch(&format!("{definitions}?watch=1"), "application/json");
    let name = format!("{definitions}/zs.example.com");
    let before = Instant::now();
    assert_eq!(client.send("DELETE", &name, "", "").code, 200);
    while client.next(&mut kinds).expect("an event")["type"] != "DELETED" {}
    assert_eq!(client.next(&mut instances), None);
    // Never less, however late this thread hears of it.
    assert!(before.elapsed() >= Duration::from_secs(1), "at once");
}
