//! Simulated power cuts between any two calls that the program makes on its files, the storage
//! engine's own among them, with many a part of what was not synced: the directory opens, and has
//! everything that was answered.

use hindsight::{Config, ControlPlane};
use hindsight_core::GroupResource;
use hindsight_tests::cuts::{CrashState, Disk, read};
use hindsight_tests::dice::number;
use hindsight_tests::http::MAPS;
use hindsight_tests::server::{Server, serve};
use hindsight_tests::strace::{complete_record, recorded_whole};
use hindsight_tests::wire::Caller;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The calls that change files. Those from `writev` on are not made, and would not be understood.
const CALLS: &str = "openat,lseek,write,pwrite64,fdatasync,fsync,ftruncate,fallocate,rename,unlink,mkdir,\
    writev,pwritev,pwritev2,copy_file_range,sendfile,renameat,renameat2,unlinkat,mkdirat,open,creat,truncate";
/// Has snapshots come and go, and the log thinned.
const RETENTION_FLAGS: &[&str] = &["--snapshot-every", "9", "--keep-history-bytes", "1KB"];
/// The directories that the log consists of.
const LOG: &[&str] = &["events", "snapshots"];
/// A file system in memory, where syncs cost nothing.
const MEMORY: &str = "/dev/shm";
const WRITES: usize = 24;
/// One in this many of the possible states of the files is opened.
const STATES_APART: u64 = 12;
/// If all of them are opened, up to this many unsynced changes are left in every combination.
const SUBSETS_MAX: usize = 6;

/// Versions by name.
type Known = BTreeMap<String, String>;

/// One write: when it was sent and answered, and what is stored then.
struct Answered {
    sent: Duration,
    at: Duration,
    then: Known,
}

fn now() -> Duration {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.expect("a clock after 1970")
}

/// Creates, replaces and deletes objects, small and large.
fn write_all(server: &Server) -> Vec<Answered> {
    let mut wire = Caller::of(server).connect().expect("connected");
    let (mut known, mut answered) = (Known::new(), Vec::new());
    for index in 0..WRITES {
        let name = format!("c{}", index % 7);
        let path = format!("{MAPS}/{name}");
        let data = "x".repeat(if index % 5 == 4 { 40_000 } else { 20 + index });
        let object =
            format!(r#"{{"metadata": {{"name": "{name}"}}, "data": {{"k": "{index}{data}"}}}}"#);
        let (method, path, body) = match known.contains_key(&name) {
            false => ("POST", MAPS, object),
            true if index % 3 == 0 => ("DELETE", &*path, String::new()),
            true => ("PUT", &*path, object),
        };
        let sent = now();
        let reply = wire.ask(method, path, &body).expect("answered");
        let at = now();
        assert!(reply.code < 300, "{method} {path}: {}", reply.body);
        if method == "DELETE" {
            known.remove(&name);
        } else {
            let version = reply.body.split_once("\"resourceVersion\":\"");
            let version = version.and_then(|(_, rest)| rest.split('"').next());
            known.insert(name, version.expect("a version").to_owned());
        }
        let then = known.clone();
        answered.push(Answered { sent, at, then });
    }
    answered
}

/// The objects in a directory that must open.
fn stored(directory: &Path) -> Result<Known, String> {
    let config = Config {
        data_dir: Some(directory.to_owned()),
        collectors: false,
        ..Config::default()
    };
    let plane = ControlPlane::open(config).map_err(|error| error.to_string())?;
    // A snapshot under its name is always complete.
    let aside = std::fs::read_dir(directory.join("snapshots"));
    let mut aside = aside
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("readable").path());
    if let Some(path) = aside.find(|path| path.extension().is_some_and(|found| found == "damaged"))
    {
        return Err(format!("{} was set aside", path.display()));
    }
    let state = plane.state();
    let maps = GroupResource::new("", "configmaps");
    let objects = state.list(&maps, Some("default"));
    let known = objects.map(|one| (one.key.name.to_string(), one.revision.0.to_string()));
    Ok(known.filter(|(name, _)| name.starts_with('c')).collect())
}

/// What may be stored at a moment: everything that was answered before, and perhaps what was sent.
fn allowed(answered: &[Answered], at: Duration) -> Vec<Known> {
    let done = answered.iter().take_while(|one| one.at < at).count();
    let sent = answered.iter().take_while(|one| one.sent < at).count();
    let after = |count: usize| {
        let last = count.checked_sub(1).and_then(|last| answered.get(last));
        last.map(|one| one.then.clone()).unwrap_or_default()
    };
    (done..=sent).map(after).collect()
}

#[test]
fn a_power_cut_between_any_two_calls_on_the_files_leaves_a_directory_that_opens() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let temporary = temporary.path().canonicalize().expect("a path");
    let (directory, record) = (temporary.join("data"), temporary.join("record"));
    let mut served = serve(&directory);
    served.args(RETENTION_FLAGS);
    let Some(command) = recorded_whole(&served, CALLS, &record) else {
        return;
    };
    let server = Server::start_with(command, &directory).expect("it starts");
    let answered = write_all(&server);
    assert_eq!(server.signal("TERM"), Some(0));
    let calls = read(&complete_record(&record));
    let (apart, mut seen, mut opened) = (number("HINDSIGHT_STATES_APART", STATES_APART), 0, 0);
    let subsets_max = if apart == 1 { SUBSETS_MAX } else { 0 };
    let (mut disk, mut tried) = (Disk::new(&directory, LOG), BTreeSet::new());
    for (at, calls) in &calls {
        if calls.is_empty() {
            continue;
        }
        let allowed = allowed(&answered, *at);
        for found in disk.crash_states(subsets_max) {
            // The same files are opened again when more must be in them.
            if !tried.insert((found.clone(), allowed.first().cloned())) {
                continue;
            }
            seen += 1;
            if seen % apart == 0 {
                opened += 1;
                assert_opens(&disk, &found, &allowed);
            }
        }
        calls.iter().for_each(|call| disk.apply(call));
    }
    println!(
        "{} calls, {seen} different disks, {opened} opened",
        calls.len()
    );
    assert!(opened > 100, "only {opened} were opened");
}

fn assert_opens(disk: &Disk, found: &CrashState, allowed: &[Known]) {
    let place = tempfile::tempdir_in(MEMORY).or_else(|_missing| tempfile::tempdir());
    let place = place.expect("a temporary directory");
    let directory = place.path().join("data");
    disk.restore(found, &directory);
    match stored(&directory) {
        Ok(known) => assert!(
            allowed.contains(&known),
            "{known:?} is none of {allowed:?}: {found:?}"
        ),
        Err(error) => panic!("{error}: {found:?}"),
    }
}
