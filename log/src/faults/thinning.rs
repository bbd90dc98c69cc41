//! The cost of thinning a log is counted: it depends on how much became old, not on how much is kept.

use super::disk::Disk;
use super::script::{self, Silent};
use crate::frame::{self, Format};
use crate::poison::Poison;
use crate::retention::{TURN_BYTES, TURN_FRAMES, Thinner};
use crate::storage::{Counting, REPLACING_BYTES};
use crate::{
    Base, Clock, Keeping, Log, MemoryStorage, Reader, Records, Retention, Snapshots, Storage, Tail,
    Writer, thin, verify,
};
use hindsight_core::{Revision, Time};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A log that is written to, and its thinner.
struct Kept {
    storage: Arc<Counting>,
    snapshots: Snapshots,
    writer: Writer,
    commands: script::Commands,
    made: u64,
    _directory: tempfile::TempDir,
}

/// Objects that are changed all the time, and as many that are created and deleted.
const ROUND: u64 = 60;
/// Bytes of history that stay whole.
const WHOLE_BYTES: u64 = 40_000;

impl Kept {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let storage = Arc::new(Counting::default());
        let opened = Log::open(Arc::clone(&storage) as Arc<dyn Storage>, script::empty());
        let log = opened.expect("opened");
        let writer = log.start(Box::new(Silent)).expect("started");
        let mut kept = Self {
            storage,
            snapshots: Snapshots::at(directory.path().to_owned()),
            writer,
            commands: script::Commands::default(),
            made: 0,
            _directory: directory,
        };
        let namespace = json!({"metadata": {"name": "default"}});
        kept.write(script::create("namespaces", "", namespace));
        kept
    }

    fn write(&mut self, intent: hindsight_core::Intent) {
        let command = self.commands.command(intent);
        let disk = Arc::new(Disk::default());
        script::submit(&self.writer, &disk, vec![command]).expect("written");
    }

    /// Writes the same amount of history again, most of which is soon superseded.
    fn write_round(&mut self) {
        for index in 0..ROUND {
            self.made += 1;
            let map = |name: &str| {
                let data = script::noise(self.made, 300);
                script::create(
                    "configmaps",
                    "default",
                    json!({"metadata": {"name": name}, "data": {"k": data}}),
                )
            };
            let (passing, lasting) = (format!("p{}", self.made), format!("l{}", index % 20));
            let (passing_map, lasting_map) = (map(&passing), map(&lasting));
            self.write(passing_map);
            self.write(script::delete(&passing));
            let changed = json!({"data": {"k": script::noise(self.made, 300)}});
            self.write(if self.made <= 20 {
                lasting_map
            } else {
                script::patch(&lasting, changed)
            });
        }
    }

    fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.storage) as Arc<dyn Records>)
    }

    fn snapshot(&self) -> Base {
        let base = self.reader().base(script::empty()).expect("folded");
        self.snapshots.write(&base).expect("written");
        self.snapshots
            .retain(base.state.revision, &[base.state.revision])
            .expect("removed");
        base
    }

    fn thinner(&self) -> Thinner {
        self.thinner_of(Poison::default())
    }

    fn thinner_of(&self, poison: Poison) -> Thinner {
        let storage = Arc::clone(&self.storage) as Arc<dyn Storage>;
        let policy = Retention {
            age_micros: None,
            bytes: Some(WHOLE_BYTES),
            kinds: Vec::new(),
        };
        let keeping = Keeping {
            policy,
            clock: Clock::new(|| Time(0)),
            empty: script::empty(),
        };
        Thinner::new(storage, self.snapshots.clone(), keeping, poison)
    }
}

#[test]
fn a_round_costs_what_became_old_and_not_what_is_kept() {
    let mut kept = Kept::new();
    let storage = Arc::clone(&kept.storage);
    let mut thinner = kept.thinner();
    let mut rounds = Vec::new();
    for _ in 0..24 {
        kept.write_round();
        let base = kept.snapshot();
        storage.work();
        thinner.begin();
        while thinner.turn() {}
        rounds.push(storage.work());
        let folded = kept.reader().state_at(script::empty(), base.state.revision);
        assert_eq!(folded.expect("kept").hash(), base.state.hash());
        verify(&kept.reader(), |_| {}).expect("intact");
    }
    let thinned: usize = storage
        .between(Revision::ZERO, kept.reader().floor().expect("read"))
        .iter()
        .sum();
    let most = |rounds: &[(usize, usize)]| {
        let read = rounds.iter().map(|round| round.0).max();
        let written = rounds.iter().map(|round| round.1).max();
        (read.expect("some"), written.expect("some"))
    };
    let (early, late) = (most(&rounds[2..8]), most(&rounds[18..]));
    println!(
        "{thinned} bytes are kept thinned; read and written in a round: {early:?}, then {late:?}"
    );
    assert!(
        late.0 <= early.0 * 5 / 4 && late.1 <= early.1 * 5 / 4,
        "{rounds:?}"
    );
    assert!(late.0 + late.1 < thinned, "{late:?} of {thinned}");
    assert!(late.1 > 0, "nothing was thinned");
}

