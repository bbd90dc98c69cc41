//! Damaged data directories: what each command says of them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::server::{Server, hindsight, serve, text};
use std::fs;
use std::path::Path;
use std::process::Command;

fn stop(server: Server) {
    assert_eq!(server.signal("TERM"), Some(0));
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.expect("cp runs").success());
}

/// What the command says of the log, which it refuses.
fn refusal(directory: &Path, words: &[&str]) -> String {
    let refused = hindsight(directory, words);
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{words:?}: {told}");
    told
}

/// What a start says of the log, which it refuses.
fn refused_start(directory: &Path) -> String {
    match Server::start_with(serve(directory), directory) {
        Ok(_) => panic!("it starts"),
        Err(ended) => text(&ended.stderr),
    }
}

#[test]
fn a_log_that_ends_before_its_newest_snapshot_is_intact_to_no_command() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, older) = (
        temporary.path().join("data"),
        temporary.path().join("older"),
    );
    let add = |name: &str| {
        let mut command = serve(&data);
        command.args(["--snapshot-every", "1"]);
        let server = Server::start_with(command, &data).expect("it starts");
        server.kubectl(&["create", "configmap", name]);
        stop(server);
    };
    add("first");
    copy(&data, &older);
    add("second");
    fs::remove_dir_all(older.join("snapshots")).expect("removed");
    copy(&data.join("snapshots"), &older.join("snapshots"));
    for words in [
        &["verify"][..],
        &["verify", "--deep"],
        &["verify", "--in-place", "-o", "json"],
        &["log"],
    ] {
        let told = refusal(&older, words);
        assert!(told.contains("are lost"), "{words:?}: {told}");
    }
    assert!(refused_start(&older).contains("are lost"));
    let file = temporary.path().join("rest");
    let file = file.to_str().expect("UTF-8");
    let saved = hindsight(&older, &["backup", "--intact", file]);
    let told = text(&saved.stderr);
    assert!(saved.status.success(), "{told}");
    assert!(
        told.contains(", but revision ") && told.contains(" was acknowledged"),
        "{told}"
    );
}
