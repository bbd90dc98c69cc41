//! One file of each format that was ever written, in `log/golden`, read by today's code.

use super::backups::{Target, backup_of, first_format};
use super::disk::Disk;
use super::script::{self, Commands, create, delete, empty, patch, submit};
use crate::frame::decoded::{Coverage, DecodedFrame};
use crate::frame::{self, FRAME_FORMAT};
use crate::retention::thin;
use crate::{
    Log, MemoryStorage, Reader, Records, SledStorage, Snapshots, Storage, backup, snapshot,
    storage, verify,
};
use hindsight_core::{Intent, Revision};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fixtures that are committed must be small.
const BYTES_MAX: usize = 64 << 10;
const PAGE: usize = 512;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// The frames of each log, and the file with its expected result. A release adds a log for a format that
/// it begins to write; it cannot make the earlier ones again.
const LOGS: [(&[&str], &str); 3] = [
    (
        &["frame-1", "frame-2-thinned", "frame-2-restored", "frame-3"],
        "expected",
    ),
    (&["frame-4"], "expected-4"),
    (&["frame-4-everything"], "expected-everything"),
];

/// The fixtures: one of each format, and each kind of frame that a log can hold.
fn names() -> Vec<String> {
    let frames = LOGS.iter().flat_map(|(frames, _)| frames.iter());
    let numbered = [
        ("snapshot", snapshot::FORMAT),
        ("backup", backup::FORMAT),
        ("witness", storage::WITNESS_FORMAT),
        ("directory", storage::TREE_FORMAT),
        ("journal", storage::JOURNAL_FORMAT),
    ];
    let newest = numbered.iter();
    let newest =
        newest.flat_map(|(what, format)| (1..=*format).map(move |one| format!("{what}-{one}")));
    frames
        .map(|frame| String::from(*frame))
        .chain(newest)
        .collect()
}

/// All fixtures, and the state from which they were made.
struct Made {
    files: Vec<(String, Vec<u8>)>,
    expected: String,
}

fn written(disk: &Arc<Disk>) {
    let writer = script::open(disk);
    let mut commands = Commands::default();
    let mut write = |intents: Vec<Intent>| {
        let made = intents.into_iter().map(|intent| commands.command(intent));
        submit(&writer, disk, made.collect()).expect("written");
    };
    let named = |name: &str| json!({"metadata": {"name": name}, "data": {"k": "snow \u{2744}"}});
    let map = |name: &str| create("configmaps", "default", named(name));
    write(vec![create(
        "namespaces",
        "",
        json!({"metadata": {"name": "default"}}),
    )]);
    write(vec![map("a"), map("gone")]);
    write(vec![patch("a", json!({"data": {"k": "changed"}}))]);
    write(vec![delete("gone")]);
    write(vec![patch(
        "a",
        json!({"metadata": {"finalizers": ["example.com/held"]}}),
    )]);
    write((0..12).map(|index| map(&format!("n{index}"))).collect());
    write(vec![delete("a")]);
    write(vec![map("last")]);
    // More than fits into one value of sled.
    let noise: String = (0..200_u32)
        .map(|number| blake3::hash(&number.to_le_bytes()).to_string())
        .collect();
    let large = json!({"metadata": {"name": "large"}, "data": {"k": noise}});
    write(vec![create("configmaps", "default", large)]);
}

/// A log with all formats that this release writes: its beginning is thinned, and it was restored from a
/// backup.
fn log() -> (Target, Vec<(Revision, Vec<u8>)>) {
    let disk = Arc::new(Disk::default());
    written(&disk);
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    thin(&*disk, &reader, Revision(5), empty(), &[]).expect("thinned");
    let (target, _) = Target::restored(&backup_of(&reader));
    let mut frames = Vec::new();
    let mut from = Revision::ZERO;
    while let Some((first, bytes)) = target.storage.at_or_after(from).expect("read") {
        from = first.next();
        frames.push((first, bytes));
    }
    (target, frames)
}

fn made() -> Made {
    let (target, frames) = log();
    let reader = target.reader();
    let base = reader.base(empty()).expect("folded");
    let mut files = Vec::new();
    let mut put = |name: &str, bytes: Vec<u8>| files.push((name.to_owned(), bytes));
    put(
        "frame-4",
        frames.iter().flat_map(|one| framed(&one.1)).collect(),
    );
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let snapshots = Snapshots::at(at.join("snapshots"));
    snapshots.write(&base).expect("written");
    let written = fs::read_dir(at.join("snapshots")).expect("listed").next();
    let written = written.expect("one").expect("listed").path();
    put("snapshot-1", fs::read(written).expect("read"));
    let file = backup_of(&reader);
    put("backup-1", first_format(&file));
    put("backup-2", file);
    let storage = SledStorage::open(&at.join("events")).expect("made");
    for (first, bytes) in &frames {
        storage.append(*first, bytes).expect("appended");
    }
    storage.sync().expect("synced");
    storage.witness(&base.tail());
    put("journal-2", without_zeros(&at.join("events/journal")));
    drop(storage);
    put("witness-1", fs::read(at.join("events.tail")).expect("read"));
    for made_again in ["events.reserve", "events.place"] {
        fs::remove_file(at.join(made_again)).ok();
    }
    // The contents of the journal must be found without it, too.
    fs::remove_file(at.join("events/journal")).expect("removed");
    put("directory-3", packed(at));
    let report = verify(&reader, |_| {}).expect("intact");
    let (newest, state) = (base.state.revision, base.state.hash());
    let (chain, content) = (report.chain, report.content);
    Made {
        files,
        expected: format!("revision {newest}\nstate {state}\nchain {chain}\ncontent {content}\n"),
    }
}

