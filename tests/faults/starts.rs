//! Syncs that fail while the program starts, and kills at any of its calls: of a first start, and of one that
//! takes in what a killed server left in its journal. And a start that finds no room for its name.

use super::calls::{CALLS, Kind, copied, count, killed_in, made};
use super::full::Small;
use super::verify;
use hindsight_log::DirectoryLock;
use hindsight_tests::dice::number;
use hindsight_tests::disk::{fill, skipped};
use hindsight_tests::http::MAPS;
use hindsight_tests::recorder::{Stored, stored};
use hindsight_tests::server::{Server, binary, hindsight, serve, stdout, text};
use hindsight_tests::strace::{
    complete_record, recorded, with_fault_of, with_faults_of, with_recorded_fault,
};
use hindsight_tests::wait::wait_until;
use hindsight_tests::wire::Caller;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Calls that a first start must make, or it would sync nothing and name nothing.
const OF_A_FIRST_START: &[&str] = &["write", "fdatasync", "fsync", "rename"];

/// The file whose sync failed, according to a record.
fn failed(record: &Path) -> Option<String> {
    let record = std::fs::read_to_string(record).expect("the record");
    let line = record.lines().find(|line| line.contains("(INJECTED)"))?;
    let file = line.split_once('<')?.1.split('>').next()?;
    Some(file.to_owned())
}

/// Starts on a directory with a fault in the n-th sync of this kind, for every n that a start
/// reaches. Returns the files whose syncs failed; `None` if this machine cannot do that.
fn syncs_that_end_a_start(call: &str, is_new: bool) -> Option<Vec<String>> {
    let mut files = Vec::new();
    for at in 1.. {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = temporary.path().join("data");
        let record = temporary.path().join("record");
        if !is_new {
            assert_eq!(Server::start_on(&directory).signal("TERM"), Some(0));
        }
        let fault = "error=EIO";
        let mut command = with_recorded_fault(&serve(&directory), call, fault, at, &record)?;
        command.stderr(Stdio::piped());
        let started = Server::start_with(command, &directory);
        let hit = failed(&record);
        match (started, hit) {
            (Ok(_), None) => break,
            // Without a durable note the log goes on, and keeps its history.
            (Ok(_), Some(file)) => assert!(
                file.ends_with("/events.tail"),
                "{call} {at}: {file} is not synced, and it is ready"
            ),
            (Err(ended), hit) => {
                let message = text(&ended.stderr);
                assert_eq!(ended.status.code(), Some(1), "{call} {at}: {message}");
                let is_told = message.contains("Input/output error");
                assert!(is_told, "{call} {at}: {message}");
                let file = hit.expect("a failed call");
                // Calls are counted per thread: the thread that writes certificates gets to its n-th
                // later.
                let went_on = file.contains("/events") && message.contains("/pki/");
                assert!(!went_on, "{call} {at}: {file} is not synced: {message}");
                files.push(file);
            }
        }
        let server = Server::start_on(&directory);
        server.kubectl(&["create", "configmap", "a"]);
    }
    Some(files)
}

/// How many of the files are this one.
fn count_of(file: &str, files: &[String]) -> usize {
    files.iter().filter(|one| one.ends_with(file)).count()
}

#[test]
fn a_sync_that_fails_while_the_server_starts_ends_it() {
    for is_new in [true, false] {
        let Some(files) = syncs_that_end_a_start("fdatasync", is_new) else {
            return;
        };
        // The syncs of what the engine found, and of what it shows to readers.
        for file in ["/events/db", "/events/journal"] {
            assert!(count_of(file, &files) > 0, "{file}: {files:?}");
        }
        let files = syncs_that_end_a_start("fsync", is_new).expect("as before");
        // The sync of what a kill left, before the engine goes on from it.
        assert_eq!(count_of("/events/db", &files[..1]), usize::from(!is_new));
        for directory in ["/events", "/data"] {
            let is_it = |file: &String| file.ends_with(directory);
            assert!(files.iter().any(is_it), "{directory}: {files:?}");
        }
    }
}

/// The engine syncs its file once more when it is closed, and panics if it cannot.
#[test]
fn a_sync_that_fails_for_good_while_the_server_starts_ends_it_without_a_panic() {
    for is_new in [true, false] {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let place = temporary.path().canonicalize().expect("a path");
        let directory = place.join("data");
        let mut of_closing = "error=EIO";
        if !is_new {
            assert_eq!(Server::start_on(&directory).signal("TERM"), Some(0));
            // The first two are made before and while the engine opens.
            of_closing = "error=EIO:when=3+";
        }
        let faults = [("fdatasync", "error=EIO"), ("fsync", of_closing)];
        let database = directory.join("events/db");
        let Some(mut command) = with_faults_of(&serve(&directory), &faults, &database) else {
            return;
        };
        command.stderr(Stdio::piped());
        let ended = Server::start_with(command, &directory).expect_err("its log is not synced");
        let message = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{message}");
        assert!(!message.contains("panicked"), "{message}");
        let told = "syncing the event log: Input/output error";
        assert!(message.contains(told), "{message}");
        let server = Server::start_on(&directory);
        server.kubectl(&["create", "configmap", "a"]);
    }
}

