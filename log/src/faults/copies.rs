//! Logs assembled by hand: records of two logs, records in another order, and files that were copied
//! while they were written.

use super::refusals::{append, tail, written, written_frames};
use super::rot::{Frames, frames, open};
use super::script::{self, Silent};
use crate::storage::WitnessFile;
use crate::{Error, Log, Reader, SledStorage, Storage};
use hindsight_core::{Commit, Revision};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FRAMES: usize = 5;
const COPIES: usize = 6;
/// How often a log is written, at most, until a copy opens that was begun while it was written.
const ROUNDS_MAX: usize = 20;
/// Offset of the previous hash in a frame.
const PREVIOUS_AT: usize = 4 + 1 + 8 + 4;

type Prepare = fn(&Path);

/// What is refused: a name, how it is made, and a part of the message.
const REFUSED: &[(&str, Prepare, &str)] = &[
    (
        "another log behind this one",
        |at| {
            written(at);
            let (first, bytes) = &frames()[FRAMES];
            append(at, &(*first, of_another_log(bytes).into()));
        },
        "it does not follow the record before it",
    ),
    (
        "the beginning of another log before this one",
        |at| {
            let mut frames = frames();
            frames[0].1 = of_another_log(&frames[0].1).into();
            put_all(at, frames.into_iter().take(FRAMES).collect());
        },
        "it does not follow the record before it",
    ),
    (
        "two records exchanged",
        |at| {
            let mut frames = frames();
            let (one, other) = (frames[1].1.clone(), frames[2].1.clone());
            (frames[1].1, frames[2].1) = (other, one);
            put_all(at, frames.into_iter().take(FRAMES).collect());
        },
        "its revision or length does not match",
    ),
    (
        "a record twice",
        |at| {
            written(at);
            append(at, &(frames()[FRAMES].0, frames()[FRAMES - 1].1.clone()));
        },
        "its revision or length does not match",
    ),
    (
        "a record left out",
        |at| {
            let mut frames = frames();
            frames.remove(2);
            put_all(at, frames.into_iter().take(FRAMES).collect());
        },
        "the next one is at revision",
    ),
    (
        "the beginning left out",
        |at| put_all(at, frames().into_iter().skip(1).take(FRAMES).collect()),
        "the next one is at revision",
    ),
];

#[test]
fn logs_that_were_put_together_are_refused() {
    for (name, prepare, message) in REFUSED {
        let temporary = tempfile::tempdir().expect("a directory");
        prepare(temporary.path());
        let error = open(temporary.path()).expect_err(name).to_string();
        assert!(error.contains(message), "{name}: {error}");
    }
}

#[test]
fn a_file_of_two_logs_is_refused() {
    let temporary = tempfile::tempdir().expect("a directory");
    let [one, other] = ["one", "other"].map(|name| temporary.path().join(name));
    written(&one);
    let storage = Arc::new(SledStorage::open(&other.join("events")).expect("made"));
    let log = Log::open(storage, script::empty()).expect("opened");
    let writer = log.start(Box::new(Silent)).expect("started");
    let mut commands = script::Commands::default();
    for index in 0..FRAMES + 2 {
        let name = json!({"metadata": {"name": format!("other{index}")}});
        let command = commands.command(script::create("namespaces", "", name));
        script::submit(&writer, &Arc::default(), vec![command]).expect("written");
    }
    drop(writer);
    let (mut bytes, more) = (read(&one), read(&other));
    bytes.extend(more);
    fs::write(one.join("events/db"), bytes).expect("written");
    let refused = open(&one).expect_err("of two logs").to_string();
    let newest = tail(&frames()[FRAMES - 1]).revision;
    let told = format!("but revision {newest} was acknowledged");
    assert!(refused.contains(&told), "{refused}");
}

/// A copy of a log: whether the log was still being written when the copy was begun, and the revision that its own
/// witness names.
struct Copy {
    at: PathBuf,
    is_early: bool,
    witnessed: Revision,
}

fn witnessed(at: &Path) -> Revision {
    let noted = WitnessFile::read(&at.join("events.tail")).expect("readable");
    noted.map_or(Revision::ZERO, |tail| tail.revision)
}

/// Copies a log again and again while it is written.
fn copied_under_writes(directory: &Path) -> Vec<Copy> {
    let live = directory.join("live");
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| written_frames(&live, frames().len()));
        let copied = (0..COPIES).map(|index| {
            let begun_at = tail(&frames()[index * frames().len() / COPIES]).revision;
            while !writing.is_finished() && witnessed(&live) < begun_at {
                std::thread::yield_now();
            }
            let at = directory.join(format!("copy{index}"));
            let is_early = !writing.is_finished();
            copy(&live, &at);
            Copy {
                witnessed: witnessed(&at),
                at,
                is_early,
            }
        });
        copied.collect()
    })
}

/// The newest revision, and all commits, of a log that opens.
fn commits(at: &Path) -> Result<(Revision, Vec<Commit>), Error> {
    let newest = open(at)?;
    let storage = SledStorage::open(&at.join("events")).expect("it opens again");
    let reader = Reader::new(Arc::new(storage));
    let commits = reader.scan(Revision(1));
    let commits = commits.map(|commit| commit.expect("it is whole"));
    Ok((newest, commits.collect()))
}

/// A copy holds a prefix of the log that is no shorter than its witness claims.
#[test]
fn a_copy_made_while_the_log_is_written_is_whole_or_refused() {
    let ends: BTreeSet<Revision> = frames().iter().map(|one| tail(one).revision).collect();
    for round in 1..=ROUNDS_MAX {
        let temporary = tempfile::tempdir().expect("a directory");
        let copied = copied_under_writes(temporary.path());
        let (newest, whole) = commits(&temporary.path().join("live")).expect("it opens itself");
        assert_eq!(ends.last(), Some(&newest));
        let (mut opened, mut early) = (0, 0);
        for copy in copied {
            let Ok((revision, commits)) = commits(&copy.at) else {
                continue;
            };
            opened += 1;
            early += usize::from(copy.is_early && revision > Revision::ZERO);
            assert!(revision >= copy.witnessed, "{revision} {}", copy.witnessed);
            let is_end = revision == Revision::ZERO || ends.contains(&revision);
            assert!(is_end, "{revision} is in the middle of a batch");
            let until = whole.partition_point(|commit| commit.revision <= revision);
            assert!(commits == whole[..until], "{revision}: it is another log");
        }
        println!("round {round}: {opened} of {COPIES} copies open, {early} of those begun early");
        if early > 0 {
            return;
        }
    }
    panic!("no copy opens that was begun while the log was written");
}

fn read(at: &Path) -> Vec<u8> {
    fs::read(at.join("events/db")).expect("read")
}

fn put_all(at: &Path, frames: Frames) {
    let storage = SledStorage::open(&at.join("events")).expect("made");
    for (first, bytes) in &frames {
        storage.append(*first, bytes).expect("appended");
    }
    storage.sync().expect("synced");
}

/// The same record, chained to another one.
fn of_another_log(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[PREVIOUS_AT] ^= 1;
    let body = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Copies like `cp -r`: file by file, ignoring files that vanish meanwhile.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if let Err(error) = fs::copy(entry.path(), target) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        }
    }
}
