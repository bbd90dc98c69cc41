//! The server process: one server per directory, clean stops, and nothing acknowledged is lost by a
//! kill.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::naive;
use hindsight_tests::reference::Kind;
use hindsight_tests::server::{Server, hindsight, limited, serve, stdout, text};
use hindsight_tests::uncollected::{carried_out, without_collectors};
use hindsight_tests::wait::wait_until;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn state_hash(directory: &Path) -> String {
    stdout(&hindsight(directory, &["replay", "-o", "json"]))
}

#[test]
fn a_second_server_on_the_same_directory_is_refused_and_told_who_holds_it() {
    let server = Server::start();
    let second = serve(server.directory()).output().expect("it runs");
    assert_eq!(second.status.code(), Some(1));
    let message = text(&second.stderr);
    assert!(message.contains(&server.pid().to_string()), "{message}");
}

/// Prepares the directory as its name says.
type Prepare = fn(&Path);

/// Data directories that no stop of a server leaves behind, and what the refusal says to do.
const DIRECTORIES: &[(&str, Prepare, &str)] = &[
    (
        "a file",
        |at| fs::write(at, "x").expect("written"),
        "is a file, not a directory; give the directory of a log",
    ),
    (
        "files of somebody else",
        |at| {
            fs::create_dir_all(at.join("events")).expect("made");
            fs::write(at.join("events/thesis.odt"), "chapter 1").expect("written");
        },
        "name another data directory",
    ),
    (
        "a restore that did not end",
        |at| fs::create_dir_all(at.join("restoring")).expect("made"),
        "run `hindsight restore` again",
    ),
    (
        "no database any more",
        |at| {
            used(at);
            fs::remove_dir_all(at.join("events")).expect("removed");
        },
        "restore a backup, or a copy of the whole data directory",
    ),
    (
        "snapshots of a log that was moved away",
        |at| {
            let mut command = serve(at);
            command.args(["--snapshot-every", "1"]);
            let server = Server::start_with(command, at).expect("it starts");
            server.kubectl(&["create", "configmap", "a"]);
            assert_eq!(server.signal("TERM"), Some(0));
            fs::remove_dir_all(at.join("events")).expect("removed");
            fs::remove_file(at.join("events.tail")).expect("removed");
        },
        "if events was moved, move it back",
    ),
    (
        "the beginning of a database",
        |at| {
            used_long_ago(at);
            let bytes = fs::read(at.join("events/db")).expect("read");
            fs::write(at.join("events/db"), &bytes[..300]).expect("written");
        },
        "restore a backup",
    ),
    (
        "a database of somebody else under the same name",
        |at| {
            fs::create_dir_all(at.join("events")).expect("made");
            let page = b"SQLite format 3\0".repeat(1 << 16);
            fs::write(at.join("events/db"), page).expect("written");
        },
        "not an event log; name another data directory",
    ),
    (
        "a database twice in one file",
        |at| {
            used_long_ago(at);
            let mut bytes = fs::read(at.join("events/db")).expect("read");
            let whole = bytes.clone();
            bytes.resize(bytes.len().next_multiple_of(8 << 20), 0);
            bytes.extend(whole);
            fs::write(at.join("events/db"), bytes).expect("written");
        },
        "the log is intact up to revision",
    ),
    (
        "a log without its witness",
        |at| {
            used(at);
            fs::remove_file(at.join("events.tail")).expect("removed");
        },
        "the file events.tail is missing",
    ),
    (
        "a pipe in the place of the witness",
        |at| {
            used(at);
            fs::remove_file(at.join("events.tail")).expect("removed");
            let made = Command::new("mkfifo").arg(at.join("events.tail")).status();
            assert!(made.expect("mkfifo runs").success());
        },
        "events.tail is not a regular file",
    ),
];

/// A used directory without its journal, as if the database had taken over everything long ago.
fn used_long_ago(directory: &Path) {
    used(directory);
    fs::remove_file(directory.join("events/journal")).expect("removed");
}

