//! The program without free descriptors, without memory, and without disk space.

use super::{MAPS, create, map, wait_until};
use hindsight_tests::disk::{Disk, fill, skipped};
use hindsight_tests::recorder::stored;
use hindsight_tests::server::{Server, binary, hindsight, limited, serve, stdout, text};
use hindsight_tests::vitals::descriptors;
use hindsight_tests::wire::Caller;
use serde_json::Value;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

const DESCRIPTORS: usize = 96;
/// How far the memory limit lies beyond what the process has mapped.
const HEADROOM_BYTES: u64 = 48 << 20;
const WRITES_MAX: usize = 400;

#[test]
fn without_a_free_descriptor_writes_go_on_and_with_one_so_do_connections() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let command = limited(&directory, &format!("ulimit -n {DESCRIPTORS}"));
    let server = Server::start_with(command, &directory).expect("started");
    let caller = Caller::of(&server);
    let mut wire = caller.connect().expect("connected");
    create(&mut wire, "before", 1);
    let connect = || TcpStream::connect(caller.address());
    let mut silent: Vec<_> = (0..2 * DESCRIPTORS).map(|_| connect()).collect();
    // What the server had open for a moment may have cost one of them its place: others come.
    wait_until("descriptors are left", || {
        silent.push(connect());
        descriptors(server.pid()) >= DESCRIPTORS
    });
    create(&mut wire, "meanwhile", 1);
    create(&mut caller.connect().expect("connected"), "beside", 1);
    drop(silent);
    create(&mut caller.connect().expect("connected"), "after", 1);
    server.signal("KILL");
    let stored = stored(&Server::start_on(&directory));
    for name in ["before", "meanwhile", "beside", "after"] {
        assert!(stored.contains_key(name), "{name} was answered");
    }
}

#[test]
fn the_limit_on_open_files_is_raised_as_far_as_it_may_be() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let command = limited(&directory, &format!("ulimit -S -n {DESCRIPTORS}"));
    let server = Server::start_with(command, &directory).expect("started");
    let caller = Caller::of(&server);
    let connect = || TcpStream::connect(caller.address());
    let _silent: Vec<_> = (0..2 * DESCRIPTORS).map(|_| connect()).collect();
    wait_until("all are open at once", || {
        descriptors(server.pid()) >= 2 * DESCRIPTORS
    });
}

#[test]
fn a_command_without_descriptors_ends_with_a_message() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    Server::start_on(&directory).signal("KILL");
    for descriptors in 3..24 {
        let limit = format!("ulimit -n {descriptors}; exec \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &limit, "sh"]).arg(binary("hindsight"));
        let asked = shell.arg("log").arg("--data-dir").arg(&directory);
        let output = asked.output().expect("run");
        let told = text(&output.stderr);
        assert_ne!(output.status.code(), Some(101), "{descriptors}: {told}");
        if descriptors > 3 && !output.status.success() {
            assert!(told.contains("ulimit -n"), "{descriptors}: {told}");
        }
    }
}

#[test]
fn a_start_without_descriptors_is_refused_in_the_format_of_the_log() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let mut command = limited(&directory, "ulimit -n 8");
    command
        .args(["--log-format", "json"])
        .stderr(Stdio::piped());
    let refused = Server::start_with(command, &directory).expect_err("too few");
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let messages = said.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).expect(line);
        entry["fields"]["message"].as_str().expect(line).to_owned()
    });
    let messages: Vec<String> = messages.collect();
    assert!(
        messages.iter().any(|one| one.contains("ulimit -n")),
        "{said}"
    );
    assert!(!directory.exists(), "it was opened");
}

