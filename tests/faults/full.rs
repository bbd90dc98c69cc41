//! A disk that is full, or nearly: what is refused, what still works, and that everything works again
//! once there is room.

use super::verify;
use hindsight_tests::dice::Dice;
use hindsight_tests::disk::{Disk, fill, skipped};
use hindsight_tests::server::{Server, serve, text};
use hindsight_tests::strace::recorded;
use hindsight_tests::wait::wait_until;
use hindsight_tests::wire::{Caller, Wire, request};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// A manifest that fills a disk soon, because it hardly compresses.
pub(super) fn large(name: &str) -> String {
    incompressible(&format!(r#""name": "{name}""#), 900 << 10)
}

fn incompressible(metadata: &str, bytes: usize) -> String {
    let mut dice = Dice(1);
    let letter = |_| char::from(b'a' + u8::try_from(dice.roll(26)).expect("a letter"));
    let data: String = (0..bytes).map(letter).collect();
    format!(
        r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{{metadata}}}, "data": {{"k": "{data}"}}}}"#
    )
}

pub(super) fn write_until_full(server: &Server, prefix: &str) {
    let create = |index| {
        let name = format!("{prefix}{index}");
        server.try_kubectl(&["create", "-f", "-"], &large(&name))
    };
    let refusal = (0..60).map(create).find(|output| !output.status.success());
    let message = text(&refusal.expect("the disk is full at last").stderr);
    for told in [
        "(InsufficientStorage)",
        "the disk is full",
        "deleting objects frees none",
    ] {
        assert!(message.contains(told), "{message}");
    }
}

/// Pairs of a namespace that a finalizer holds and an owner with dependents.
const PAIRS: usize = 12;
const DEPENDENTS: usize = 10;

fn list(items: &[String]) -> String {
    let items = items.join(", ");
    format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{items}]}}"#)
}

fn config_map(metadata: &str) -> String {
    format!(r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{{metadata}}}}}"#)
}

