//! Logs that were restored from a backup: that no revision means two things, and what is told of what is lost.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_log::{DirectoryLock, SledStorage};
use hindsight_tests::http::MAPS;
use hindsight_tests::server::{Server, binary, hindsight, serve, stdout, text};
use hindsight_tests::strace::with_fault_of;
use hindsight_tests::wait::wait_until;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The number in this field of the JSON that a command prints.
fn number_in(answer: &str, field: &str) -> u64 {
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    answer.get(field).and_then(Value::as_u64).expect("a number")
}

fn create(server: &Server, name: &str) {
    server.kubectl(&["create", "configmap", name]);
}

/// A log of which a backup is made, and the directories to which that is restored.
struct Place {
    directory: TempDir,
    file: String,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("backup");
        let file = file.to_str().expect("UTF-8").to_owned();
        Self { directory, file }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A server on the log, which has one object.
    fn server(&self) -> Server {
        let server = Server::start_on(&self.at("data"));
        create(&server, "kept");
        server
    }

    /// The revision of the backup.
    fn back_up(&self, server: &Server) -> u64 {
        let made = server.hindsight(&["backup", &self.file, "-o", "json"]);
        number_in(&stdout(&made), "revision")
    }

    /// The revision from which the log continues.
    fn restore(&self, directory: &Path) -> u64 {
        let restored = hindsight(directory, &["restore", &self.file, "-o", "json"]);
        number_in(&stdout(&restored), "revision")
    }
}

/// What the command prints as JSON.
fn document(directory: &Path, words: &[&str]) -> Value {
    let printed = hindsight(directory, &[words, &["-o", "json"]].concat());
    serde_json::from_str(&stdout(&printed)).expect("JSON")
}

#[test]
fn a_verification_prints_what_the_backup_of_the_log_prints() {
    let place = Place::new();
    let [data, again] = ["data", "again"].map(|name| place.at(name));
    assert_eq!(place.server().signal("TERM"), Some(0));
    let made = document(&data, &["backup", &place.file]);
    let restored = document(&again, &["restore", &place.file]);
    assert_eq!(restored["backup"], made);
    let [old, new] = [&data, &again].map(|log| document(log, &["verify", "--deep"]));
    for member in ["revision", "frames", "chain", "content"] {
        assert!(!made[member].is_null(), "{made}");
        assert_eq!(old[member], made[member], "{member}");
        assert_ne!(new[member], made[member], "a restore adds a record");
    }
    assert_ne!(old["chain"], old["content"]);
    assert_eq!(old["restores"], json!([]));
    assert_eq!(new["restores"], json!([restored["revision"]]));
    for (log, verified) in [(&data, &old), (&again, &new)] {
        assert_eq!(verified["state"], document(log, &["replay"])["hash"]);
    }
}

/// Of two restores of one backup, the second knows nothing of what the first gave out.
#[test]
fn what_clients_saw_of_a_restored_log_has_expired_when_the_same_backup_is_restored_again() {
    let place = Place::new();
    let (first, second) = (place.at("first"), place.at("second"));
    let server = place.server();
    place.back_up(&server);
    drop(server);
    place.restore(&first);
    let server = Server::start_on(&first);
    for name in ["a", "b", "c"] {
        create(&server, name);
    }
    let version = "jsonpath={.metadata.resourceVersion}";
    let known = server.kubectl(&["get", "configmap", "c", "-o", version]);
    drop(server);
    let continued = place.restore(&second);
    let known: u64 = known.parse().expect("a revision");
    assert!(continued > known, "{continued} {known}");
    let server = Server::start_on(&second);
    for name in ["d", "e", "f", "g"] {
        create(&server, name);
    }
    let watch = format!("{MAPS}?watch=1&timeoutSeconds=5&resourceVersion={known}");
    let events = server.kubectl(&["get", "--raw", &watch]);
    assert!(events.contains("\"code\":410"), "{events}");
}

/// The time of the newest entry of the log.
fn newest_time(server: &Server) -> String {
    let log = stdout(&server.hindsight(&["log", "--tail", "1", "-o", "json"]));
    let log: Value = serde_json::from_str(&log).expect("JSON");
    let time = log.pointer("/0/time").and_then(Value::as_str);
    time.expect("a time").to_owned()
}

