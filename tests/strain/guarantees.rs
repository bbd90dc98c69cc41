//! The guarantees of a watch, checked on the real program: informers follow the events of several
//! writers over HTTP, leave and come back, while servers are killed and the log is thinned. The
//! checks are the simulator's, and they compare with the log, which is read while no server runs.

use super::informer::{Counts, Informer};
use super::wait_until;
use hindsight::{Config, ControlPlane};
use hindsight_core::{GroupResource, ObjectKey, Revision};
use hindsight_tests::dice::{Dice, number};
use hindsight_tests::server::{Server, serve};
use hindsight_tests::sim::check::watch;
use hindsight_tests::sim::history::History;
use hindsight_tests::sim::trace::Trace;
use hindsight_tests::sim::watchers::Selection;
use hindsight_tests::wire::{Caller, Wire};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

const LIVES: usize = 6;
const WRITERS: u64 = 3;
const WRITES_EACH: u64 = 90;
/// More than is written in one life of a server, so that each life takes at most one snapshot, and
/// thins what an earlier life wrote: the history that the checks need is read between two lives.
const SNAPSHOT_EVERY: u64 = 300;
/// Sizes of objects in each life. In lives with large objects a third of them is large, so that what
/// has left the window comes in many pieces, and waits for watchers that lag; in the others a piece
/// holds many.
const SIZES: [&[usize]; LIVES] = [&[600], LARGE, LARGE, LARGE, &[600], LARGE];
const LARGE: &[usize] = &[10, 10, 100 << 10];
const NAMESPACES: [&str; 2] = ["n1", "n2"];
const MID_LIFE: usize = 60;

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

fn map(name: &str, sizes: &[usize], dice: &mut Dice, serial: u64) -> String {
    let shown = dice.pick(&["yes", "no"]);
    let finalizers = dice.pick(&["", "", "", r#""example.com/held""#]);
    let data = "v".repeat(dice.pick(sizes));
    format!(
        r#"{{"metadata": {{"name": "{name}", "labels": {{"shown": "{shown}"}},
        "finalizers": [{finalizers}]}}, "data": {{"n": "{serial}", "k": "{data}"}}}}"#
    )
}

/// Makes `WRITES_EACH` writes, some of them to objects that others write to as well.
fn write(caller: &Caller, writer: u64, sizes: &[usize], dice: &mut Dice) {
    let mut wire = caller.connect().expect("connected");
    let mut written = 0;
    while written < WRITES_EACH {
        let namespace = dice.pick(&NAMESPACES);
        let name = match dice.roll(3) {
            0 => format!("shared-{}", dice.roll(4)),
            _ => format!("w{writer}-{}", dice.roll(6)),
        };
        let all = format!("/api/v1/namespaces/{namespace}/configmaps");
        let one = format!("{all}/{name}");
        let body = map(&name, sizes, dice, written);
        let mut ask = |method: &str, path: &str, body: &str| {
            let reply = wire.ask(method, path, body).expect("answered");
            // 404 and 409 mean that another writer was first.
            let is_known = [200, 201, 404, 409].contains(&reply.code);
            assert!(is_known, "{method} {path}: {}", reply.body);
            reply.code
        };
        let code = match dice.roll(5) {
            0 => ask("DELETE", &one, ""),
            _ => match ask("PUT", &one, &body) {
                404 => ask("POST", &all, &body),
                code => code,
            },
        };
        written += u64::from(code < 300);
    }
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

/// Waits until this revision has been thinned away. The log is asked, because a state that was read
/// before may be served from memory.
fn wait_until_thinned(caller: &Caller, at: Revision) {
    let mut wire = caller.connect().expect("connected");
    let path = format!("/hindsight/v1/log?from={at}");
    wait_until("the log is thinned", || {
        let reply = wire.ask("GET", &path, "").expect("answered");
        if reply.code == 410 {
            return true;
        }
        assert_eq!(reply.code, 200, "{}", reply.body);
        let page: Value = serde_json::from_str(&reply.body).expect("JSON");
        page["floor"].as_u64().expect("a floor") > at.0
    });
}

/// One life of a server, until it is killed.
fn live(
    server: Server,
    life: usize,
    informers: &mut [(Informer, [Part; LIVES])],
    ends: &[Revision],
    seed: u64,
) {
    let caller = &Caller::of(&server);
    let part = |one: &(Informer, [Part; LIVES])| one.1[life];
    for (informer, parts) in &mut *informers {
        informer.start = ends.last().copied().unwrap_or_default();
        if parts[life] == Lags {
            informer.open(caller);
            informer.read();
        } else if parts[life] == Returns {
            informer.open(caller);
            informer.leave();
        }
    }
    std::thread::scope(|scope| {
        for one in &mut *informers {
            let part = part(one);
            let last = last(&one.0, life);
            let informer = &mut one.0;
            scope.spawn(move || match part {
                Follows => informer.follow(caller, &last),
                Leaves => informer.follow_some(caller, MID_LIFE),
                Away | Lags | Returns => {}
            });
        }
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let seed = seed + writer + 100 * (life as u64 + 1);
                scope.spawn(move || write(caller, writer, SIZES[life], &mut Dice(seed)))
            })
            .collect();
        writers
            .into_iter()
            .for_each(|one| one.join().expect("written"));
        fence(&mut caller.connect().expect("connected"), life);
    });
    if let Some(at) = life.checked_sub(2).and_then(|before| ends.get(before)) {
        wait_until_thinned(caller, *at);
    }
    for one in informers.iter_mut().filter(|one| part(one) == Lags) {
        let last = last(&one.0, life);
        one.0.follow(caller, &last);
    }
    for one in informers.iter_mut().filter(|one| part(one) == Returns) {
        one.0.stay(caller);
    }
    assert_eq!(server.signal("KILL"), None);
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
        live(server, life, &mut informers, &ends, seed);
        read_on(&mut history, &directory);
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
    assert!(all.lists > all.expired && all.expired > 0, "{all:?}");
    assert!(all.resumed > 0 && all.from_the_log > 0, "{all:?}");
    assert!(all.bookmarks > 0, "{all:?}");
}
