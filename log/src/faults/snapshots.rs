//! Snapshots of the log of the script: read back, damaged, and used as a base.

use super::disk::{AHEAD_BYTES, Disk};
use super::script::{self, Silent};
use crate::{Base, Clock, Error, Keeping, Log, Reader, Retention, Snapshots, Storage};
use hindsight_core::{Command, Revision, Time};
use serde_json::json;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

fn logged() -> Arc<Disk> {
    let disk = Arc::new(Disk::default());
    assert!(script::run(&disk).is_empty());
    disk
}

/// The end of the log, as a base.
fn end(disk: &Arc<Disk>) -> Base {
    let storage: Arc<dyn Storage> = Arc::<Disk>::clone(disk);
    let reader = Reader::new(Arc::clone(&storage) as _);
    let mut base = Base::empty(script::empty());
    for frame in reader.verified_frames(base.tail()).expect("readable") {
        base.fold(&frame.expect("intact"));
    }
    base
}

/// The bases of the log, one every `every` frames.
fn bases(disk: &Arc<Disk>, every: usize) -> Vec<Base> {
    let reader = Reader::new(Arc::<Disk>::clone(disk));
    let mut base = Base::empty(script::empty());
    let mut bases = Vec::new();
    for (number, frame) in reader
        .verified_frames(base.tail())
        .expect("readable")
        .enumerate()
    {
        base.fold(&frame.expect("intact"));
        if number % every == 0 {
            bases.push(base.clone());
        }
    }
    bases
}

fn directory() -> (tempfile::TempDir, Snapshots) {
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().join("snapshots"));
    (directory, snapshots)
}

#[test]
fn a_log_that_is_begun_from_any_snapshot_comes_to_the_same_state() {
    let disk = logged();
    let end = end(&disk);
    for base in bases(&disk, 40) {
        let (_directory, snapshots) = directory();
        snapshots.write(&base).expect("written");
        let read = snapshots.newest(&script::empty()).expect("there");
        assert_eq!(read.state.hash(), base.state.hash());
        assert_eq!((read.tail(), read.latest), (base.tail(), base.latest));
        let log = Log::open_from(Arc::<Disk>::clone(&disk), read).expect("opened");
        assert_eq!(log.state().hash(), end.state.hash());
        assert_eq!(log.end.tail(), end.tail());
    }
}

#[test]
fn the_past_is_folded_from_the_newest_snapshot_before_it() {
    let disk = logged();
    let (_directory, snapshots) = directory();
    let bases = bases(&disk, 60);
    for base in &bases {
        snapshots.write(base).expect("written");
    }
    let reader = Reader::new(Arc::<Disk>::clone(&disk));
    let quick = reader.clone().with_snapshots(snapshots.clone());
    for base in &bases {
        let revision = base.state.revision;
        for at in [revision.previous(), revision, revision.next()] {
            let slow = reader.state_at(script::empty(), at).expect("folded");
            let fast = quick.state_at(script::empty(), at).expect("folded");
            assert_eq!((fast.revision, fast.hash()), (slow.revision, slow.hash()));
        }
    }
    let newest = reader.newest().expect("read");
    for reader in [&reader, &quick] {
        let future = reader.state_at(script::empty(), newest.next());
        assert!(matches!(future, Err(Error::Future(_))), "{future:?}");
        let now = reader.newest_state(script::empty()).expect("folded");
        assert_eq!(now.revision, newest);
    }
    let found =
        snapshots.newest_until(&*disk, bases[1].state.revision.previous(), &script::empty());
    assert_eq!(found.map(|base| base.tail()), Some(bases[0].tail()));
}

fn only_file(directory: &tempfile::TempDir) -> PathBuf {
    let files = std::fs::read_dir(directory.path().join("snapshots")).expect("a directory");
    let mut files = files.map(|file| file.expect("readable").path());
    let found = files.next().expect("one");
    assert_eq!(files.next(), None);
    found
}

