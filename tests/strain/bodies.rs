//! Request bodies that take up all the room there is for bodies, and never end.

use super::{MAPS, create, map, wait_until};
use hindsight_tests::server::Server;
use hindsight_tests::wire::{Caller, Wire};

/// The most bytes of one body, and of all bodies together.
const LARGEST: usize = 3 << 20;
const ROOM: usize = 64 << 20;

/// Sends the head of a request that announces this many bytes, and the first of them.
fn begun(caller: &Caller, length: usize) -> Wire {
    let mut wire = caller.connect().expect("connected");
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{{"
    );
    wire.send(head.as_bytes()).expect("sent");
    wire
}

#[test]
fn bodies_that_do_not_come_hold_up_writes_for_a_while_and_nothing_else() {
    let server = Server::start();
    let caller = Caller::of(&server);
    let mut wire = caller.connect().expect("connected");
    create(&mut wire, "before", 1);
    let lengths = [LARGEST; ROOM / LARGEST].into_iter();
    let lengths = lengths.chain([ROOM % LARGEST]);
    let half: Vec<Wire> = lengths.map(|length| begun(&caller, length)).collect();
    let mut attempts = 0;
    wait_until("somebody finds no room", || {
        attempts += 1;
        let mut other = caller.connect().expect("connected");
        let reply = other.ask("POST", MAPS, &map(&format!("c{attempts}"), 1));
        let reply = reply.expect("an answer");
        let reason = r#""reason":"TooManyRequests""#;
        reply.code == 429 && reply.body.contains(reason)
    });
    for (method, path) in [
        ("GET", MAPS.to_owned()),
        ("GET", "/readyz".into()),
        ("DELETE", format!("{MAPS}/before")),
    ] {
        let reply = wire.ask(method, &path, "").expect("an answer");
        assert_eq!(reply.code, 200, "{method} {path}: {}", reply.body);
    }
    drop(half);
    create(&mut wire, "after", 1);
}