#[test]
fn without_memory_it_ends_and_nothing_is_lost_that_was_answered() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let mut command = serve(&directory);
    // Otherwise the allocator reserves a gigabyte of addresses at the start.
    command.env("MIMALLOC_ARENA_RESERVE", "1024");
    command.stderr(Stdio::null());
    let server = Server::start_with(command, &directory).expect("started");
    let pages = std::fs::read_to_string(format!("/proc/{}/statm", server.pid()));
    let pages = pages.expect("its size");
    let pages = pages.split(' ').next().and_then(|size| size.parse().ok());
    let limit: u64 = pages.map(|pages: u64| pages * 4096).expect("a size") + HEADROOM_BYTES;
    let pid = server.pid().to_string();
    let limited = Command::new("prlimit")
        .args(["--pid", &pid, &format!("--as={limit}")])
        .status();
    if !limited.is_ok_and(|status| status.success()) {
        return skipped("a memory limit", "prlimit does not work here");
    }
    let mut wire = Caller::of(&server).connect().expect("connected");
    let mut answered = Vec::new();
    let left = (0..WRITES_MAX).find(|index| {
        let name = format!("c{index}");
        let reply = wire.ask("POST", MAPS, &map(&name, 900 << 10));
        let is_written = reply.as_ref().is_ok_and(|reply| reply.code == 201);
        answered.extend(is_written.then_some(name));
        reply.is_err()
    });
    println!("no memory after {} writes", answered.len());
    assert!(left.is_some(), "there is memory after all");
    let (code, _) = server.ended();
    assert_ne!(code, Some(0), "no end that somebody asked for");
    let stored = stored(&Server::start_on(&directory));
    for name in &answered {
        assert!(stored.contains_key(name), "{name} was answered");
    }
}

#[test]
fn a_restore_that_cannot_even_write_its_lock_leaves_nothing() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let [data, other] = ["data", "other"].map(|name| temporary.path().join(name));
    let file = temporary.path().join("file");
    assert_eq!(Server::start_on(&data).signal("TERM"), Some(0));
    stdout(&hindsight(
        &data,
        &["backup", file.to_str().expect("UTF-8")],
    ));
    let mut restore = Command::new("sh");
    restore.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""]);
    restore.arg(binary("hindsight")).arg("restore").arg(&file);
    let refused = restore.arg("--data-dir").arg(&other).output();
    let refused = refused.expect("it runs");
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("ulimit -f"), "{told}");
    assert!(!other.exists());
}

/// Fills the file system except for this many bytes.
fn fill_but(at: &Path, but: u64) {
    let file = std::fs::File::options().write(true).open(fill(at));
    let file = file.expect("it was made");
    let length = file.metadata().expect("measured").len();
    file.set_len(length.saturating_sub(but)).expect("cut");
}

#[test]
fn on_a_disk_without_room_the_first_start_says_so_and_the_next_one_is_the_first() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let mut refused = 0;
    // The size of the disk in MiB and its free bytes: a nearly full disk, or a small one that is empty.
    for (mib, but) in [
        (96, 0),
        (96, 64 << 10),
        (96, 1 << 20),
        (96, 6 << 20),
        (96, 24 << 20),
        (96, 42 << 20),
        (96, 43 << 20),
        (4, 4 << 20),
        (24, 24 << 20),
    ] {
        let at = temporary.path().join(format!("{mib}but{but}"));
        let Some(disk) = Disk::in_memory(&at, mib) else {
            return skipped("a disk without room", "nothing can be mounted here");
        };
        fill_but(&at, but);
        let directory = at.join("data");
        let mut command = serve(&directory);
        command.stderr(Stdio::piped());
        match Server::start_with(command, &directory) {
            Ok(server) => {
                assert!(but >= 43 << 20, "{but} bytes are enough");
                assert_eq!(server.signal("TERM"), Some(0));
            }
            Err(ended) => {
                assert!(but < 43 << 20, "{}", text(&ended.stderr));
                refused += 1;
                let message = text(&ended.stderr);
                assert_eq!(ended.status.code(), Some(1), "{message}");
                let is_told = message.contains("o space left") || message.contains("is full");
                let is_advised =
                    message.contains("43 MiB") && message.contains("another data directory");
                assert!(is_told && is_advised, "{but} bytes are left: {message}");
                let goes_on = message.contains("continue") || message.contains("accepting");
                assert!(!goes_on, "nothing goes on: {message}");
            }
        }
        std::fs::remove_file(at.join("filling")).expect("removed");
        disk.resize(96);
        let server = Server::start_on(&directory);
        create(
            &mut Caller::of(&server).connect().expect("connected"),
            "a",
            1,
        );
        assert_eq!(server.signal("TERM"), Some(0));
        let report = stdout(&hindsight(&directory, &["verify"]));
        assert!(report.contains("intact"), "{report}");
    }
    assert!(refused > 0, "there was room after all");
}
