//! A full disk: what is refused, what continues, and that the log recovers by itself.

use super::disk::{Disk, Faults, Step};
use super::retention::{ends, logged};
use super::script::{Commands, Silent, create, delete, empty, noise, open, patch, submit};
use crate::retention::{thin, tidy};
use crate::{Error, Log, Reader, Records, Stages, Storage, Writer};
use hindsight_core::{Intent, Revision, Submitted, Unavailable};
use serde_json::json;
use std::io::ErrorKind;
use std::sync::{Arc, mpsc};

const SPACE: usize = 100 << 10;
/// Enough for whatever is written there.
const PLENTY: usize = 64 << 20;

fn map(index: u64) -> Intent {
    let object =
        json!({"metadata": {"name": format!("c{index}")}, "data": {"k": noise(index, 4096)}});
    create("configmaps", "default", object)
}

#[test]
fn on_a_full_disk_deletions_go_on_and_writes_do_when_there_is_room_again() {
    let disk = Arc::new(Disk::default());
    disk.set_space(SPACE);
    let writer = open(&disk);
    let mut commands = Commands::default();
    let mut write = |intents: Vec<Intent>| {
        let made = intents.into_iter().map(|intent| commands.command(intent));
        submit(&writer, &disk, made.collect())
    };
    let namespace = json!({"metadata": {"name": "default"}});
    write(vec![create("namespaces", "", namespace)]).expect("written");
    let attempts: Vec<_> = (0..40).map(|index| write(vec![map(index)])).collect();
    let written = attempts.iter().filter(|attempt| attempt.is_ok()).count();
    assert!((10..30).contains(&written), "{written}");
    // Batches in flight are counted too, so a little space may have been left after the first refusal.
    assert!(
        attempts[30..]
            .iter()
            .all(|attempt| *attempt == Err(Unavailable::Full))
    );
    let told = Unavailable::Full.to_string();
    assert!(told.contains("deleting objects frees none"), "{told}");
    let appends = disk.appends();
    let change = patch("c0", json!({"data": null}));
    for intents in [vec![map(0)], vec![change], vec![delete("c0"), map(99)]] {
        assert_eq!(write(intents), Err(Unavailable::Full));
    }
    assert_eq!(disk.appends(), appends, "a refusal reaches the disk");
    let first = write(vec![delete("c1")]).expect("a deletion goes on");
    write(vec![delete("c2"), delete("c3")]).expect("and several do");
    disk.set_space(0);
    assert_eq!(write(vec![delete("c4")]), Err(Unavailable::Full));
    disk.set_space(2 * SPACE);
    let last = write(vec![map(39), map(1)]).expect("writes go on by themselves");
    drop(writer);
    let is_failure = |step: &Step| matches!(step, Step::FailedSync);
    assert!(!disk.steps().iter().any(is_failure));
    let log = Log::open(Arc::clone(&disk) as Arc<dyn Storage>, empty()).expect("opened");
    let state = log.state();
    assert!(state.revision == last && last > first);
}

/// A log that decides the waiting submissions only when it is told to: as one batch, or on a full disk each by itself.
struct ByBatch {
    writer: Writer,
    stages: Stages,
    commands: Commands,
}

impl ByBatch {
    fn open(disk: &Arc<Disk>) -> Self {
        let storage = Arc::clone(disk) as Arc<dyn Storage>;
        let log = Log::open(storage, empty()).expect("opened");
        let (writer, stages) = log.by_stages(Box::new(Silent));
        Self {
            writer,
            stages,
            commands: Commands::default(),
        }
    }

    /// Submits each of these on its own; returns whether it was carried out.
    fn batch(&mut self, submissions: Vec<Vec<Intent>>) -> Vec<Result<Vec<bool>, Unavailable>> {
        let submit = |intents: Vec<Intent>| {
            let made = intents.into_iter().map(|one| self.commands.command(one));
            let (sender, answer) = mpsc::channel();
            let reply = move |outcome: Submitted| sender.send(outcome).expect("somebody waits");
            self.writer.submit(made.collect(), Box::new(reply));
            answer
        };
        let waiting: Vec<_> = submissions.into_iter().map(submit).collect();
        assert!(self.stages.decide() && self.stages.sync());
        while self.stages.decide() {
            assert!(self.stages.sync());
        }
        let answers = waiting.iter().map(|one| one.recv().expect("an answer"));
        let done = |one: Submitted| one.map(|one| one.iter().map(Result::is_ok).collect());
        answers.map(done).collect()
    }
}

