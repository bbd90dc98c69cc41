//! Kills the server at any call that changes a file while a script of writes runs, during which the log
//! is thinned and snapshots come and go.

use super::verify;
use hindsight_tests::dice::number;
use hindsight_tests::http::MAPS;
use hindsight_tests::recorder::stored;
use hindsight_tests::server::{Server, serve};
use hindsight_tests::strace::{Strace, with_fault_of};
use hindsight_tests::wire::Caller;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
/// Calls that must occur, or the script would take no snapshots, the engine write no pages, and the writer no journal.
const MUST_OCCUR: &[(&str, &str)] = &[
    ("write", "snapshots/*.unfinished"),
    ("rename", "snapshots/*.unfinished"),
    ("fsync", "snapshots"),
    ("unlink", "snapshots/*.snapshot"),
    ("pwrite64", "events/db"),
    ("write", "events/journal"),
    ("write", "events.tail"),
];
/// In how many lives a call is waited for that was made once and is not made again.
const LIVES_MAX: usize = 3;
/// More revisions than the three lives write.
const REVISIONS_MAX: u64 = 200;
/// How long a call waits to be killed in. The next one is tried where the kill came too late.
const WAITS: &[Duration] = &[
    Duration::from_millis(50),
    Duration::from_millis(500),
    Duration::from_secs(5),
];
/// How long a life may take: it bounds a failing run and measures nothing.
const PATIENCE: Duration = Duration::from_mins(5);
/// A snapshot after every few writes, and the log thinned up to the one before it.
const RETENTION_FLAGS: &[&str] = &["--snapshot-every", "1", "--keep-history-bytes", "1KB"];

/// A call, and the file that it is about: its path in the data directory, `*` for any revision.
pub(super) type Kind = (String, String);

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

/// How often each kind of call is made in an undisturbed run of the script.
fn counted(prepared: &Path) -> Option<BTreeMap<Kind, usize>> {
    let (temporary, directory) = copied(prepared);
    let record = temporary.path().join("record");
    let server = start(&directory);
    let tracer = Strace::record(server.pid(), &CALLS.join(","), &record)?;
    assert!(script(&server, "c").1);
    assert_eq!(server.signal("TERM"), Some(0));
    drop(tracer);
    assert!(
        verify(&directory).contains("history is complete from"),
        "it was thinned"
    );
    Some(count(made(&read(&record), CALLS, &directory)))
}

/// A copy of a data directory, which is removed with the first of these.
pub(super) fn copied(prepared: &Path) -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let place = temporary.path().canonicalize().expect("a path");
    let directory = place.join("data");
    copy(prepared, &directory);
    (temporary, directory)
}

fn read(record: &Path) -> String {
    std::fs::read_to_string(record).expect("the record")
}

/// Those of these calls that are about a file of a directory, in the order in which any thread of the process began
/// them. What is written to sockets, or to wake another thread, changes no file.
pub(super) fn made(record: &str, calls: &[&str], directory: &Path) -> Vec<Kind> {
    let kind = |line: &str| {
        let (_, call) = line.split_once(' ')?;
        let (call, arguments) = call.trim_start().split_once('(')?;
        // `5</a/b>, ...` or `"/a/b", ...`
        let path = arguments.split(['<', '>', '"']).nth(1)?;
        let file = Path::new(path).strip_prefix(directory).ok()?.to_str()?;
        let is_one = calls.contains(&call);
        is_one.then(|| (call.to_owned(), without_revision(file)))
    };
    record.lines().filter_map(kind).collect()
}

fn without_revision(file: &str) -> String {
    match file.strip_prefix("snapshots/") {
        Some(name) => {
            let rest = name.trim_start_matches(|digit: char| digit.is_ascii_digit());
            format!("snapshots/*{rest}")
        }
        None => file.to_owned(),
    }
}

/// All files that a kind of call may be about.
fn files(directory: &Path, (_, file): &Kind) -> Vec<PathBuf> {
    let with = |revision| directory.join(file.replace('*', &format!("{revision:020}")));
    let mut files: Vec<_> = (0..REVISIONS_MAX).map(with).collect();
    files.dedup();
    files
}

