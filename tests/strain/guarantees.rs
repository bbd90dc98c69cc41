//! The guarantees of a watch, checked on the real program: informers follow the events of several
//! writers over HTTP, leave and come back, while the log is thinned and servers are killed: some once
//! everything is written and read, some in the middle of it. The checks are the simulator's, and they
//! compare with the log, which is read while no server runs.

use super::expiries::{Notes, is_dropped, judge};
use super::informer::{Counts, Informer};
use super::wait_until;
use hindsight::{Config, ControlPlane};
use hindsight_core::{Commit, GroupResource, ObjectKey, Revision, Uid};
use hindsight_tests::dice::{Dice, number};
use hindsight_tests::server::{Server, serve};
use hindsight_tests::sim::check::watch;
use hindsight_tests::sim::history::History;
use hindsight_tests::sim::trace::Trace;
use hindsight_tests::sim::watchers::Selection;
use hindsight_tests::strace::Strace;
use hindsight_tests::wire::{Caller, Reply, Wire};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const LIVES: usize = 6;
const WRITERS: u64 = 3;
const WRITES_EACH: usize = 90;
/// More than is written in one life of a server, so that each life takes at most one snapshot, and
/// thins what an earlier life wrote: the history that the checks need is read between two lives. For
/// the same reason the large objects of a life are less than the 8 MiB after which one is due as well.
const SNAPSHOT_EVERY: u64 = 300;
/// Sizes of objects in each life. In lives with large objects a third of them is large, so that what
/// has left the window comes in many pieces, and waits for watchers that lag; in the others a piece
/// holds many.
const SIZES: [&[usize]; LIVES] = [&[600], LARGE, LARGE, LARGE, &[600], LARGE];
const LARGE: &[usize] = &[10, 10, 80 << 10];
const NAMESPACES: [&str; 2] = ["n1", "n2"];
const MID_LIFE: usize = 60;
/// The lives whose servers are killed while everybody writes and follows, in which nobody lags or returns; and after
/// how many answered writes at least, and how many more at most. With fewer, three lives would not take the two
/// snapshots for which the next one waits.
const KILLED_AMID: [usize; 2] = [2, 4];
const ANSWERED_MIN: u64 = 140;
const ANSWERED_MORE: u64 = 90;
/// Shortly before such a kill each write of the journal waits so long before it is made. The kill then comes when
/// nothing is left of what is being written, wherever it was shown already.
const WAIT: Duration = Duration::from_millis(300);

/// What an informer does in a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Follows the events, over connections that break.
    Follows,
    /// Follows some events, and leaves.
    Leaves,
    /// Does nothing.
    Away,
    /// Opens a watch before anything is written, and reads on once everything is.
    Lags,
    /// Leaves before anything is written, and comes back once everything is, until a bookmark comes.
    Returns,
}
use Part::{Away, Follows, Lags, Leaves, Returns};

/// The parts of the informers that are not always there. The first comes back to a position that was
/// thinned away; the second's position is thinned away while it lags; the third's never is. The fourth
/// does not come again.
const PARTS: [[Part; LIVES]; 4] = [
    [Leaves, Away, Away, Lags, Follows, Follows],
    [Follows, Leaves, Away, Lags, Leaves, Lags],
    [Leaves, Lags, Leaves, Lags, Leaves, Lags],
    [Returns, Away, Away, Away, Away, Away],
];
const SELECTIONS: [Selection; 4] = [
    select(None, false),
    select(None, true),
    select(Some("n1"), false),
    select(Some("n2"), true),
];

const fn select(namespace: Option<&'static str>, shown: bool) -> Selection {
    Selection { namespace, shown }
}

/// The informers, which select everything or a part of it, with their parts.
fn informers(seed: u64) -> Vec<(Informer, [Part; LIVES])> {
    let steady = SELECTIONS.into_iter().map(|one| (one, [Follows; LIVES]));
    let others = PARTS.map(|parts| (select(None, false), parts));
    let all = steady.chain(others).zip(seed..);
    let one = |((selection, parts), seed)| (Informer::new(selection, seed), parts);
    all.map(one).collect()
}

