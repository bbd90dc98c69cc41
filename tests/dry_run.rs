//! A dry run is answered as the request is, for every verb and for refusals, and leaves nothing
//! behind: no revision, no byte in the data directory.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Config, ControlPlane};
use hindsight_tests::http::{Answer, Client};
use hindsight_tests::requests::{Line, requests, timeless};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Sends a request as a dry run; a deletion with a body asks for that in its body.
fn dry(line: &Line<'_>, client: &Client) -> Answer {
    if line.method == "DELETE"
        && let Ok(Value::Object(mut options)) = serde_json::from_str(line.body)
    {
        options.insert("dryRun".into(), json!(["All"]));
        let body = Value::Object(options).to_string();
        return client.send(line.method, &line.path, line.media, &body);
    }
    let separator = if line.path.contains('?') { '&' } else { '?' };
    let path = format!("{}{separator}dryRun=All", line.path);
    client.send(line.method, &path, line.media, line.body)
}

/// The document with what differs each time replaced by a word: revisions, times and, for a new
/// object, UIDs and generated names. A member that is in one answer must be in the other.
fn comparable(document: &Value, is_new: bool) -> Value {
    let mut document = document.clone();
    let metadata = document.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        let generated = metadata.contains_key("generateName");
        for (member, is_fresh) in [
            ("uid", is_new),
            ("resourceVersion", true),
            ("name", is_new && generated),
        ] {
            let value = metadata.get_mut(member).filter(|_| is_fresh);
            if let Some(value) = value {
                *value = json!("fresh");
            }
        }
    }
    timeless(&mut document);
    document
}

fn open(directory: &Path) -> ControlPlane {
    let config = Config {
        data_dir: Some(directory.to_owned()),
        collectors: false,
        ..Config::default()
    };
    ControlPlane::open(config).expect("it opens")
}

/// Every file below a directory except the lock file.
fn bytes(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("lock") {
                let name = path.display().to_string();
                found.insert(name, std::fs::read(path).expect("a file"));
            }
        }
    }
    found
}

#[test]
fn a_dry_run_answers_what_the_request_then_answers() {
    let plane = ControlPlane::open(Config {
        collectors: false,
        ..Config::default()
    });
    let plane = plane.expect("it opens");
    let client = Client::new(&plane);
    let mut seen = BTreeMap::new();
    for line in requests() {
        let before = (client.revision(), plane.state().hash());
        let dry = dry(&line, &client);
        let after = (client.revision(), plane.state().hash());
        let case = format!("{} {} {}: {}", line.method, line.path, line.body, dry.text);
        assert_eq!(before, after, "{case}");
        let real = line.send(&client);
        assert_eq!(
            (dry.code, real.code),
            (line.code, line.code),
            "{case}\n{}",
            real.text
        );
        assert_eq!(dry.warnings, real.warnings, "{case}");
        let is_new = line.code == 201;
        let [dry, mut real] = [dry, real].map(|one| comparable(&one.json(), is_new));
        if is_new && let Some(metadata) = real["metadata"].as_object_mut() {
            // An object that is not stored has no `resourceVersion`, as upstream.
            metadata.remove("resourceVersion");
        }
        assert_eq!(dry, real, "{case}");
        *seen.entry((line.method, line.code)).or_insert(0) += 1;
    }
    assert!(seen.len() > 15, "the table is not what it was: {seen:?}");
}

/// The salt at the beginning of the journal.
const JOURNAL_BEGIN_BYTES: usize = 16;

#[test]
fn dry_runs_leave_no_byte_behind() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let plane = open(&directory);
    let client = Client::new(&plane);
    for line in requests().filter(|line| line.method == "POST") {
        line.send(&client);
    }
    drop((client, plane));
    drop(open(&directory));
    let before = bytes(&directory);
    let plane = open(&directory);
    let client = Client::new(&plane);
    let revision = client.revision();
    for line in requests() {
        dry(&line, &client);
    }
    assert_eq!(client.revision(), revision);
    drop((client, plane));
    let after = bytes(&directory);
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
    for (name, bytes) in before {
        // Every start writes a new salt.
        let own = if name.ends_with("events/journal") {
            JOURNAL_BEGIN_BYTES
        } else {
            0
        };
        assert!(after[&name][own..] == bytes[own..], "{name} changed");
    }
}