/// Others write between the turns, and wait for one turn at most.
#[test]
fn a_round_comes_in_pieces_however_much_became_old() {
    let mut kept = Kept::new();
    (0..20).for_each(|_| kept.write_round());
    let base = kept.snapshot();
    let all = kept.storage.between(Revision::ZERO, Revision::MAX);
    let mut thinner = kept.thinner();
    kept.storage.work();
    thinner.begin();
    let (mut turns, mut most) = (0, 0);
    while thinner.turn() {
        turns += 1;
        let (read, written) = kept.storage.work();
        most = most.max(read + written);
    }
    println!(
        "{} bytes in {} frames: {turns} pieces of {most} at most",
        all.iter().sum::<usize>(),
        all.len()
    );
    assert!(most < 2 * TURN_BYTES && most < all.iter().sum(), "{most}");
    assert!(turns > all.len() / TURN_FRAMES, "{turns}");
    for (frames, bytes) in kept.storage.take_replaced() {
        assert!(frames <= 64 && bytes <= 256 << 10, "{frames} {bytes}");
    }
    let whole: usize = kept
        .storage
        .between(kept.reader().floor().expect("read").next(), Revision::MAX)
        .iter()
        .sum();
    assert!(whole as u64 <= WHOLE_BYTES, "{whole}");
    let folded = kept.reader().state_at(script::empty(), base.state.revision);
    assert_eq!(folded.expect("kept").hash(), base.state.hash());
}

/// What is known about a log is derived from its frames again.
#[test]
fn a_restart_between_any_two_pieces_goes_on_where_it_was() {
    let mut kept = Kept::new();
    let mut floors = BTreeSet::new();
    for round in 0..30 {
        kept.write_round();
        let base = kept.snapshot();
        let mut thinner = kept.thinner();
        thinner.begin();
        for _ in 0..round {
            thinner.turn();
        }
        drop(thinner);
        floors.insert(kept.reader().floor().expect("read"));
        let folded = kept.reader().state_at(script::empty(), base.state.revision);
        assert_eq!(folded.expect("kept").hash(), base.state.hash());
    }
    assert!(floors.len() > 5, "{floors:?}");
    verify(&kept.reader(), |_| {}).expect("intact");
}

#[test]
fn a_log_that_failed_is_thinned_no_further() {
    let mut kept = Kept::new();
    (0..20).for_each(|_| kept.write_round());
    kept.snapshot();
    let poison = Poison::default();
    let mut thinner = kept.thinner_of(poison.clone());
    thinner.begin();
    while kept.storage.take_replaced().is_empty() {
        assert!(thinner.turn(), "there is something to be thinned");
    }
    poison.set("a sync failed".into());
    thinner.begin();
    assert!(!thinner.turn());
    assert!(kept.storage.take_replaced().is_empty());
}

#[test]
fn what_keeps_nothing_becomes_one_frame_however_large_the_versions_between_were() {
    let mut kept = Kept::new();
    let data = |number| json!({"data": {"k": script::noise(number, 50_000)}});
    let mut document = data(0);
    document["metadata"] = json!({"name": "large"});
    kept.write(script::create("configmaps", "default", document));
    let mut thinner = kept.thinner();
    for number in 1..=300 {
        kept.write(script::patch("large", data(number)));
        if number % 10 == 0 {
            kept.snapshot();
            thinner.begin();
            while thinner.turn() {}
        }
    }
    let floor = kept.reader().floor().expect("read");
    assert!(floor > Revision(200), "{floor}");
    let thinned = kept.storage.between(Revision::ZERO, floor);
    assert!(thinned.len() <= 6, "{thinned:?}");
    verify(&kept.reader(), |_| {}).expect("intact");
}

#[test]
fn a_log_that_begins_with_a_large_version_knows_what_is_gone_behind_it() {
    let disk = Arc::new(Disk::default());
    let writer = script::open(&disk);
    let mut commands = script::Commands::default();
    let mut write = |intent| {
        let command = commands.command(intent);
        script::submit(&writer, &disk, vec![command]).expect("written")
    };
    // Too large for a frame that replaces others.
    let large = json!({"k": script::noise(7, 100 << 10)});
    let namespace = json!({"metadata": {"name": "default", "annotations": large}});
    write(script::create("namespaces", "", namespace));
    let named = json!({"metadata": {"name": "a"}});
    write(script::create("configmaps", "default", named));
    let mut change = |count: u64| {
        let changes =
            (0..count).map(|index| script::patch("a", json!({"data": {"k": index.to_string()}})));
        changes.map(&mut write).last().expect("one")
    };
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    for _ in 0..2 {
        let floor = change(20);
        change(3);
        let whole = reader.state_at(script::empty(), floor).expect("folded");
        thin(&*disk, &reader, floor, script::empty(), &[]).expect("thinned");
        assert!(
            disk.frames()
                .first()
                .is_some_and(|one| one.1.len() > 64 << 10)
        );
        assert_eq!(reader.floor().expect("read"), floor);
        let state = reader.state_at(script::empty(), floor).expect("folded");
        assert_eq!(state.hash(), whole.hash());
        verify(&reader, |_| {}).expect("intact");
    }
}

