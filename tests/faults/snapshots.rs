//! Snapshots that are not what the log comes to: they are found, and the log is not blamed.

use hindsight_core::Revision;
use hindsight_log::Snapshots;
use hindsight_tests::server::{Server, hindsight, stdout, text};
use std::path::Path;
use std::process::Command;

/// Writes a snapshot that names the last record, and holds only the first objects.
fn write_wrong_snapshot(directory: &Path) {
    let opened = hindsight::open_reader(directory).expect("it opens");
    let (reader, empty) = (opened.reader(), opened.empty_state());
    let mut base = reader.base(empty.clone()).expect("read");
    let newest = base.state.revision;
    base.state = reader.state_at(empty, Revision(4)).expect("kept");
    base.state.revision = newest;
    let snapshots = Snapshots::at(directory.join("snapshots"));
    snapshots.write(&base).expect("written");
}

#[test]
fn a_replay_believes_no_snapshot_and_a_deep_verification_finds_a_wrong_one() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
    let get = || hindsight(&directory, &["get", "configmap/a"]);
    stdout(&get());
    let replayed = || stdout(&hindsight(&directory, &["replay"]));
    let before = replayed();
    write_wrong_snapshot(&directory);
    let believed = get();
    assert_eq!(believed.status.code(), Some(3), "{believed:?}");
    assert_eq!(replayed(), before);
    blames_only_the_snapshot(&directory, "it holds a different state than the log");
    assert_eq!(get().status.code(), Some(0));
}

/// A deep verification names a snapshot, and advises nothing but to move it.
fn blames_only_the_snapshot(directory: &Path, why: &str) {
    let deep = || hindsight(directory, &["verify", "--deep"]);
    let verified = deep();
    let told = text(&verified.stderr);
    assert_eq!(verified.status.code(), Some(1), "{told}");
    let advice = format!(" cannot be used: {why}; move it aside: the log holds everything in it\n");
    let (_, path) = told.split_once("the snapshot ").expect("it is named");
    let path = path.strip_suffix(&advice).expect("all that is advised");
    assert!(
        !told.contains("backup") && !told.contains("damaged"),
        "{told}"
    );
    std::fs::rename(path, directory.join("aside")).expect("moved");
    assert!(stdout(&deep()).contains("is allowed by the rules"));
}

/// Writes the state at the end of the one log as a snapshot beside the other.
fn write_snapshot(from: &Path, beside: &Path) -> Revision {
    let opened = hindsight::open_reader(from).expect("it opens");
    let base = opened.reader().base(opened.empty_state()).expect("read");
    let snapshots = Snapshots::at(beside.join("snapshots"));
    snapshots.write(&base).expect("written");
    base.state.revision
}

/// The log is sound, and what is read of it is too: nobody is to give up a write, or the witness.
#[test]
fn a_snapshot_of_another_log_is_told_from_damage_of_this_one() {
    let temporary = tempfile::tempdir().expect("a directory");
    let [here, other] = ["here", "other"].map(|name| temporary.path().join(name));
    let create = |directory: &Path, names: &[&str]| {
        let server = Server::start_on(directory);
        for name in names {
            server.kubectl(&["create", "configmap", name]);
        }
        assert_eq!(server.signal("TERM"), Some(0));
    };
    create(&here, &[]);
    let copied = Command::new("cp").arg("-a").args([&here, &other]).status();
    assert!(copied.expect("cp runs").success());
    create(&here, &["a", "b"]);
    create(&other, &["x"]);
    let of_here = write_snapshot(&here, &here);
    let of_other = write_snapshot(&other, &here);
    assert!(of_here > of_other, "it is an older one");
    let past = of_other.to_string();
    let asked = hindsight(&here, &["get", "configmap/a", "--as-of", &past]);
    let told = text(&asked.stderr);
    assert!(stdout(&asked).contains('a'), "{told}");
    let ignored = "a snapshot does not belong to this log; ignoring it";
    let why = "it was not made from this log";
    assert!(told.contains(ignored) && told.contains(why), "{told}");
    assert!(
        !told.contains("events.tail") && !told.contains("backup"),
        "{told}"
    );
    assert!(stdout(&hindsight(&here, &["verify"])).contains("intact"));
    blames_only_the_snapshot(&here, why);
}
