//! Logs that were thinned: what they still hold is correct, and what they no longer hold they refuse.

use super::disk::{Disk, Faults};
use super::is_long;
use super::script::{self, Silent};
use crate::codec::Placeholder;
use crate::frame::{self, Format};
use crate::retention::thin;
use crate::{
    Base, Clock, Error, Keeping, Log, MemoryStorage, Reader, Retention, Snapshots, Storage, Writer,
    state_at_floor, verify,
};
use hindsight_core::{Command, Commit, GroupResource, Pruned, PrunedTime, Revision, State, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

pub(super) fn logged() -> Arc<Disk> {
    let disk = Arc::new(Disk::default());
    assert!(script::run(&disk).is_empty());
    disk
}

fn dynamic<S: Storage + 'static>(storage: &Arc<S>) -> Arc<dyn Storage> {
    Arc::<S>::clone(storage)
}

fn reader<S: Storage + 'static>(storage: &Arc<S>) -> Reader {
    Reader::new(dynamic(storage))
}

fn commits(reader: &Reader, from: Revision) -> Vec<Commit> {
    let read = reader.scan(from).collect::<Result<_, _>>();
    read.expect("readable")
}

fn state_at(reader: &Reader, revision: u64) -> State {
    let state = reader.state_at(script::empty(), Revision(revision));
    state.expect("folded")
}

/// The revisions at which frames end.
pub(super) fn ends(disk: &Arc<Disk>) -> Vec<Revision> {
    let frames = reader(disk);
    let frames = frames.frames(Revision(1));
    frames
        .map(|frame| frame.expect("intact").links.end.previous())
        .collect()
}

fn is_deletion(commit: &Commit) -> bool {
    commit.deletions().next().is_some()
}

/// The hash of the state of the script's log at this revision; each is folded only once.
fn hash_of(whole: &Reader, revision: Revision) -> String {
    static HASHES: Mutex<BTreeMap<Revision, String>> = Mutex::new(BTreeMap::new());
    let mut hashes = HASHES.lock().expect("unpoisoned");
    let folded = || state_at(whole, revision.0).hash();
    hashes.entry(revision).or_insert_with(folded).clone()
}

