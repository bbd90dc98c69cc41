//! The state at a given time is the same with and without snapshots, whatever the clock did and whatever
//! was restored.

use super::disk::Disk;
use super::script::{self, Commands};
use crate::{Base, Reader, Restore, Snapshots, Storage};
use hindsight_core::{Command, Revision, Time};
use serde_json::json;
use std::num::NonZeroU64;
use std::sync::Arc;

/// An event in a log, and the time of the clock then.
#[derive(Clone, Copy)]
enum Step {
    Write(i64),
    Restore(i64),
}

use Step::{Restore as R, Write as W};

const HISTORIES: &[&[Step]] = &[
    &[W(10), W(20), R(30), W(40), W(50)],
    // The clock was ahead at the restore, or behind.
    &[W(10), W(20), R(900), W(40), W(50), W(60)],
    &[W(40), W(50), R(10), W(60), W(70)],
    &[W(10), W(900), W(30), R(40), W(50)],
    // More than one restore.
    &[
        W(10),
        R(900),
        W(30),
        R(40),
        W(50),
        R(45),
        W(60),
        W(800),
        W(70),
    ],
    &[R(900), W(10), W(20)],
];

fn after(steps: &[Step]) -> Arc<Disk> {
    let mut disk = Arc::new(Disk::default());
    let mut commands = Commands::default();
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Restore(time) => disk = restored(disk, Time(*time)),
            Step::Write(time) => {
                let object = json!({"metadata": {"name": format!("n{number}")}});
                let made = commands.command(script::create("namespaces", "", object));
                let command = Command {
                    time: Time(*time),
                    ..made
                };
                let writer = script::open(&disk);
                script::submit(&writer, &disk, vec![command]).expect("written");
            }
        }
    }
    disk
}

pub(super) fn restored(disk: Arc<Disk>, time: Time) -> Arc<Disk> {
    let mut file = Vec::new();
    let made = Reader::new(disk).backup(Time(0), &mut file, |_, _| {});
    made.expect("made");
    let temporary = tempfile::tempdir().expect("a directory");
    let target = Arc::new(Disk::default());
    let storage = Arc::clone(&target) as Arc<dyn Storage>;
    let restore = Restore {
        storage: &storage,
        snapshots: &Snapshots::at(temporary.path().join("snapshots")),
        bump: NonZeroU64::MIN,
        time,
    };
    restore.run(&*file, |_| {}).expect("restored");
    target
}

/// The bases at all revisions where a frame ends.
fn bases(reader: &Reader) -> Vec<Base> {
    let mut base = Base::empty(script::empty());
    let frames = reader.verified_frames(base.tail()).expect("readable");
    let each = frames.map(|frame| {
        base.fold(&frame.expect("intact"));
        base.clone()
    });
    each.collect()
}

#[test]
fn every_time_shows_the_same_with_snapshots_and_without() {
    for (number, steps) in HISTORIES.iter().enumerate() {
        let slow = Reader::new(after(steps));
        let bases = bases(&slow);
        let temporary = tempfile::tempdir().expect("a directory");
        let all = Snapshots::at(temporary.path().join("all"));
        let mut sets = vec![all.clone()];
        for base in &bases {
            let alone = temporary.path().join(base.state.revision.to_string());
            let alone = Snapshots::at(alone);
            for snapshots in [&all, &alone] {
                snapshots.write(base).expect("written");
            }
            sets.push(alone);
        }
        let times = steps.iter().map(|step| match step {
            Step::Write(time) | Step::Restore(time) => *time,
        });
        for time in times.flat_map(|time| [time - 1, time, time + 1]).map(Time) {
            let at = |reader: &Reader| {
                let state = reader.state_at_time(script::empty(), time).expect("folded");
                (state.revision, state.hash())
            };
            let expected = at(&slow);
            for (set, snapshots) in sets.iter().enumerate() {
                let quick = slow.clone().with_snapshots(snapshots.clone());
                let what = format!("history {number}, snapshots {set}, at {time:?}");
                assert_eq!(at(&quick), expected, "{what}");
            }
        }
    }
}

#[test]
fn a_restore_is_no_hole_backwards() {
    for steps in HISTORIES {
        let reader = Reader::new(after(steps));
        let back = reader.scan_back(Revision::MAX);
        let mut back: Vec<_> = back.map(|one| one.expect("no hole")).collect();
        back.reverse();
        let forth = reader.scan(Revision(1));
        let forth: Vec<_> = forth.map(|one| one.expect("intact")).collect();
        assert_eq!(back, forth);
    }
}
