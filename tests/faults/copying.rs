//! A full disk whose file system writes a copy of what is overwritten: blocks that are kept are no room there, unless the
//! file system does without.

use super::full::{large, write_until_full};
use super::verify;
use hindsight_tests::disk::{Disk, fill, skipped};
use hindsight_tests::server::{Server, hindsight, serve, text};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a copied log has room for, with what it keeps.
const ROOM_BYTES: u64 = 110 << 20;

/// The bytes of a block of btrfs.
const BLOCK_BYTES: usize = 4096;
/// The size of each of two mirrors.
const MIRROR_MIB: u64 = 320;

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
    fs::remove_file(filling).expect("removed");
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
    let path = fill(&at);
    let filling = fs::File::options().write(true).open(&path);
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
    // To verify takes a copy of the log.
    fs::remove_file(path).expect("removed");
    verify(&directory);
}

/// Whether what is made in a directory from now on is overwritten in place.
fn is_marked(directory: &Path) -> bool {
    let listed = Command::new("lsattr").arg("-d").arg(directory).output();
    let listed = listed.expect("lsattr runs");
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    let told = text(&listed.stdout);
    told.split_whitespace().next().expect("flags").contains('C')
}

/// Has blocks of the database rot: half of them in the first mirror, and others in the second. So whoever reads all of it
/// from either meets some.
fn rot(database: &[u8], mirrors: &[PathBuf; 2]) {
    let blocks = database.chunks(BLOCK_BYTES);
    let blocks: BTreeSet<&[u8]> = blocks.filter(|block| !is_plain(block)).collect();
    for (rest, mirror) in mirrors.iter().enumerate() {
        let places = blocks.iter().enumerate();
        let half = places.filter(|(place, _)| place % 2 == rest);
        let half: BTreeSet<&[u8]> = half.map(|(_, block)| *block).collect();
        let kept = fs::read(mirror).expect("read");
        let image = fs::File::options().write(true).open(mirror);
        let image = image.expect("opened");
        let mut count = 0;
        for (block, at) in kept.chunks(BLOCK_BYTES).zip((0..).step_by(BLOCK_BYTES)) {
            if half.contains(block) {
                image
                    .write_all_at(&[0xA5; BLOCK_BYTES], at)
                    .expect("written");
                count += 1;
            }
        }
        assert!(count > 1, "{count} of {}", half.len());
    }
}

/// Whether a block is all of one byte, as many are.
fn is_plain(block: &[u8]) -> bool {
    block.iter().all(|byte| Some(byte) == block.first())
}

#[test]
fn on_mirrors_of_btrfs_a_log_survives_what_rots_on_each_of_them() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path().join("disk");
    let Some(disk) = Disk::mirrored_on_files(&at, MIRROR_MIB) else {
        skipped("a mirrored btrfs", "none can be mounted here");
        return;
    };
    let directory = at.join("data");
    let mut command = serve(&directory);
    command.stderr(Stdio::piped());
    let server = Server::start_with(command, &directory).unwrap_or_else(|refused| {
        panic!("{}", text(&refused.stderr));
    });
    for name in ["a", "b", "c", "d"] {
        server.kubectl_with(&["create", "-f", "-"], &large(name));
    }
    server.send("TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the event log is on btrfs"), "{said}");
    assert!(!is_marked(&directory) && !is_marked(&directory.join("events")));
    let database = fs::read(directory.join("events/db")).expect("read");
    disk.remount_after(|| rot(&database, &Disk::mirrors(&at)));
    let server = Server::start_on(&directory);
    let left = server.kubectl(&["get", "configmaps", "-n", "default", "-o", "name"]);
    for name in ["a", "b", "c", "d"] {
        assert!(left.contains(&format!("configmap/{name}\n")), "{left}");
    }
    assert_eq!(server.signal("TERM"), Some(0));
    let report = verify(&directory);
    assert!(report.contains("intact"), "{report}");
}

/// What is in its way stays as it is made, and so does what is made beside it later.
#[test]
fn on_btrfs_only_a_directory_that_has_nothing_but_a_new_log_is_marked() {
    let temporary = tempfile::tempdir().expect("a directory");
    let Some(_disk) = copying(temporary.path(), 320) else {
        return;
    };
    let at = temporary.path().join("disk");
    let [begun, kept, foreign, refused, restored] =
        ["begun", "kept", "foreign", "refused", "restored"].map(|name| at.join(name));
    let server = Server::start_on(&begun);
    server.kubectl(&["create", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
    assert!(is_marked(&begun) && is_marked(&begun.join("events")));
    for directory in [&kept, &foreign, &refused, &restored] {
        fs::create_dir(directory).expect("made");
    }
    fs::write(kept.join("thesis.txt"), "a thesis").expect("written");
    assert_eq!(Server::start_on(&kept).signal("TERM"), Some(0));
    assert!(!is_marked(&kept) && is_marked(&kept.join("events")));

    fs::write(foreign.join("lock"), "of somebody else").expect("written");
    assert!(!serve(&foreign).output().expect("it runs").status.success());
    assert!(!is_marked(&foreign));

    let [whole, cut] = ["whole", "cut"].map(|name| temporary.path().join(name));
    let named = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let made = hindsight(&begun, &["backup", &named(&whole)]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let bytes = fs::read(&whole).expect("read");
    fs::write(&cut, &bytes[..bytes.len() - 1]).expect("written");
    let made = hindsight(&refused, &["restore", &named(&cut)]);
    assert!(!made.status.success());
    assert!(!is_marked(&refused));
    let made = hindsight(&restored, &["restore", &named(&whole)]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(is_marked(&restored) && is_marked(&restored.join("events")));
}