fn used(directory: &Path) {
    let server = Server::start_on(directory);
    server.kubectl(&["create", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
}

#[test]
fn a_directory_that_is_no_whole_log_is_refused_and_told_what_to_do() {
    for (name, prepare, message) in DIRECTORIES {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = temporary.path().join("data");
        prepare(&directory);
        let refused = Server::try_start_on(&directory).expect_err(name);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(message), "{name}: {said}");
    }
}

#[test]
fn a_verification_waits_for_no_pipe() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    used(&directory);
    let pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(directory.join(name)).status();
        assert!(made.expect("mkfifo runs").success());
    };
    pipe("events/blobs/pipe");
    stdout(&hindsight(&directory, &["verify"]));
    fs::remove_file(directory.join("events/db")).expect("removed");
    pipe("events/db");
    let refused = hindsight(&directory, &["verify"]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("events/db is not a regular file"), "{said}");
}

#[test]
fn a_log_whose_end_nothing_witnesses_is_told_of_by_verify_and_by_the_next_start() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    used(&directory);
    let verify = |arguments: &[&str]| stdout(&hindsight(&directory, arguments));
    let report = |document: String| {
        let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
        (document["revision"].clone(), document["witnessed"].clone())
    };
    let (newest, witnessed) = report(verify(&["verify", "-o", "json"]));
    assert_eq!(newest, witnessed);
    assert!(!verify(&["verify"]).contains("cannot be confirmed"));
    fs::write(directory.join("events.tail"), "").expect("emptied");
    let (newest, witnessed) = report(verify(&["verify", "-o", "json"]));
    assert!(witnessed.is_null(), "{witnessed}");
    let told = verify(&["verify"]);
    assert!(told.contains("its end cannot be confirmed"), "{told}");
    let revision = newest.as_u64().expect("a number").to_string();
    assert!(
        told.contains(&format!("after revision {revision} was")),
        "{told}"
    );
    for is_witnessed in [false, true] {
        let server = Server::try_start_on(&directory).expect("it starts");
        server.send("TERM");
        let (_, said) = server.ended();
        let is_warned = said.contains("nothing witnesses the end") && said.contains(&revision);
        assert_eq!(is_warned, !is_witnessed, "{said}");
    }
}

const QUESTIONS: &[&[&str]] = &[
    &["log"],
    &["log", "configmap/b"],
    &["why", "configmap/a"],
    &["why", "configmap/b"],
    &["get", "configmaps"],
    &["get", "configmap/a", "--as-of", "1"],
    &["get", "configmaps", "--as-of", "2026-01-31T12:00:00Z"],
    &["plan", "configmap/a"],
    &["replay"],
    &["backup", "-"],
];

/// A directory whose database is older than `b`, which is in its snapshots and known to its witness.
fn older_database(directory: &Path) {
    let (events, older) = (directory.join("events"), directory.join("older"));
    used(directory);
    fs::create_dir(&older).expect("made");
    for entry in fs::read_dir(&events).expect("listed") {
        let entry = entry.expect("listed");
        if entry.path().is_file() {
            fs::copy(entry.path(), older.join(entry.file_name())).expect("copied");
        }
    }
    let mut command = serve(directory);
    command.args(["--snapshot-every", "1"]);
    let server = Server::start_with(command, directory).expect("it starts");
    server.kubectl(&["create", "configmap", "b"]);
    assert_eq!(server.signal("TERM"), Some(0));
    fs::remove_dir_all(&events).expect("removed");
    fs::rename(older, events).expect("moved");
}

#[test]
fn no_question_is_answered_from_a_log_that_a_start_refuses() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    older_database(&directory);
    let refused = |what: &str| {
        let refused = Server::try_start_on(&directory).expect_err("refused");
        let told = text(&refused.stderr);
        let expected = told.lines().last().unwrap_or_default();
        assert!(expected.contains("are lost"), "{what}: {told}");
        for question in QUESTIONS {
            let output = hindsight(&directory, question);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{what} {question:?}: {said}");
            assert_eq!(said.trim_end(), expected, "{what} {question:?}");
            assert!(output.stdout.is_empty(), "{what} {question:?}");
        }
    };
    refused("its witness knows");
    fs::write(directory.join("events.tail"), "").expect("emptied");
    refused("its snapshots know");
    fs::rename(directory.join("snapshots"), temporary.path().join("aside")).expect("moved");
    for question in QUESTIONS {
        let output = hindsight(&directory, question);
        let said = text(&output.stderr);
        let is_told = said.contains("whether anything after revision");
        assert!(is_told, "{question:?}: {said}");
    }
}

