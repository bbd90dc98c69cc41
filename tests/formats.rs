//! A log that a newer release wrote to: every command reports that and what is known of the log, none
//! changes anything, and there is a way back.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::Revision;
use hindsight_log::{Records, SledStorage, Storage};
use hindsight_tests::server::{Server, hindsight, serve, stdout, text};
use std::path::Path;

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