fn map(name: &str, sizes: &[usize], dice: &mut Dice, serial: usize) -> String {
    let shown = dice.pick(&["yes", "no"]);
    let finalizers = dice.pick(&["", "", "", r#""example.com/held""#]);
    let data = "v".repeat(dice.pick(sizes));
    format!(
        r#"{{"metadata": {{"name": "{name}", "labels": {{"shown": "{shown}"}},
        "finalizers": [{finalizers}]}}, "data": {{"n": "{serial}", "k": "{data}"}}}}"#
    )
}

/// One life of a server, for those that write to it and follow it.
struct Life<'a> {
    caller: &'a Caller,
    number: usize,
    /// How many writes were answered.
    answered: AtomicU64,
    is_killed: AtomicBool,
}

impl Life<'_> {
    fn ends_amid(&self) -> bool {
        KILLED_AMID.contains(&self.number)
    }

    /// What came of a call on a connection; none if the server was killed. Before that nothing may fail.
    fn unless_killed<T>(&self, result: std::io::Result<T>) -> Option<T> {
        let is_killed = self.is_killed.load(Ordering::SeqCst);
        result
            .inspect_err(|error| assert!(is_killed, "{error}"))
            .ok()
    }

    /// Kills the server in the middle of what is going on: if that can be done, after the writes in progress were
    /// decided and before the journal has any of them.
    fn kill_amid(&self, server: &Server, answered: u64) {
        let until = |count| {
            let enough = || self.answered.load(Ordering::SeqCst) >= count;
            wait_until("enough writes are answered", enough);
        };
        until(answered);
        let journal = [server.directory().join("events/journal")];
        let nowhere = Path::new("/dev/null");
        let tracer = Strace::delay(server.pid(), "write", &journal, WAIT, nowhere);
        if tracer.is_some() {
            until(self.answered.load(Ordering::SeqCst) + WRITERS);
            // Time for what must not be shown yet.
            std::thread::sleep(WAIT / 2);
        }
        self.is_killed.store(true, Ordering::SeqCst);
        server.send("KILL");
    }
}

/// What the answer to a write says: the object, and its revision unless it is gone.
#[derive(Debug)]
struct Answered {
    uid: Uid,
    at: Option<Revision>,
}

impl Answered {
    fn of(reply: &Reply) -> Self {
        let told: Value = serde_json::from_str(&reply.body).expect("JSON");
        let part = ["metadata", "details"].map(|name| &told[name]);
        let uid = part.iter().find_map(|part| part["uid"].as_str());
        let at = told["metadata"]["resourceVersion"].as_str();
        Self {
            uid: uid.expect("a uid").into(),
            at: at.and_then(Revision::parse),
        }
    }

    fn is_in(&self, history: &History) -> bool {
        let is_it = |commit: &Arc<Commit>| commit.uid == self.uid;
        if let Some(at) = self.at {
            return history.commit(at).is_some_and(is_it);
        }
        let mut removals = history.commits.iter().filter(|one| one.object().is_none());
        removals.any(is_it)
    }
}

