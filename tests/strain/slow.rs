//! A disk that takes its time.

use super::{MAPS, comes, create, map};
use hindsight_tests::server::{Server, serve};
use hindsight_tests::strace::Strace;
use hindsight_tests::vitals::{descriptors, is_ended};
use hindsight_tests::wire::{Caller, request};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Each sync waits so many microseconds.
const DELAY: &str = "delay_enter=2000000";
const WRITES: usize = 3;
/// Longer than connections are given to end.
const DRAINED: Duration = Duration::from_secs(4);
/// While one write waits. Behind it there would be one, or two.
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

/// Asked once, the server waits for its disk, and the second time it does not; nor for somebody who connects
/// and says nothing, whom it has forgotten by then.
#[test]
fn the_second_signal_ends_a_server_whose_disk_stands_still() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let mut command = serve(&directory);
    command.stderr(Stdio::piped());
    let server = Server::start_with(command, &directory).expect("it starts");
    let caller = Caller::of(&server);
    let mut writer = caller.connect().expect("connected");
    create(&mut writer, "before", 1);
    // Longer than a machine that is busy takes to come to the second signal.
    let still = "delay_enter=600000000";
    let Some(tracer) = Strace::attach(server.pid(), "fdatasync", still) else {
        return;
    };
    let before = descriptors(server.pid());
    let mut silent = TcpStream::connect(caller.address()).expect("connected");
    comes("it is taken in", || descriptors(server.pid()) > before);
    let write = request("POST", MAPS, &map("late", 1));
    writer.send(write.as_bytes()).expect("sent");
    server.send("TERM");
    comes("nobody listens any more", || caller.connect().is_err());
    silent.set_read_timeout(Some(DRAINED)).expect("a limit");
    let heard = silent.read(&mut [0]);
    let is_silent = |kind| matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut);
    let kept = heard.as_ref().is_err_and(|error| is_silent(error.kind()));
    assert!(kept, "it is let go of before the log: {heard:?}");
    server.send("TERM");
    // What is held in a call goes when the tracer does.
    comes("it ends", || is_ended(server.pid()));
    drop(tracer);
    let (code, said) = server.ended();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("ended at the second signal"), "{said}");
    let server = Server::start_on(&directory);
    server.kubectl(&["get", "configmap", "before"]);
}
