//! A log that a newer release wrote to: every command reports that and what is known of the log, none
//! changes anything, and there is a way back.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::Revision;
use hindsight_log::{Records, SledStorage, Snapshots, Storage};
use hindsight_tests::server::{Server, hindsight, serve, stdout, text};
use std::path::Path;
use std::process::Stdio;

/// Offsets in the header of a record: its format, its first revision, and the number of its commits.
const FORMAT_AT: usize = 4;
const FIRST_AT: usize = 5;
const COMMITS_AT: usize = 13;

/// Appends a copy of the newest record, in a format that no release has written yet; returns its
/// revision.
fn upgrade(data: &Path) -> u64 {
    let storage = SledStorage::open(&data.join("events")).expect("opened");
    let newest = storage.at_or_before(Revision::MAX).expect("read");
    let (first, mut bytes) = newest.expect("a record");
    let commits = bytes[COMMITS_AT..].first_chunk().expect("a header");
    let next = first.0 + u64::from(u32::from_le_bytes(*commits));
    bytes[FORMAT_AT] = 200;
    bytes[FIRST_AT..COMMITS_AT].copy_from_slice(&next.to_le_bytes());
    let body = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum.to_le_bytes());
    storage.append(Revision(next), &bytes).expect("appended");
    storage.sync().expect("synced");
    next
}

#[test]
fn a_log_of_a_newer_release_is_told_by_every_command_and_can_be_gone_back_from() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path().join("data");
    let server = Server::start_on(&data);
    server.kubectl(&["create", "configmap", "kept"]);
    assert_eq!(server.signal("TERM"), Some(0));
    let newer = upgrade(&data);
    let file = temporary.path().join("rest.backup");
    let file = file.to_str().expect("UTF-8");
    let wrong = format!(
        "the log has format 200 at revision {newer}, and this release reads formats up to 4"
    );
    let extent = format!(
        "the log is intact up to revision {}, and the record at revision {newer} has format 200, from a newer release; \
         records of newer formats: 1, and the last revision in them is",
        newer - 1
    );
    for command in [
        "log",
        "why configmap/kept",
        "get configmaps",
        "plan configmap/kept",
        "replay",
        "verify",
        "verify --in-place",
        "verify --deep",
        &format!("backup {file}"),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let said = hindsight(&data, &words);
        let told = text(&said.stderr);
        assert_eq!(said.status.code(), Some(1), "{command}: {told}");
        assert!(told.contains(&wrong), "{command}: {told}");
        assert_eq!(told.matches(&extent).count(), 1, "{command}: {told}");
    }
    let refused = serve(&data).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    let told = text(&refused.stderr);
    assert!(told.contains(&wrong) && told.contains(&extent), "{told}");
    let saved = hindsight(&data, &["backup", "--intact", file]);
    assert!(text(&saved.stderr).contains(&extent));
    stdout(&saved);
    let before = temporary.path().join("before");
    stdout(&hindsight(&before, &["restore", file]));
    let asked = stdout(&hindsight(&before, &["get", "configmap/kept"]));
    assert!(asked.contains("kept"), "{asked}");
    assert!(stdout(&hindsight(&before, &["log"])).contains("configmap"));
}

/// An older snapshot, or the whole log, could come to another state: the log may have been thinned since.
#[test]
fn a_snapshot_of_a_newer_release_refuses_the_start_and_is_not_replaced() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path().join("data");
    let start = || {
        let mut command = serve(&data);
        command.args(["--snapshot-every", "1"]);
        Server::start_with(command, &data).expect("it starts")
    };
    let snapshots = Snapshots::at(data.join("snapshots"));
    let listed = || snapshots.revisions().expect("listed");
    for name in ["a", "b"] {
        let server = start();
        server.kubectl(&["create", "configmap", name]);
        assert_eq!(server.signal("TERM"), Some(0));
    }
    let before = listed();
    assert_eq!(before.len(), 2, "an older one could be read");
    let newest = data.join(format!("snapshots/{:020}.snapshot", before[0].0));
    let mut bytes = std::fs::read(&newest).expect("read");
    bytes[FORMAT_AT] += 1;
    std::fs::write(&newest, &bytes).expect("written");
    let asked = hindsight(&data, &["get", "configmap/b"]);
    let mut command = serve(&data);
    command.stderr(Stdio::piped());
    let refused = Server::start_with(command, &data).expect_err("it is refused");
    for output in [asked, refused] {
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        let found = format!(
            "has format {}, and this release reads formats up to",
            bytes[FORMAT_AT]
        );
        assert!(told.contains(&found), "{told}");
    }
    assert_eq!(listed(), before);
    assert_eq!(std::fs::read(&newest).expect("it is there"), bytes);
}
