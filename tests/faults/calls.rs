//! Kills the server at any call while a script of writes runs, during which the log is thinned and
//! snapshots come and go.

use super::verify;
use hindsight_tests::dice::number;
use hindsight_tests::http::MAPS;
use hindsight_tests::recorder::stored;
use hindsight_tests::server::{Server, serve};
use hindsight_tests::strace::Strace;
use hindsight_tests::wire::Caller;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// The calls that change files.
pub(super) const CALLS: &[&str] = &[
    "write",
    "pwrite64",
    "sync_file_range",
    "fdatasync",
    "fsync",
    "fallocate",
    "ftruncate",
    "rename",
    "unlink",
];
/// Calls that must occur, or the script would take no snapshots.
const OF_SNAPSHOTS: &[&str] = &["fsync", "rename", "unlink"];
/// A snapshot after every few writes, and the log thinned up to the one before it.
const RETENTION_FLAGS: &[&str] = &["--snapshot-every", "1", "--keep-history-bytes", "1KB"];

/// The version of each object, or its absence, as far as it was answered.
type Known = BTreeMap<String, Option<String>>;

/// Plays the script; returns what was answered, and whether the script came to its end.
fn script(server: &Server, prefix: &str) -> (Known, bool) {
    let mut known = BTreeMap::new();
    let Ok(mut wire) = Caller::of(server).connect() else {
        return (known, false);
    };
    for index in 0..12 {
        let name = format!("{prefix}{index}");
        let object =
            |data| format!(r#"{{"metadata": {{"name": "{name}"}}, "data": {{"k": "{data}"}}}}"#);
        let path = format!("{MAPS}/{name}");
        let steps = [
            ("POST", MAPS, object("1")),
            ("PUT", &path, object("2")),
            ("DELETE", &path, String::new()),
        ];
        for (method, path, body) in steps.into_iter().take(2 + index % 2) {
            // Until the request is answered its outcome is not known.
            known.remove(&name);
            let Ok(reply) = wire.ask(method, path, &body) else {
                return (known, false);
            };
            assert!(reply.code < 300, "{method} {path}: {}", reply.body);
            let version = reply.body.split_once("\"resourceVersion\":\"");
            let version = version.and_then(|(_, rest)| rest.split('"').next());
            let version = version.filter(|_| method != "DELETE");
            known.insert(name.clone(), version.map(str::to_owned));
        }
    }
    (known, true)
}

fn start(directory: &Path) -> Server {
    let mut command = serve(directory);
    command.args(RETENTION_FLAGS).stderr(Stdio::inherit());
    Server::start_with(command, directory).expect("it starts")
}

/// Plays two lives of a server, each of which leaves a snapshot: the next snapshot, of a third life,
/// lets the older one go and the log be thinned.
fn prepare(directory: &Path) {
    for prefix in ["a", "b"] {
        life(directory, prefix);
    }
}

/// One life of a server, in which the whole script is played.
pub(super) fn life(directory: &Path, prefix: &str) {
    let server = start(directory);
    assert!(script(&server, prefix).1);
    assert_eq!(server.signal("TERM"), Some(0));
}

fn copy(from: &Path, to: &Path) {
    let mut command = Command::new("cp");
    let copied = command.arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("cp starts").success());
}

/// The most times that any thread made each call, in an undisturbed run of the script.
fn counted(prepared: &Path) -> Option<BTreeMap<String, u64>> {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let (directory, record) = (
        temporary.path().join("data"),
        temporary.path().join("record"),
    );
    copy(prepared, &directory);
    let server = start(&directory);
    let tracer = Strace::record(server.pid(), &CALLS.join(","), &record)?;
    assert!(script(&server, "c").1);
    assert_eq!(server.signal("TERM"), Some(0));
    drop(tracer);
    assert!(
        verify(&directory).contains("history is complete from"),
        "it was thinned"
    );
    let record = std::fs::read_to_string(&record).expect("the record");
    Some(most_of_a_thread(&record, CALLS))
}

/// The most times that any thread made each of these calls.
pub(super) fn most_of_a_thread(record: &str, calls: &[&str]) -> BTreeMap<String, u64> {
    let mut of_threads: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for line in record.lines() {
        let mut words = line.split_whitespace();
        let thread = words.next().unwrap_or_default();
        let call = words.next().and_then(|call| call.split_once('('));
        let call = call.map(|(call, _)| call);
        if let Some(call) = call.filter(|call| calls.contains(call)) {
            *of_threads.entry((thread, call)).or_default() += 1;
        }
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for ((_, call), count) in of_threads {
        let most = counts.entry(call.to_owned()).or_default();
        *most = count.max(*most);
    }
    counts
}

/// Calls are counted per thread: the first thread to make its n-th is killed in it, and the process
/// with it. Each kind of call is counted alone, or the frequent ones would hide the rare ones.
#[test]
fn a_kill_at_any_call_of_a_script_loses_nothing_that_was_answered() {
    let apart = number("HINDSIGHT_CALLS_APART", 12);
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let prepared = temporary.path().join("prepared");
    prepare(&prepared);
    let Some(counts) = counted(&prepared) else {
        return;
    };
    for call in OF_SNAPSHOTS {
        assert!(counts.contains_key(*call), "no {call}: {counts:?}");
    }
    let mut all = 0;
    for (call, count) in counts {
        let step = usize::try_from(apart).expect("small");
        let places = (1..=count).step_by(step);
        let kills = places.filter(|at| killed_at(&prepared, &call, *at)).count();
        println!("{call}: {kills} kills, one at every {apart} of {count} calls of a thread");
        assert!(kills > 0, "no {call} was hit");
        all += kills;
    }
    println!("{all} kills");
}

/// Kills the server at a call; returns whether that cut off the script or the shutdown after it,
/// since which thread makes which calls may vary.
fn killed_at(prepared: &Path, call: &str, at: u64) -> bool {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    copy(prepared, &directory);
    let server = start(&directory);
    let fault = format!("signal=KILL:when={at}");
    let tracer = Strace::attach(server.pid(), call, &fault).expect("as before");
    let (known, _) = script(&server, "c");
    let is_killed = server.signal("TERM") != Some(0);
    drop(tracer);
    let stored = stored(&Server::start_on(&directory));
    for (name, version) in &known {
        assert_eq!(stored.get(name), version.as_ref(), "{call} {at}: {name}");
    }
    verify(&directory);
    is_killed
}