/// How often each kind of call is made, whichever thread makes it.
pub(super) fn count(kinds: impl IntoIterator<Item = Kind>) -> BTreeMap<Kind, usize> {
    let mut counts = BTreeMap::new();
    for kind in kinds {
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

/// The command, killed in the n-th call of a kind that one of its threads makes.
pub(super) fn killed_in(
    command: &Command,
    root: &Path,
    (call, file): &Kind,
    at: usize,
) -> Option<Command> {
    let fault = format!("signal=KILL:when={at}");
    // Not `join`, which would end the name of the root itself in a slash.
    let file: PathBuf = root
        .components()
        .chain(Path::new(file).components())
        .collect();
    with_fault_of(command, call, &fault, &file)
}

/// The calls of one kind are counted together, whichever thread makes them. Each kind is counted alone,
/// or the frequent ones would hide the rare ones; its first and its last call are always tried. How far the log
/// is thinned, and so which calls that takes, is a matter of time: a kind may not be made again.
#[test]
fn a_kill_at_any_call_of_a_script_loses_nothing_that_was_answered() {
    let apart = usize::try_from(number("HINDSIGHT_CALLS_APART", 12)).expect("small");
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let prepared = temporary.path().join("prepared");
    prepare(&prepared);
    let Some(counts) = counted(&prepared) else {
        return;
    };
    for (call, file) in MUST_OCCUR {
        let kind = ((*call).to_owned(), (*file).to_owned());
        assert!(counts.contains_key(&kind), "no {kind:?}: {counts:?}");
    }
    let mut all = 0;
    for (kind, count) in counts {
        let is_place = |at: &usize| (at - 1).is_multiple_of(apart) || *at == count;
        let killed = |at| killed_at(&prepared, &kind, at);
        let mut outcomes: Vec<_> = (1..=count).filter(is_place).map(killed).collect();
        let never = |outcomes: &[Kill]| outcomes.iter().all(|one| *one == Kill::Never);
        while never(&outcomes) && outcomes.len() < LIVES_MAX {
            outcomes.push(killed(1));
        }
        let kills = outcomes.iter().filter(|one| **one == Kill::InTime);
        let kills = kills.count();
        let (call, file) = &kind;
        println!("{call} {file}: {kills} kills, one at every {apart} of {count} calls");
        let may_be_missed = never(&outcomes) && !MUST_OCCUR.contains(&(call, file));
        assert!(
            kills > 0 || may_be_missed,
            "no {call} of {file} was hit: {outcomes:?}"
        );
        all += kills;
    }
    println!("{all} kills");
}

/// What came of a kill in the n-th call of a kind.
#[derive(Debug, PartialEq)]
enum Kill {
    InTime,
    /// The call, or the whole life, had ended before.
    Late,
    /// There was no n-th: how often some calls are made may vary.
    Never,
}

/// Kills the server at the n-th call of a kind.
fn killed_at(prepared: &Path, kind: &Kind, at: usize) -> Kill {
    let kill = |wait| killed_while_waiting(prepared, kind, at, wait);
    let mut kills = WAITS.iter().copied().map(kill);
    kills.find(|kill| *kill != Kill::Late).unwrap_or(Kill::Late)
}

/// Plays the script while each call of a kind waits before it is made, and kills the server in the n-th.
fn killed_while_waiting(prepared: &Path, kind: &Kind, at: usize, wait: Duration) -> Kill {
    let (temporary, directory) = copied(prepared);
    let path = temporary.path().join("record");
    let server = start(&directory);
    let files = files(&directory, kind);
    let tracer = Strace::delay(server.pid(), &kind.0, &files, wait, &path);
    let tracer = tracer.expect("as before");
    let begun = |record: &str| made(record, CALLS, &directory).len();
    let known = std::thread::scope(|scope| {
        let playing = scope.spawn(|| {
            let (known, _) = script(&server, "c");
            server.send("TERM");
            known
        });
        kill_when(&server, &path, |record| begun(record) >= at);
        playing.join().expect("played")
    });
    let is_killed = server.ended().0.is_none();
    drop(tracer);
    let stored = stored(&Server::start_on(&directory));
    for (name, version) in &known {
        assert_eq!(stored.get(name), version.as_ref(), "{kind:?} {at}: {name}");
    }
    verify(&directory);
    let record = read(&path);
    let ended = record.lines().filter(|line| line.ends_with("(DELAYED)"));
    if begun(&record) < at {
        Kill::Never
    } else if is_killed && ended.count() < at {
        Kill::InTime
    } else {
        Kill::Late
    }
}

/// Kills a server once this holds for the record of its calls, unless it ends before.
fn kill_when(server: &Server, record: &Path, is_time: impl Fn(&str) -> bool) {
    let (since, process) = (Instant::now(), server.pid().to_string());
    let is_its_end = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some(process.as_str()) && words.next() == Some("+++")
    };
    loop {
        let text = read(record);
        if is_time(&text) {
            return server.send("KILL");
        }
        if text.lines().any(is_its_end) {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "it neither ends nor calls");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn calls_are_told_apart_by_their_files() {
    let record = r#"
4363  write(4<anon_inode:[eventfd]>, "\1\0\0\0\0\0\0\0", 8) = 8
4404  write(16</d/events/journal>, "<(\"/d/events/db\">"..., 336 <unfinished ...>
4402  write(18</d/snapshots/00000000000000000079.unfinished>, "L\0"..., 84) = 84
4404  <... write resumed>)              = 336
4402  rename("/d/snapshots/00000000000000000079.unfinished", "/d/snapshots/00000000000000000079.snapshot" <unfinished ...>
4402  <... rename resumed>)             = -1 EIO (Input/output error) (DELAYED)
12345 fsync(19</d/snapshots>)           = 0
4402  unlink("/d/snapshots/00000000000000000056.snapshot") = 0
4402  fsync(19</d2/events/db>)          = 0
4402  read(19</d/events/db>, ""..., 1)  = 0
4363  --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=4232, si_uid=0} ---
4363  +++ exited with 0 +++"#;
    let found = made(record, CALLS, Path::new("/d"));
    let found = found.iter().map(|(call, file)| (&**call, &**file));
    let expected = [
        ("write", "events/journal"),
        ("write", "snapshots/*.unfinished"),
        ("rename", "snapshots/*.unfinished"),
        ("fsync", "snapshots"),
        ("unlink", "snapshots/*.snapshot"),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