#[test]
fn who_asks_about_a_time_that_a_restore_has_lost_is_told_so() {
    let place = Place::new();
    let again = place.at("again");
    let server = place.server();
    let before = newest_time(&server);
    create(&server, "last");
    let newest = place.back_up(&server);
    create(&server, "lost");
    let lost = newest_time(&server);
    drop(server);
    let restored = place.restore(&again);
    let told = format!(
        "a backup of revision {newest} was restored at {restored}; what happened between is not in this log"
    );
    let check = |now: &str| {
        for (time, is_told) in [(before.as_str(), false), (&lost, true), (now, false)] {
            for question in [
                &["get", "configmaps", "--as-of", time][..],
                &["plan", "configmap/lost", "--as-of", time],
                &["log", "--until", time],
            ] {
                let said = text(&hindsight(&again, question).stderr);
                assert_eq!(said.contains(&told), is_told, "{question:?}: {said}");
            }
        }
        let reason = format!("a backup was restored at revision {restored}; what was written");
        for question in ["why", "log"] {
            let answer = hindsight(&again, &[question, "configmap/lost"]);
            let hints = text(&answer.stderr);
            assert!(hints.contains("in this log"), "{hints}");
            let said = text(&answer.stdout) + &hints;
            assert_eq!(said.matches(&reason).count(), 1, "{question}: {said}");
        }
        let [newest, restored] = [newest, restored].map(|revision| revision.to_string());
        for (until, is_told) in [
            (before.as_str(), false),
            (&newest, false),
            (&lost, false),
            (&restored, true),
            (now, true),
        ] {
            let answer = hindsight(&again, &["log", "configmap/lost", "--until", until]);
            let hints = text(&answer.stderr);
            assert_eq!(hints.contains(&reason), is_told, "{until}: {hints}");
        }
        for (since, is_told) in [(before.as_str(), true), (&lost, true), (now, false)] {
            let answer = hindsight(&again, &["log", "configmap/lost", "--since", since]);
            let hints = text(&answer.stderr);
            assert_eq!(hints.contains(&reason), is_told, "{since}: {hints}");
        }
    };
    let server = Server::start_on(&again);
    create(&server, "new");
    let now = newest_time(&server);
    check(&now);
    drop(server);
    check(&now);
}

#[test]
fn who_asks_over_http_about_what_a_restore_has_lost_is_warned() {
    let place = Place::new();
    let again = place.at("again");
    let server = place.server();
    let backup = place.back_up(&server);
    create(&server, "lost");
    let lost = newest_time(&server);
    drop(server);
    let restored = place.restore(&again);
    let server = Server::start_on(&again);
    create(&server, "new");
    let told = format!(
        "Warning: a backup of revision {backup} was restored at {restored}; what happened between is not in this log"
    );
    let newest = restored + 1;
    let points = [
        (backup.to_string(), false),
        ((backup + 1).to_string(), true),
        ((restored - 1).to_string(), true),
        (lost, true),
        (restored.to_string(), false),
        (newest.to_string(), false),
    ];
    for (point, is_told) in &points {
        for path in [
            format!("/as-of/{point}{MAPS}"),
            format!("/as-of/{point}{MAPS}/kept"),
            format!("/as-of/{point}{MAPS}/lost"),
            format!("/as-of/{point}/api/v1"),
            format!("/hindsight/v1/state?asOf={point}"),
            format!("/hindsight/v1/plan?kind=configmap&name=kept&asOf={point}"),
        ] {
            // The same state is folded, and then taken from memory.
            for _ in 0..2 {
                let answer = server.try_kubectl(&["get", "--raw", &path], "");
                let said = text(&answer.stderr);
                assert_eq!(
                    said.matches(&told).count(),
                    usize::from(*is_told),
                    "{path}: {said}"
                );
            }
        }
    }
    let exact = format!(
        "/as-of/{newest}{MAPS}?resourceVersionMatch=Exact&resourceVersion={}",
        restored - 1
    );
    let said = server.try_kubectl(&["get", "--raw", &exact], "");
    assert!(text(&said.stderr).contains(&told), "{said:?}");
}