/// A side file that root left by asking the log a question while no server ran.
#[test]
fn a_side_file_that_may_not_be_read_is_set_aside() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let Some((server, name)) = started_without_its_side_file(&directory) else {
        return;
    };
    assert!(directory.join(format!("{name}.damaged")).exists());
    assert_eq!(server.signal("TERM"), Some(0));
}

/// What may not be read cannot be copied to the file system of the data directory. `/dev/shm` is mostly another one.
#[test]
fn a_side_file_that_may_not_be_read_is_out_of_the_way_on_another_file_system_too() {
    use std::os::unix::fs::{MetadataExt, symlink};
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let device = |path: &Path| path.metadata().expect("there").dev();
    let there = tempfile::tempdir_in("/dev/shm").ok();
    let Some(there) = there.filter(|there| device(there.path()) != device(temporary.path())) else {
        skipped(
            "a side file elsewhere",
            "there is no other file system at /dev/shm",
        );
        return;
    };
    let directory = temporary.path().join("data");
    std::fs::create_dir(&directory).expect("made");
    symlink(there.path(), directory.join("events")).expect("linked");
    let Some((server, name)) = started_without_its_side_file(&directory) else {
        return;
    };
    assert!(there.path().join(format!("unread.{name}.damaged")).exists());
    assert_eq!(server.signal("TERM"), Some(0));
}

/// A server on a new log whose side file it may not read, and the name of that file; `None` where a call cannot be made
/// to fail.
fn started_without_its_side_file(directory: &Path) -> Option<(Server, String)> {
    let server = Server::start_on(directory);
    server.kubectl(&["create", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
    hindsight(directory, &["log"]);
    let side = side_file(directory);
    let mut command = with_fault_of(&serve(directory), "openat", "error=EACCES", &side)?;
    command.stderr(Stdio::piped());
    let server = Server::start_with(command, directory).expect("it starts");
    server.kubectl(&["get", "configmap", "a"]);
    let name = side.file_name().expect("a name").to_string_lossy();
    Some((server, name.into_owned()))
}

fn side_file(directory: &Path) -> PathBuf {
    let events = std::fs::read_dir(directory.join("events")).expect("a directory");
    let mut paths = events.map(|entry| entry.expect("readable").path());
    let is_side = |path: &PathBuf| path.to_string_lossy().contains("/snap.");
    paths.find(is_side).expect("a side file")
}

/// What a first start finds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Found {
    Nothing,
    /// A log without certificates: an earlier start was killed between the two.
    LogAlone,
}

fn prepare(directory: &Path, found: Found) {
    if found == Found::LogAlone {
        assert_eq!(Server::start_on(directory).signal("TERM"), Some(0));
        std::fs::remove_dir_all(directory.join("pki")).expect("removed");
    }
}

/// A directory that is not there yet, and what is removed with it. Calls name it by this path.
fn place() -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary
        .path()
        .canonicalize()
        .expect("a path")
        .join("data");
    (temporary, directory)
}

/// How often each kind of call is made before the server is ready; `None` if this machine cannot count them.
fn counted(found: Found) -> Option<BTreeMap<Kind, usize>> {
    let (temporary, directory) = place();
    let record = temporary.path().join("record");
    prepare(&directory, found);
    let mut command = recorded(&serve(&directory), &with_mkdir().join(","), &record)?;
    command.stderr(Stdio::inherit());
    let server = Server::start_with(command, &directory).expect("it starts");
    let written = std::fs::read_to_string(&record).expect("the record");
    drop(server);
    Some(count(made(&written, &with_mkdir(), &directory)))
}

fn with_mkdir() -> Vec<&'static str> {
    [CALLS, &["mkdir"]].concat()
}