#[test]
fn stop_signals_end_it_cleanly_and_one_that_is_ignored_does_not() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    for signal in ["INT", "TERM", "HUP"] {
        let served = serve(&directory);
        // Under nohup this test would pass an ignored SIGHUP on.
        let mut command = Command::new("env");
        command
            .arg("--default-signal=HUP")
            .arg(served.get_program());
        command.args(served.get_args());
        let server = Server::start_with(command, &directory).expect("it starts");
        assert_eq!(server.signal(signal), Some(0), "{signal}");
    }
    let command = limited(&directory, "trap '' HUP");
    let server = Server::start_with(command, &directory).expect("it starts");
    server.send("HUP");
    server.kubectl(&["get", "namespaces"]);
    assert_eq!(server.signal("TERM"), Some(0));
}

#[test]
fn what_was_answered_survives_a_kill() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    for index in 0..20 {
        server.kubectl(&["create", "configmap", &format!("c{index}")]);
    }
    let before = state_hash(&directory);
    assert_eq!(server.signal("KILL"), None);
    assert_eq!(
        state_hash(&directory),
        before,
        "the log alone gives the same state"
    );
    let server = Server::start_on(&directory);
    let names = server.kubectl(&["get", "configmaps", "-o", "name"]);
    assert_eq!(names.lines().count(), 20);
}

#[test]
fn the_past_can_be_read_while_it_runs_and_after() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a", "--from-literal=k=old"]);
    let then = server.kubectl(&[
        "get",
        "configmap",
        "a",
        "-o",
        "jsonpath={.metadata.resourceVersion}",
    ]);
    server.kubectl(&["delete", "configmap", "a"]);
    let path = format!("/as-of/{then}/api/v1/namespaces/default/configmaps/a");
    assert!(server.kubectl(&["get", "--raw", &path]).contains("old"));
    let refused = server.kubectl_fails(&["delete", "--raw", &path], "");
    assert!(refused.to_lowercase().contains("not allow"), "{refused}");
    let asked = ["get", "configmap", "a", "--as-of", &then, "-o", "json"];
    let online = stdout(&server.hindsight(&asked));
    assert_eq!(server.signal("TERM"), Some(0));
    assert_eq!(stdout(&hindsight(&directory, &asked)), online);
}

#[test]
fn a_log_that_a_server_left_is_sound() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a"]);
    server.signal("TERM");
    let report = stdout(&hindsight(&directory, &["verify", "--deep"]));
    assert!(report.contains("allowed by the rules"), "{report}");
}

#[test]
fn a_log_in_which_services_took_their_endpoints_along_is_sound() {
    for finalizers in [&[][..], &["x.example.com/hold"]] {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = temporary.path().join("data");
        let server = Server::start_on(&directory);
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 80}]}});
        let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": "s", "finalizers": finalizers}});
        let both = json!({"apiVersion": "v1", "kind": "List", "items": [service, endpoints]});
        server.kubectl_with(&["create", "-f", "-"], &both.to_string());
        server.kubectl(&["delete", "service", "s"]);
        server.signal("TERM");
        let report = stdout(&hindsight(&directory, &["verify", "--deep"]));
        assert!(report.contains("allowed by the rules"), "{report}");
    }
}

