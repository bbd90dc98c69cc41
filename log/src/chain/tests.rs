//! How much of a log is in memory while it is walked.

use super::*;
use crate::codec;
use crate::storage::Counting;
use hindsight_core::event::Commit;
use hindsight_core::{Actor, Cause, Event, GroupResource, Object, ObjectKey, Request, Time, Uid};
use std::sync::atomic::Ordering;

const FRAMES: u64 = 100;
/// Much larger than the frame that is stored, which says so of itself.
const BODY_BYTES: usize = 1 << 20;
/// Those that wait, the one that does not fit among them, and the one that is being used up; each may
/// go beyond its bound by a frame.
const HELD_MAX: usize = (BATCHES_AHEAD + 2) * (BATCH_BYTES_MAX / BODY_BYTES + 1);

fn commit(revision: Revision, bytes: usize) -> Commit {
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "a");
    let document = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
        "namespace": "default", "uid": "11111111-1111-4111-8111-111111111111"},
        "data": {"k": "v".repeat(bytes)}});
    let object = Object::from_value(key.clone(), document, revision, None).expect("an object");
    Commit {
        revision,
        time: Time(1),
        actor: Arc::new(Actor::new("t")),
        request: Arc::new(Request::default()),
        cause: Cause::Request,
        key,
        uid: Uid::from("11111111-1111-4111-8111-111111111111"),
        events: vec![Event::ObjectCreated {
            object: Arc::new(object),
        }],
    }
}

/// Frames of one commit each.
fn filled(storage: &Counting) {
    let mut last = Hash::default();
    for revision in (1..=FRAMES).map(Revision) {
        let mut bytes = Vec::new();
        frame::begin(&mut bytes);
        codec::encode(&[&commit(revision, BODY_BYTES)], &mut bytes).expect("encoded");
        let format = frame::pack(&mut bytes, &mut Vec::new());
        assert_eq!(format, frame::PACKED);
        frame::seal(&mut bytes, format, revision, 1, &last);
        storage.append(revision, &bytes).expect("appended");
        last = frame::hash(&bytes);
    }
}

#[test]
fn a_walk_that_ends_early_fetches_one_frame_behind_its_end() {
    let storage = Arc::new(Counting::default());
    filled(&storage);
    for last in [1, 2, 7, FRAMES - 1] {
        let mut chain = Chain::new(Arc::clone(&storage) as Arc<dyn Storage>, Revision(1));
        chain = chain.until(Revision(last));
        let frames = std::iter::from_fn(|| chain.advance().transpose());
        let walked = frames.collect::<Result<Vec<_>, _>>().expect("intact");
        assert_eq!(walked.len() as u64, last + 1);
    }
}

#[test]
fn a_long_walk_is_ahead_by_bytes_and_not_by_frames_alone() {
    let storage = Arc::new(Counting::default());
    filled(&storage);
    let mut chain = Chain::new(Arc::clone(&storage) as Arc<dyn Storage>, Revision(1));
    let (mut walked, mut held_most) = (0, 0);
    while chain.advance().expect("intact").is_some() {
        // What reads ahead has the time to.
        std::thread::yield_now();
        held_most = held_most.max(storage.fetched.load(Ordering::SeqCst) - walked);
        walked += 1;
    }
    assert_eq!(walked as u64, FRAMES);
    assert!(held_most <= HELD_MAX, "{held_most} of {HELD_MAX}");
}
