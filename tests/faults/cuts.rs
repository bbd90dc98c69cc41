//! Simulated power cuts between any two calls that the program makes on its files, the storage
//! engine's own among them, with many a part of what was not synced: the directory opens, and has
//! everything that was answered.

use hindsight::{Config, ControlPlane};
use hindsight_core::GroupResource;
use hindsight_tests::cuts::{Call, CrashState, Disk, Left, read};
use hindsight_tests::dice::number;
use hindsight_tests::http::MAPS;
use hindsight_tests::recorder;
use hindsight_tests::server::{Server, serve};
use hindsight_tests::strace::{complete_record, recorded_until_killed, recorded_whole};
use hindsight_tests::wire::Caller;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
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
/// The sync in which the life is killed from which another recovers: that of a write which is never answered.
const KILLED_IN: (&str, u64) = ("fdatasync", 20);
/// What the life that recovers writes itself.
const WRITES_AFTER: usize = 2;
/// One in this many of the possible states of the files is opened, of the fewer of a recovery one in this many.
const STATES_APART: u64 = 12;
const STATES_APART_RECOVERY: u64 = 6;
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

/// Creates, replaces and deletes objects, small and large. Returns when the write was sent that was not answered.
fn write(server: &Server, count: usize, answered: &mut Vec<Answered>) -> Option<Duration> {
    let mut wire = Caller::of(server).connect().expect("connected");
    let mut known = answered.last().map(|one| one.then.clone());
    let known = known.get_or_insert_default();
    for index in (0..WRITES).cycle().skip(answered.len()).take(count) {
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
        let Ok(reply) = wire.ask(method, path, &body) else {
            return Some(sent);
        };
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
    None
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

/// A directory that is not there yet, and where the calls on it are recorded.
struct Place {
    temporary: tempfile::TempDir,
    directory: PathBuf,
}

impl Place {
    fn new() -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let path = temporary.path().canonicalize().expect("a path");
        let directory = path.join("data");
        Self {
            temporary,
            directory,
        }
    }

    fn record(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    fn served(&self) -> Command {
        let mut served = serve(&self.directory);
        served.args(RETENTION_FLAGS);
        served
    }

    fn start(&self, command: Command) -> Server {
        Server::start_with(command, &self.directory).expect("it starts")
    }
}

#[test]
fn a_power_cut_between_any_two_calls_on_the_files_leaves_a_directory_that_opens() {
    let (place, mut answered) = (Place::new(), Vec::new());
    let record = place.record("record");
    let Some(command) = recorded_whole(&place.served(), CALLS, &record) else {
        return;
    };
    let server = place.start(command);
    assert_eq!(write(&server, WRITES, &mut answered), None);
    assert_eq!(server.signal("TERM"), Some(0));
    let calls = read(&complete_record(&record));
    let mut disk = Disk::new(&place.directory, LOG);
    let (seen, opened) = cut_at_each(&mut disk, &calls, &answered, STATES_APART);
    println!(
        "{} calls, {seen} different disks, {opened} opened",
        calls.len()
    );
    assert!(opened > 100, "only {opened} were opened");
}

/// The second life finds a record that nobody synced. Once it has shown that to somebody, no power cut may take it away.
#[test]
fn a_power_cut_between_any_two_calls_on_the_files_of_a_recovery_loses_nothing_that_was_shown() {
    let (place, mut answered) = (Place::new(), Vec::new());
    let [killed, recovered] = ["killed", "recovered"].map(|name| place.record(name));
    let Some(command) = recorded_until_killed(&place.served(), CALLS, KILLED_IN, &killed) else {
        return;
    };
    let sent = write(&place.start(command), WRITES, &mut answered).expect("it is killed");
    let killed = read(&complete_record(&killed));
    let command = recorded_whole(&place.served(), CALLS, &recovered).expect("as before");
    let server = place.start(command);
    let mut then = recorder::stored(&server);
    then.retain(|name, _| name.starts_with('c'));
    let at = now();
    assert_ne!(
        answered.last().map(|one| &one.then),
        Some(&then),
        "not found"
    );
    answered.push(Answered { sent, at, then });
    assert_eq!(write(&server, WRITES_AFTER, &mut answered), None);
    assert_eq!(server.signal("TERM"), Some(0));
    let calls = read(&complete_record(&recovered));
    let is_taken_in =
        |call: &Call| matches!(call, Call::Wrote { path, .. } if path.ends_with("events/db"));
    let before = calls.iter().take_while(|(made, _)| *made < at);
    assert!(before.flat_map(|(_, calls)| calls).any(is_taken_in));
    let mut disk = Disk::new(&place.directory, LOG);
    killed
        .iter()
        .flat_map(|(_, calls)| calls)
        .for_each(|call| disk.apply(call));
    let (seen, opened) = cut_at_each(&mut disk, &calls, &answered, STATES_APART_RECOVERY);
    println!(
        "{} calls of a recovery, {seen} different disks, {opened} opened",
        calls.len()
    );
    assert!(opened > 40, "only {opened} were opened");
}

/// Opens what a power cut at each of these calls may leave; returns how many disks that gives, and how many of them
/// were opened.
fn cut_at_each(
    disk: &mut Disk,
    calls: &[(Duration, Vec<Call>)],
    answered: &[Answered],
    apart: u64,
) -> (u64, u64) {
    let (apart, mut seen, mut opened) = (number("HINDSIGHT_STATES_APART", apart), 0, 0);
    let subsets_max = if apart == 1 { SUBSETS_MAX } else { 0 };
    let mut tried = BTreeSet::new();
    for (at, calls) in calls {
        if calls.is_empty() {
            continue;
        }
        let allowed = allowed(answered, *at);
        for found in disk.crash_states(subsets_max) {
            // The same files are opened again when more must be in them.
            if is_headless(&found) || !tried.insert((found.clone(), allowed.first().cloned())) {
                continue;
            }
            seen += 1;
            if seen % apart == 0 {
                opened += 1;
                assert_opens(disk, &found, &allowed);
            }
        }
        calls.iter().for_each(|call| disk.apply(call));
    }
    (seen, opened)
}

/// Whether the first write to a new database has lost its first sector and not the second, which no file system does to
/// a file that grows. A start takes such a database for the file of another program.
fn is_headless(found: &CrashState) -> bool {
    let torn = [Left::SecondHalf, Left::EverySecond].map(|left| (0, left));
    found.iter().any(|(path, file)| {
        let first = file.as_ref().and_then(|(_, changes)| changes.first());
        path.ends_with("events/db") && first.is_some_and(|first| torn.contains(first))
    })
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