/// Makes `WRITES_EACH` writes, or as many as it can until the server is killed, some of them to objects that others
/// write to as well. Returns what was answered.
fn write(life: &Life<'_>, writer: u64, dice: &mut Dice) -> Vec<Answered> {
    let mut wire = life.caller.connect().expect("connected");
    let mut answered = Vec::new();
    while life.ends_amid() || answered.len() < WRITES_EACH {
        let namespace = dice.pick(&NAMESPACES);
        let name = match dice.roll(3) {
            0 => format!("shared-{}", dice.roll(4)),
            _ => format!("w{writer}-{}", dice.roll(6)),
        };
        let all = format!("/api/v1/namespaces/{namespace}/configmaps");
        let one = format!("{all}/{name}");
        let body = map(&name, SIZES[life.number], dice, answered.len());
        let mut ask = |method: &str, path: &str, body: &str| {
            let reply = life.unless_killed(wire.ask(method, path, body))?;
            // 404 and 409 mean that another writer was first.
            let is_known = [200, 201, 404, 409].contains(&reply.code);
            assert!(is_known, "{method} {path}: {}", reply.body);
            Some(reply)
        };
        let reply = match dice.roll(5) {
            0 => ask("DELETE", &one, ""),
            _ => ask("PUT", &one, &body).and_then(|reply| match reply.code {
                404 => ask("POST", &all, &body),
                _ => Some(reply),
            }),
        };
        let Some(reply) = reply else { break };
        if reply.code < 300 {
            answered.push(Answered::of(&reply));
            life.answered.fetch_add(1, Ordering::SeqCst);
        }
    }
    answered
}

