//! Clients that leave in the middle of a request.

use super::{MAPS, map, wait_until};
use hindsight_tests::server::Server;
use hindsight_tests::strace::Strace;
use hindsight_tests::vitals::{descriptors, resident_mib, threads};
use hindsight_tests::wire::{Caller, Wire, request};
use std::net::TcpStream;

/// The places at which clients leave are this many bytes of the request apart.
const BYTES_APART: usize = 9;
const TIMES: usize = 5;
/// Clients that leave, one after the other.
const CLIENTS: usize = 10_000;
/// Longer than the fault stays on in this test.
const DELAY: &str = "delay_enter=3000000";
/// Some 60 MiB of paths together, if anything kept them.
const PATHS: usize = 4_000;
const PATH_BYTES: usize = 16 << 10;
/// Growth of memory that serving requests of this length explains.
const PATHS_MIB: usize = 16;

/// Checks that the process soon holds no more than before.
fn nothing_is_left(server: &Server, before: (usize, usize)) {
    let now = || (descriptors(server.pid()), threads(server.pid()));
    wait_until("descriptors and threads are left", || {
        let now = now();
        now.0 <= before.0 && now.1 <= before.1
    });
}

/// A server that has answered a request of each kind, and what it holds then.
fn warm() -> (Server, Caller, (usize, usize)) {
    let server = Server::start();
    let caller = Caller::of(&server);
    let alone = descriptors(server.pid());
    let mut wire = caller.connect().expect("connected");
    wire.ask("POST", MAPS, &map("first", 1)).expect("answered");
    wire.ask("GET", MAPS, "").expect("answered");
    drop(wire);
    wait_until("the first connection stays", || {
        descriptors(server.pid()) <= alone
    });
    let before = (descriptors(server.pid()), threads(server.pid()));
    (server, caller, before)
}

#[test]
fn the_head_of_a_request_is_bounded_and_who_sends_a_longer_one_is_told() {
    let server = Server::start();
    let caller = Caller::of(&server);
    for (bytes, code) in [(100 << 10, 200), (256 << 10, 431), (8, 200)] {
        let mut wire = caller.connect().expect("connected");
        let long = format!("long: {}\r\nhost", "x".repeat(bytes));
        let request = request("GET", "/livez", "").replacen("host", &long, 1);
        wire.send(request.as_bytes()).expect("sent");
        assert_eq!(wire.head().expect("an answer").0, code, "{bytes} bytes");
    }
}

/// Over HTTP/2 a path has the same bound as over HTTP/1.1, but no answer can be given to a longer one.
#[test]
fn a_long_path_is_bounded_by_either_protocol() {
    let server = Server::start();
    let caller = Caller::of(&server);
    let path = |bytes: usize| format!("/livez?{}", "x".repeat(bytes));
    for (bytes, code) in [(60 << 10, 200), (90 << 10, 414), (8, 200)] {
        let mut wire = caller.connect().expect("connected");
        let request = request("GET", &path(bytes), "");
        wire.send(request.as_bytes()).expect("sent");
        assert_eq!(wire.head().expect("an answer").0, code, "{bytes} bytes");
    }
    let mut wire = caller.connect_as(b"h2").expect("connected");
    wire.send(PREFACE).expect("sent");
    let lengths = [(60 << 10, ANSWERED), (90 << 10, RESET), (8, ANSWERED)];
    for ((bytes, expected), stream) in lengths.into_iter().zip([1, 3, 5]) {
        wire.send(&asked(stream, &path(bytes))).expect("sent");
        let kind = loop {
            let (kind, of, _) = received(&mut wire);
            if of == stream && [ANSWERED, RESET].contains(&kind) {
                break kind;
            }
        };
        assert_eq!(kind, expected, "{bytes} bytes");
    }
}

#[test]
fn clients_that_leave_in_the_middle_leave_nothing_behind() {
    let (server, caller, before) = warm();
    let whole = request("POST", MAPS, &map("c", 300));
    let bytes = (0..whole.len()).step_by(BYTES_APART).cycle();
    for bytes in bytes.take(CLIENTS) {
        let mut wire = caller.connect().expect("connected");
        let part = whole.as_bytes().get(..bytes).expect("shorter");
        wire.send(part).expect("sent");
    }
    let address = caller.address();
    for _ in 0..TIMES {
        drop(TcpStream::connect(address).expect("connected"));
    }
    let watch = request("GET", &format!("{MAPS}?watch=1"), "");
    let requests = [
        request("GET", MAPS, ""),
        watch.clone(),
        // A version ahead of this server: it waits for three seconds before it refuses.
        request("GET", &format!("{MAPS}?resourceVersion=99999"), ""),
        whole,
    ];
    for request in requests.iter().flat_map(|one| [one; TIMES]) {
        let mut wire = caller.connect().expect("connected");
        wire.send(request.as_bytes()).expect("sent");
    }
    // What comes behind the request of a watch is not read before the watch ends.
    let behind = ["\r\n", requests[0].as_str()];
    for behind in behind.iter().flat_map(|one| [one; TIMES]) {
        let mut wire = caller.connect().expect("connected");
        let sent = format!("{watch}{behind}");
        wire.send(sent.as_bytes()).expect("sent");
        assert_eq!(wire.head().expect("it begins").0, 200);
    }
    nothing_is_left(&server, before);
    let mut wire = caller.connect().expect("connected");
    let again = wire.ask("POST", MAPS, &map("c", 300)).expect("answered");
    assert!([201, 409].contains(&again.code), "{}", again.body);
}

