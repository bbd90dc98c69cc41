//! A witness of the log's end that cannot be written: it keeps the history, and hinders nothing else.

use super::verify;
use hindsight_tests::http::MAPS;
use hindsight_tests::server::{Server, serve};
use hindsight_tests::strace::with_fault_of;
use hindsight_tests::wire::Caller;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes of one life: more than two snapshots need.
const WRITES: usize = 100;

/// A server that drops as much history as it can, as soon as it can.
fn command(directory: &Path) -> Command {
    let mut command = serve(directory);
    command.args(["--snapshot-every", "20", "--keep-history-bytes", "1B"]);
    command
}

/// Writes, all of which must be answered, and ends the server cleanly. Returns what it said.
fn live(mut command: Command, directory: &Path, life: &str) -> String {
    command.stderr(Stdio::piped());
    let server = Server::start_with(command, directory).expect("it starts");
    let mut wire = Caller::of(&server).connect().expect("connected");
    for number in 0..WRITES {
        let map = format!(r#"{{"metadata": {{"name": "{life}-{number}"}}}}"#);
        let created = wire.ask("POST", MAPS, &map).expect("an answer");
        assert_eq!(created.code, 201, "{life} {number}: {}", created.body);
        if number % 10 == 0 {
            let ready = wire.ask("GET", "/readyz", "").expect("an answer");
            assert_eq!(ready.code, 200, "{life} {number}: {}", ready.body);
        }
    }
    drop(wire);
    server.send("TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{life}: {said}");
    said
}

/// What is told of the revision from which everything is kept.
fn floor(directory: &Path) -> String {
    let report = verify(directory);
    let mut lines = report.lines();
    let told = lines.find(|line| line.contains("history is complete from"));
    told.unwrap_or_else(|| panic!("nothing was dropped: {report}"))
        .to_owned()
}

#[test]
fn a_witness_that_cannot_be_written_keeps_the_history_until_the_next_start() {
    for (call, fault) in [("write", "error=ENOSPC"), ("fdatasync", "error=EIO")] {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let place = temporary.path().canonicalize().expect("a path");
        let directory = place.join("data");
        live(command(&directory), &directory, "before");
        let before = floor(&directory);
        let tail = directory.join("events.tail");
        let Some(failing) = with_fault_of(&command(&directory), call, fault, &tail) else {
            return;
        };
        let said = live(failing, &directory, "during");
        let told = "cannot thin the log";
        assert!(
            said.contains(told) && said.contains("events.tail"),
            "{said}"
        );
        assert!(!said.contains("poisoned and"), "{said}");
        assert_eq!(floor(&directory), before, "{call}");
        live(command(&directory), &directory, "after");
        assert_ne!(floor(&directory), before, "{call}");
    }
}
