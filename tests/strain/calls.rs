//! What the program asks the system for.

use super::{comes, create};
use hindsight_tests::server::{Server, serve};
use hindsight_tests::strace::{Strace, recorded};
use hindsight_tests::wire::Caller;
use std::path::Path;

const SYNCS: &str = "fsync,fdatasync";
const WRITES: usize = 5;

/// How often a file was synced, of what a tracer wrote down.
fn synced(record: &str, path: &Path) -> usize {
    let path = format!("<{}>", path.display());
    let lines = record.lines();
    lines
        .filter(|line| line.contains("sync(") && line.contains(&path))
        .count()
}

#[test]
fn a_start_syncs_the_database_and_every_directory_above_it() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let record = temporary.path().join("record");
    let relative = Path::new("made/by/it");
    let Some(mut command) = recorded(&serve(relative), SYNCS, &record) else {
        return;
    };
    command.current_dir(temporary.path());
    let directory = temporary.path().join(relative);
    let server = Server::start_with(command, &directory).expect("started");
    let ended = [server.pid().to_string(), "+++".into()];
    assert_eq!(server.signal("TERM"), Some(0));
    let read = || std::fs::read_to_string(&record).expect("the record");
    comes("the end of the record", || {
        let is_it = |line: &str| line.split_whitespace().take(2).eq(&ended);
        read().lines().any(is_it)
    });
    let events = directory.join("events");
    let above = directory.ancestors().take(4);
    for path in [&*events.join("db"), &events].into_iter().chain(above) {
        let times = synced(&read(), path);
        assert!(times > 0, "{} is not synced", path.display());
    }
}

#[test]
fn every_answer_follows_a_sync_of_the_database() {
    let server = Server::start();
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let record = temporary.path().join("record");
    let mut wire = Caller::of(&server).connect().expect("connected");
    create(&mut wire, "before", 1);
    let Some(strace) = Strace::record(server.pid(), SYNCS, &record) else {
        return;
    };
    // One after the other, so that no two of them share a sync.
    for index in 0..WRITES {
        create(&mut wire, &format!("c{index}"), 1);
    }
    drop(strace);
    let record = std::fs::read_to_string(&record).expect("the record");
    let times = synced(&record, &server.directory().join("events/db"));
    assert!(times >= WRITES, "{times} syncs:\n{record}");
}