/// The layout in which a link names the current directory: a backup is restored beside it, the link is switched, and
/// the server is restarted.
#[test]
fn a_link_is_switched_under_a_server_to_a_log_that_was_restored_beside_it() {
    let place = Place::new();
    let [data, restored, link] = ["data", "restored", "current"].map(|name| place.at(name));
    std::fs::create_dir(&data).expect("made");
    symlink(&data, &link).expect("linked");
    let mut command = serve(&link);
    command
        .args(["--snapshot-every", "2"])
        .stderr(Stdio::inherit());
    let server = Server::start_with(command, &data).expect("it starts");
    create(&server, "kept");
    place.back_up(&server);
    place.restore(&restored);
    std::fs::remove_file(&link).expect("removed");
    symlink(&restored, &link).expect("switched");
    for number in 0..20 {
        create(&server, &format!("late{number}"));
    }
    assert_eq!(server.signal("TERM"), Some(0));
    assert!(data.join("snapshots").exists(), "some were due");
    let has = |server: &Server, name: &str| {
        let names = server.kubectl(&["get", "configmaps", "-o", "name"]);
        names
            .lines()
            .any(|line| line == format!("configmap/{name}"))
    };
    let next = Server::start_on(&link);
    assert!(has(&next, "kept") && !has(&next, "late0"));
    let old = Server::start_on(&data);
    assert!(has(&old, "kept") && has(&old, "late19"));
}

/// What is read is what is locked, and not where the link leads once the lock is held.
#[test]
fn a_link_is_switched_under_a_backup_of_a_damaged_log() {
    let place = Place::new();
    let [data, other, restored, link] =
        ["data", "other", "restored", "current"].map(|name| place.at(name));
    for (directory, name) in [(&data, "kept"), (&other, "foreign")] {
        let server = Server::start_on(directory);
        create(&server, name);
        assert_eq!(server.signal("TERM"), Some(0));
    }
    symlink(&data, &link).expect("linked");
    let mut command = Command::new(binary("hindsight"));
    command.args(["backup", "--intact", &place.file, "--data-dir"]);
    command.arg(&link);
    // The lock is held before the call returns.
    let lock = data.canonicalize().expect("there").join("lock");
    let Some(mut command) = with_fault_of(&command, "flock", "delay_exit=1000000", &lock) else {
        return;
    };
    let running = command.stdout(Stdio::piped()).spawn().expect("it starts");
    wait_until("the lock is held", || DirectoryLock::check(&data).is_err());
    std::fs::remove_file(&link).expect("removed");
    symlink(&other, &link).expect("switched");
    stdout(&running.wait_with_output().expect("it ends"));
    place.restore(&restored);
    let next = Server::start_on(&restored);
    let names = next.kubectl(&["get", "configmaps", "-o", "name"]);
    assert!(
        names.contains("kept") && !names.contains("foreign"),
        "{names}"
    );
}

/// A first start that is killed before its first record leaves such a log.
#[test]
fn a_log_in_which_nothing_happened_yet_is_restored_to_one_that_has_its_first_objects() {
    let place = Place::new();
    let [data, restored] = ["data", "restored"].map(|name| place.at(name));
    drop(SledStorage::open(&data.join("events")).expect("made"));
    stdout(&hindsight(&data, &["backup", &place.file]));
    let continued = place.restore(&restored);
    let server = Server::start_on(&restored);
    let version = "jsonpath={.metadata.resourceVersion}";
    let known = server.kubectl(&["get", "namespace", "default", "-o", version]);
    assert!(known.parse::<u64>().expect("a revision") > continued);
    create(&server, "new");
    assert_eq!(server.signal("TERM"), Some(0));
    stdout(&hindsight(&restored, &["verify", "--deep"]));
}

/// A backup has no certificates: new ones would refuse every client.
#[test]
fn a_restore_says_what_comes_next_and_what_a_backup_lacks() {
    let place = Place::new();
    place.back_up(&place.server());
    let kept = place.at("kept data");
    std::fs::create_dir_all(kept.join("pki")).expect("made");
    for (directory, before) in [
        (
            place.at("my data"),
            "copy pki/ of the old data directory there, ",
        ),
        (kept, "hindsight serve "),
    ] {
        let told = stdout(&hindsight(&directory, &["restore", &place.file]));
        let start = format!("hindsight serve --data-dir '{}';", directory.display());
        assert!(told.contains(&format!("next: {before}")), "{told}");
        assert!(told.contains(&start), "{told}");
    }
}