/// Each kind of call is counted alone, or the frequent ones would hide the rare ones, and one thread what others do.
#[test]
fn a_kill_at_any_call_of_the_first_start_leaves_a_directory_that_opens() {
    let apart = usize::try_from(number("HINDSIGHT_CALLS_APART", 12)).expect("small");
    let mut all = 0;
    for found in [Found::Nothing, Found::LogAlone] {
        let Some(counts) = counted(found) else {
            return;
        };
        for call in OF_A_FIRST_START {
            let is_made = counts.keys().any(|(made, _)| made == call);
            assert!(is_made, "no {call}: {counts:?}");
        }
        let mut of_calls: BTreeMap<String, usize> = BTreeMap::new();
        for (kind, count) in counts {
            let places = (1..=count).step_by(apart);
            let kills = places.filter(|at| killed_at(found, &kind, *at)).count();
            let (call, file) = &kind;
            println!(
                "{found:?}, {call} {file}: {kills} kills, one at every {apart} of {count} calls"
            );
            all += kills;
            *of_calls.entry(call.clone()).or_default() += kills;
        }
        // Some names of the engine's files are new in each run.
        for (call, kills) in of_calls {
            assert!(kills > 0, "{found:?}: no {call} was hit");
        }
    }
    println!("{all} kills of a first start");
}

/// Kills a first start at a call; returns whether that was before it was ready, since which thread makes which
/// calls may vary.
fn killed_at(found: Found, kind: &Kind, at: usize) -> bool {
    let (_temporary, directory) = place();
    prepare(&directory, found);
    let killed = killed_in(&serve(&directory), &directory, kind, at);
    let mut command = killed.expect("as before");
    command.stderr(Stdio::null());
    let is_killed = Server::start_with(command, &directory).is_err();
    let server = Server::start_on(&directory);
    let mut wire = Caller::of(&server).connect().expect("connected");
    let created = wire.ask("POST", MAPS, r#"{"metadata": {"name": "a"}}"#);
    assert_eq!(created.expect("an answer").code, 201, "{kind:?} {at}");
    drop(wire);
    assert_eq!(server.signal("TERM"), Some(0));
    verify(&directory);
    is_killed
}

/// Calls that a start must make if the journal has records that the database lacks: what writes these, what
/// makes them durable, and what empties the journal.
const TAKING_IN: &[(&str, &str)] = &[
    ("sync_file_range", "events/db"),
    ("fdatasync", "events/db"),
    ("write", "events/journal"),
    ("fsync", "events/journal"),
];
const OBJECTS: usize = 5;

/// Leaves a directory whose server was killed: the database has what an earlier one wrote, and the journal
/// alone has the rest. Returns all that was answered.
fn leave_in_the_journal(directory: &Path) -> Stored {
    let mut answered = Stored::new();
    for (prefix, end) in [("a", "TERM"), ("b", "KILL")] {
        let server = Server::start_on(directory);
        let mut wire = Caller::of(&server).connect().expect("connected");
        for index in 0..OBJECTS {
            let body = format!(r#"{{"metadata": {{"name": "{prefix}{index}"}}}}"#);
            let created = wire.ask("POST", MAPS, &body).expect("an answer");
            assert_eq!(created.code, 201, "{}", created.body);
        }
        answered = stored(&server);
        drop(wire);
        server.signal(end);
    }
    assert!(answered.len() >= 2 * OBJECTS, "{answered:?}");
    answered
}

/// How often each kind of call is made on the files of the log before the server is ready; `None` if this
/// machine cannot count them.
fn counted_on_the_log(prepared: &Path) -> Option<BTreeMap<Kind, usize>> {
    let (temporary, directory) = copied(prepared);
    let record = temporary.path().join("record");
    let mut command = recorded(&serve(&directory), &CALLS.join(","), &record)?;
    command.stderr(Stdio::inherit());
    let server = Server::start_with(command, &directory).expect("it starts");
    let written = std::fs::read_to_string(&record).expect("the record");
    drop(server);
    let calls = made(&written, CALLS, &directory).into_iter();
    let is_of_the_log = |(_, file): &Kind| Path::new(file).starts_with("events");
    Some(count(calls.filter(is_of_the_log)))
}

/// Until the database has them durably, the journal must keep the records that a start takes from it.
#[test]
fn a_kill_at_any_call_of_a_start_that_takes_in_the_journal_loses_nothing_that_was_answered() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let prepared = temporary.path().join("prepared");
    let answered = leave_in_the_journal(&prepared);
    let Some(counts) = counted_on_the_log(&prepared) else {
        return;
    };
    for (call, file) in TAKING_IN {
        let kind = ((*call).to_owned(), (*file).to_owned());
        assert!(counts.contains_key(&kind), "no {kind:?}: {counts:?}");
    }
    let mut all = 0;
    for (kind, count) in counts {
        let is_killed = |at: &usize| start_killed_at(&prepared, &kind, *at, &answered);
        let kills = (1..=count).filter(is_killed).count();
        let (call, file) = &kind;
        println!("{call} {file}: {kills} kills, {count} calls");
        assert!(kills > 0, "no {call} of {file} was hit");
        all += kills;
    }
    println!("{all} kills of a start that takes in the journal");
}

/// Kills a start at the n-th call of a kind that one of its threads makes; returns whether that was before it
/// was ready.
fn start_killed_at(prepared: &Path, kind: &Kind, at: usize, answered: &Stored) -> bool {
    let (_temporary, directory) = copied(prepared);
    let killed = killed_in(&serve(&directory), &directory, kind, at);
    let mut command = killed.expect("as before");
    command.stderr(Stdio::null());
    let is_killed = Server::start_with(command, &directory).is_err();
    let found = stored(&Server::start_on(&directory));
    for (name, version) in answered {
        assert_eq!(found.get(name), Some(version), "{kind:?} {at}: {name}");
    }
    verify(&directory);
    is_killed
}

/// Until then the journal may be all that there is of the log.
#[test]
fn a_database_that_is_made_again_has_its_name_durably_before_the_journal_is_emptied() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let place = temporary.path().canonicalize().expect("a path");
    let (directory, record) = (place.join("data"), place.join("record"));
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a"]);
    server.signal("KILL");
    std::fs::remove_file(directory.join("events/db")).expect("removed");
    let mut asked = Command::new(binary("hindsight"));
    asked.args(["log", "--data-dir"]).arg(&directory);
    let Some(mut command) = recorded(&asked, &CALLS.join(","), &record) else {
        return;
    };
    let told = stdout(&command.output().expect("it runs"));
    assert!(told.contains("configmaps default/a: created"), "{told}");
    let calls = made(&complete_record(&record), CALLS, &directory);
    let first = |call: &str, file: &str| {
        let mut kinds = calls.iter();
        kinds.position(|kind| (&*kind.0, &*kind.1) == (call, file))
    };
    let (named, emptied) = (first("fsync", "events"), first("write", "events/journal"));
    assert!(named.is_some() && named < emptied, "{calls:?}");
}

