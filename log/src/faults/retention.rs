//! Logs that were thinned: what they still know is right, and what they do not know they refuse.

use super::disk::{Disk, Faults};
use super::script;
use crate::codec::Stands;
use crate::frame;
use crate::retention::thin;
use crate::{
    Error, Log, MemoryStorage, Publish, Reader, Retention, Snapshots, Storage, Writer, verify,
};
use hindsight_core::{Change, Commit, GroupResource, Revision, State, Time};
use std::io::ErrorKind;
use std::sync::Arc;

fn logged() -> Arc<Disk> {
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

/// Revisions where frames end.
fn ends(disk: &Arc<Disk>) -> Vec<Revision> {
    let frames = reader(disk);
    let frames = frames.frames(Revision(1));
    frames
        .map(|frame| frame.expect("intact").end.previous())
        .collect()
}

fn is_deletion(commit: &Commit) -> bool {
    commit.events.iter().any(|event| event.verdict().is_some())
}

/// Everything that a log must still be able to say after it was thinned, or half of it was.
fn assert_thinned<S: Storage + 'static>(storage: &Arc<S>, whole: &Reader) {
    let thinned = reader(storage);
    let newest = whole.newest().expect("read");
    let floor = thinned.floor().expect("read");
    let (log, state) = Log::open(dynamic(storage), script::empty()).expect("opened");
    assert_eq!(state.hash(), state_at(whole, newest.0).hash());
    let (before, _) = Log::open(Arc::clone(whole.storage()), script::empty()).expect("opened");
    assert_eq!(log.tail(newest), before.tail(newest), "the chain goes on");
    verify(&thinned, |_| {}).expect("intact");
    let all = |reader: &Reader, from| {
        let read = reader.scan_all(from).collect::<Result<Vec<_>, _>>();
        read.expect("all are kept")
    };
    assert_eq!(all(&thinned, floor.next()), all(whole, floor.next()));
    for revision in (1..=newest.0).step_by(37).chain([floor.0, newest.0]) {
        let state = thinned.state_at(script::empty(), Revision(revision));
        match state {
            Ok(state) => assert_eq!(state.hash(), state_at(whole, revision).hash()),
            Err(Error::Pruned { floor: named, .. }) => {
                assert!(revision < floor.0 && named == floor, "{revision} {floor}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    for commit in commits(whole, Revision(1)).iter().step_by(41) {
        let then = |reader: &Reader| reader.state_at_time(script::empty(), commit.time);
        let was = then(whole).expect("folded");
        match then(&thinned) {
            Ok(state) => assert_eq!(state.hash(), was.hash()),
            Err(Error::Pruned { .. }) => assert!(was.revision < floor),
            Err(error) => panic!("{error}"),
        }
    }
    let kept = commits(&thinned, Revision(1));
    let missing = |commit: &Commit| is_deletion(commit) && !kept.contains(commit);
    assert!(!commits(whole, Revision(1)).iter().any(missing));
    for commit in &kept {
        let found = thinned.commit(commit.revision).expect("read");
        assert_eq!(found.as_ref(), Some(commit));
    }
}

fn copy(disk: &Arc<Disk>) -> Arc<Disk> {
    Arc::new(Disk::holding(disk.frames(), None))
}

#[test]
fn a_log_that_was_thinned_any_number_of_times_says_the_same_or_nothing() {
    let whole = logged();
    let whole_reader = reader(&whole);
    let ends = ends(&whole);
    let thinned = copy(&whole);
    for floor in ends.iter().step_by(45).skip(1) {
        let frames = thinned.frames().len();
        let state = state_at(&reader(&thinned), floor.0);
        thin(&*thinned, &reader(&thinned), &state, &[]).expect("thinned");
        assert_eq!(reader(&thinned).floor().expect("read"), *floor);
        assert!(thinned.frames().len() < frames);
        assert_thinned(&thinned, &whole_reader);
    }
    let first = reader(&thinned).scan_all(Revision(1)).next();
    assert!(matches!(first, Some(Err(Error::Pruned { .. }))));
    let (before, after) = (
        commits(&whole_reader, Revision(1)).len(),
        commits(&reader(&thinned), Revision(1)).len(),
    );
    assert!(after < before * 3 / 4, "{after} of {before}");
}

#[test]
fn kinds_that_are_kept_for_ever_are() {
    let whole = logged();
    let state = state_at(&reader(&whole), 700);
    let thinned = copy(&whole);
    let kinds = [GroupResource::new("", "configmaps")];
    thin(&*thinned, &reader(&thinned), &state, &kinds).expect("thinned");
    assert!(reader(&thinned).floor().expect("read") > Revision::ZERO);
    assert_eq!(
        commits(&reader(&thinned), Revision(1)),
        commits(&reader(&whole), Revision(1))
    );
}

#[test]
fn a_crash_at_any_replacement_leaves_a_log_that_opens_and_tells_its_floor() {
    let whole = logged();
    let floor = ends(&whole)[150];
    let state = state_at(&reader(&whole), floor.0);
    // So that more than a few frames are needed for what is kept.
    let kinds = [GroupResource::new("", "configmaps")];
    let mut crashes = 0;
    for (left, leaves) in (0..)
        .step_by(4)
        .flat_map(|left| [(left, false), (left, true)])
    {
        let faults = Faults {
            replace: Some((left, ErrorKind::Other)),
            leaves_replaced: leaves,
            ..Faults::default()
        };
        let dying = Arc::new(Disk::holding(whole.frames(), None).with(faults));
        let done = thin(&*dying, &reader(&dying), &state, &kinds).is_ok();
        let wanted = if left == 0 { Revision::ZERO } else { floor };
        assert_eq!(reader(&dying).floor().expect("read"), wanted);
        assert_thinned(&dying, &reader(&whole));
        let again = copy(&dying);
        thin(&*again, &reader(&again), &state, &kinds).expect("goes on");
        assert_thinned(&again, &reader(&whole));
        if done && leaves {
            break;
        }
        crashes += 1;
    }
    assert!(crashes > 4, "{crashes}");
}

struct Silent;

impl Publish for Silent {
    fn publish(&mut self, _: State, _: Vec<Arc<Change>>) {}
}

fn start(storage: &Arc<MemoryStorage>, snapshots: &Snapshots, policy: Retention) -> Writer {
    let (mut log, state) = Log::open(dynamic(storage), script::empty()).expect("opened");
    let empty = script::empty();
    log.keep_history(snapshots.clone(), 100, policy, empty)
        .expect("started");
    log.start(state, Box::new(Silent)).expect("started")
}

#[test]
fn a_writer_with_a_policy_keeps_its_log_as_small_or_as_young_as_it_says() {
    let by = |age_micros, bytes| Retention {
        age_micros,
        bytes,
        kinds: Vec::new(),
        clock: || Time(1_000_000),
    };
    for (policy, is_thinned) in [
        (by(None, None), false),
        (by(None, Some(60_000)), true),
        (by(None, Some(u64::MAX)), false),
        (by(Some(980_000), None), true),
        (by(Some(998_000), None), true),
        (by(Some(2_000_000), None), false),
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

/// A stored frame, and what it says of itself changed so that every checksum agrees.
pub(super) fn forged(
    first: Revision,
    bytes: &[u8],
    forge: impl FnOnce(&mut u64, &mut Vec<u64>, &mut i64),
) -> Option<Vec<u8>> {
    let opened = frame::open(first, bytes).expect("intact");
    if opened.format != frame::STANDS {
        return None;
    }
    let mut stands = Stands::decode(first, opened.payload).expect("readable");
    match &mut stands {
        Stands::Thinned {
            floor,
            revisions,
            latest_micros,
            ..
        } => forge(floor, revisions, latest_micros),
        Stands::Restored { .. } => return None,
    }
    let mut bytes = Vec::new();
    frame::begin(&mut bytes);
    stands.encode(&mut bytes).expect("encoded");
    frame::seal(
        &mut bytes,
        frame::STANDS,
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
    let state = state_at(&reader(&thinned), floor.0);
    thin(&*thinned, &reader(&thinned), &state, &[]).expect("thinned");
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
        let (first, bytes) = &mut frames[0];
        *bytes = forged(*first, bytes, forge).expect("a thinned one").into();
        let storage = Arc::new(Disk::holding(frames, None));
        let error = verify(&reader(&storage), |_| {}).expect_err("refused");
        assert!(matches!(error, Error::Corrupt { .. }), "{index}: {error}");
        Log::open(dynamic(&storage), script::empty()).expect_err("refused");
    }
}