/// Checks all that a log must still answer correctly after it was thinned, completely or in part.
pub(super) fn assert_thinned<S: Storage + 'static>(storage: &Arc<S>, whole: &Reader) {
    let thinned = reader(storage);
    let newest = whole.newest().expect("read");
    let floor = thinned.floor().expect("read");
    let log = Log::open(dynamic(storage), script::empty()).expect("opened");
    assert_eq!(log.state().hash(), hash_of(whole, newest));
    let before = whole.base(script::empty()).expect("folded");
    assert_eq!(log.end.tail(), before.tail(), "the chain goes on");
    verify(&thinned, |_| {}).expect("intact");
    let all = |reader: &Reader, from| {
        let read = reader.scan_all(from).collect::<Result<Vec<_>, _>>();
        read.expect("all are kept")
    };
    for from in [floor, floor.next()] {
        assert_eq!(all(&thinned, from), all(whole, from), "{from}");
    }
    for revision in (1..=newest.0).step_by(37).chain([floor.0, newest.0]) {
        let state = thinned.state_at(script::empty(), Revision(revision));
        match state {
            Ok(state) => assert_eq!(state.hash(), hash_of(whole, Revision(revision))),
            Err(Error::Pruned(Pruned { floor: named, .. })) => {
                assert!(revision < floor.0 && named == floor, "{revision} {floor}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    for commit in commits(whole, Revision(1)).iter().step_by(41) {
        match thinned.state_at_time(script::empty(), commit.time) {
            Ok(state) => {
                assert!(state.revision >= floor);
                assert_eq!(state.hash(), hash_of(whole, state.revision));
                assert_eq!(state.revision, until(whole, commit.time));
            }
            Err(Error::PrunedTime(PrunedTime {
                asked,
                floor: named,
            })) => {
                assert!(until(whole, commit.time) < floor);
                assert_eq!((asked, named), (commit.time, floor));
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_backwards(&thinned, whole);
    let kept = commits(&thinned, Revision(1));
    let missing = |commit: &Commit| is_deletion(commit) && !kept.contains(commit);
    assert!(!commits(whole, Revision(1)).iter().any(missing));
    for commit in &kept {
        let found = thinned.commit(commit.revision).expect("read");
        assert_eq!(found.as_ref(), Some(commit));
    }
}

/// Read backward from any revision, each commit appears once, and every deletion does.
fn assert_backwards(thinned: &Reader, whole: &Reader) {
    let newest = whole.newest().expect("read");
    for until in (1..=newest.0).step_by(29).map(Revision) {
        let back: Result<Vec<Commit>, Error> = thinned.scan_back(until).collect();
        let back = back.expect("readable");
        let newest_first = |one: &Commit, next: &Commit| one.revision > next.revision;
        assert!(back.is_sorted_by(newest_first), "{until}");
        let first = back.first().expect("something is kept");
        assert!(first.revision <= until, "{until} {}", first.revision);
        let deletions = commits(whole, Revision(1)).into_iter().filter(is_deletion);
        let mut deletions = deletions.filter(|commit| commit.revision <= until);
        assert!(deletions.all(|commit| back.contains(&commit)), "{until}");
    }
}

fn thin_to(disk: &Arc<Disk>, floor: Revision, kinds: &[GroupResource]) -> Result<(), Error> {
    thin(&**disk, &reader(disk), floor, script::empty(), kinds)
}

/// The last commit before the first one that is later than this time.
fn until(whole: &Reader, time: Time) -> Revision {
    let commits = commits(whole, Revision(1));
    let later = commits.iter().find(|commit| commit.time > time);
    later.or(commits.last()).map_or(Revision::ZERO, |commit| {
        if commit.time > time {
            commit.revision.previous()
        } else {
            commit.revision
        }
    })
}

fn copy(disk: &Arc<Disk>) -> Arc<Disk> {
    Arc::new(Disk::holding(disk.frames(), None))
}

#[test]
fn a_snapshot_of_another_state_than_the_log_comes_to_is_found() {
    let disk = logged();
    let ends = ends(&disk);
    let (floor, until) = (ends[ends.len() / 3], ends[ends.len() / 2]);
    thin_to(&disk, floor, &[]).expect("thinned");
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let with = reader(&disk).with_snapshots(snapshots.clone());
    let mut base = reader(&logged()).base(script::empty()).expect("folded");
    assert!(state_at_floor(&with, &script::empty(), floor).is_ok());
    snapshots.write(&base).expect("written");
    let state = state_at_floor(&with, &script::empty(), floor).expect("they agree");
    assert_eq!(state.hash(), hash_of(&reader(&logged()), floor));
    // As if something had been lost in between.
    let newest = base.state.revision;
    base.state = state_at(&reader(&disk), until.0);
    base.state.revision = newest;
    snapshots.write(&base).expect("written");
    let error = state_at_floor(&with, &script::empty(), floor).expect_err("another state");
    assert_is_of_snapshot(&error, &snapshots, newest);
    state_at_floor(&with, &script::empty(), floor).expect("the log was intact all along");
}

/// The log is not damaged, and no backup is needed: moving the file is enough.
fn assert_is_of_snapshot(error: &Error, snapshots: &Snapshots, revision: Revision) {
    let wrong = snapshots.path(revision);
    assert!(
        matches!(error, Error::Snapshot { path, .. } if *path == wrong),
        "{error}"
    );
    std::fs::rename(&wrong, wrong.with_extension("aside")).expect("moved");
}

#[test]
fn a_floor_at_which_no_record_ends_is_refused_and_not_taken_for_an_empty_state() {
    let disk = logged();
    let ends = ends(&disk);
    let found = |floor| state_at_floor(&reader(&disk), &script::empty(), floor);
    let whole = found(Revision::ZERO).expect("nothing was dropped");
    assert_eq!(whole.hash(), script::empty().hash());
    let mut all = (1..).map(Revision);
    let inside = all.find(|revision| !ends.contains(revision));
    let inside = inside.expect("a record of more than one commit");
    assert!(ends.iter().any(|end| *end > inside));
    let error = found(inside).expect_err("nothing gives its state");
    assert!(
        matches!(error, Error::Corrupt { revision, .. } if revision == inside),
        "{error}"
    );
    assert!(error.to_string().contains("no record ends"), "{error}");
}

/// Such a snapshot may have been put back, or left by a process that could not remove it.
#[test]
fn a_snapshot_from_before_the_floor_does_not_make_an_intact_log_damaged() {
    let whole = logged();
    let thinned = copy(&whole);
    let all = ends(&whole);
    let floor = all[all.len() / 2];
    thin_to(&thinned, floor, &[]).expect("thinned");
    let left: BTreeSet<Revision> = ends(&thinned).into_iter().collect();
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let (mut base, mut below) = (Base::empty(script::empty()), Vec::new());
    for frame in reader(&whole).frames(Revision(1)) {
        base.fold(&frame.expect("intact"));
        if base.state.revision < floor && left.contains(&base.state.revision) {
            snapshots.write(&base).expect("written");
            below.push(base.clone());
        }
    }
    assert!(below.len() > 1, "{}", below.len());
    let with = reader(&thinned).with_snapshots(snapshots.clone());
    let state = state_at_floor(&with, &script::empty(), floor).expect("intact");
    assert_eq!(state.hash(), hash_of(&reader(&whole), floor));
    // Which frame it names can be compared all the same.
    let mut other = below.swap_remove(0);
    other.hash[0] ^= 1;
    snapshots.write(&other).expect("written");
    let error = state_at_floor(&with, &script::empty(), floor).expect_err("of another log");
    assert_is_of_snapshot(&error, &snapshots, other.state.revision);
    state_at_floor(&with, &script::empty(), floor).expect("the log was intact all along");
}

/// No snapshot is made in the middle of a record, and a start passes it over as long as there is a newer one.
#[test]
fn a_snapshot_of_a_revision_inside_a_record_is_of_another_log_unless_that_was_thinned_over() {
    let disk = logged();
    let all = ends(&disk);
    let mut revisions = (1..all[all.len() - 1].0).map(Revision);
    let inside = revisions.find(|one| !all.contains(one));
    let inside = inside.expect("a record of more than one commit");
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let mut other = Base::empty(script::empty());
    other.state.revision = inside;
    let found = |disk, floor| {
        snapshots.write(&other).expect("written");
        let with = reader(disk).with_snapshots(snapshots.clone());
        state_at_floor(&with, &script::empty(), floor)
    };
    let error = found(&disk, Revision::ZERO).expect_err("of another log");
    assert_is_of_snapshot(&error, &snapshots, inside);
    let floor = all[all.len() - 2];
    assert!(floor > inside);
    thin_to(&disk, floor, &[]).expect("thinned");
    found(&disk, floor).expect("it may have been of this one");
}

#[test]
fn a_log_that_was_thinned_any_number_of_times_says_the_same_or_nothing() {
    let whole = logged();
    let whole_reader = reader(&whole);
    let ends = ends(&whole);
    let thinned = copy(&whole);
    for floor in ends.iter().step_by(45).skip(1) {
        let frames = thinned.frames().len();
        thin_to(&thinned, *floor, &[]).expect("thinned");
        assert_eq!(reader(&thinned).floor().expect("read"), *floor);
        assert!(thinned.frames().len() < frames);
        assert_thinned(&thinned, &whole_reader);
    }
    let first = reader(&thinned).scan_all(Revision(1)).next();
    assert!(matches!(first, Some(Err(Error::Pruned(_)))));
    let before = commits(&whole_reader, Revision(1)).len();
    let after = commits(&reader(&thinned), Revision(1)).len();
    assert!(after < before * 3 / 4, "{after} of {before}");
}

#[test]
fn kinds_that_are_kept_for_ever_are() {
    let whole = logged();
    let thinned = copy(&whole);
    let kinds = [GroupResource::new("", "configmaps")];
    thin_to(&thinned, Revision(700), &kinds).expect("thinned");
    assert!(reader(&thinned).floor().expect("read") > Revision::ZERO);
    assert_eq!(
        commits(&reader(&thinned), Revision(1)),
        commits(&reader(&whole), Revision(1))
    );
}

#[test]
fn a_crash_at_any_replacement_leaves_a_log_that_opens_and_tells_its_floor() {
    let whole = logged();
    let ends = ends(&whole);
    let floor = ends[150];
    // These kinds are kept so that more than a few frames are needed for what is kept.
    let kinds = [GroupResource::new("", "configmaps")];
    let mut floors = BTreeSet::new();
    let mut crashes = 0;
    let apart = if is_long() { 1 } else { 3 };
    for (left, leaves) in (0..)
        .step_by(apart)
        .flat_map(|left| [(left, false), (left, true)])
    {
        let faults = Faults {
            replace: Some((left, ErrorKind::Other)),
            leaves_replaced: leaves,
            ..Faults::default()
        };
        let dying = Arc::new(Disk::holding(whole.frames(), None).with(faults));
        let done = thin_to(&dying, floor, &kinds).is_ok();
        let named = reader(&dying).floor().expect("read");
        assert!(named <= floor && (named == floor || !done), "{named}");
        assert_eq!(named == Revision::ZERO, left == 0, "{left}");
        floors.insert(named);
        assert_thinned(&dying, &reader(&whole));
        let again = copy(&dying);
        thin_to(&again, floor, &kinds).expect("goes on");
        assert_eq!(reader(&again).floor().expect("read"), floor);
        assert_thinned(&again, &reader(&whole));
        assert_walked(&again);
        if done && leaves {
            break;
        }
        crashes += 1;
    }
    assert!(crashes > 8 && floors.len() > 2, "{crashes} {floors:?}");
}

/// Although the last commit is a removal, which leaves nothing in the state; also after a crash in between.
#[test]
fn a_log_that_ends_with_a_removal_and_is_thinned_to_its_end_goes_on_after_it() {
    let whole = logged();
    let whole_reader = reader(&whole);
    let is_removal = |end: &Revision| {
        let commit = whole_reader.commit(*end).expect("read").expect("there");
        commit.object().is_none()
    };
    let ends: Vec<Revision> = ends(&whole).into_iter().filter(is_removal).collect();
    assert!(ends.len() > 8, "{ends:?}");
    for end in ends.iter().step_by(ends.len() / 8) {
        for left in [Some(1), Some(3), None] {
            let faults = Faults {
                replace: left.map(|left| (left, ErrorKind::Other)),
                ..Faults::default()
            };
            let frames = whole.frames().into_iter();
            let frames = frames.filter(|(first, _)| first <= end);
            let dying = Arc::new(Disk::holding(frames, None).with(faults));
            let thinned = thin_to(&dying, *end, &[]);
            assert!(thinned.is_ok() || left.is_some(), "{thinned:?}");
            let disk = copy(&dying);
            let log = Log::open(dynamic(&disk), script::empty()).expect("opened");
            assert_eq!(log.state().revision, *end, "{left:?}");
            assert_eq!(log.state().hash(), hash_of(&whole_reader, *end));
            let writer = log.start(Box::new(Silent)).expect("started");
            let object = serde_json::json!({"metadata": {"name": "next"}});
            let create = script::create("configmaps", "default", object);
            let next = Command {
                seed: [200; 16],
                ..script::Commands::default().command(create)
            };
            let written = script::submit(&writer, &disk, vec![next]).expect("written");
            assert_eq!(written, end.next(), "{left:?}");
        }
    }
}

/// No stored frame is missed by the walk.
fn assert_walked(disk: &Arc<Disk>) {
    let walked = reader(disk);
    let walked = walked.frames(Revision(1));
    let walked = walked.map(|frame| frame.expect("intact"));
    let walked: Vec<Revision> = walked.map(|frame| frame.links.first).collect();
    let stored: Vec<Revision> = disk.frames().into_iter().map(|(first, _)| first).collect();
    assert_eq!(walked, stored);
}

fn start(storage: &Arc<MemoryStorage>, snapshots: &Snapshots, keeping: Keeping) -> Writer {
    let mut log = Log::open(dynamic(storage), script::empty()).expect("opened");
    log.keep_snapshots(snapshots.clone(), NonZeroU64::new(100), Some(keeping))
        .expect("started");
    log.start(Box::new(Silent)).expect("started")
}

#[test]
fn a_writer_with_a_policy_keeps_its_log_as_small_or_as_young_as_it_says() {
    let by = |age_micros, bytes, clock: fn() -> Time| Keeping {
        policy: Retention {
            age_micros,
            bytes,
            kinds: Vec::new(),
        },
        clock: Clock::new(clock),
        empty: script::empty(),
    };
    let soon = || Time(6_000);
    let ten_years = || Time(10 * 365 * 86_400_000_000);
    for (policy, is_thinned) in [
        (by(None, None, soon), false),
        (by(None, Some(60_000), soon), true),
        (by(None, Some(u64::MAX), ten_years), false),
        (by(Some(1_000), None, soon), true),
        (by(Some(1_000), None, || Time(i64::MIN)), true),
        (by(Some(-1_000), None, soon), true),
        (by(Some(i64::MIN), None, soon), true),
        (by(Some(100_000), None, soon), false),
        (by(Some(100_000), None, ten_years), false),
        (by(Some(i64::MAX), None, ten_years), false),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let snapshots = Snapshots::at(directory.path().to_owned());
        let storage = Arc::new(MemoryStorage::default());
        let told = format!("{policy:?}");
        let writer = start(&storage, &snapshots, policy);
        let mut commands = script::Commands::default();
        for _ in 0..120 {
            script::submit(&writer, &Disk::default().into(), commands.submission())
                .expect("written");
        }
        drop(writer);
        let reader = reader(&storage);
        assert_eq!(
            reader.floor().expect("read") > Revision::ZERO,
            is_thinned,
            "{told}"
        );
        verify(&reader, |_| {}).expect("intact");
        let from_snapshot = snapshots.newest(&script::empty()).expect("there");
        let folded = state_at(&reader, from_snapshot.state.revision.0);
        assert_eq!(folded.hash(), from_snapshot.state.hash());
    }
}

/// A stored frame with changed fields and correct checksums.
pub(super) fn forged(
    first: Revision,
    bytes: &[u8],
    forge: impl FnOnce(&mut u64, &mut Vec<u64>, &mut i64),
) -> Option<Vec<u8>> {
    let opened = frame::open(first, bytes).expect("intact");
    if opened.format != Format::Placeholder {
        return None;
    }
    let mut placeholder = Placeholder::decode(first, opened.payload).expect("readable");
    match &mut placeholder {
        Placeholder::Thinned {
            floor,
            revisions,
            latest_micros,
            ..
        } => forge(floor, revisions, latest_micros),
        Placeholder::Restored { .. } => return None,
    }
    let mut bytes = Vec::new();
    frame::begin(&mut bytes);
    placeholder.encode(&mut bytes).expect("encoded");
    frame::seal(
        &mut bytes,
        Format::Placeholder,
        first,
        opened.commits,
        &opened.previous,
    );
    Some(bytes)
}

#[test]
fn a_thinned_frame_that_says_what_cannot_be_is_refused() {
    let thinned = logged();
    let floor = ends(&thinned)[60];
    thin_to(&thinned, floor, &[]).expect("thinned");
    let forgeries: [fn(&mut u64, &mut Vec<u64>, &mut i64); 8] = [
        |_, revisions, _| revisions.reverse(),
        |_, revisions, _| revisions.iter_mut().for_each(|one| *one += 1_000_000),
        |_, revisions, _| revisions.fill(0),
        |_, revisions, _| revisions.fill(u64::MAX),
        |_, revisions, _| revisions[1] = revisions[0],
        |floor, _, _| *floor = 0,
        |floor, _, _| *floor = u64::MAX,
        |_, _, latest| *latest = i64::MIN,
    ];
    for (index, forge) in forgeries.into_iter().enumerate() {
        let mut frames = thinned.frames();
        // The first thinned frame is small: it states the floor.
        let (first, bytes) = &mut frames[1];
        *bytes = forged(*first, bytes, forge).expect("a thinned one").into();
        let storage = Arc::new(Disk::holding(frames, None));
        let error = verify(&reader(&storage), |_| {}).expect_err("refused");
        assert!(matches!(error, Error::Corrupt { .. }), "{index}: {error}");
        Log::open(dynamic(&storage), script::empty()).expect_err("refused");
    }
}