/// The log itself is elsewhere, so that nothing that a start releases gives the lock its room.
#[test]
fn a_server_that_finds_no_room_for_its_name_writes_it_once_there_is_some() {
    let Some(small) = Small::of(2, "a full disk") else {
        return;
    };
    let (directory, elsewhere) = (&small.directory, tempfile::tempdir().expect("a directory"));
    std::fs::create_dir(directory).expect("made");
    std::os::unix::fs::symlink(elsewhere.path(), directory.join("events")).expect("linked");
    assert_eq!(Server::start_on(directory).signal("TERM"), Some(0));
    std::fs::remove_file(DirectoryLock::path(directory)).expect("removed");
    let filling = fill(&small.at);
    let server = Server::start_on(directory);
    assert_eq!(DirectoryLock::holder(directory).as_deref(), Some(""));
    let asked = server.hindsight(&["log"]);
    let told = text(&asked.stderr);
    let unnamed = "in use by a process that could not write its name into ";
    assert!(!asked.status.success() && told.contains(unnamed), "{told}");
    std::fs::remove_file(filling).expect("removed");
    wait_until("the lock file names the server", || {
        let holder = DirectoryLock::holder(directory);
        holder.is_some_and(|holder| holder.contains(" at https://"))
    });
    let asked = server.hindsight(&["log"]);
    assert!(asked.status.success(), "{}", text(&asked.stderr));
    assert_eq!(server.signal("TERM"), Some(0));
}

/// All users make directories of their own there, and may not list those of others.
#[test]
fn a_start_syncs_what_is_above_it_and_cannot_be_read_with_its_file_system() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let (above, record) = (
        temporary.path().join("above"),
        temporary.path().join("record"),
    );
    std::fs::create_dir(&above).expect("made");
    for (path, mode) in [(temporary.path(), 0o711), (&above, 0o1733)] {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
    }
    let directory = above.join("data");
    let as_other = |served: &Command| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(served.get_program()).args(served.get_args());
        command
    };
    let mut version = Command::new(binary("hindsight"));
    let asked = as_other(version.arg("--version")).output();
    if !asked.is_ok_and(|asked| asked.status.success()) {
        skipped(
            "a directory that is not read",
            "no other user can run the program here",
        );
        return;
    }
    let Some(command) = recorded(&as_other(&serve(&directory)), "syncfs", &record) else {
        return;
    };
    let server = Server::start_with(command, &directory).expect("it starts");
    assert_eq!(server.signal("TERM"), Some(0));
    wait_until("the file system of the log is synced", || {
        let told = std::fs::read_to_string(&record).expect("a record");
        told.contains("syncfs(") && told.contains("/data/events>)")
    });
}
