//! The storage engine syncs its file once more when a command closes the log, which may fail.

use hindsight_tests::server::{Server, binary, hindsight, stdout, text};
use hindsight_tests::strace::with_fault_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Syncs of the database before and while the engine opens it succeed, all later ones fail.
const LATER: &str = "error=EIO:when=3+";

struct Fixture {
    _temporary: tempfile::TempDir,
    place: PathBuf,
    directory: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let place = temporary.path().canonicalize().expect("a path");
        let directory = place.join("data");
        let server = Server::start_on(&directory);
        server.kubectl(&["create", "configmap", "a"]);
        assert_eq!(server.signal("TERM"), Some(0));
        Self {
            _temporary: temporary,
            place,
            directory,
        }
    }
}

/// A command some of whose calls on this file fail; `None` if this machine cannot do that.
fn run_with(
    arguments: &[&str],
    directory: &Path,
    (call, fault): (&str, &str),
    database: &Path,
) -> Option<Output> {
    let mut command = Command::new(binary("hindsight"));
    command.args(arguments).arg("--data-dir").arg(directory);
    let output = with_fault_of(&command, call, fault, database)?.output();
    let output = output.expect("it runs");
    let said = text(&output.stderr);
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    assert!(said.contains("Input/output error"), "{arguments:?}: {said}");
    Some(output)
}

/// One whose last syncs of this file fail, those of sled itself.
fn run(arguments: &[&str], directory: &Path, database: &Path) -> Option<Output> {
    let output = run_with(arguments, directory, ("fsync", LATER), database)?;
    let said = text(&output.stderr);
    let told = ["closing the event log", "sync failed"];
    assert!(
        told.iter().all(|told| said.contains(told)),
        "{arguments:?}: {said}"
    );
    Some(output)
}

#[test]
fn what_only_reads_the_log_answers_although_closing_it_fails() {
    let fixture = Fixture::new();
    let directory = &fixture.directory;
    let database = directory.join("events/db");
    for arguments in [&["log"][..], &["replay"], &["verify", "--in-place"]] {
        let expected = stdout(&hindsight(directory, arguments));
        let Some(output) = run(arguments, directory, &database) else {
            return;
        };
        assert_eq!(stdout(&output), expected, "{arguments:?}");
    }
    // The backup is synced by itself.
    let file = fixture.place.join("log.backup");
    let name = file.to_str().expect("UTF-8");
    let output = run(&["backup", name], directory, &database);
    stdout(&output.expect("as before"));
    let restored = fixture.place.join("restored");
    stdout(&hindsight(&restored, &["restore", name]));
    stdout(&hindsight(&restored, &["verify", "--deep"]));
}

/// A restore of which these calls on one of its files fail, and which says so in these words.
fn refused_restore(file_of_it: &str, fault: (&str, &str), told: &[&str]) {
    let fixture = Fixture::new();
    let file = fixture.place.join("log.backup");
    let name = file.to_str().expect("UTF-8");
    stdout(&hindsight(&fixture.directory, &["backup", name]));
    let restored = fixture.place.join("restored");
    let failing = restored.join("restoring").join(file_of_it);
    let Some(output) = run_with(&["restore", name], &restored, fault, &failing) else {
        return;
    };
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(told.iter().all(|told| said.contains(told)), "{said}");
    assert!(!restored.exists(), "what was made is removed");
    stdout(&hindsight(&restored, &["restore", name]));
}

#[test]
fn a_restore_that_cannot_close_its_log_fails_and_leaves_nothing() {
    let told = ["hindsight: closing the event log", "sync failed"];
    refused_restore("events/db", ("fsync", "error=EIO"), &told);
}

/// What is only in the journal is put into the database when the log is closed. The first sync is that of opening it.
#[test]
fn a_restore_that_cannot_put_its_records_into_the_database_fails_and_leaves_nothing() {
    let told = ["hindsight: syncing the event log"];
    refused_restore("events/db", ("fdatasync", "error=EIO:when=2"), &told);
}

/// Without a durable note, a power cut would leave a log whose end nothing confirms.
#[test]
fn a_restore_that_cannot_sync_its_witness_fails_and_leaves_nothing() {
    let told = ["hindsight: syncing events.tail: Input/output error"];
    refused_restore("events.tail", ("fdatasync", "error=EIO"), &told);
}

/// The first write makes the file.
#[test]
fn a_restore_that_cannot_write_its_witness_fails_and_leaves_nothing() {
    let told = ["hindsight: syncing events.tail: it could not be written: Input/output error"];
    refused_restore("events.tail", ("write", "error=EIO:when=2+"), &told);
}
