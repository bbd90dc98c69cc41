//! Processes whose times overlap: two that write one file, one that comes while another ends, and what others see
//! of what one makes and removes.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_log::{BACKUP_MAGIC, DirectoryLock};
use hindsight_tests::dice::Dice;
use hindsight_tests::gate::Gate;
use hindsight_tests::manifests::incompressible;
use hindsight_tests::server::{Server, binary, hindsight, serve, stdout, text};
use hindsight_tests::tree::repository;
use hindsight_tests::vitals::connections;
use hindsight_tests::wait::wait_until;
use hindsight_tests::wire::Caller;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A subcommand on this directory that goes on while the test does.
fn begun(directory: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(binary("hindsight"));
    command.args(arguments).arg("--data-dir").arg(directory);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// As [`begun`], where everybody may read what a process does not close itself.
fn begun_under_umask_022(directory: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 022; exec \"$0\" \"$@\""]);
    command.arg(binary("hindsight")).args(arguments);
    command.arg("--data-dir").arg(directory);
    command.stdin(Stdio::piped()).spawn().expect("it starts")
}

fn is_for_its_owner_alone(directory: &Path) -> bool {
    let found = directory.metadata().expect("there");
    found.permissions().mode() & 0o777 == 0o700
}

fn kill(process: &Child, signal: &str) {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", signal, &process.id().to_string()]);
    assert!(sent.status().expect("it runs").success());
}

#[test]
fn of_two_backups_to_one_file_the_second_is_refused_and_the_first_is_whole() {
    let server = Server::start();
    let temporary = tempfile::tempdir().expect("a directory");
    let file = temporary.path().join("b");
    let unfinished = temporary.path().join("b.unfinished");
    let name = file.to_str().expect("UTF-8");
    // A stopped server keeps its clients waiting.
    server.send("STOP");
    let first = begun(server.directory(), &["backup", name]);
    wait_until("the first has begun", || unfinished.exists());
    let second = server.hindsight(&["backup", name, "--force"]);
    let told = text(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(told.contains("another process is writing "), "{told}");
    server.send("CONT");
    stdout(&first.wait_with_output().expect("it ends"));
    assert!(file.exists() && !unfinished.exists());
    let restored = temporary.path().join("restored");
    stdout(&hindsight(&restored, &["restore", name]));
}

#[test]
fn a_file_that_appears_while_a_backup_is_made_stays_and_so_does_the_backup() {
    let server = Server::start();
    let temporary = tempfile::tempdir().expect("a directory");
    let [file, unfinished] = ["b", "b.unfinished"].map(|name| temporary.path().join(name));
    let name = file.to_str().expect("UTF-8");
    // A stopped server keeps its clients waiting.
    server.send("STOP");
    let made = begun(server.directory(), &["backup", name]);
    wait_until("it has begun", || unfinished.exists());
    fs::write(&file, "of another").expect("written");
    server.send("CONT");
    let made = made.wait_with_output().expect("it ends");
    let told = text(&made.stderr);
    assert_eq!(made.status.code(), Some(1), "{told}");
    assert!(
        told.contains("b.unfinished: give it another name"),
        "{told}"
    );
    assert_eq!(fs::read(&file).expect("there"), b"of another");
    let restored = temporary.path().join("restored");
    let whole = unfinished.to_str().expect("UTF-8");
    stdout(&hindsight(&restored, &["restore", whole]));
}

#[test]
fn a_backup_that_is_ended_before_it_begins_its_file_leaves_that_of_another() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    assert_eq!(Server::start_on(&directory).signal("TERM"), Some(0));
    let unfinished = temporary.path().join("b.unfinished");
    let file = temporary.path().join("b");
    let name = file.to_str().expect("UTF-8");
    fs::write(&unfinished, BACKUP_MAGIC).expect("written");
    let written = File::open(&unfinished).expect("there");
    written.try_lock().expect("free");
    for _ in 0..20 {
        let ended = begun(&directory, &["backup", name]);
        kill(&ended, "TERM");
        ended.wait_with_output().expect("it ends");
        assert_eq!(fs::read(&unfinished).expect("there"), BACKUP_MAGIC);
    }
    drop(written);
    stdout(&hindsight(&directory, &["backup", name]));
    assert!(file.exists() && !unfinished.exists());
}