/// A journal without the zeros at its end, which is equivalent.
fn without_zeros(file: &Path) -> Vec<u8> {
    let mut bytes = fs::read(file).expect("read");
    let end = bytes.iter().rposition(|byte| *byte != 0);
    bytes.truncate(end.map_or(0, |end| end + 1));
    bytes
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("small").to_le_bytes();
    [&length, bytes].concat()
}

/// A file without its zeros.
#[derive(Serialize, Deserialize)]
struct Sparse {
    name: String,
    length: u64,
    pages: Vec<(u64, Vec<u8>)>,
}

fn packed(directory: &Path) -> Vec<u8> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let listed = fs::read_dir(&path).expect("listed");
            open.extend(listed.map(|entry| entry.expect("listed").path()));
            continue;
        }
        let bytes = fs::read(&path).expect("read");
        let name = path.strip_prefix(directory).expect("inside");
        let pages = (0_u64..).zip(bytes.chunks(PAGE));
        let pages = pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0));
        files.push(Sparse {
            name: name.to_string_lossy().into_owned(),
            length: bytes.len() as u64,
            pages: pages.map(|(at, page)| (at, page.to_vec())).collect(),
        });
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    bincode::serde::encode_to_vec(&files, bincode::config::legacy()).expect("encoded")
}

fn unpack(packed: &[u8], directory: &Path) {
    let read = bincode::serde::decode_from_slice(packed, bincode::config::legacy());
    let (files, _): (Vec<Sparse>, usize) = read.expect("decoded");
    for file in files {
        let path = directory.join(file.name);
        fs::create_dir_all(path.parent().expect("inside")).expect("made");
        let mut bytes = vec![0; usize::try_from(file.length).expect("small")];
        for (at, page) in file.pages {
            let begin = usize::try_from(at).expect("small") * PAGE;
            bytes[begin..begin + page.len()].copy_from_slice(&page);
        }
        fs::write(path, bytes).expect("written");
    }
}

/// Fixtures that exist are left as they are.
fn write_the_missing() {
    let made = made();
    let files = made
        .files
        .into_iter()
        .map(|(name, bytes)| (name + ".bin", bytes));
    let expected = ("expected-5".to_owned(), made.expected.into_bytes());
    for (name, bytes) in files.chain([expected]) {
        let path = golden().join(name);
        if !path.exists() {
            fs::write(path, bytes).expect("written");
        }
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let path = golden().join(format!("{name}.bin"));
    let bytes =
        fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}: log/golden/README.md"));
    assert!(bytes.len() < BYTES_MAX, "{name}: {}", bytes.len());
    bytes
}

/// The expected result of the first log.
fn expected(of: &str) -> String {
    expected_in("expected", of)
}

fn expected_in(file: &str, of: &str) -> String {
    let expected = fs::read_to_string(golden().join(file)).expect("read");
    let line = expected.lines().find_map(|line| line.strip_prefix(of));
    line.expect("named").trim().to_owned()
}

fn assert_expected(storage: Arc<dyn Storage>, file: &str, what: &str) {
    let log = Log::open(storage, empty()).expect(what);
    let state = log.state();
    let expected = |of| expected_in(file, of);
    assert_eq!(state.revision.to_string(), expected("revision"), "{what}");
    assert_eq!(state.hash(), expected("state"), "{what}");
}

/// With `HINDSIGHT_FIXTURES=write`, missing fixtures are made first.
#[test]
fn every_format_has_a_fixture() {
    if option_env!("HINDSIGHT_FIXTURES") == Some("write") {
        write_the_missing();
    }
    assert_eq!(
        FRAME_FORMAT, 4,
        "a log of the new format is missing from `LOGS`"
    );
    for name in names() {
        fixture(&name);
    }
}

#[test]
fn frames_of_every_format_make_the_log_that_they_were() {
    for (names, expected) in LOGS {
        let storage = MemoryStorage::default();
        for name in names {
            read_frames(&storage, name);
        }
        let storage: Arc<dyn Storage> = Arc::new(storage);
        let report = verify(&Reader::new(Arc::clone(&storage) as _), |_| {}).expect("intact");
        assert_eq!(report.chain, expected_in(expected, "chain"));
        assert_eq!(report.content, expected_in(expected, "content"));
        assert_expected(storage, expected, "frames");
    }
}