/// The first write that finds no space, and one that comes when that is known already.
#[test]
fn a_write_that_finds_no_room_takes_no_deletion_with_it() {
    let disk = Arc::new(Disk::default());
    let mut log = ByBatch::open(&disk);
    let namespace = create("namespaces", "", json!({"metadata": {"name": "default"}}));
    let written = log.batch(vec![vec![namespace], (0..8).map(map).collect()]);
    assert_eq!(written, [Ok(vec![true]), Ok(vec![true; 8])]);
    let used: usize = disk.frames().iter().map(|(_, frame)| frame.len()).sum();
    disk.set_space(used + (32 << 10));
    let full = || Err(Unavailable::Full);
    for first in [0, 4] {
        let name = |number: u64| format!("c{}", first + number);
        let found = log.batch(vec![
            vec![delete(&name(0))],
            (20..26).map(map).collect(),
            // The object to be deleted was to be written in the same batch.
            vec![delete(&name(1)), delete("c20")],
            vec![patch(&name(2), json!({"data": null}))],
            vec![delete(&name(2))],
        ]);
        let deleted = || Ok(vec![true]);
        let expected = [deleted(), full(), Ok(vec![true, false]), full(), deleted()];
        assert_eq!(found, expected);
    }
    disk.set_space(4 * used);
    assert_eq!(log.batch(vec![vec![map(20)]]), [Ok(vec![true])]);
    drop(log);
    let log = Log::open(Arc::clone(&disk) as Arc<dyn Storage>, empty()).expect("opened");
    let state = log.state();
    let left = state
        .objects()
        .filter(|one| &*one.key.resource.resource == "configmaps");
    let left: Vec<&str> = left.map(|one| &*one.key.name).collect();
    assert_eq!(left, ["c20", "c3", "c7"]);
}

/// Large writes that come together are refused together; smaller ones that fit are written afterwards.
#[test]
fn a_burst_that_finds_no_room_stops_no_smaller_write() {
    let disk = Arc::new(Disk::default());
    let mut log = ByBatch::open(&disk);
    let namespace = create("namespaces", "", json!({"metadata": {"name": "default"}}));
    assert_eq!(log.batch(vec![vec![namespace]]), [Ok(vec![true])]);
    let used: usize = disk.frames().iter().map(|(_, frame)| frame.len()).sum();
    disk.set_space(used + (24 << 10));
    let burst: Vec<Vec<Intent>> = (0..8).map(|index| vec![map(index)]).collect();
    let full = || Err(Unavailable::Full);
    assert_eq!(log.batch(burst), [(); 8].map(|()| full()));
    for index in 0..2 {
        assert_eq!(log.batch(vec![vec![map(index)]]), [Ok(vec![true])]);
    }
}

/// A log of so many small objects, on a disk that has space for few deletions.
fn almost_full(objects: u64) -> (Arc<Disk>, ByBatch) {
    let disk = Arc::new(Disk::default());
    let mut log = ByBatch::open(&disk);
    let namespace = create("namespaces", "", json!({"metadata": {"name": "default"}}));
    let small = |number: u64| {
        let object = json!({"metadata": {"name": format!("c{number}")}});
        create("configmaps", "default", object)
    };
    let written = log.batch(vec![vec![namespace], (0..objects).map(small).collect()]);
    assert!(written.iter().all(Result::is_ok));
    let used: usize = disk.frames().iter().map(|(_, frame)| frame.len()).sum();
    disk.set_space(used + (48 << 10));
    (disk, log)
}

/// Deletions for which there is no space are refused alone.
#[test]
fn on_a_full_disk_a_deletion_that_finds_no_room_takes_no_other_with_it() {
    const MANY: u64 = 300;
    let (_disk, mut log) = almost_full(MANY + 20);
    assert_eq!(
        log.batch(vec![(1000..1020).map(map).collect()]),
        [Err(Unavailable::Full)]
    );
    let many = (0..MANY)
        .map(|number| delete(&format!("c{number}")))
        .collect();
    let one = vec![delete(&format!("c{}", MANY + 10))];
    let found = log.batch(vec![one, many, vec![delete(&format!("c{}", MANY + 11))]]);
    assert_eq!(
        found,
        [Ok(vec![true]), Err(Unavailable::Full), Ok(vec![true])]
    );
}