#[test]
fn a_verification_has_a_copy_for_its_owner_alone_and_leaves_none_when_it_is_ended() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    assert_eq!(Server::start_on(&directory).signal("TERM"), Some(0));
    let (many, copy) = (directory.join("events/blobs"), directory.join("verifying"));
    // So many that the copying is still under way when the signal comes.
    let write = |number: u32| fs::write(many.join(number.to_string()), b"").expect("written");
    (0..20_000).for_each(write);
    fs::set_permissions(&directory, PermissionsExt::from_mode(0o755)).expect("opened");
    for (signal, code, is_left) in [
        ("INT", Some(130), false),
        ("TERM", Some(143), false),
        ("KILL", None, true),
    ] {
        let mut verify = begun_under_umask_022(&directory, &["verify"]);
        let events = copy.join("events");
        wait_until("the copy", || events.exists());
        assert!(
            [&copy, &events]
                .into_iter()
                .all(|part| is_for_its_owner_alone(part))
        );
        kill(&verify, signal);
        assert_eq!(verify.wait().expect("it ends").code(), code, "{signal}");
        assert_eq!(copy.exists(), is_left, "{signal}");
    }
    fs::remove_dir_all(many).expect("removed");
    stdout(&hindsight(&directory, &["log"]));
    assert!(!copy.exists(), "the next command removes it");
}

#[test]
fn a_log_that_is_served_is_not_verified_although_its_lock_was_removed() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    fs::remove_file(DirectoryLock::path(&directory)).expect("removed");
    let refused = hindsight(&directory, &["verify"]);
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{told}");
    let named = "events/db is in use by a process that has it open";
    assert!(told.contains(named), "{told}");
    assert_eq!(server.signal("TERM"), Some(0));
    stdout(&hindsight(&directory, &["verify"]));
}

#[test]
fn what_a_restore_makes_is_for_its_owner_alone_from_its_beginning() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    fs::create_dir(&directory).expect("made");
    fs::set_permissions(&directory, PermissionsExt::from_mode(0o755)).expect("opened");
    // Waits for the backup.
    let mut restore = begun_under_umask_022(&directory, &["restore", "-"]);
    let work = directory.join("restoring");
    wait_until("the restore", || work.join("events").exists());
    assert!(is_for_its_owner_alone(&work) && is_for_its_owner_alone(&work.join("events")));
    drop(restore.stdin.take());
    assert_eq!(restore.wait().expect("it ends").code(), Some(1));
    assert!(!work.exists());
}

#[test]
fn a_server_is_not_named_before_its_kubeconfig_is_there() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    fs::create_dir_all(directory.join("admin.kubeconfig")).expect("made");
    let refused = Server::try_start_on(&directory).expect_err("it cannot be written");
    let told = text(&refused.stderr);
    assert!(
        told.contains("admin.kubeconfig cannot be written"),
        "{told}"
    );
    let lock = fs::read_to_string(directory.join("lock")).expect("there");
    assert!(
        lock.starts_with("process ") && !lock.contains("https"),
        "{lock}"
    );
}

#[test]
fn a_start_and_a_restore_wait_for_whoever_is_about_to_give_the_directory_back() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let first = Server::start_on(&directory);
    let address = first.ready.split("https://").nth(1).expect("an address");
    let address = address.split(';').next().expect("an address").to_owned();
    let said = temporary.path().join("said");
    let start = |address: &str| {
        let mut command = Command::new(binary("hindsight"));
        command.args(["serve", "--listen", address, "--data-dir"]);
        command.arg(&directory);
        command.stderr(File::create(&said).expect("made"));
        Server::start_with(command, &directory)
    };
    let is_waiting = || {
        let said = fs::read_to_string(&said).unwrap_or_default();
        said.contains("in use by process") && said.contains("waiting")
    };
    // Another server has the directory, and its address.
    let second = std::thread::scope(|scope| {
        let second = scope.spawn(|| start(&address));
        wait_until("the second waits", is_waiting);
        assert_eq!(first.signal("TERM"), Some(0));
        second.join().expect("it ends").expect("it starts")
    });
    assert_eq!(second.signal("TERM"), Some(0));
    fs::remove_file(&said).expect("removed");
    // A command has it.
    let file = temporary.path().join("b");
    let name = file.to_str().expect("UTF-8");
    stdout(&hindsight(&directory, &["backup", name]));
    for part in ["events", "events.tail", "events.reserve", "snapshots"] {
        fs::rename(directory.join(part), temporary.path().join(part)).ok();
    }
    let held = DirectoryLock::acquire(&directory).expect("free");
    let mut restore = begun(&directory, &["restore", name]);
    let mut told = BufReader::new(restore.stderr.take().expect("a pipe"));
    let mut line = String::new();
    told.read_line(&mut line).expect("read");
    assert!(line.contains("waiting"), "{line}");
    drop(held);
    stdout(&restore.wait_with_output().expect("it ends"));
    let held = DirectoryLock::acquire(&directory).expect("free");
    std::thread::scope(|scope| {
        let started = scope.spawn(|| start("127.0.0.1:0"));
        wait_until("the start waits", is_waiting);
        drop(held);
        started.join().expect("it ends").expect("it starts");
    });
}

