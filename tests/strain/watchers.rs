//! Watchers that do not read: they cost little memory, and nothing to other watchers.

use super::{MAPS, create, member};
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
    let mut wire = caller.connect().expect("connected");
    let path = format!("{MAPS}?watch=1&resourceVersion=1");
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