#[test]
fn what_is_due_where_a_log_ends_is_told_and_is_no_fault() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let plane = without_collectors(&directory);
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "gone"});
    for name in ["a", "b"] {
        let metadata = json!({"name": name, "ownerReferences": [owner]});
        let object = json!({"metadata": metadata});
        carried_out(&plane, naive::create(Kind::ConfigMap, "default", object));
    }
    plane.close();
    let verify = ["verify", "--deep"];
    let report = stdout(&hindsight(&directory, &verify));
    assert!(
        report.contains("2 steps of the collectors are due"),
        "{report}"
    );
    let server = Server::start_on(&directory);
    server.kubectl(&[
        "wait",
        "configmap/a",
        "configmap/b",
        "--for=delete",
        "--timeout=120s",
    ]);
    server.signal("TERM");
    let report = stdout(&hindsight(&directory, &verify));
    assert!(!report.contains("are due"), "{report}");
    let orders = "repeated in other orders with the same result: 1";
    assert!(report.contains(orders), "{report}");
}

/// How long the job stays: longer than it takes from the time of its end to the write that states it.
const TTL_SECONDS: i64 = 5;

/// Creates a job, and writes what the controller of jobs would write at its end, which is now.
fn finished_job(server: &Server) {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"ttlSecondsAfterFinished": TTL_SECONDS, "template": {"spec": pod}}});
    server.kubectl_with(&["create", "-f", "-"], &job.to_string());
    let at = hindsight::system_clock().to_rfc3339();
    let condition = |kind| json!({"type": kind, "status": "True", "lastTransitionTime": at});
    let conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
    let status = json!({"startTime": at, "completionTime": at, "conditions": conditions});
    let patch = json!({"status": status}).to_string();
    let finish = ["patch", "job", "j", "--subresource=status", "--type=merge"];
    server.kubectl(&[&finish[..], &["-p", &patch]].concat());
}

#[test]
fn what_only_the_clock_has_made_due_since_the_last_commit_is_not_counted() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let mut command = serve(&directory);
    command.args(["--collectors", "off"]);
    let server = Server::start_with(command, &directory).expect("it starts");
    finished_job(&server);
    let is_due = hindsight::system_clock().plus_seconds(TTL_SECONDS);
    assert_eq!(server.signal("TERM"), Some(0));
    wait_until("it is due", || hindsight::system_clock() > is_due);
    let report = stdout(&hindsight(&directory, &["verify", "--deep"]));
    assert!(!report.contains("due"), "{report}");
    let server = Server::start_on(&directory);
    server.kubectl(&["wait", "job/j", "--for=delete", "--timeout=120s"]);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

/// The entries that others could access if they could enter the directory.
fn open_to_others(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("listed");
    let paths = entries.map(|entry| entry.expect("listed").path());
    let open = paths.filter(|path| mode(path) & 0o077 != 0);
    open.map(|path| path.display().to_string()).collect()
}

#[test]
fn secrets_on_disk_are_for_their_owner_only() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let warnings = temporary.path().join("warnings");
    let start = || {
        let mut command = serve(&directory);
        command.stderr(fs::File::create(&warnings).expect("made"));
        Server::start_with(command, &directory).expect("it starts")
    };
    assert_eq!(start().signal("TERM"), Some(0));
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(fs::read_to_string(&warnings).expect("read"), "");
    for path in [directory.join("pki"), directory.clone()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("set");
    }
    let _server = start();
    assert_eq!(open_to_others(&directory), Vec::<String>::new());
    let warned = fs::read_to_string(&warnings).expect("read");
    assert!(warned.contains("other users may write to this"), "{warned}");
}

/// What is acknowledged must be found by the next start, which looks in the same place as this one.
#[test]
fn a_server_whose_directory_is_moved_answers_no_write_and_ends() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::try_start_on(&directory).expect("it starts");
    server.kubectl(&["create", "configmap", "a"]);
    fs::rename(directory.join("events"), directory.join("moved")).expect("moved");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}});
    let refused = server.kubectl_fails(&["create", "-f", "-"], &object.to_string());
    for told in ["(InternalError)", "moved or replaced"] {
        assert!(refused.contains(told), "{refused}");
    }
    let (code, said) = server.ended();
    assert_eq!(code, Some(1), "{said}");
    fs::rename(directory.join("moved"), directory.join("events")).expect("moved back");
    let server = Server::start_on(&directory);
    assert!(server.kubectl(&["get", "configmaps"]).contains('a'));
}
