//! A slow disk.

use super::{MAPS, create, map, wait_until};
use hindsight_tests::server::Server;
use hindsight_tests::strace::Strace;
use hindsight_tests::vitals::{descriptors, is_ended};
use hindsight_tests::wire::{Caller, request};
use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Each sync is delayed by this many microseconds.
const DELAY: &str = "delay_enter=2000000";
const WRITES: usize = 3;
/// Longer than connections are given to drain.
const DRAINED: Duration = Duration::from_mins(2);
/// A signal that is repeated sooner may be taken for the same one.
const SAME_SIGNAL: Duration = Duration::from_millis(200);
/// How many reads must be answered while one write waits. If they queued behind it, there would be
/// one or two.
const READS_MIN: usize = 5;

#[test]
fn while_a_write_waits_for_the_disk_reads_are_answered() {
    let server = Server::start();
    let caller = Caller::of(&server);
    let mut writer = caller.connect().expect("connected");
    create(&mut writer, "before", 1);
    let Some(slow) = Strace::attach(server.pid(), "fdatasync", DELAY) else {
        return;
    };
    let (reads, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let during = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut reader = caller.connect().expect("connected");
            while !is_over.load(Ordering::SeqCst) {
                let reply = reader.ask("GET", MAPS, "").expect("an answer");
                assert_eq!(reply.code, 200);
                reads.fetch_add(1, Ordering::SeqCst);
            }
        });
        let during: Vec<usize> = (0..WRITES)
            .map(|index| {
                let before = reads.load(Ordering::SeqCst);
                create(&mut writer, &format!("c{index}"), 1);
                reads.load(Ordering::SeqCst) - before
            })
            .collect();
        is_over.store(true, Ordering::SeqCst);
        during
    });
    drop(slow);
    println!("reads while one write waited: {during:?}");
    assert!(during.iter().all(|reads| *reads >= READS_MIN), "{during:?}");
    create(&mut writer, "after", 1);
}

/// At the first signal the server waits for its disk, at the second it does not. It waits for no silent
/// connection.
#[test]
fn the_second_signal_ends_a_server_whose_disk_stands_still() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::try_start_on(&directory).expect("it starts");
    let caller = Caller::of(&server);
    let mut writer = caller.connect().expect("connected");
    create(&mut writer, "before", 1);
    // Longer than a busy machine takes to get to the second signal.
    let still = "delay_enter=600000000";
    let Some(tracer) = Strace::attach(server.pid(), "fdatasync", still) else {
        return;
    };
    let before = descriptors(server.pid());
    let mut silent = TcpStream::connect(caller.address()).expect("connected");
    wait_until("it is taken in", || descriptors(server.pid()) > before);
    let write = request("POST", MAPS, &map("late", 1));
    writer.send(write.as_bytes()).expect("sent");
    server.send("TERM");
    wait_until("nobody listens any more", || caller.connect().is_err());
    silent.set_read_timeout(Some(DRAINED)).expect("a limit");
    let heard = silent.read(&mut [0]);
    assert!(matches!(heard, Ok(0)), "{heard:?}");
    std::thread::sleep(SAME_SIGNAL);
    server.send("TERM");
    // A thread that is held in a call ends only when the tracer does.
    wait_until("it ends", || is_ended(server.pid()));
    drop(tracer);
    let (code, said) = server.ended();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("stopped at the second signal"), "{said}");
    let server = Server::start_on(&directory);
    server.kubectl(&["get", "configmap", "before"]);
}
