//! Writes that fail: of the database, and to the journal in front of it.

use super::failed_at;
use hindsight_tests::http::MAPS;
use hindsight_tests::recorder::{Recorder, stored};
use hindsight_tests::server::Server;
use hindsight_tests::strace::Strace;
use hindsight_tests::wire::Caller;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A server, and a file of its log of which every write fails from here on.
struct Failing {
    server: Server,
    directory: PathBuf,
    file: PathBuf,
    record: PathBuf,
    tracer: Strace,
    _temporary: tempfile::TempDir,
}

impl Failing {
    /// The call with which this file is written fails; `None` if this machine cannot do that.
    fn of(file: &str, call: &str) -> Option<Self> {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let place = temporary.path().canonicalize().expect("a path");
        let directory = place.join("data");
        let (file, record) = (directory.join(file), place.join("record"));
        let server = Server::try_start_on(&directory).expect("it starts");
        let tracer = Strace::attach_to_file(server.pid(), call, "error=EIO", &file, &record)?;
        Some(Self {
            server,
            directory,
            file,
            record,
            tracer,
            _temporary: temporary,
        })
    }
}

/// When a write of this file first failed.
fn write_failed_at(record: &Path, file: &Path) -> SystemTime {
    let record = std::fs::read_to_string(record).expect("the record");
    failed_at(&record, file).unwrap_or_else(|| panic!("no write failed:\n{record}"))
}

/// The engine writes its file once the journal is full, on a thread of its own, and tells only whoever flushes
/// it. What was answered before is in the journal, and nothing may take its place there.
#[test]
fn after_a_failed_write_of_the_database_nothing_is_answered_and_a_restart_has_all_that_was() {
    let Some(failing) = Failing::of("events/db", "pwrite64") else {
        return;
    };
    let recorder = Recorder::start(&failing.server, "n", 1);
    let (code, said) = failing.server.ended();
    drop(failing.tracer);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the event log failed"), "{said}");
    let mut ledger = recorder.stop();
    let failed = write_failed_at(&failing.record, &failing.file);
    let (begun, _) = ledger.newest.expect("some writes were answered");
    assert!(begun < failed, "written after a failed write");
    let server = Server::start_on(&failing.directory);
    ledger.check(&server);
    server.kubectl(&["create", "configmap", "a"]);
}

#[test]
fn what_the_journal_does_not_take_is_in_the_database_before_it_is_answered() {
    let Some(failing) = Failing::of("events/journal", "write") else {
        return;
    };
    let caller = Caller::of(&failing.server);
    let mut wire = caller.connect().expect("connected");
    for index in 0..5 {
        let body = format!(r#"{{"metadata": {{"name": "n{index}"}}}}"#);
        let reply = wire.ask("POST", MAPS, &body).expect("an answer");
        assert_eq!(reply.code, 201, "{}", reply.body);
    }
    let answered = stored(&failing.server);
    failing.server.send("KILL");
    let (_, said) = failing.server.ended();
    drop(failing.tracer);
    assert!(said.contains("syncing the database instead"), "{said}");
    write_failed_at(&failing.record, &failing.file);
    let found = stored(&Server::start_on(&failing.directory));
    for (name, version) in &answered {
        assert_eq!(found.get(name), Some(version), "{name}");
    }
}
