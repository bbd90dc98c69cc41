//! Damaged data directories: what each command says of them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_log::DirectoryLock;
use hindsight_tests::dice::Dice;
use hindsight_tests::manifests::incompressible;
use hindsight_tests::server::{Server, hindsight, serve, text};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Less than the database has, and more than its first records need.
const LEFT_BYTES: u64 = 24 << 20;

fn stop(server: Server) {
    assert_eq!(server.signal("TERM"), Some(0));
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.expect("cp runs").success());
}

/// The names and lengths of all that is in a data directory, except the lock.
fn tree(directory: &Path) -> BTreeMap<PathBuf, Option<u64>> {
    let mut folders = vec![directory.to_owned()];
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("listed") {
            let path = entry.expect("listed").path();
            let about = path.metadata().expect("examined");
            if about.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, about.is_file().then_some(about.len()));
        }
    }
    found.remove(&DirectoryLock::path(directory));
    found
}

/// What the command says of the log, which it refuses.
fn refusal(directory: &Path, words: &[&str]) -> String {
    let refused = hindsight(directory, words);
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{words:?}: {told}");
    told
}

/// What a start says of the log, which it refuses.
fn refused_start(directory: &Path) -> String {
    let mut command = serve(directory);
    command.stderr(Stdio::piped());
    match Server::start_with(command, directory) {
        Ok(_) => panic!("it starts"),
        Err(ended) => text(&ended.stderr),
    }
}

#[test]
fn a_log_that_ends_before_its_newest_snapshot_is_intact_to_no_command() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, older) = (
        temporary.path().join("data"),
        temporary.path().join("older"),
    );
    let add = |name: &str| {
        let mut command = serve(&data);
        command.args(["--snapshot-every", "1"]);
        let server = Server::start_with(command, &data).expect("it starts");
        server.kubectl(&["create", "configmap", name]);
        stop(server);
    };
    add("first");
    copy(&data, &older);
    add("second");
    fs::remove_dir_all(older.join("snapshots")).expect("removed");
    copy(&data.join("snapshots"), &older.join("snapshots"));
    for words in [
        &["verify"][..],
        &["verify", "--deep"],
        &["verify", "--in-place", "-o", "json"],
        &["log"],
    ] {
        let told = refusal(&older, words);
        assert!(told.contains("are lost"), "{words:?}: {told}");
    }
    assert!(refused_start(&older).contains("are lost"));
    let file = temporary.path().join("rest");
    let file = file.to_str().expect("UTF-8");
    let saved = hindsight(&older, &["backup", "--intact", file]);
    let told = text(&saved.stderr);
    assert!(saved.status.success(), "{told}");
    assert!(
        told.contains(", but revision ") && told.contains(" was acknowledged"),
        "{told}"
    );
}

#[test]
fn a_log_that_was_moved_away_is_missed_by_every_command_as_by_a_start() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path().join("data");
    let mut command = serve(&data);
    command.args(["--snapshot-every", "1"]);
    let server = Server::start_with(command, &data).expect("it starts");
    server.kubectl(&["create", "configmap", "a"]);
    stop(server);
    fs::rename(data.join("events"), temporary.path().join("events")).expect("moved");
    let file = temporary.path().join("saved");
    let file = file.to_str().expect("UTF-8");
    let check = || {
        let before = tree(&data);
        let mut told: Vec<String> = [
            &["log"][..],
            &["why", "configmap/a"],
            &["get", "configmaps"],
            &["verify"],
            &["backup", file],
            &["backup", "--intact", file],
        ]
        .map(|words| refusal(&data, words))
        .into();
        told.push(refused_start(&data));
        for told in told {
            assert!(told.contains("the log ends at revision 0, but"), "{told}");
            assert!(told.contains("if events was moved, move it back"), "{told}");
        }
        assert_eq!(tree(&data), before, "nothing is made");
    };
    check();
    // Then only a snapshot tells that there was a log.
    fs::rename(data.join("events.tail"), temporary.path().join("tail")).expect("moved");
    check();
    fs::rename(temporary.path().join("tail"), data.join("events.tail")).expect("moved back");
    fs::rename(temporary.path().join("events"), data.join("events")).expect("moved back");
    assert!(hindsight(&data, &["get", "configmap/a"]).status.success());
    stop(Server::start_on(&data));
}