#[test]
fn every_damaged_byte_and_every_cut_is_noticed_and_the_snapshot_set_aside() {
    let disk = logged();
    let (directory, snapshots) = directory();
    let base = bases(&disk, 30).swap_remove(1);
    snapshots.write(&base).expect("written");
    let path = only_file(&directory);
    let whole = std::fs::read(&path).expect("read");
    let revision = base.state.revision;
    // Each file is read and hashed whole, so a stride keeps this short.
    for place in (0..whole.len()).step_by(whole.len() / 500 + 1) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        std::fs::write(&path, &damaged).expect("written");
        assert!(
            snapshots.read(revision, &script::empty()).is_err(),
            "{place}"
        );
        std::fs::write(&path, &whole[..place]).expect("written");
        assert!(
            snapshots.read(revision, &script::empty()).is_err(),
            "{place}"
        );
    }
    let longer = [&whole[..], &[0; 9]].concat();
    std::fs::write(&path, longer).expect("written");
    assert!(snapshots.newest(&script::empty()).is_none());
    assert_eq!(snapshots.revisions().expect("listed"), []);
    assert!(path.with_extension("damaged").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_snapshot_that_the_system_does_not_read_is_left_as_it_is() {
    let (directory, snapshots) = directory();
    let path = directory
        .path()
        .join("snapshots/00000000000000000007.snapshot");
    std::fs::create_dir_all(directory.path().join("snapshots")).expect("made");
    // It opens, but reading it is refused.
    std::os::unix::fs::symlink("/proc/self/mem", &path).expect("made");
    assert!(snapshots.newest(&script::empty()).is_none());
    assert_eq!(snapshots.revisions().expect("listed"), [Revision(7)]);
}

#[test]
fn what_is_left_of_unfinished_and_damaged_snapshots_goes() {
    let disk = logged();
    let (directory, snapshots) = directory();
    let named = |name: &str| directory.path().join("snapshots").join(name);
    let bases = bases(&disk, 30);
    snapshots.write(&bases[1]).expect("written");
    let newest = bases[1].state.revision;
    let left = [
        ("00000000000000000001.unfinished", false),
        ("00000000000000000001.damaged", false),
        ("00000000009999999999.damaged", true),
        ("notes.txt", true),
    ];
    for (name, _) in left {
        std::fs::write(named(name), "").expect("written");
    }
    let storage = Arc::clone(&disk) as Arc<dyn Storage>;
    let mut log = Log::open(storage, script::empty()).expect("opened");
    log.keep_snapshots(snapshots.clone(), None, None)
        .expect("kept");
    snapshots.retain(newest, &[newest]).expect("removed");
    for (name, stays) in left {
        assert_eq!(named(name).exists(), stays, "{name}");
    }
    assert_eq!(snapshots.revisions().expect("listed"), [newest]);
}

#[test]
fn a_log_that_ends_before_a_snapshot_or_has_another_past_is_refused() {
    let disk = logged();
    let all = disk.frames();
    let bases = bases(&disk, 60);
    let older = Arc::new(Disk::holding(all.iter().take(100).cloned(), None));
    let base = bases.last().expect("some").clone();
    let error = Log::open_from(older, base.clone()).expect_err("refused");
    let wanted = base.state.revision;
    assert!(
        matches!(error, Error::Lost { acknowledged, .. } if acknowledged == wanted),
        "{error}"
    );
    let mut other = base;
    other.hash[0] ^= 1;
    let error = Log::open_from(disk, other).expect_err("refused");
    assert!(
        matches!(error, Error::OtherSnapshot { revision } if revision == wanted),
        "{error}"
    );
}

#[test]
fn a_question_is_refused_where_the_newest_snapshot_is_not_of_the_log() {
    let disk = logged();
    let all = disk.frames();
    let older: Arc<dyn Storage> = Arc::new(Disk::holding(all.into_iter().take(100), None));
    let (_directory, snapshots) = directory();
    let checked = |storage: &Arc<dyn Storage>| {
        let reader = Reader::new(Arc::clone(storage) as _);
        reader.with_snapshots(snapshots.clone()).check_end()
    };
    checked(&older).expect("nothing is known of what came after");
    let bases = bases(&disk, 60);
    let (first, last) = (&bases[1], bases.last().expect("some"));
    snapshots.write(first).expect("written");
    checked(&older).expect("it goes further than the snapshot");
    snapshots.write(last).expect("written");
    let wanted = last.state.revision;
    let error = checked(&older).expect_err("refused");
    assert!(
        matches!(error, Error::Lost { acknowledged, .. } if acknowledged == wanted),
        "{error}"
    );
    let whole: Arc<dyn Storage> = Arc::<Disk>::clone(&disk);
    checked(&whole).expect("it is all there");
    let path = snapshots.path(wanted);
    let bytes = std::fs::read(&path).expect("read");
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("cut");
    checked(&older).expect("a start would set it aside");
    let mut other = last.clone();
    other.hash[0] ^= 1;
    snapshots.write(&other).expect("written");
    let error = checked(&whole).expect_err("refused");
    assert!(
        matches!(error, Error::OtherSnapshot { revision } if revision == wanted),
        "{error}"
    );
}

#[test]
fn the_writer_has_snapshots_written_beside_it_and_at_its_end_and_keeps_two() {
    let (_directory, snapshots) = directory();
    let disk = Arc::new(Disk::default());
    let mut ends = Vec::new();
    let mut commands = script::Commands::default();
    for round in 0..4 {
        let base = snapshots.newest(&script::empty());
        assert_eq!(base.is_some(), round > 0);
        let base = base.unwrap_or_else(|| Base::empty(script::empty()));
        let storage: Arc<dyn Storage> = Arc::<Disk>::clone(&disk);
        let mut log = Log::open_from(storage, base).expect("opened");
        log.keep_snapshots(snapshots.clone(), NonZeroU64::new(50), None)
            .expect("started");
        let writer = log.start(Box::new(Silent)).expect("started");
        for _ in 0..40 {
            script::submit(&writer, &disk, commands.submission()).expect("written");
        }
        drop(writer);
        ends.push(end(&disk).state.revision);
        let found = snapshots.revisions().expect("listed");
        assert_eq!(found.first(), ends.last(), "a clean end leaves one");
        assert_eq!(found.len(), if round > 0 { 2 } else { found.len() });
    }
    let read = snapshots.newest(&script::empty()).expect("there");
    assert_eq!(read.state.hash(), end(&disk).state.hash());
}

#[test]
fn a_writer_that_has_written_too_little_for_a_snapshot_ends_without_one() {
    let (_directory, snapshots) = directory();
    let disk = Arc::new(Disk::default());
    let storage: Arc<dyn Storage> = Arc::<Disk>::clone(&disk);
    let mut log = Log::open(storage, script::empty()).expect("opened");
    log.keep_snapshots(snapshots.clone(), NonZeroU64::new(1000), None)
        .expect("started");
    let writer = log.start(Box::new(Silent)).expect("started");
    let mut commands = script::Commands::default();
    script::submit(&writer, &disk, commands.submission()).expect("written");
    drop(writer);
    assert_eq!(snapshots.revisions().expect("listed"), []);
}

/// A policy by which nothing is ever old.
fn keeps_all() -> Keeping {
    Keeping {
        policy: Retention {
            age_micros: None,
            bytes: None,
            kinds: Vec::new(),
        },
        clock: Clock::new(|| Time(0)),
        empty: script::empty(),
    }
}

/// Opens the log, writes these one by one, and ends. Returns the snapshots that are there then.
fn life(
    disk: &Arc<Disk>,
    snapshots: &Snapshots,
    thins: bool,
    commands: Vec<Command>,
) -> Vec<Revision> {
    let storage = Arc::clone(disk) as Arc<dyn Storage>;
    let base = snapshots.newest(&script::empty());
    let base = base.unwrap_or_else(|| Base::empty(script::empty()));
    let mut log = Log::open_from(storage, base).expect("opened");
    let retention = thins.then(keeps_all);
    log.keep_snapshots(snapshots.clone(), NonZeroU64::new(1), retention)
        .expect("started");
    let writer = log.start(Box::new(Silent)).expect("started");
    for command in commands {
        script::submit(&writer, disk, vec![command]).expect("written");
    }
    drop(writer);
    snapshots.revisions().expect("listed")
}

#[test]
fn where_there_is_little_room_no_snapshot_is_begun_and_those_there_are_stay() {
    let mut commands = script::Commands::default();
    let namespace = script::create("namespaces", "", json!({"metadata": {"name": "default"}}));
    let namespace = commands.command(namespace);
    let mut map = |name: &str, bytes| {
        let object = json!({"metadata": {"name": name}, "data": {"k": script::noise(7, bytes)}});
        commands.command(script::create("configmaps", "default", object))
    };
    // If the log is thinned up to the snapshot, there will be more space afterwards.
    for (thins, left, is_written) in [
        (false, AHEAD_BYTES / 2, false),
        (false, 2 * AHEAD_BYTES, true),
        (true, AHEAD_BYTES / 2, true),
    ] {
        let (_directory, snapshots) = directory();
        let disk = Arc::new(Disk::default());
        let large = (0..10).map(|index| map(&format!("c{index}"), 20 << 10));
        let all = [namespace.clone()].into_iter().chain(large).collect();
        let before = life(&disk, &snapshots, thins, all);
        let length = Snapshots::approximate_bytes(&end(&disk).state);
        disk.set_space(disk.used() + length + left);
        let after = life(&disk, &snapshots, thins, vec![map("a", 1), map("b", 1)]);
        assert_eq!(after != before, is_written, "{thins} {left}");
        disk.set_space(disk.used() + length + 2 * AHEAD_BYTES);
        let again = life(&disk, &snapshots, thins, vec![map("c", 1), map("d", 1)]);
        assert_eq!(
            again.first(),
            Some(&end(&disk).state.revision),
            "{thins} {left}"
        );
        let newest = snapshots.newest(&script::empty()).expect("there");
        assert_eq!(newest.state.hash(), end(&disk).state.hash());
    }
}

#[test]
fn a_snapshot_is_about_as_long_as_was_asked_for() {
    let disk = logged();
    for base in bases(&disk, 40).iter().skip(1) {
        let (directory, snapshots) = directory();
        snapshots.write(base).expect("written");
        let file = std::fs::metadata(only_file(&directory)).expect("there");
        let (asked, length) = (Snapshots::approximate_bytes(&base.state), file.len());
        let length = usize::try_from(length).expect("short");
        assert!(
            length <= asked + 1024 && asked <= 2 * length,
            "{asked} {length}"
        );
    }
}
