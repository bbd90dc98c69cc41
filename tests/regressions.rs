//! What went wrong in other projects and must not here: the table in `tests/regressions.md`, and
//! those of its tests that belong nowhere else. In process, through the same handler as the server's.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Config, ControlPlane};
use hindsight_tests::evidence::{missing, mutants, quoted, rows};
use hindsight_tests::http::{Client, JSON, MAPS};
use hindsight_tests::tree::repository;
use serde_json::json;
use std::collections::BTreeSet;

/// Fewer rows than this mean that the table was cut, or is no longer parsed as one.
const ROWS_MIN: usize = 48;

fn page(name: &str) -> String {
    std::fs::read_to_string(repository().join(name)).expect(name)
}

#[test]
fn every_failure_of_others_has_a_test_and_a_build_that_it_finds() {
    let rows = rows(&page("tests/regressions.md"));
    assert!(rows.len() >= ROWS_MIN, "only {} rows", rows.len());
    let (known, mut seen) = (mutants(), BTreeSet::new());
    let mut findings = Vec::new();
    let mut shown = Vec::new();
    for row in &rows {
        let [failure, _, _, tests, red] = row.as_slice() else {
            findings.push(format!("not five cells: {row:?}"));
            continue;
        };
        let (tests, red) = (quoted(tests), quoted(red));
        if red.is_empty() {
            findings.push(format!("{failure}: nothing turns it red"));
        }
        if tests.is_empty() {
            findings.push(format!("{failure}: nothing shows it"));
        }
        let unknown = red.iter().filter(|name| !known.contains(*name));
        findings.extend(unknown.map(|name| format!("{failure}: there is no mutant {name}")));
        if !seen.insert(failure) {
            findings.push(format!("twice: {failure}"));
        }
        shown.extend(tests);
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    assert_eq!(missing(&shown), Vec::<&String>::new());
}

#[test]
fn what_the_page_about_faults_names_exists() {
    let names = quoted(&page("docs/reliability.md")).into_iter();
    let is_test = |name: &String| name.split('_').count() > 3 && !name.contains([' ', '/']);
    let names: Vec<String> = names.filter(is_test).collect();
    assert!(names.len() > 25, "only {} are named", names.len());
    assert_eq!(missing(&names), Vec::<&String>::new());
}

fn create(client: &Client, name: &str) {
    let body = json!({"metadata": {"name": name}}).to_string();
    assert_eq!(client.send("POST", MAPS, JSON, &body).code, 201);
}

#[test]
fn a_watch_from_the_future_shows_nothing_older() {
    let client = Client::in_memory();
    create(&client, "old");
    let ahead = client.revision() + 2;
    let mut watch = client.watch(&format!("{MAPS}?watch=1&resourceVersion={ahead}"), "");
    for name in ["a", "b", "c"] {
        create(&client, name);
    }
    let event = client.next(&mut watch).expect("an event");
    assert_eq!(event["object"]["metadata"]["name"], "c");
}

#[test]
fn an_object_of_the_cluster_is_in_no_namespace() {
    let client = Client::in_memory();
    let node = json!({"metadata": {"name": "n"}}).to_string();
    assert_eq!(client.send("POST", "/api/v1/nodes", JSON, &node).code, 201);
    let before = client.revision();
    let inside = "/api/v1/namespaces/default/nodes";
    for (method, path) in [
        ("GET", inside.to_owned()),
        ("GET", format!("{inside}/n")),
        ("DELETE", format!("{inside}/n")),
        ("DELETE", inside.to_owned()),
        ("POST", inside.to_owned()),
    ] {
        let answer = client.send(method, &path, JSON, "");
        assert_eq!(answer.code, 404, "{method} {path}: {}", answer.text);
    }
    assert_eq!(client.revision(), before);
}

#[test]
fn a_path_leads_out_of_nothing() {
    let client = Client::in_memory();
    create(&client, "secret");
    for path in [
        "/api/v1/namespaces/../configmaps",
        "/api/v1/namespaces/%2e%2e/configmaps",
        "/api/v1/namespaces/default%2fconfigmaps%2fsecret",
        "/api/v1/namespaces/./configmaps/default/secret",
        "/api/v1/namespaces/default/configmaps/%2e%2e",
        "/api/v1/namespaces/default/configmaps/..%2fconfigmaps%2fsecret",
    ] {
        let answer = client.send("GET", path, "", "");
        assert!(
            !answer.text.contains("\"secret\""),
            "{path}: {}",
            answer.text
        );
        let is_empty = answer.code == 200 && answer.json()["items"] == json!([]);
        assert!(is_empty || answer.code >= 400, "{path}: {}", answer.text);
    }
}

/// Each body is as large as allowed; anything that takes more than one pass over it would not end in
/// a day.
#[test]
fn yaml_that_is_hard_to_read_is_refused() {
    let client = Client::in_memory();
    let size = 3 << 20;
    for part in [
        "- ", "? ", "[", "{a: ", "! ", "&a ", "*a ", "'", "\"\\n", "a:\n ", "- - -\n",
    ] {
        let body = part.repeat(size / part.len() - 1);
        let answer = client.send("POST", MAPS, "application/yaml", &body);
        assert!(
            (400..500).contains(&answer.code),
            "{part:?}: {}",
            answer.code
        );
    }
}

#[test]
fn a_log_whose_last_records_are_removals_opens_and_goes_on() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let config = || Config {
        data_dir: Some(temporary.path().join("data")),
        ..Config::default()
    };
    let plane = ControlPlane::open(config()).expect("a control plane");
    let client = Client::new(&plane);
    for name in ["a", "b"] {
        create(&client, name);
        client.send("DELETE", &format!("{MAPS}/{name}"), "", "");
    }
    let newest = client.revision();
    drop((client, plane));
    let client = Client::new(&ControlPlane::open(config()).expect("it opens again"));
    assert_eq!(client.revision(), newest);
    for name in ["a", "b"] {
        let found = client.send("GET", &format!("{MAPS}/{name}"), "", "");
        assert_eq!(found.code, 404, "{name} is back");
    }
    create(&client, "c");
    assert_eq!(client.revision(), newest + 1);
}