#[test]
fn a_start_that_is_told_to_stop_ends_as_a_server_does() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let held = DirectoryLock::acquire(&directory).expect("free");
    let mut command = Command::new(binary("hindsight"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
    let mut child = command
        .arg(&directory)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("read");
    assert!(line.contains("waiting up to"), "{line}");
    let mut kill = Command::new("kill");
    let sent = kill.args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let code = child.wait().expect("it ends").code();
    said.read_to_string(&mut line).expect("read");
    assert_eq!(code, Some(0), "{line}");
    drop(held);
}

#[test]
fn a_question_during_the_end_of_a_server_is_answered_from_the_directory() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    for _ in 0..5 {
        let server = Server::start_on(&directory);
        server.send("TERM");
        let ask = || server.hindsight(&["get", "namespaces"]);
        let answer = Some(ask()).filter(|one| !text(&one.stderr).contains("ask again"));
        let told = stdout(&answer.unwrap_or_else(ask));
        assert!(told.contains("kube-system"), "{told}");
        assert_eq!(server.ended().0, Some(0));
    }
}

#[test]
fn a_server_that_dies_in_the_middle_of_an_answer_is_told_in_words() {
    const OPEN: &str = "01";
    const LEFT_BY_CLIENT: &str = "08";
    let temporary = tempfile::tempdir().expect("a directory");
    let file = temporary.path().join("b");
    let unfinished = temporary.path().join("b.unfinished");
    let server = Server::start();
    server.send("STOP");
    let asked = begun(
        server.directory(),
        &["backup", file.to_str().expect("UTF-8")],
    );
    wait_until("it has begun", || unfinished.exists());
    let address = Caller::of(&server).address().to_owned();
    wait_until(
        "it finds that the server does not answer, and asks it all the same",
        || {
            let found = connections(&address);
            [OPEN, LEFT_BY_CLIENT].map(|state| found.iter().any(|one| one == state)) == [true; 2]
        },
    );
    drop(server);
    let ended = asked.wait_with_output().expect("it ends");
    let told = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{told}");
    assert!(
        told.contains("the server") && told.contains("ask again"),
        "{told}"
    );
    assert!(
        !told.contains("docs.rs") && !told.contains("disk"),
        "{told}"
    );
    assert!(!file.exists() && !unfinished.exists(), "it left something");
}

/// How many large objects there are: they take more than is under way between a server and a gate.
const LARGE: usize = 20;
/// The objects that are written again and again.
const SMALL: &[&str] = &["a", "b", "c", "d", "e", "f", "g", "h"];

/// A server that keeps as little history as it may. In its log, what is soon superseded comes last.
fn forgetful(directory: &Path) -> Server {
    let mut command = serve(directory);
    command.args(["--snapshot-every", "20", "--keep-history-bytes", "1B"]);
    let server = Server::start_with(command, directory).expect("it starts");
    let mut dice = Dice(1);
    for number in 0..LARGE {
        let manifest = incompressible(&format!("large{number}"), &mut dice);
        server.kubectl_with(&["create", "-f", "-"], &manifest);
    }
    for name in SMALL {
        server.kubectl(&["create", "configmap", name]);
    }
    server
}

/// The revision of the last of the small objects.
fn newest(server: &Server) -> u64 {
    let version = "jsonpath={.metadata.resourceVersion}";
    let newest = server.kubectl(&["get", "configmap", "h", "-o", version]);
    newest.parse().expect("a revision")
}

/// Writes each of the small objects again.
fn write_again(server: &Server) {
    let label = format!("after={}", newest(server));
    let write = ["label", "--overwrite", "configmap"];
    server.kubectl(&[&write[..], SMALL, &[label.as_str()]].concat());
}

/// Whether the log still has the commit of this revision.
fn is_kept(server: &Server, revision: u64) -> bool {
    let path = format!("/hindsight/v1/log?since={revision}");
    let page: Value =
        serde_json::from_str(&server.kubectl(&["get", "--raw", &path])).expect("JSON");
    let first = page.pointer("/entries/0/revision").and_then(Value::as_u64);
    first == Some(revision)
}

/// What comes of a backup while the log is thinned beyond its end. The command finds the server behind a gate, where
/// the lock says that it is.
fn overtaken(server: &Server, to: &str) -> Output {
    let directory = server.directory();
    let address = Caller::of(server).address().to_owned();
    let gate = Gate::before(address.parse().expect("an address"));
    let lock = DirectoryLock::path(directory);
    let holder = fs::read_to_string(&lock).expect("there");
    let at_gate = holder.replace(&address, &gate.address().to_string());
    assert_ne!(at_gate, holder);
    fs::write(&lock, at_gate).expect("written");
    write_again(server);
    let end = newest(server);
    let made = begun(directory, &["backup", to]);
    gate.wait();
    // The server would cut it off after a minute, which is longer than this takes.
    wait_until("its end is dropped", || {
        write_again(server);
        !is_kept(server, end)
    });
    gate.open();
    let made = made.wait_with_output().expect("it ends");
    fs::write(&lock, holder).expect("written");
    made
}