#[test]
fn the_write_of_a_client_that_left_happens_or_does_not() {
    let (server, caller, before) = warm();
    let Some(slow) = Strace::attach(server.pid(), "fdatasync", DELAY) else {
        return;
    };
    for index in 0..TIMES {
        let mut wire = caller.connect().expect("connected");
        let request = request("POST", MAPS, &map(&format!("c{index}"), 300));
        wire.send(request.as_bytes()).expect("sent");
    }
    drop(slow);
    nothing_is_left(&server, before);
    let mut wire = caller.connect().expect("connected");
    for index in 0..TIMES {
        let name = format!("c{index}");
        let found = wire.ask("GET", &format!("{MAPS}/{name}"), "");
        let found = found.expect("answered").code;
        let again = wire.ask("POST", MAPS, &map(&name, 300)).expect("answered");
        assert!(
            [(200, 409), (404, 201)].contains(&(found, again.code)),
            "{name}: {found}, then {}",
            again.body
        );
    }
}

/// The connection preface of HTTP/2, with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// `GET`, `/` and `https` from HPACK's static table, and the authority.
const HEADERS: &[u8] = b"\x82\x84\x87\x41\x09localhost";
/// Types of frames: the head of a request or an answer, the end of a stream, and the rest of a head.
const ANSWERED: u8 = 1;
const RESET: u8 = 3;
const CONTINUED: u8 = 9;
/// The longest frame that nobody has to agree to.
const FRAME_BYTES: usize = 16 << 10;
/// Three times as many as the server tolerates; all of them are read before it closes.
const STREAMS: u32 = 60;
const GOING_AWAY: u8 = 7;
const ENHANCE_YOUR_CALM: [u8; 4] = [0, 0, 0, 11];

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A whole `GET` of a path that is longer than 127 bytes or not, in as many frames as it needs.
fn asked(stream: u32, path: &str) -> Vec<u8> {
    // The method, scheme and authority of `HEADERS`, and a literal path that nobody is to remember.
    let mut head = b"\x82\x87\x41\x09localhost\x04".to_vec();
    let mut rest = path.len();
    if rest < 127 {
        head.push(u8::try_from(rest).expect("short"));
    } else {
        head.push(127);
        rest -= 127;
        while rest >= 128 {
            head.push(u8::try_from(rest % 128).expect("seven bits") | 128);
            rest /= 128;
        }
        head.push(u8::try_from(rest).expect("seven bits"));
    }
    head.extend(path.as_bytes());
    let pieces: Vec<&[u8]> = head.chunks(FRAME_BYTES).collect();
    let last = pieces.len() - 1;
    let frames = pieces.iter().enumerate().map(|(index, piece)| {
        let (kind, ends) = if index == 0 {
            (ANSWERED, 1)
        } else {
            (CONTINUED, 0)
        };
        frame(kind, ends | (u8::from(index == last) * 4), stream, piece)
    });
    frames.flatten().collect()
}

/// The next frame: its type, its stream and its payload.
fn received(wire: &mut Wire) -> (u8, u32, Vec<u8>) {
    let mut head = [0; 9];
    wire.receive(&mut head).expect("a frame");
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).expect("small")];
    wire.receive(&mut payload).expect("its payload");
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    (head[3], stream, payload)
}

#[test]
fn a_connection_that_resets_its_streams_is_closed_and_leaves_nothing_behind() {
    let (server, caller, before) = warm();
    let mut wire = caller.connect_as(b"h2").expect("connected");
    wire.send(PREFACE).expect("sent");
    let streams = (0..STREAMS).map(|index| 2 * index + 1);
    let bytes: Vec<u8> = streams
        .flat_map(|stream| {
            // A whole request, and right after it a reset of its stream.
            let request = frame(1, 5, stream, HEADERS);
            [request, frame(3, 0, stream, &[0, 0, 0, 8])].concat()
        })
        .collect();
    wire.send(&bytes).expect("sent");
    let reason = loop {
        let (kind, _, payload) = received(&mut wire);
        if kind == GOING_AWAY {
            break payload[4..8].to_vec();
        }
    };
    assert_eq!(reason, ENHANCE_YOUR_CALM);
    drop(wire);
    nothing_is_left(&server, before);
    let mut wire = caller.connect().expect("connected");
    assert_eq!(wire.ask("GET", MAPS, "").expect("answered").code, 200);
}

#[test]
fn made_up_paths_leave_nothing_behind() {
    let (server, caller, before) = warm();
    let mut wire = caller.connect().expect("connected");
    let memory = resident_mib(server.pid());
    let tail = "x".repeat(PATH_BYTES);
    for index in 0..PATHS {
        let path = format!("/apis/{index}/v1/{tail}");
        assert_eq!(wire.ask("GET", &path, "").expect("answered").code, 404);
    }
    // What is kept is still there after the last of them, so one look misses none of it; and there would be several times
    // as much as this allows.
    let more = resident_mib(server.pid()).saturating_sub(memory);
    assert!(more < PATHS_MIB, "{more} MiB are left of {PATHS} paths");
    drop(wire);
    nothing_is_left(&server, before);
}