#[test]
fn what_somebody_else_keeps_under_our_names_survives_every_command() {
    let temporary = tempfile::tempdir().expect("a directory");
    let file = temporary.path().join("b");
    let file = file.to_str().expect("UTF-8");
    let source = temporary.path().join("source");
    stop(Server::start_on(&source));
    assert!(
        hindsight(&source, &["backup", file]).status.success(),
        "there is a backup"
    );
    for (name, others, words) in [
        (
            "another's",
            &[
                "events/calendar.ics",
                "restoring/keep.txt",
                "verifying/thesis.txt",
            ][..],
            &[&["log"][..], &["verify"], &["verify", "--in-place"]][..],
        ),
        (
            "no restore",
            &[
                "restoring/keep.txt",
                "snapshots/photo.txt",
                "events.reserve/none",
            ],
            &[&["restore", file][..]],
        ),
    ] {
        let data = temporary.path().join(name);
        for other in others {
            let path = data.join(other);
            fs::create_dir_all(path.parent().expect("one")).expect("made");
            fs::write(path, "of somebody else").expect("written");
        }
        let before = tree(&data);
        let mut told: Vec<String> = words.iter().map(|words| refusal(&data, words)).collect();
        told.push(refused_start(&data));
        for told in told {
            assert!(told.contains("or move it elsewhere"), "{name}: {told}");
        }
        assert_eq!(tree(&data), before, "{name}");
    }
}

/// Objects that together take more than a segment.
fn fill(server: &Server) {
    let mut dice = Dice(1);
    for number in 0..12 {
        let manifest = incompressible(&format!("c{number}"), &mut dice);
        server.kubectl_with(&["create", "-f", "-"], &manifest);
    }
}

#[test]
fn each_command_says_how_far_a_database_that_was_cut_short_is_intact_and_how_to_save_that() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path().join("data");
    let server = Server::start_on(&data);
    fill(&server);
    stop(server);
    // The engine notes its position when it opens.
    let server = Server::start_on(&data);
    server.kubectl(&["create", "configmap", "last"]);
    stop(server);
    let database = fs::File::options().write(true).open(data.join("events/db"));
    let database = database.expect("opened");
    assert!(database.metadata().expect("there").len() > LEFT_BYTES);
    database.set_len(LEFT_BYTES).expect("cut");
    // It would show what is missing without the engine.
    fs::remove_file(data.join("events/journal")).expect("removed");
    let file = temporary.path().join("saved");
    let file = file.to_str().expect("UTF-8");
    let saved = hindsight(&data, &["backup", "--intact", file]);
    let told = text(&saved.stderr);
    assert!(saved.status.success(), "{told}");
    let (_, end) = told.split_once("intact up to ").expect("it is told");
    let (end, _) = end.split_once(',').expect("more is told");
    let advice = format!(
        "hindsight backup --intact FILE --data-dir {}`",
        data.display()
    );
    let is_told = |told: &str| {
        assert!(told.contains(&format!(" {end},")), "{end}: {told}");
        assert!(told.contains(&advice), "{told}");
        assert!(!told.contains("backtrace"), "{told}");
    };
    for words in [
        &["log"][..],
        &["why", "configmap/c0"],
        &["get", "configmaps"],
        &["plan", "configmap/c0"],
        &["replay"],
        &["verify"],
        &["verify", "--in-place"],
        &["backup", "--force", file],
    ] {
        is_told(&refusal(&data, words));
    }
    is_told(&refused_start(&data));
}
