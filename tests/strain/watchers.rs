//! Watchers that do not read: they cost little memory, and nothing to other watchers. And watchers that come back, all
//! at once, after the server was killed.

use super::{MAPS, create, map, member};
use hindsight_tests::server::Server;
use hindsight_tests::vitals::{raise_descriptor_limit, resident_mib};
use hindsight_tests::wire::{Caller, Wire, request};

const STUCK: usize = 1000;
const OBJECTS: usize = 200;
const BYTES: usize = 100 << 10;
/// For each watcher one piece of events, and what HTTP and TLS hold on the way. If the server kept
/// all unsent events for each, that would be 20 MiB each.
const GROWTH_MIB_MAX: usize = STUCK * 6 / 10;
/// Descriptors of both sides, and of the tests that run beside this one.
const DESCRIPTORS: usize = 4 * STUCK;

fn watch(caller: &Caller) -> Wire {
    watch_after(caller, "1")
}

fn watch_after(caller: &Caller, version: &str) -> Wire {
    let mut wire = caller.connect().expect("connected");
    let path = format!("{MAPS}?watch=1&resourceVersion={version}");
    wire.send(request("GET", &path, "").as_bytes())
        .expect("sent");
    assert_eq!(wire.head().expect("an answer").0, 200);
    wire
}

/// The names of the objects added, until all are there or the server reports that some have expired.
fn read(wire: &mut Wire) -> Vec<String> {
    let mut seen = Vec::new();
    while seen.len() < OBJECTS {
        let event = wire.event().expect("readable").expect("an event");
        match member(&event, "type") {
            "ERROR" => {
                assert!(event.contains("\"code\":410"), "{event:.300}");
                break;
            }
            kind => assert_eq!(kind, "ADDED"),
        }
        let name = member(&event, "name").to_owned();
        if name.starts_with('c') {
            seen.push(name);
        }
    }
    seen
}

#[test]
fn watchers_that_do_not_read_cost_little_and_the_others_nothing() {
    raise_descriptor_limit(DESCRIPTORS);
    let server = Server::start();
    let caller = Caller::of(&server);
    let mut stuck: Vec<Wire> = (0..STUCK).map(|_| watch(&caller)).collect();
    let mut healthy = watch(&caller);
    let before = resident_mib(server.pid());
    let expected: Vec<String> = (0..OBJECTS).map(|index| format!("c{index}")).collect();
    std::thread::scope(|scope| {
        let seen = scope.spawn(|| read(&mut healthy));
        let mut writer = caller.connect().expect("connected");
        expected
            .iter()
            .for_each(|name| create(&mut writer, name, BYTES));
        assert_eq!(seen.join().expect("read"), expected);
    });
    let grown = resident_mib(server.pid()).saturating_sub(before);
    println!("{STUCK} stuck watchers, {OBJECTS} objects: {grown} MiB more");
    assert!(grown < GROWTH_MIB_MAX, "{grown} MiB");
    // A watcher that wakes up gets all events in order, or some from the beginning and then an error.
    let mut woken = stuck.pop().expect("one of them");
    let seen = read(&mut woken);
    assert_eq!(seen, expected.get(..seen.len()).expect("no more"));
    println!("one that woke up read {} of them", seen.len());
}

/// Watchers that come back after a restart.
const BACK: usize = 200;
/// What the first of them have missed: more than what is on the way to a client that does not read, less than the
/// window has room for.
const LARGE: usize = 12;
const LARGE_BYTES: usize = 1 << 20;
/// They read nothing until all others have read everything.
const SLOW: usize = 4;

/// Reads the names of this many objects, each added.
fn added(wire: &mut Wire, count: usize) -> Vec<String> {
    let names = (0..count).map(|_| {
        let event = wire.event().expect("readable").expect("an event");
        assert_eq!(member(&event, "type"), "ADDED", "{event:.300}");
        member(&event, "name").to_owned()
    });
    names.collect()
}

#[test]
fn watchers_at_two_hundred_positions_go_on_after_the_server_was_killed() {
    raise_descriptor_limit(DESCRIPTORS);
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let mut writer = Caller::of(&server).connect().expect("connected");
    // The name of each object, and its version.
    let mut written = Vec::new();
    for index in 0..=LARGE + BACK {
        let is_large = (1..=LARGE).contains(&index);
        let bytes = if is_large { LARGE_BYTES } else { 10 };
        let name = format!("c{index}");
        let reply = writer.ask("POST", MAPS, &map(&name, bytes));
        let reply = reply.expect("an answer");
        assert_eq!(reply.code, 201, "{}", reply.body);
        let version = member(&reply.body, "resourceVersion").to_owned();
        written.push((name, version));
    }
    drop(writer);
    assert_eq!(server.signal("KILL"), None);
    let server = Server::start_on(&directory);
    let caller = Caller::of(&server);
    // What each of them saw last.
    let slow = std::iter::repeat_n(0, SLOW);
    let positions: Vec<usize> = slow.chain(LARGE + SLOW..LARGE + BACK).collect();
    assert_eq!(positions.len(), BACK);
    let back = positions
        .iter()
        .map(|at| watch_after(&caller, &written[*at].1));
    let back: Vec<Wire> = back.collect();
    // The slow ones come last.
    for (at, mut wire) in positions.iter().zip(back).rev() {
        let missed = written[at + 1..].iter().map(|(name, _)| name);
        let names = added(&mut wire, missed.len());
        assert!(names.iter().eq(missed), "{at}: {names:?}");
    }
}