/// The last writes of a life, which every selection sees: in the first namespace, then in the second.
fn fence(wire: &mut Wire, life: usize) {
    for namespace in NAMESPACES {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let name = fence_of(life);
        let body = format!(r#"{{"metadata": {{"name": "{name}", "labels": {{"shown": "yes"}}}}}}"#);
        let reply = wire.ask("POST", &path, &body).expect("answered");
        assert_eq!(reply.code, 201, "{}", reply.body);
    }
}

fn fence_of(life: usize) -> String {
    format!("fence-{life}")
}

fn last(informer: &Informer, life: usize) -> ObjectKey {
    let namespace = informer.watcher.selection.namespace;
    let maps = GroupResource::new("", "configmaps");
    ObjectKey::new(maps, namespace.unwrap_or(NAMESPACES[1]), &fence_of(life))
}

/// Reads into the history what was written since the last time, before it is thinned, while no server
/// holds the log.
fn read_on(history: &mut History, directory: &Path) {
    let plane = ControlPlane::open(Config {
        data_dir: Some(directory.to_owned()),
        snapshot_every: None,
        collectors: false,
        ..Config::default()
    });
    let plane = plane.expect("it opens");
    for commit in plane.reader().scan_all(history.newest().next()) {
        let commit = Arc::new(commit.expect("it is kept"));
        history.push(&commit).expect("it follows");
    }
    assert_eq!(history.newest(), plane.state().revision);
}

fn start(directory: &Path, has_retention: bool) -> Server {
    let mut command = serve(directory);
    command.args(["--snapshot-every", &SNAPSHOT_EVERY.to_string()]);
    if has_retention {
        command.args(["--keep-history-bytes", "1B"]);
    }
    Server::start_with(command, directory).expect("it starts")
}

/// Creates the namespaces, and a snapshot at the end, so that each later snapshot has one before it.
fn prepare(directory: &Path) -> History {
    let server = start(directory, false);
    let mut wire = Caller::of(&server).connect().expect("connected");
    let namespaces = NAMESPACES.map(str::to_owned);
    let more = (0..SNAPSHOT_EVERY / 10).map(|index| format!("more-{index}"));
    for name in namespaces.into_iter().chain(more) {
        let body = format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
        let reply = wire.ask("POST", "/api/v1/namespaces", &body);
        assert_eq!(reply.expect("answered").code, 201);
    }
    drop(wire);
    assert_eq!(server.signal("TERM"), Some(0));
    let mut history = History::new(false);
    read_on(&mut history, directory);
    history
}

/// Waits until this revision has been thinned away.
fn wait_until_thinned(caller: &Caller, at: Revision) {
    let mut wire = caller.connect().expect("connected");
    wait_until("the log is thinned", || {
        is_dropped(&mut wire, at).expect("answered")
    });
}

/// One life of a server, until it is killed. Returns what its writers were answered.
fn live(
    server: Server,
    number: usize,
    informers: &mut [(Informer, [Part; LIVES])],
    ends: &[Revision],
    seed: u64,
) -> Vec<Answered> {
    let caller = &Caller::of(&server);
    let life = &Life {
        caller,
        number,
        answered: AtomicU64::new(0),
        is_killed: AtomicBool::new(false),
    };
    for (informer, parts) in &mut *informers {
        informer.start = ends.last().copied().unwrap_or_default();
        if parts[number] == Lags {
            informer.open(caller).expect("opened");
            informer.read().expect("readable");
        } else if parts[number] == Returns {
            informer.open(caller).expect("opened");
            informer.leave();
        }
    }
    let answered = at_once(&server, life, informers, seed);
    if life.ends_amid() {
        assert_eq!(server.ended().0, None);
        return answered;
    }
    if let Some(at) = number.checked_sub(2).and_then(|before| ends.get(before)) {
        wait_until_thinned(caller, *at);
    }
    for (informer, parts) in informers {
        let last = last(informer, number);
        match parts[number] {
            Lags => informer.follow(caller, &last).expect("followed"),
            Returns => informer.stay(caller).expect("a bookmark"),
            Follows | Leaves | Away => {}
        }
    }
    assert_eq!(server.signal("KILL"), None);
    answered
}

/// What happens in a life at the same time: some follow, some write, and in some lives the server is killed.
fn at_once(
    server: &Server,
    life: &Life<'_>,
    informers: &mut [(Informer, [Part; LIVES])],
    seed: u64,
) -> Vec<Answered> {
    let (caller, number) = (life.caller, life.number);
    let seed = seed + 100 * (number as u64 + 1);
    std::thread::scope(|scope| {
        for (informer, parts) in informers {
            let (part, last) = (parts[number], last(informer, number));
            scope.spawn(move || {
                let followed = match part {
                    Follows => informer.follow(caller, &last),
                    Leaves => informer.follow_some(caller, MID_LIFE),
                    Away | Lags | Returns => return,
                };
                life.unless_killed(followed);
                informer.leave();
            });
        }
        let write = |writer| scope.spawn(move || write(life, writer, &mut Dice(seed + writer)));
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        if life.ends_amid() {
            let answered = ANSWERED_MIN + Dice(seed).roll(ANSWERED_MORE);
            life.kill_amid(server, answered);
        }
        let all = writers
            .into_iter()
            .flat_map(|one| one.join().expect("written"));
        let answered = all.collect();
        if !life.ends_amid() {
            fence(&mut caller.connect().expect("connected"), number);
        }
        answered
    })
}

#[test]
fn a_watch_keeps_its_guarantees_over_thinning_expiry_and_servers_that_are_killed() {
    let seed = number("HINDSIGHT_SEED", 1);
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let mut history = prepare(&directory);
    let mut informers = informers(seed);
    let mut ends = vec![history.newest()];
    for life in 0..LIVES {
        let server = start(&directory, true);
        let answered = live(server, life, &mut informers, &ends, seed);
        read_on(&mut history, &directory);
        for one in answered {
            assert!(one.is_in(&history), "{one:?} was answered in life {life}");
        }
        ends.push(history.newest());
    }
    let mut trace = Trace::default();
    let mut all = Counts::default();
    for (informer, _) in &informers {
        let counts = informer.counts;
        println!("{:?}: {counts:?}", informer.watcher.selection);
        let checked = watch::check(&history, &informer.watcher, &mut trace);
        checked.unwrap_or_else(|broken| panic!("{}: {}", broken.checker, broken.what));
        informer.shows_what_was_written(&history);
        all += counts;
    }
    let events = trace.counts["events received"];
    println!("{} commits, {events} events, {all:?}", history.newest());
    let notes: Vec<&Notes> = informers.iter().map(|(one, _)| &one.notes).collect();
    let reasons = judge(&history, &ends, &notes);
    println!("{reasons:?}");
    assert!(reasons.dropped > 0, "{reasons:?}");
    assert!(all.lists > all.expired && all.expired > 0, "{all:?}");
    assert!(all.resumed > 0 && all.from_the_log > 0, "{all:?}");
    assert!(all.bookmarks > 0 && all.failed > 0, "{all:?}");
}