#[test]
fn every_sort_of_frame_is_in_the_log_that_has_everything() {
    let storage = MemoryStorage::default();
    read_frames(&storage, "frame-4-everything");
    let reader = Reader::new(Arc::new(storage));
    // A sort that is added does not compile here, and is then missing below.
    let sort = |frame: &DecodedFrame| match frame.links.coverage {
        Coverage::Whole => 0,
        Coverage::Thinned { .. } => 1,
        Coverage::Restored(_) => 2,
    };
    let frames = reader.frames(Revision(1));
    let sorts = frames.map(|frame| sort(&frame.expect("intact")));
    assert_eq!(sorts.collect::<BTreeSet<_>>(), BTreeSet::from([0, 1, 2]));
}

fn read_frames(storage: &MemoryStorage, name: &str) {
    let bytes = fixture(name);
    let mut rest = &bytes[..];
    let mut formats = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (bytes, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        formats.push(format!("frame-{}", bytes[4]));
        let first = frame::first(bytes).expect("whole");
        storage.append(first, bytes).expect("appended");
        rest = after;
    }
    let has_format = formats.iter().any(|format| name.starts_with(format));
    assert!(has_format, "{name}: {formats:?}");
}

#[test]
fn snapshots_of_every_format_hold_the_state_that_they_were_made_of() {
    for format in 1..=snapshot::FORMAT {
        let directory = tempfile::tempdir().expect("a directory");
        let revision: u64 = expected("revision").parse().expect("a number");
        let path = directory.path().join(format!("{revision:020}.snapshot"));
        fs::write(path, fixture(&format!("snapshot-{format}"))).expect("written");
        let snapshots = Snapshots::at(directory.path().to_owned());
        let base = snapshots.read(Revision(revision), &empty()).expect("read");
        assert_eq!(base.state.hash(), expected("state"));
        assert_eq!(
            blake3::Hash::from_bytes(base.tail().hash).to_hex().as_str(),
            expected("chain")
        );
    }
}

#[test]
fn backups_of_every_format_are_restored() {
    for format in 1..=backup::FORMAT {
        let (target, restored) = Target::restored(&fixture(&format!("backup-{format}")));
        assert_eq!(restored.backup.chain(), expected("chain"), "{format}");
        let newest: u64 = expected("revision").parse().expect("a number");
        let state = target.reader().state_at(empty(), Revision(newest));
        assert_eq!(state.expect("kept").hash(), expected("state"), "{format}");
    }
}

#[test]
fn directories_of_every_format_open() {
    for format in 1..=storage::TREE_FORMAT {
        let log = match format {
            1 => "expected",
            2 => "expected-4",
            _ => "expected-5",
        };
        let directory = tempfile::tempdir().expect("a directory");
        let at = directory.path();
        unpack(&fixture(&format!("directory-{format}")), at);
        let storage = SledStorage::open(&at.join("events")).expect("opened");
        assert_expected(Arc::new(storage), log, "directory");
        let snapshots = Snapshots::at(at.join("snapshots"));
        let base = snapshots.newest(&empty()).expect("a snapshot");
        assert_eq!(base.state.hash(), expected_in(log, "state"));
    }
}

#[test]
fn witnesses_of_every_format_are_read() {
    for format in 1..=storage::WITNESS_FORMAT {
        let directory = tempfile::tempdir().expect("a directory");
        let at = directory.path();
        unpack(&fixture("directory-1"), at);
        let witness = fixture(&format!("witness-{format}"));
        fs::write(at.join("events.tail"), witness).expect("written");
        let storage = SledStorage::open(&at.join("events")).expect("opened");
        let witnessed = storage.witnessed().expect("read").expect("a note");
        assert_eq!(witnessed.revision.to_string(), expected("revision"));
        assert_expected(Arc::new(storage), "expected", "directory");
    }
}

#[test]
fn the_page_about_backups_says_which_formats_are_written_and_read() {
    let page = include_str!("../../../docs/backup.md");
    for (what, newest) in [
        ("the database that holds them", storage::TREE_FORMAT),
        ("the witness, `events.tail`", storage::WITNESS_FORMAT),
        ("the journal, `events/journal`", storage::JOURNAL_FORMAT),
        (
            "snapshots, which can be rebuilt from the log",
            snapshot::FORMAT,
        ),
        ("backups", backup::FORMAT),
    ] {
        let read = match newest {
            1 => "1".to_owned(),
            2 => "1 and 2".to_owned(),
            newest => format!("1 to {newest}"),
        };
        let row = format!("| {what} | {newest} | {read} |");
        assert!(page.contains(&row), "{row}");
    }
    let records = format!("| log records | {FRAME_FORMAT} (");
    assert!(page.contains(&records), "{records}");
}

#[test]
fn journals_of_every_format_are_taken_in() {
    for format in 1..=storage::JOURNAL_FORMAT {
        let directory = tempfile::tempdir().expect("a directory");
        let events = directory.path().join("events");
        drop(SledStorage::open(&events).expect("made"));
        let journal = fixture(&format!("journal-{format}"));
        fs::write(events.join("journal"), journal).expect("written");
        let storage = SledStorage::open(&events).expect("opened");
        assert_expected(Arc::new(storage), "expected-4", "a journal");
    }
}
