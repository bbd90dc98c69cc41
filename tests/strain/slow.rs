//! A slow disk.

use super::{MAPS, create, map, wait_until};
use hindsight_tests::server::Server;
use hindsight_tests::strace::Strace;
use hindsight_tests::vitals::{descriptors, is_ended};
use hindsight_tests::wire::{Caller, request};
use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Each sync is delayed by this many microseconds: longer than any test runs.
const STILL: &str = "delay_enter=600000000";
/// Longer than connections are given to drain.
const DRAINED: Duration = Duration::from_mins(2);
/// A signal that is repeated sooner may be taken for the same one.
const SAME_SIGNAL: Duration = Duration::from_millis(200);
/// How many reads are answered while one write waits.
const READS: usize = 5;

#[test]
fn while_a_write_waits_for_the_disk_reads_are_answered() {
    let server = Server::start();
    let caller = Caller::of(&server);
    let mut writer = caller.connect().expect("connected");
    create(&mut writer, "before", 1);
    let Some(tracer) = Strace::attach(server.pid(), "fdatasync", STILL) else {
        return;
    };
    let journal = server.directory().join("events/journal");
    let written = || std::fs::read(&journal).expect("a journal");
    let before = written();
    let is_answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            create(&mut writer, "late", 1);
            is_answered.store(true, Ordering::SeqCst);
        });
        let mut reader = caller.connect().expect("connected");
        wait_until("only the disk is waited for", || written() != before);
        for _ in 0..READS {
            let reply = reader.ask("GET", MAPS, "").expect("an answer");
            assert_eq!(reply.code, 200);
        }
        assert!(!is_answered.load(Ordering::SeqCst));
        // A thread that is held in a call goes on when the tracer ends.
        drop(tracer);
    });
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
    let Some(tracer) = Strace::attach(server.pid(), "fdatasync", STILL) else {
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