/// The same when it is not known yet that the disk is full: whatever comes together is decided together then, and was
/// refused together.
#[test]
fn a_deletion_that_finds_no_room_first_takes_no_other_with_it() {
    const MANY: u64 = 300;
    let (deleted, full) = (|| Ok(vec![true]), || Err(Unavailable::Full));
    let one = |number: u64| vec![delete(&format!("c{}", MANY + number))];
    let many = || {
        (0..MANY)
            .map(|number| delete(&format!("c{number}")))
            .collect()
    };
    for (submissions, expected) in [
        (
            vec![one(0), many(), one(1)],
            vec![deleted(), full(), deleted()],
        ),
        (
            vec![many(), one(0), one(1)],
            vec![full(), deleted(), deleted()],
        ),
        (
            vec![vec![map(1000)], one(0), many(), one(1)],
            vec![full(), deleted(), full(), deleted()],
        ),
        (
            vec![one(0), vec![map(1000)], many(), one(1)],
            vec![deleted(), full(), full(), deleted()],
        ),
        (vec![many()], vec![full()]),
    ] {
        let (disk, mut log) = almost_full(MANY + 20);
        assert_eq!(log.batch(submissions), expected);
        disk.set_space(4 << 20);
        let known = log.batch(vec![vec![map(1000)], one(2)]);
        assert_eq!(known, [deleted(), deleted()]);
        drop(log);
        let log = Log::open(Arc::clone(&disk) as Arc<dyn Storage>, empty()).expect("opened");
        let objects = usize::try_from(MANY + 20).expect("few") + 2;
        let gone = expected.iter().filter(|one| **one == deleted()).count() + 1;
        assert_eq!(log.state().len(), objects - gone);
    }
}

#[test]
fn where_not_even_deletions_find_room_nothing_is_written() {
    let disk = Arc::new(Disk::default());
    let mut log = ByBatch::open(&disk);
    let namespace = create("namespaces", "", json!({"metadata": {"name": "default"}}));
    log.batch(vec![vec![namespace, map(0)]])[0]
        .clone()
        .expect("written");
    disk.set_space(0);
    let appends = disk.appends();
    for submissions in [
        vec![vec![delete("c0")]],
        vec![vec![delete("c0")], vec![map(1)]],
    ] {
        let answers = log.batch(submissions);
        assert!(
            answers.iter().all(|one| *one == Err(Unavailable::Full)),
            "{answers:?}"
        );
    }
    assert_eq!(disk.appends(), appends);
    disk.set_space(1 << 20);
    let found = log.batch(vec![vec![delete("c0"), map(1)]]);
    assert_eq!(found, [Ok(vec![true, true])]);
}

/// To move what is left of a part of the database takes space, until that part is free.
#[test]
fn on_a_full_disk_thinning_moves_nothing() {
    let disk = Disk::default();
    disk.set_owed(3);
    for (space, left) in [(0, 3), (2 << 20, 0)] {
        disk.set_space(space);
        assert!(!tidy(&disk).expect("no fault"));
        assert_eq!(disk.owed(), left, "{space}");
    }
}

fn thin_to(disk: &Arc<Disk>, floor: Revision) -> Result<(), Error> {
    let reader = Reader::new(Arc::clone(disk) as Arc<dyn Records>);
    thin(&**disk, &reader, floor, empty(), &[])
}

#[test]
fn on_a_full_disk_nothing_is_thinned_until_there_is_room() {
    let disk = logged();
    let floor = ends(&disk)[150];
    let stated = || Reader::new(Arc::clone(&disk) as Arc<dyn Records>).floor();
    disk.set_space(0);
    thin_to(&disk, floor).expect("put off");
    assert_eq!(disk.replacements(), 0);
    assert_eq!(stated().expect("read"), Revision::ZERO);
    disk.set_space(PLENTY);
    thin_to(&disk, floor).expect("thinned");
    assert_eq!(stated().expect("read"), floor);
}

/// Frames that were thinned are written once more when little of them is still needed.
#[test]
fn on_a_full_disk_nothing_that_was_thinned_is_written_again() {
    let whole = logged();
    let (earlier, floor) = (ends(&whole)[100], ends(&whole)[250]);
    thin_to(&whole, earlier).expect("thinned");
    let counted = Arc::new(Disk::holding(whole.frames(), None));
    thin_to(&counted, floor).expect("thinned");
    // All but the last one, which is due.
    let faults = Faults {
        replace: Some((counted.replacements() - 1, ErrorKind::Other)),
        ..Faults::default()
    };
    let failing = Arc::new(Disk::holding(whole.frames(), None).with(faults));
    thin_to(&failing, floor).expect_err("the last one");
    let disk = Arc::new(Disk::holding(failing.frames(), None));
    disk.set_space(0);
    thin_to(&disk, floor).expect("put off");
    assert_eq!(disk.replacements(), 0);
    disk.set_space(PLENTY);
    thin_to(&disk, floor).expect("thinned");
    assert_ne!(disk.replacements(), 0, "it was due");
}
