//! Writes that store less than they were given, as the system may at any time.

use super::{History, verify};
use hindsight_tests::disk::skipped;
use hindsight_tests::preload::library;
use hindsight_tests::recorder::Recorder;
use hindsight_tests::server::{Server, binary, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const LIVES: u64 = 3;
const WORK: Duration = Duration::from_millis(700);
/// What is written must be cut short in each of these.
const FILES: &[&str] = &[
    "data/events/db",
    "data/events/journal",
    "data/events.tail",
    "data/snapshots/",
    "log.backup",
    "restored/restoring/events/db",
];

/// Of each write to a file in its folder half is stored.
struct Short {
    library: PathBuf,
    folder: PathBuf,
}

impl Short {
    fn record(&self) -> PathBuf {
        self.folder.join("shortened")
    }

    fn of(&self, mut command: Command) -> Command {
        command
            .env("LD_PRELOAD", &self.library)
            .env("HINDSIGHT_TEST_SHORT", &self.folder)
            .env("HINDSIGHT_TEST_SHORTENED", self.record())
            .stderr(Stdio::inherit());
        command
    }

    fn run(&self, directory: &Path, arguments: &[&str]) {
        let mut command = Command::new(binary("hindsight"));
        command.args(arguments).arg("--data-dir").arg(directory);
        stdout(&self.of(command).output().expect("it runs"));
    }
}

#[test]
fn of_writes_that_are_cut_short_the_rest_is_written_before_they_are_answered() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let folder = temporary.path().canonicalize().expect("a path");
    let Some(library) = library("faults/short.c", &folder) else {
        return skipped("writes that are cut short", "there is no C compiler");
    };
    let short = Short { library, folder };
    let directory = short.folder.join("data");
    // Of an even number: snapshots are written, and the log is thinned.
    let mut history = History::new(directory.clone(), 0);
    for life in 0..LIVES {
        let server = Server::start_with(short.of(history.command()), &directory);
        let server = server.expect("it starts");
        history.ledger.check(&server);
        let recorder = Recorder::start(&server, &format!("n{life}"), life);
        std::thread::sleep(WORK);
        server.signal("KILL");
        history.ledger.extend(recorder.stop());
    }
    let (answered, is_thinned) = history.end();
    let file = short.folder.join("log.backup");
    let file = file.to_str().expect("UTF-8");
    let restored = short.folder.join("restored");
    short.run(&directory, &["backup", file]);
    short.run(&restored, &["restore", file]);
    verify(&restored);
    let cut = std::fs::read_to_string(short.record()).expect("a record");
    for file in FILES {
        let is_cut = cut.lines().any(|line| line.contains(file));
        assert!(is_cut, "no write of {file} was cut short");
    }
    let count = cut.lines().count();
    println!(
        "{count} writes cut short, {answered} answered writes, all there; thinned: {is_thinned}"
    );
    assert!(answered > 0, "no write was answered");
}
