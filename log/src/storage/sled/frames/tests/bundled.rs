//! Frames are bundled and unbundled without any difference to readers.

use super::super::{FrameTrees, StoredValue, Sync};
use crate::storage::Stored;
use crate::{EngineCall, Error, SledStorage};
use hindsight_core::Revision;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

const SEEDS: u64 = 12;
const STEPS: usize = 40;
/// Lengths of frames: many or two of a kind fit into a bundle, or none does.
const LENGTHS: [usize; 4] = [5, 900, 7_000, 20_000];
/// Makes every write be followed by a sync.
const MUCH: usize = 1 << 40;

/// The expected contents, kept in the simplest way.
type Model = BTreeMap<u64, Vec<u8>>;

/// Pseudo-random numbers below a bound, the same in every run.
fn random(seed: u64) -> impl FnMut(usize) -> u64 {
    let mut numbers = blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof();
    move |below| {
        let mut bytes = [0; 8];
        numbers.fill(&mut bytes);
        u64::from_le_bytes(bytes) % below as u64
    }
}

fn stored((first, frame): (&u64, &Vec<u8>)) -> Stored {
    (Revision(*first), frame.clone())
}

fn assert_same(frames: &FrameTrees, model: &Model, until: u64, what: &str) {
    for revision in 0..until {
        let after = frames.at_or_after(Revision(revision)).expect("read");
        let wanted = model.range(revision..).next().map(stored);
        assert!(after == wanted, "{what}: after {revision}");
        let before = frames.at_or_before(Revision(revision)).expect("read");
        let wanted = model.range(..=revision).next_back().map(stored);
        assert!(before == wanted, "{what}: before {revision}");
    }
}

/// All frames that a walk returns.
fn walked(frames: &FrameTrees) -> Model {
    let (mut found, mut from) = (Model::new(), Revision::ZERO);
    while let Some((first, frame)) = frames.at_or_after(from).expect("read") {
        found.insert(first.0, frame);
        from = first.next();
    }
    found
}

/// The first revisions of all frames in all values, current or not.
fn stored_firsts(frames: &FrameTrees) -> Vec<u64> {
    let values = frames
        .first
        .iter()
        .map(|one| StoredValue::of(one).expect("read"));
    let firsts = values.flat_map(|value| match value.entries() {
        [] => vec![value.key.0],
        entries => entries.iter().map(|(first, _)| first.0).collect(),
    });
    firsts.collect()
}

/// Replaces frames, and is interrupted after this many writes. False if it needed no more.
fn is_cut_off(frames: &FrameTrees, (first, last): (u64, u64), frame: &[u8], writes: usize) -> bool {
    let left = Cell::new(writes);
    let sync: Sync<'_> = &|| match left.get().checked_sub(1) {
        None | Some(0) => Err(Error::engine(EngineCall::Flush, "it is cut off here")),
        Some(rest) => {
            left.set(rest);
            Ok(0)
        }
    };
    frames.written.unsynced.store(MUCH, Ordering::Relaxed);
    let replaced = frames.replace(Revision(first), Revision(last), frame, sync);
    frames.note_sync();
    replaced.is_err()
}

fn outside(model: &Model, (first, last): (u64, u64)) -> Model {
    let outside = model.iter().filter(|(at, _)| **at < first || **at > last);
    outside.map(|(at, frame)| (*at, frame.clone())).collect()
}

#[test]
fn bundles_read_and_are_replaced_as_frames_are() {
    let mut cut_off = 0;
    for seed in 1..=SEEDS {
        let mut random = random(seed);
        let temporary = tempfile::tempdir().expect("a directory");
        let storage = SledStorage::open(temporary.path()).expect("opened");
        let sync = || storage.database.make_durable();
        let (frames, mut model, mut next) = (&storage.database.frames, Model::new(), 1);
        for step in 0..STEPS {
            let what = format!("seed {seed}, step {step}");
            if step % 3 == 0 {
                let length = LENGTHS[usize::try_from(random(4)).expect("small")];
                let mut batch = Vec::new();
                for _ in 0..=random(30) {
                    let frame = vec![u8::try_from(random(256)).expect("a byte"); length];
                    batch.push((Revision(next), frame[..].into()));
                    model.insert(next, frame);
                    next += 1 + random(3);
                }
                frames.append(&batch, &sync).expect("appended");
                assert_same(frames, &model, next + 2, &what);
                continue;
            }
            let first = 1 + random(usize::try_from(next).expect("small"));
            let range = (first, first + random(20));
            let frame = vec![7; 50];
            let kept = outside(&model, range);
            let mut writes = 1;
            while random(8) > 0 && is_cut_off(frames, range, &frame, writes) {
                cut_off += 1;
                writes += 1;
                assert!(
                    outside(&walked(frames), range) == kept,
                    "{what}, {writes} writes"
                );
            }
            let replaced = frames.replace(Revision(range.0), Revision(range.1), &frame, &sync);
            replaced.expect("replaced");
            model = kept;
            model.insert(range.0, frame);
            next = next.max(range.1 + 1);
            assert_same(frames, &model, next + 2, &what);
            let kept: Vec<u64> = model.keys().copied().collect();
            assert_eq!(stored_firsts(frames), kept, "{what}: nothing else is left");
        }
    }
    assert!(cut_off > 100, "{cut_off}");
}

/// The state that a crash leaves between the two writes that divide a bundle; then the frames of the
/// second are replaced.
#[test]
fn of_frames_that_are_in_two_values_those_of_the_later_count() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    let frames = &storage.database.frames;
    let batch: Vec<_> = [10, 12, 14, 16]
        .map(|first| (Revision(first), [1; 9][..].into()))
        .to_vec();
    let sync = || storage.database.make_durable();
    frames.append(&batch, &sync).expect("appended");
    assert_eq!(frames.first.len(), 1, "they are one value");
    assert!(
        is_cut_off(frames, (14, 14), &[2; 9], 1),
        "14 and 16 are in two"
    );
    assert_eq!(frames.first.len(), 2);
    let model = |fourteen: u8| {
        Model::from([
            (10, vec![1; 9]),
            (12, vec![1; 9]),
            (14, vec![fourteen; 9]),
            (16, vec![1; 9]),
        ])
    };
    assert_same(frames, &model(1), 20, "cut off");
    // The first value is left as it is, as by a release that does not divide bundles.
    let later = [
        (Revision(14), [2; 9][..].into()),
        (Revision(16), [1; 9][..].into()),
    ];
    frames.append(&later, &sync).expect("put");
    assert_same(frames, &model(2), 20, "the later counts");
    let replaced = frames.replace(Revision(13), Revision(13), &[3; 9], &sync);
    replaced.expect("replaced");
    let mut model = model(2);
    model.insert(13, vec![3; 9]);
    assert_same(frames, &model, 20, "and is not written over");
}
