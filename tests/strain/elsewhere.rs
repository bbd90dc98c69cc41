//! A data directory on a FUSE file system, which another program serves: here the smallest possible
//! one.

use hindsight_tests::disk::skipped;
use hindsight_tests::server::{serve, text};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

/// Bytes of the headers of a FUSE request and answer.
const ASKED_BYTES: usize = 40;
const ANSWERED_BYTES: usize = 16;
const REQUEST_BYTES_MAX: usize = 1 << 20;
/// The mode of a directory for its owner alone.
const MODE: u32 = 0o40700;
const NOT_THERE: i32 = -2;
const NOT_KNOWN: i32 = -38;

/// Operations, by their numbers in `linux/fuse.h`.
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const STATFS: u32 = 17;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;

/// A mounted file system; unmounted when dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// Mounts an empty file system in which nothing can be created.
    fn at(place: &'a Path) -> Option<Self> {
        let mut device = File::options()
            .read(true)
            .write(true)
            .open("/dev/fuse")
            .ok()?;
        let asked = device.try_clone().expect("a descriptor");
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0";
        let mounted = Command::new("mount")
            .args(["-i", "-t", "fuse", "-o", options, "nothing"])
            .arg(place)
            .stdin(asked)
            .status();
        if !mounted.is_ok_and(|mounted| mounted.success()) {
            return None;
        }
        std::thread::spawn(move || {
            let mut request = vec![0; REQUEST_BYTES_MAX];
            while let Ok(length) = device.read(&mut request) {
                let answer = answer(&request[..length]);
                if answer.is_some_and(|answer| device.write_all(&answer).is_err()) {
                    return;
                }
            }
        });
        Some(Self(place))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0).status().ok();
    }
}

/// A message of this length with four-byte numbers at these places.
fn numbers(bytes: usize, places: &[(usize, u32)]) -> Vec<u8> {
    let mut all = vec![0; bytes];
    for (at, number) in places {
        all[*at..at + 4].copy_from_slice(&number.to_ne_bytes());
    }
    all
}

fn answer(request: &[u8]) -> Option<Vec<u8>> {
    let (head, _) = request.split_at(ASKED_BYTES);
    let asked = u32::from_ne_bytes(*head[4..].first_chunk()?);
    let (code, body) = match asked {
        FORGET | INTERRUPT => return None,
        // The version of the protocol, and the most bytes of a write.
        INIT => (0, numbers(64, &[(0, 7), (4, 31), (20, 1 << 16)])),
        GETATTR => (0, numbers(104, &[(16, 1), (76, MODE), (80, 2)])),
        STATFS => (0, numbers(80, &[(40, 4096), (44, 255), (48, 4096)])),
        LOOKUP => (NOT_THERE, Vec::new()),
        _ => (NOT_KNOWN, Vec::new()),
    };
    let length = u32::try_from(ANSWERED_BYTES + body.len()).ok()?;
    let head = [&length.to_ne_bytes()[..], &code.to_ne_bytes(), &head[8..16]];
    Some([head.concat(), body].concat())
}

#[test]
fn a_directory_on_a_file_system_that_another_program_keeps_is_warned_of() {
    let temporary = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = Mounted::at(temporary.path()) else {
        return skipped(
            "a file system of another program",
            "FUSE cannot be mounted here",
        );
    };
    let ended = serve(temporary.path()).output().expect("it runs");
    let told = text(&ended.stderr);
    assert!(
        told.contains("this directory is on FUSE or virtiofs"),
        "{told}"
    );
    assert!(told.contains("a data directory on a local disk"), "{told}");
}