fn create_pairs(server: &Server) {
    let create = |items: Vec<String>| {
        server.kubectl_with(&["create", "-f", "-"], &list(&items));
    };
    let namespace = |index| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Namespace", "metadata": {{"name": "n{index}"}}}}"#
        )
    };
    let held = |index| {
        let finalizers = r#""finalizers": ["example.com/held"]"#;
        config_map(&format!(
            r#""name": "held", "namespace": "n{index}", {finalizers}"#
        ))
    };
    let owner = |index| config_map(&format!(r#""name": "o{index}""#));
    create((0..PAIRS).map(namespace).collect());
    create((0..PAIRS).map(held).chain((0..PAIRS).map(owner)).collect());
    for index in 0..PAIRS {
        let uid = server.uid(&format!("configmap/o{index}"));
        let owner = format!(
            r#""apiVersion": "v1", "kind": "ConfigMap", "name": "o{index}", "uid": "{uid}""#
        );
        let dependent = |number| {
            config_map(&format!(
                r#""name": "o{index}-{number}", "labels": {{"is": "dependent"}}, "ownerReferences": [{{{owner}}}]"#
            ))
        };
        create((0..DEPENDENTS).map(dependent).collect());
    }
}

/// Deletes all pairs at once, so that the collectors' deletions and their reports meet in one batch.
fn delete_pairs(server: &Server) {
    let pairs = (0..PAIRS).flat_map(|at| [format!("namespace/n{at}"), format!("configmap/o{at}")]);
    let pairs: Vec<String> = pairs.collect();
    let mut arguments = vec!["delete", "--wait=false"];
    arguments.extend(pairs.iter().map(String::as_str));
    server.kubectl(&arguments);
    wait_until("every dependent goes", || {
        let dependents = ["get", "configmaps", "-l", "is=dependent", "-o", "name"];
        server.kubectl(&dependents).is_empty()
    });
}

/// Whether the status of every namespace says what holds it.
fn are_reported(server: &Server) -> bool {
    let types = "jsonpath={.status.conditions[*].type}";
    (0..PAIRS).all(|index| {
        let namespace = format!("n{index}");
        let told = server.kubectl(&["get", "namespace", &namespace, "-o", types]);
        told.contains("NamespaceFinalizersRemaining")
    })
}

/// A disk in memory, which is unmounted before its mount point is removed.
pub(super) struct Small {
    pub(super) disk: Disk,
    pub(super) at: PathBuf,
    /// The data directory.
    pub(super) directory: PathBuf,
    _temporary: tempfile::TempDir,
}

impl Small {
    /// A disk of this size in MiB; if none can be mounted, prints that the test is skipped.
    pub(super) fn of(mib: u64, what: &str) -> Option<Self> {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let at = temporary.path().join("disk");
        let Some(disk) = Disk::in_memory(&at, mib) else {
            skipped(what, "nothing can be mounted here");
            return None;
        };
        Some(Self {
            disk,
            directory: at.join("data"),
            at,
            _temporary: temporary,
        })
    }
}

/// Everything above a mount point existed before, and some file systems there do not support fsync: a
/// start that synced them would be refused for ever.
#[test]
fn a_start_syncs_directories_up_to_where_its_file_system_is_mounted() {
    let Some(small) = Small::of(64, "a mounted directory") else {
        return;
    };
    let record = small.at.with_extension("record");
    let Some(command) = recorded(&serve(&small.directory), "fsync", &record) else {
        return;
    };
    let server = Server::start_with(command, &small.directory).expect("it starts");
    assert_eq!(server.signal("TERM"), Some(0));
    let mut told = String::new();
    let is_synced = |told: &str, path: &Path| told.contains(&format!("<{}>", path.display()));
    wait_until("the directories of the data are synced", || {
        told = std::fs::read_to_string(&record).expect("a record");
        is_synced(&told, &small.directory) && is_synced(&told, &small.at)
    });
    let above = small.at.parent().expect("a directory");
    assert!(!is_synced(&told, above), "{told}");
}

/// The directory above has another file system, of which nothing that is released gives the log room; and it has the
/// witness.
#[test]
fn a_log_on_a_full_file_system_of_its_own_starts_as_always() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let events = directory.join("events");
    let Some(disk) = Disk::in_memory(&events, 64) else {
        skipped("a full disk", "nothing can be mounted here");
        return;
    };
    let record = temporary.path().join("record");
    let Some(command) = recorded(&serve(&directory), "fsync", &record) else {
        return;
    };
    let mut server = Server::start_with(command, &directory).expect("it starts");
    let told = std::fs::read_to_string(&record).expect("a record");
    let beside = format!("<{}>", directory.display());
    assert!(told.contains(&beside), "{told}");
    for name in ["a", "b"] {
        server.kubectl(&["create", "configmap", name]);
    }
    for end in ["TERM", "KILL", "TERM"] {
        fill(&events);
        server.signal(end);
        fill(&events);
        server = Server::start_on(&directory);
    }
    server.kubectl(&["delete", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
    std::fs::remove_file(events.join("filling")).expect("removed");
    let report = verify(&directory);
    drop(disk);
    assert!(report.contains("intact"), "{report}");
}

/// A watch of what happens to this object from now on.
fn watch_of_one(server: &Server, name: &str) -> Wire {
    let version = ["-o", "jsonpath={.metadata.resourceVersion}"];
    let version = server.kubectl(&[&["get", "configmap", name][..], &version].concat());
    let mut wire = Caller::of(server).connect().expect("connected");
    let selector = format!("fieldSelector=metadata.name%3D{name}");
    let path = format!(
        "/api/v1/namespaces/default/configmaps?watch=1&{selector}&resourceVersion={version}"
    );
    wire.send(request("GET", &path, "").as_bytes())
        .expect("sent");
    assert_eq!(wire.head().expect("an answer").0, 200);
    wire
}

#[test]
fn on_a_full_disk_reads_and_deletions_go_on_and_writes_resume_without_a_restart() {
    let Some(small) = Small::of(64, "a full disk") else {
        return;
    };
    let (disk, at, directory) = (&small.disk, &small.at, &small.directory);
    let server = Server::start_on(directory);
    write_until_full(&server, "c");
    let mut watch = watch_of_one(&server, "c0");
    let filling = fill(at);
    write_until_full(&server, "d");
    assert!(server.kubectl(&["get", "configmaps"]).contains("c0"));
    server.kubectl(&["delete", "configmap", "c0"]);
    let event = watch.event().expect("readable").expect("an event");
    assert!(event.contains(r#""type":"DELETED""#), "{event:.300}");
    server.signal("KILL");
    let server = Server::start_on(directory);
    assert!(!server.kubectl(&["get", "configmaps"]).contains("c0 "));
    server.kubectl(&["delete", "configmap", "c1"]);
    write_until_full(&server, "e");
    server.kubectl(&["delete", "configmap", "c2"]);
    std::fs::remove_file(filling).expect("removed");
    disk.resize(256);
    server.kubectl_with(&["create", "-f", "-"], &large("later"));
    assert_eq!(server.signal("TERM"), Some(0));
    verify(directory);
}

/// Lives of a server on one full disk. Other programs may take the space that a start releases before
/// the server reserves it again.
const LIVES: u64 = 15;
const CUT_OFF: u64 = 4;

#[test]
fn on_a_disk_that_others_keep_full_every_start_is_as_always() {
    let Some(small) = Small::of(64, "a full disk") else {
        return;
    };
    let (at, directory) = (&small.at, &small.directory);
    let mut dice = Dice(1);
    let reserve = directory.join("events.reserve");
    let held = || reserve.metadata().map_or(0, |found| found.blocks() * 512);
    let mut server = Server::start_on(directory);
    for name in ["a", "b"] {
        server.kubectl(&["create", "configmap", name]);
    }
    let mut before = 0;
    for life in 0..LIVES {
        fill(at);
        server.signal(if life % 2 == 0 { "TERM" } else { "KILL" });
        fill(at);
        if life < CUT_OFF {
            cut_off(directory, &mut dice);
            fill(at);
        }
        server = Server::start_on(directory);
        if life == CUT_OFF {
            before = held();
        }
    }
    // A start that is not killed reserves again what it used.
    assert!(before > 0 && held() >= before / 2, "{before}: {}", held());
    fill(at);
    let names = ["get", "configmaps", "-n", "default", "-o", "name"];
    assert!(server.kubectl(&names).contains("configmap/a"));
    server.kubectl(&["delete", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
    // As a release without a journal leaves it.
    let journal = directory.join("events/journal");
    std::fs::remove_file(&journal).expect("removed");
    fill(at);
    let mut server = Server::start_on(directory);
    assert!(!journal.exists(), "there is no room for it");
    server.kubectl(&["delete", "configmap", "b"]);
    assert_eq!(server.signal("KILL"), None);
    std::fs::remove_file(at.join("filling")).expect("removed");
    server = Server::start_on(directory);
    assert!(journal.exists(), "there is room again");
    let left = server.kubectl(&names);
    assert!(!left.contains("configmap/b"), "{left}");
    assert_eq!(server.signal("TERM"), Some(0));
    verify(directory);
}

/// The file that its log is written to may be on the same disk.
#[test]
fn on_a_full_disk_a_server_that_cannot_write_its_own_log_does_what_others_do() {
    let Some(small) = Small::of(64, "a full disk") else {
        return;
    };
    let (disk, at, directory) = (&small.disk, &small.at, &small.directory);
    for format in ["text", "json"] {
        let mut command = serve(directory);
        let nowhere = std::fs::File::options().write(true).open("/dev/full");
        command.args(["--log-format", format]);
        command
            .env("RUST_LOG", "info")
            .stderr(nowhere.expect("opened"));
        let server = Server::start_with(command, directory).expect("it starts");
        server.kubectl(&["create", "configmap", format]);
        let filling = fill(at);
        write_until_full(&server, format);
        server.kubectl(&["delete", "configmap", format]);
        std::fs::remove_file(filling).expect("removed");
        wait_until("writes are accepted again", || {
            let create = ["create", "configmap", format];
            server.try_kubectl(&create, "").status.success()
        });
        assert_eq!(server.signal("TERM"), Some(0), "{format}");
    }
    disk.resize(256);
    verify(directory);
}

/// Starts the server and kills it at some moment of the start.
fn cut_off(directory: &Path, dice: &mut Dice) {
    let mut command = serve(directory);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut starting = command.spawn().expect("hindsight serve starts");
    std::thread::sleep(Duration::from_millis(dice.roll(300)));
    starting.kill().expect("killed");
    starting.wait().expect("ended");
}

/// Creates files until no more can be created.
fn use_up_files(directory: &Path, life: u64) {
    let make = |index| std::fs::File::create(directory.join(format!("{life}-{index}")));
    assert!((0..1000).any(|index| make(index).is_err()));
}

#[test]
fn where_no_more_files_can_be_made_writes_and_starts_are_as_always() {
    let Some(small) = Small::of(256, "a disk without files") else {
        return;
    };
    let (disk, at, directory) = (&small.disk, &small.at, &small.directory);
    let others = at.join("others");
    std::fs::create_dir(&others).expect("made");
    let mut server = Server::start_on(directory);
    disk.limit_inodes(60);
    for life in 0..6 {
        use_up_files(&others, life);
        server.kubectl(&["create", "configmap", &format!("c{life}")]);
        server.signal(if life % 2 == 0 { "KILL" } else { "TERM" });
        if life == 3 {
            // As an older release leaves it; after the clean shutdown everything is in the database.
            std::fs::remove_file(directory.join("events/journal")).expect("removed");
            use_up_files(&others, 99);
        }
        server = Server::start_on(directory);
    }
    let names = server.kubectl(&["get", "configmaps", "-n", "default", "-o", "name"]);
    assert!((0..6).all(|life| names.contains(&format!("configmap/c{life}"))));
    assert_eq!(server.signal("TERM"), Some(0));
    std::fs::remove_dir_all(others).expect("removed");
    verify(directory);
}

/// Runs one life of a server that takes a snapshot at its end if it can; returns the names of the
/// snapshots then.
fn snapshots_after(directory: &Path, name: &str, flags: &[&str]) -> Vec<String> {
    let mut command = serve(directory);
    command.args(flags);
    command
        .args(["--snapshot-every", "1"])
        .stderr(Stdio::null());
    let server = Server::start_with(command, directory).expect("it starts");
    // Fewer writes would not make a snapshot due.
    for index in 0..3 {
        server.kubectl(&["create", "configmap", &format!("{name}{index}")]);
    }
    assert_eq!(server.signal("TERM"), Some(0));
    let entries = std::fs::read_dir(directory.join("snapshots")).expect("a directory");
    let names = entries.map(|entry| entry.expect("listed").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into()).collect();
    names.sort();
    names
}

#[test]
fn on_a_disk_that_is_nearly_full_snapshots_leave_what_there_is_to_writes() {
    let Some(small) = Small::of(128, "a nearly full disk") else {
        return;
    };
    let (disk, at, directory) = (&small.disk, &small.at, &small.directory);
    let before = snapshots_after(directory, "a", &[]);
    assert!(!before.is_empty());
    let filling = fill(at);
    disk.resize(128 + 20);
    let after = snapshots_after(directory, "b", &[]);
    assert_eq!(after, before, "writes went on");
    // Thinning makes room.
    let thinning = snapshots_after(directory, "c", &["--keep-history-bytes", "100KB"]);
    assert!(thinning.last() > before.last());
    std::fs::remove_file(filling).expect("removed");
    let later = snapshots_after(directory, "d", &[]);
    assert!(later.last() > thinning.last());
    verify(directory);
}

#[test]
fn on_a_full_disk_all_that_is_to_go_goes_and_what_is_to_be_told_is_told_when_there_is_room() {
    let Some(small) = Small::of(64, "a full disk") else {
        return;
    };
    let (disk, at, directory) = (&small.disk, &small.at, &small.directory);
    let server = Server::start_on(directory);
    create_pairs(&server);
    write_until_full(&server, "c");
    let filling = fill(at);
    write_until_full(&server, "d");
    delete_pairs(&server);
    assert!(!are_reported(&server), "there is no room for it");
    std::fs::remove_file(filling).expect("removed");
    disk.resize(256);
    wait_until("every namespace says what holds it", || {
        are_reported(&server)
    });
    assert_eq!(server.signal("TERM"), Some(0));
    verify(directory);
}

/// What is orphaned is written anew. There is no room for all of it at once, but for each alone; and what takes no
/// room does not wait for it.
#[test]
fn on_a_full_disk_a_deletion_that_takes_much_room_holds_up_no_other() {
    let Some(small) = Small::of(64, "a full disk") else {
        return;
    };
    let server = Server::start_on(&small.directory);
    let below = |owner: &str, bytes: usize| {
        server.kubectl_with(
            &["create", "-f", "-"],
            &config_map(&format!(r#""name": "{owner}""#)),
        );
        let uid = server.uid(&format!("configmap/{owner}"));
        let dependent = |number| {
            let reference = format!(
                r#""apiVersion": "v1", "kind": "ConfigMap", "name": "{owner}", "uid": "{uid}""#
            );
            let metadata = format!(
                r#""name": "{owner}-{number}", "labels": {{"of": "{owner}"}}, "ownerReferences": [{{{reference}}}]"#
            );
            incompressible(&metadata, bytes)
        };
        let dependents: Vec<String> = (0..DEPENDENTS).map(dependent).collect();
        server.kubectl_with(&["create", "-f", "-"], &list(&dependents));
    };
    below("heavy", 360 << 10);
    below("light", 1 << 10);
    write_until_full(&server, "c");
    let filling = fill(&small.at);
    write_until_full(&server, "d");
    let delete = |owner: &str, cascade: &str| {
        let owner = format!("configmap/{owner}");
        server.kubectl(&["delete", "--wait=false", cascade, &owner]);
    };
    delete("heavy", "--cascade=orphan");
    // Time for the collector to take all the room that it may: it tries every second.
    std::thread::sleep(Duration::from_secs(4));
    delete("light", "--cascade=background");
    let dependents = |of: &str| {
        let selector = format!("of={of}");
        server.kubectl(&["get", "configmaps", "-l", &selector, "-o", "name"])
    };
    wait_until("what takes no room goes", || dependents("light").is_empty());
    std::fs::remove_file(filling).expect("removed");
    small.disk.resize(256);
    wait_until("what was to be let go is", || {
        let owners = [
            "get",
            "configmap",
            "heavy",
            "--ignore-not-found",
            "-o",
            "name",
        ];
        server.kubectl(&owners).is_empty()
    });
    assert_eq!(dependents("heavy").lines().count(), DEPENDENTS);
    assert_eq!(server.signal("TERM"), Some(0));
    verify(&small.directory);
}
