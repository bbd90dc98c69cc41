//! Watchers that do not read: they cost little memory, and nothing to other watchers. And watchers that come back, all
//! at once, after the server was killed.

use super::expiries::WINDOW_BYTES;
use super::{MAPS, create, map, member};
use hindsight_tests::server::Server;
use hindsight_tests::vitals::{raise_descriptor_limit, resident_mib};
use hindsight_tests::wire::{Caller, Wire, request};
use std::time::{Duration, Instant};

const STUCK: usize = 1000;
const OBJECTS: usize = 200;
const BYTES: usize = 100 << 10;
/// What a change of such an object takes of the window besides its data, and not more.
const BESIDE_BYTES: usize = 4 << 10;
/// For each watcher one piece of events, and what HTTP and TLS hold on the way. If the server kept
/// all unsent events for each, that would be 20 MiB each.
const GROWTH_MIB_MAX: usize = STUCK * 6 / 10;
/// Descriptors of both sides, and of the tests that run beside this one.
const DESCRIPTORS: usize = 4 * STUCK;
/// The median delay of a watcher beside the stuck ones is at most this many times that of a watcher
/// without them, and this much more.
const DELAY_TIMES_MAX: u32 = 4;
const DELAY_MORE_MAX: Duration = Duration::from_millis(100);

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

/// The names of the objects added, and when each came, until all are there or the server reports that some
/// have expired: it may if what is left does not fit into its window.
fn read(wire: &mut Wire) -> Vec<(String, Instant)> {
    let mut seen = Vec::new();
    while seen.len() < OBJECTS {
        let event = wire.event().expect("readable").expect("an event");
        let at = Instant::now();
        match member(&event, "type") {
            "ERROR" => {
                assert!(event.contains("\"code\":410"), "{event:.300}");
                let left = OBJECTS - seen.len();
                assert!(
                    left * (BYTES + BESIDE_BYTES) > WINDOW_BYTES,
                    "{left}: {event}"
                );
                break;
            }
            kind => assert_eq!(kind, "ADDED"),
        }
        let name = member(&event, "name").to_owned();
        if name.starts_with('c') {
            seen.push((name, at));
        }
    }
    seen
}

fn names(seen: &[(String, Instant)]) -> Vec<&str> {
    seen.iter().map(|(name, _)| name.as_str()).collect()
}

/// The median time from sending a write until a watcher has its event, of the second half: the first
/// writes also fill what is on the way to those that do not read.
fn median_delay(sent: &[Instant], seen: &[(String, Instant)]) -> Duration {
    let both = sent.iter().zip(seen).skip(OBJECTS / 2);
    let delays = both.map(|(sent, (_, seen))| seen.duration_since(*sent));
    let mut delays: Vec<Duration> = delays.collect();
    delays.sort_unstable();
    delays[delays.len() / 2]
}

/// Writes the same to each of two servers in turns, so that whatever else the machine does costs both alike;
/// returns the median delay of a healthy watcher of each.
fn delays_of_two(callers: [&Caller; 2], expected: &[String]) -> [Duration; 2] {
    let mut healthy = callers.map(watch);
    let mut writers = callers.map(|caller| caller.connect().expect("connected"));
    let mut sent = [Vec::new(), Vec::new()];
    let seen = std::thread::scope(|scope| {
        let seen = healthy
            .each_mut()
            .map(|wire| scope.spawn(move || read(wire)));
        for name in expected {
            for (writer, sent) in writers.iter_mut().zip(&mut sent) {
                sent.push(Instant::now());
                create(writer, name, BYTES);
            }
        }
        seen.map(|seen| seen.join().expect("read"))
    });
    for seen in &seen {
        assert_eq!(names(seen), expected);
    }
    [0, 1].map(|of| median_delay(&sent[of], &seen[of]))
}

#[test]
fn watchers_that_do_not_read_cost_little_and_the_others_nothing() {
    raise_descriptor_limit(DESCRIPTORS);
    let (alone, server) = (Server::start(), Server::start());
    let caller = Caller::of(&server);
    let mut stuck: Vec<Wire> = (0..STUCK).map(|_| watch(&caller)).collect();
    let before = resident_mib(server.pid());
    let expected: Vec<String> = (0..OBJECTS).map(|index| format!("c{index}")).collect();
    let delays = delays_of_two([&Caller::of(&alone), &caller], &expected);
    let grown = resident_mib(server.pid()).saturating_sub(before);
    println!("{STUCK} stuck watchers, {OBJECTS} objects: {grown} MiB more");
    assert!(grown < GROWTH_MIB_MAX, "{grown} MiB");
    let [without, with] = delays;
    println!("median delay of another watcher: {without:?} without them, {with:?} with them");
    let bound = without * DELAY_TIMES_MAX + DELAY_MORE_MAX;
    assert!(with <= bound, "{with:?} with them, {without:?} without");
    // A watcher that wakes up gets all events in order, or some from the beginning and then an error.
    let mut woken = stuck.pop().expect("one of them");
    let seen = read(&mut woken);
    assert_eq!(names(&seen), expected.get(..seen.len()).expect("no more"));
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
