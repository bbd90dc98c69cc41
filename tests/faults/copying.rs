//! A full disk whose file system writes a copy of what is overwritten: blocks that are kept are no room there, unless the
//! file system does without.

use super::full::write_until_full;
use super::verify;
use hindsight_tests::disk::{Disk, fill, skipped};
use hindsight_tests::server::{Server, serve, text};
use std::path::Path;
use std::process::{Command, Stdio};

/// What a copied log has room for, with what it keeps.
const ROOM_BYTES: u64 = 110 << 20;

/// btrfs of this size below this directory, or says that it is not tested.
fn copying(temporary: &Path, mib: u64) -> Option<Disk> {
    let disk = Disk::copying_on_a_file(&temporary.join("disk"), mib);
    if disk.is_none() {
        skipped("a full btrfs", "none can be mounted here");
    }
    disk
}

#[test]
fn a_log_that_is_begun_on_btrfs_gets_over_a_full_disk_as_elsewhere() {
    let temporary = tempfile::tempdir().expect("a directory");
    let Some(_disk) = copying(temporary.path(), 200) else {
        return;
    };
    let at = temporary.path().join("disk");
    let directory = at.join("data");
    let mut server = Server::start_on(&directory);
    for name in ["a", "b", "c", "d"] {
        server.kubectl(&["create", "configmap", name]);
    }
    let filling = fill(&at);
    write_until_full(&server, "e");
    for (name, end) in [("a", "TERM"), ("b", "KILL"), ("c", "TERM")] {
        server.kubectl(&["delete", "configmap", name]);
        server.signal(end);
        fill(&at);
        server = Server::start_on(&directory);
    }
    let left = server.kubectl(&["get", "configmaps", "-n", "default", "-o", "name"]);
    assert!(left.contains("configmap/d"), "{left}");
    assert!(!left.contains("configmap/c\n"), "{left}");
    std::fs::remove_file(filling).expect("removed");
    assert_eq!(server.signal("TERM"), Some(0));
    verify(&directory);
}

/// It may be copied to a directory that is not marked, with or without its mark.
#[test]
fn a_log_that_btrfs_copies_is_warned_of_and_does_not_fill_the_disk_itself() {
    let temporary = tempfile::tempdir().expect("a directory");
    let Some(_disk) = copying(temporary.path(), 320) else {
        return;
    };
    let (at, begun) = (
        temporary.path().join("disk"),
        temporary.path().join("begun"),
    );
    let directory = at.join("data");
    assert_eq!(Server::start_on(&begun).signal("TERM"), Some(0));
    let mut copy = Command::new("cp");
    let copied = copy.arg("-r").arg(&begun).arg(&directory).status();
    assert!(copied.expect("cp runs").success());
    let start = || {
        let mut command = serve(&directory);
        command.stderr(Stdio::piped());
        Server::start_with(command, &directory).unwrap_or_else(|refused| {
            panic!("{}", text(&refused.stderr));
        })
    };
    let filling = fill(&at);
    let filling = std::fs::File::options().write(true).open(filling);
    let filling = filling.expect("opened");
    let filled = filling.metadata().expect("there").len();
    filling.set_len(filled - ROOM_BYTES).expect("shortened");
    let server = start();
    server.kubectl(&["create", "configmap", "a"]);
    write_until_full(&server, "e");
    server.kubectl(&["delete", "configmap", "a"]);
    server.send("TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the event log is on btrfs"), "{said}");
    let server = start();
    server.kubectl(&["delete", "configmap", "e0"]);
    assert_eq!(server.signal("TERM"), Some(0));
    verify(&directory);
}
