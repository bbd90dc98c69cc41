//! Starts on a full disk, with what `events.reserve` has for them.

use super::full::Small;
use super::verify;
use hindsight_tests::disk::fill;
use hindsight_tests::server::{Server, serve};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Starts beside a process that takes whatever becomes free.
const STARTS: usize = 2;

fn held(directory: &Path) -> u64 {
    let found = directory.join("events.reserve").metadata();
    found.map_or(0, |found| found.blocks() * 512)
}

/// Starts a server, which may fail, and kills it once it is ready.
fn start(directory: &Path) {
    let mut command = serve(directory);
    command.stderr(std::process::Stdio::null());
    if let Ok(server) = Server::start_with(command, directory) {
        server.signal("KILL");
    }
}

/// A full disk of this size in MiB, with a log that has one object.
fn filled(mib: u64) -> Option<Small> {
    let small = Small::of(mib, "a full disk")?;
    let server = Server::start_on(&small.directory);
    server.kubectl(&["create", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
    fill(&small.at);
    Some(small)
}

#[test]
fn a_process_that_takes_what_starts_release_leaves_something_for_the_next() {
    let Some(small) = filled(120) else {
        return;
    };
    let (at, directory) = (&small.at, &small.directory);
    let before = held(directory);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fill(at);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for _ in 0..STARTS {
            start(directory);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let left = held(directory);
    assert!(left >= before / 4, "{left} of {before}");
    let server = Server::start_on(directory);
    assert!(server.kubectl(&["get", "configmaps"]).contains("a "));
    assert_eq!(server.signal("TERM"), Some(0));
    std::fs::remove_file(at.join("filling")).expect("removed");
    verify(directory);
}

/// An operator accepts a log as it is by emptying the witness, whose notes then need room again.
#[test]
fn on_a_full_disk_a_witness_may_be_begun_anew() {
    let Some(small) = filled(64) else {
        return;
    };
    let (at, directory) = (&small.at, &small.directory);
    std::fs::write(directory.join("events.tail"), "").expect("emptied");
    fill(at);
    let server = Server::start_on(directory);
    server.kubectl(&["delete", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
    std::fs::remove_file(at.join("filling")).expect("removed");
    verify(directory);
}