impl Kept {
    fn thin_all(&self) -> Revision {
        let floor = self.reader().newest().expect("read");
        thin(&*self.storage, &self.reader(), floor, script::empty(), &[]).expect("thinned");
        floor
    }

    fn create(&mut self, name: &str, bytes: usize) {
        self.made += 1;
        let data = json!({"k": script::noise(self.made, bytes)});
        let map = json!({"metadata": {"name": name}, "data": data});
        self.write(script::create("configmaps", "default", map));
    }

    fn patch(&mut self, name: &str, document: serde_json::Value) {
        self.write(script::patch(name, document));
    }

    fn kept_until(&self, floor: Revision) -> usize {
        let reader = self.reader();
        let frames = reader.verified_frames(Tail::START).expect("readable");
        let commits = frames.flat_map(|frame| frame.expect("intact").commits);
        let until = commits.take_while(|commit| commit.revision <= floor);
        until.count()
    }
}

/// A small object whose commit repeats a long owner that it lost is a large record all the same.
#[test]
fn one_large_frame_keeps_no_others_as_they_are() {
    const SMALL: usize = 10;
    let mut kept = Kept::new();
    let owner = json!({"apiVersion": "example.com/v1", "kind": "None", "uid": "u",
        "name": script::noise(0, 100 << 10)});
    let pairs = |kept: &mut Kept, letter: &str| {
        for index in 0..SMALL {
            let name = format!("{letter}{index}");
            kept.create(&name, 10);
            kept.patch(&name, json!({"data": null}));
        }
    };
    pairs(&mut kept, "a");
    kept.create("large", 10);
    kept.patch("large", json!({"metadata": {"ownerReferences": [owner]}}));
    kept.patch("large", json!({"metadata": {"ownerReferences": null}}));
    pairs(&mut kept, "b");
    let floor = kept.thin_all();
    // The namespace and the newest version of each; the first frame stays small, for it states the floor.
    let needed = 1 + 2 * SMALL + 1;
    assert!(kept.kept_until(floor) <= needed + 1);
    let frames = kept.storage.between(Revision::ZERO, floor).len();
    assert!(frames <= 5, "{frames}");
}

/// What a frame still holds is known only as an average, until it is read.
#[test]
fn neighbours_that_are_larger_than_they_seemed_are_rewritten_too() {
    const GROUPS: usize = 8;
    const SMALL: usize = 20;
    let mut kept = Kept::new();
    let names = |group: usize| (0..SMALL).map(move |index| format!("s{group}-{index}"));
    for group in 0..GROUPS {
        kept.create(&format!("l{group}"), 28 << 10);
        for name in names(group) {
            kept.create(&name, 10);
        }
    }
    let floor = kept.thin_all();
    for name in (0..GROUPS).flat_map(names) {
        kept.patch(&name, json!({"data": null}));
    }
    kept.thin_all();
    let needed = 1 + GROUPS;
    assert_eq!(kept.kept_until(floor), needed);
}

/// The engine keeps long values in files of their own, which it never syncs, and what replaces records is not cut.
#[test]
fn records_that_only_a_long_one_could_replace_are_left_whole() {
    let mut found = BTreeSet::new();
    for bytes in [30_000, 60_000, 64_000, 68_000, 900_000] {
        let storage = Arc::new(MemoryStorage::default()) as Arc<dyn Storage>;
        let log = Log::open(Arc::clone(&storage), script::empty()).expect("opened");
        let writer = log.start(Box::new(Silent)).expect("started");
        let mut commands = script::Commands::default();
        let map = |name: &str, bytes| {
            let data = script::noise(1, bytes);
            let object = json!({"metadata": {"name": name}, "data": {"k": data}});
            script::create("configmaps", "default", object)
        };
        let namespace = json!({"metadata": {"name": "default"}});
        for intent in [
            script::create("namespaces", "", namespace),
            map("long", bytes),
            map("short", 10),
            script::delete("short"),
        ] {
            let command = commands.command(intent);
            script::submit(&writer, &Arc::default(), vec![command]).expect("written");
        }
        drop(writer);
        let reader = Reader::new(Arc::clone(&storage) as _);
        let newest = reader.newest().expect("read");
        thin(&*storage, &reader, newest, script::empty(), &[]).expect("thinned");
        let mut from = Revision(1);
        while let Some((first, frame)) = storage.at_or_after(from).expect("read") {
            let is_thinned = frame::payload(&frame).0 == Some(Format::Placeholder);
            assert!(
                !is_thinned || frame.len() < REPLACING_BYTES,
                "{bytes}: {}",
                frame.len()
            );
            found.insert((is_thinned, frame.len() > 30_000));
            from = frame::end(first, &frame).expect("a frame");
        }
        verify(&reader, |_| {}).expect("intact");
    }
    assert!(
        found.contains(&(true, true)) && found.contains(&(false, true)),
        "{found:?}"
    );
}
