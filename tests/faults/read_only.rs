//! A log on a disk that is mounted read-only, as for rescue: questions are answered, and nothing is
//! written.

use super::full::Small;
use hindsight_tests::disk::{Disk, skipped};
use hindsight_tests::server::{Server, hindsight, stdout, text};
use std::path::Path;

/// Questions about the log, which must have the same answers in a writable and in a read-only
/// directory.
const QUESTIONS: [&[&str]; 7] = [
    &["log"],
    &["why", "configmap/gone"],
    &["get", "configmaps", "-n", "default", "-o", "name"],
    &[
        "get",
        "configmaps",
        "-n",
        "default",
        "-o",
        "name",
        "--as-of",
        "6",
    ],
    &["plan", "configmap/kept"],
    &["replay"],
    &["verify", "--deep"],
];

fn asked(words: &[&str], data: &Path) -> String {
    let output = hindsight(data, words);
    let told = text(&output.stderr);
    assert!(!told.contains("cannot be confirmed"), "{words:?}: {told}");
    stdout(&output)
}

#[test]
fn a_log_that_cannot_be_written_to_is_asked_as_any_other() {
    let Some(small) = Small::of(128, "questions of a read-only disk") else {
        return;
    };
    let data = &small.directory;
    let server = Server::start_on(data);
    for name in ["gone", "kept"] {
        server.kubectl(&["create", "configmap", name]);
    }
    server.kubectl(&["delete", "configmap", "gone"]);
    assert_eq!(server.signal("TERM"), Some(0));
    let before = QUESTIONS.map(|words| asked(words, data));
    assert!(before.iter().all(|answer| !answer.is_empty()), "{before:?}");
    small.disk.remount_read_only();
    assert_eq!(QUESTIONS.map(|words| asked(words, data)), before);
    let file = small.at.with_file_name("saved");
    asked(&["backup", file.to_str().expect("a path of text")], data);
    let restored = small.at.with_file_name("restored");
    let words = ["restore", file.to_str().expect("a path of text")];
    asked(&words, &restored);
    let names = asked(QUESTIONS[2], &restored);
    assert_eq!(names, before[2]);
}

/// While others have the volume mounted read-only the server goes on writing: what they read from the
/// files themselves would mix several moments.
#[test]
fn a_directory_that_is_served_elsewhere_is_asked_of_its_server() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let (data, at) = (temporary.path().join("data"), temporary.path().join("seen"));
    let server = Server::start_on(&data);
    let Some(_seen) = Disk::read_only_bind_mount(&data, &at) else {
        return skipped("questions beside a server", "nothing can be mounted here");
    };
    let config_maps =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: c-}\n---\n".repeat(40);
    std::thread::scope(|scope| {
        let writes = scope.spawn(|| server.kubectl_with(&["create", "-f", "-"], &config_maps));
        while !writes.is_finished() {
            asked(&["log"], &at);
        }
    });
    assert_eq!(asked(&["log"], &at), asked(&["log"], &data));
    let saved = temporary.path().join("saved");
    let saved = saved.to_str().expect("a path of text");
    for words in [&["verify"][..], &["backup", "--intact", saved]] {
        let refused = text(&hindsight(&at, words).stderr);
        assert!(refused.contains("a server is using "), "{refused}");
    }
    assert_eq!(server.signal("TERM"), Some(0));
    assert_eq!(asked(&["log"], &at), asked(&["log"], &data));
}

#[test]
fn a_shorter_log_that_cannot_be_written_to_is_refused() {
    let Some(small) = Small::of(128, "questions of a read-only disk") else {
        return;
    };
    let data = &small.directory;
    let server = Server::start_on(data);
    let older = small.at.with_file_name("older");
    server.kubectl(&["create", "configmap", "first"]);
    assert_eq!(server.signal("TERM"), Some(0));
    std::fs::copy(data.join("events/db"), &older).expect("copied");
    let server = Server::start_on(data);
    server.kubectl(&["create", "configmap", "second"]);
    assert_eq!(server.signal("TERM"), Some(0));
    std::fs::copy(older, data.join("events/db")).expect("copied");
    std::fs::remove_file(data.join("events/journal")).expect("removed");
    small.disk.remount_read_only();
    for words in QUESTIONS {
        let output = hindsight(data, words);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {told}");
        assert!(told.contains("was acknowledged"), "{words:?}: {told}");
    }
}