#[test]
fn a_file_of_somebody_else_under_the_name_of_an_unfinished_backup_stays() {
    let server = Server::start();
    let place = Place::new();
    let unfinished = PathBuf::from(format!("{}.unfinished", place.file));
    std::fs::write(&unfinished, "of somebody else").expect("written");
    for force in [&[][..], &["--force"]] {
        let arguments = [&["backup", &place.file], force].concat();
        let refused = server.hindsight(&arguments);
        let told = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains("unfinished is in the way"), "{told}");
        let kept = std::fs::read(&unfinished).expect("there");
        assert_eq!(kept, b"of somebody else");
    }
    std::fs::write(&unfinished, hindsight_log::BACKUP_MAGIC).expect("written");
    stdout(&server.hindsight(&["backup", &place.file]));
    assert!(Path::new(&place.file).exists() && !unfinished.exists());

    // A process that is killed before it renames its file leaves a whole one.
    std::fs::rename(&place.file, &unfinished).expect("renamed");
    let whole = std::fs::read(&unfinished).expect("there");
    let refused = server.hindsight(&["backup", &place.file]);
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("unfinished is in the way"), "{told}");
    assert_eq!(std::fs::read(&unfinished).expect("there"), whole);
    stdout(&server.hindsight(&["backup", &place.file, "--force"]));
    assert!(Path::new(&place.file).exists() && !unfinished.exists());
}

/// Starts `hindsight log configmaps --follow`, and returns the lines of its output and those of its hints.
fn followed(data: &Path) -> (Child, [Box<dyn Iterator<Item = String>>; 2]) {
    let mut command = Command::new(binary("hindsight"));
    command.args(["log", "configmaps", "--follow", "--data-dir"]);
    command
        .arg(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().expect("it starts");
    let out = BufReader::new(process.stdout.take().expect("an output")).lines();
    let hints = BufReader::new(process.stderr.take().expect("an output")).lines();
    let lines: [Box<dyn Iterator<Item = String>>; 2] = [
        Box::new(out.map(|line| line.expect("a line"))),
        Box::new(hints.map(|line| line.expect("a line"))),
    ];
    (process, lines)
}

#[test]
fn who_follows_a_log_is_told_what_has_come_in_its_place() {
    let place = Place::new();
    let data = place.at("data");
    let server = place.server();
    for number in 0..10 {
        create(&server, &format!("old-{number}"));
    }
    let (mut process, [mut told, mut hints]) = followed(&data);
    let gone = |server: Server, hints: &mut dyn Iterator<Item = String>| {
        assert_eq!(server.signal("TERM"), Some(0));
        let hint = hints.next().expect("a hint");
        assert!(hint.ends_with("waiting for it to come back"), "{hint}");
    };
    assert!(told.nth(10).expect("all of it").contains("old-9: created"));
    gone(server, &mut hints);
    for part in std::fs::read_dir(&data).expect("a directory") {
        let part = part.expect("an entry").path();
        let name = part
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if part.is_dir() && name != "pki" {
            std::fs::remove_dir_all(part).expect("removed");
        } else if name.starts_with("events") {
            std::fs::remove_file(part).expect("removed");
        }
    }
    let server = Server::start_on(&data);
    create(&server, "new");
    let hint = hints.next().expect("a hint");
    assert!(hint.contains("the log is another one"), "{hint}");
    assert!(told.next().expect("the first").contains("new: created"));

    place.back_up(&server);
    create(&server, "lost");
    assert!(told.next().expect("what is new").contains("lost: created"));
    gone(server, &mut hints);
    std::fs::rename(&data, place.at("old")).expect("renamed");
    let restored = place.restore(&data);
    let server = Server::start_on(&data);
    let hint = hints.next().expect("a hint");
    let expected = format!("a backup was restored at revision {restored};");
    assert!(hint.contains(&expected), "{hint}");
    create(&server, "later");
    assert!(told.next().expect("what is new").contains("later: created"));
    process.kill().expect("it runs");
    process.wait().expect("it ends");
}