#[test]
fn a_backup_that_is_overtaken_begins_again_and_one_to_standard_output_says_why() {
    let temporary = tempfile::tempdir().expect("a directory");
    let server = forgetful(&temporary.path().join("data"));
    let piped = overtaken(&server, "-");
    let told = text(&piped.stderr);
    assert_eq!(piped.status.code(), Some(1), "{told}");
    let why = "was dropped while the backup was being made; make it again";
    assert!(told.contains(why), "{told}");

    let file = temporary.path().join("b");
    let name = file.to_str().expect("UTF-8");
    let made = overtaken(&server, name);
    let told = text(&made.stderr);
    assert_eq!(made.status.code(), Some(0), "{told}");
    assert!(told.contains("being made; starting over"), "{told}");
    let restored = temporary.path().join("restored");
    stdout(&hindsight(&restored, &["restore", name]));
}

/// A command of the unit for backups in `docs/operating.md`, with the directories in this one.
fn of_the_unit(line: &str, at: &Path) -> Command {
    let docs = fs::read_to_string(repository().join("docs/operating.md")).expect("there");
    let unit = docs.split_once("hindsight-backup.service\n");
    let (_, unit) = unit.expect("a unit");
    let (unit, _) = unit.split_once("```").expect("its end");
    assert!(unit.contains("\nAfter=hindsight.service\n"), "{unit}");
    let unit = unit.replace("\\\n", " ").replace("$$", "$");
    let mut lines = unit.lines();
    let found = lines.find_map(|one| one.strip_prefix(&format!("{line}=")));
    let here = format!("{}/", at.display());
    let found = found.expect("a line of the unit").replace("%%", "%");
    let program = binary("hindsight").with_file_name("");
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{here}bin:{}:{path}", program.display());
    let mut command = Command::new("sh");
    command.args(["-c", &found.replace("/var/lib/", &here)]);
    command.env("PATH", path);
    command
}

#[test]
fn the_unit_for_backups_waits_for_a_server_that_is_starting_and_leaves_no_old_secrets() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    let [bin, backups] = ["bin", "hindsight-backups"].map(|name| at.join(name));
    for directory in [&bin, &backups] {
        fs::create_dir(directory).expect("made");
    }
    // Stands for systemd, by which the server is active or not.
    let systemctl = bin.join("systemctl");
    let run = |line: &str| of_the_unit(line, at).output().expect("it runs");
    symlink("/bin/false", &systemctl).expect("made");
    assert_eq!(run("ExecStartPre").status.code(), Some(1), "no server");
    fs::remove_file(&systemctl).expect("removed");
    symlink("/bin/true", &systemctl).expect("made");
    let mut waiting = of_the_unit("ExecStartPre", at);
    let mut waiting = waiting.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut told = BufReader::new(waiting.stderr.take().expect("a pipe"));
    told.read_line(&mut String::new())
        .expect("it has no answer");
    let _server = Server::start_on(&at.join("hindsight"));
    assert!(waiting.wait().expect("it ends").success());
    let mut touch = Command::new("touch");
    let left = ["old.backup", "old.backup.unfinished", "notes"].map(|name| backups.join(name));
    touch.args(["-d", "40 days ago"]).args(&left);
    assert!(touch.status().expect("it runs").success());
    stdout(&run("ExecStart"));
    stdout(&run("ExecStartPost"));
    assert_eq!(left.map(|path| path.exists()), [false, false, true]);
    let kept = backups.read_dir().expect("there").count();
    assert_eq!(kept, 2, "and the new one");
}

#[test]
fn what_get_prints_may_be_asked_about_before_all_of_it_is_read() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    // More than a pipe holds.
    let data = "v".repeat(400 << 10);
    for name in ["a", "b"] {
        let object = format!(
            r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{name}"}}, "data": {{"k": "{data}"}}}}"#
        );
        server.kubectl_with(&["create", "-f", "-"], &object);
    }
    assert_eq!(server.signal("TERM"), Some(0));
    for arguments in [
        ["get", "configmaps", "-o", "json"].as_slice(),
        &["get", "configmaps", "-o", "manifest", "--as-of", "0s"],
    ] {
        let mut asked = begun(&directory, arguments);
        let printed = asked.stdout.as_mut().expect("a pipe");
        printed.read_exact(&mut [0]).expect("it prints");
        let told = stdout(&hindsight(&directory, &["why", "configmap/a"]));
        assert!(told.contains("live"), "{arguments:?}: {told}");
        stdout(&asked.wait_with_output().expect("it ends"));
    }
}
