//! How much of a log is in memory during a walk.

use super::decoder::{BATCH_BYTES_MAX, BATCHES_AHEAD};
use super::*;
use crate::frame::{self, Format, Hash};
use crate::storage::{Counting, Stored};
use crate::{
    Log, MemoryStorage, Purpose, Reader, Storage, Tail, Witnessed, codec, packing, thin, verify,
};
use hindsight_core::event::Commit;
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Actor, Cause, Event, GroupResource, Object, ObjectKey, Pruned, Request, Revision, State, Time,
    Uid, builtin,
};
use std::sync::atomic::Ordering;

const FRAMES: u64 = 100;
/// Much larger than the stored frame, which states this length itself.
const BODY_BYTES: usize = 1 << 20;
/// The batches in the queue, the one that does not fit into it, and the one being consumed; each may
/// exceed its bound by one frame.
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
fn filled(storage: &dyn Storage) {
    fill(storage, FRAMES, BODY_BYTES);
}

fn fill(storage: &dyn Storage, frames: u64, body: usize) {
    let mut last = Hash::default();
    for revision in (1..=frames).map(Revision) {
        let mut bytes = Vec::new();
        frame::begin(&mut bytes);
        codec::encode(&[&commit(revision, body)], &mut bytes).expect("encoded");
        let format = packing::pack(&mut bytes, &mut Vec::new());
        assert_eq!(format, Format::Preset);
        frame::seal(&mut bytes, format, revision, 1, &last);
        storage.append(revision, &bytes).expect("appended");
        last = frame::hash(&bytes);
    }
}

fn empty() -> State {
    State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
}

/// A frame that is thinned while it is being fetched may have been half read.
#[test]
fn a_frame_that_cannot_be_read_and_is_thinned_by_now_is_not_told_as_damage() {
    let (cut_at, floor) = (Revision(5), Revision(6));
    let thinned: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    fill(&*thinned, FRAMES, 1 << 10);
    let reader = Reader::new(Arc::clone(&thinned) as _);
    thin(&*thinned, &reader, floor, empty(), &[]).expect("thinned");
    for (is_thinned, beginning) in [(false, 1), (true, 1), (true, cut_at.0)] {
        let storage = Arc::new(MemoryStorage::default());
        fill(&*storage, FRAMES, 1 << 10);
        let (_, bytes) = storage.at_or_after(cut_at).expect("read").expect("there");
        let cut = storage.append(cut_at, &bytes[..bytes.len() / 2]);
        cut.expect("in its place");
        let records = Arc::clone(&storage) as Arc<dyn Records>;
        let beginning = Revision(beginning);
        let decoder = Decoder::within(records, beginning);
        let mut chain = Chain::new(decoder, Links::containing(beginning));
        // When the walk arrives at this frame it has been fetched already; then it is thinned.
        for _ in beginning.0..cut_at.0 {
            chain.advance().expect("intact").expect("a frame");
        }
        if chain.ready.is_empty() {
            chain.fill().expect("fetched");
        }
        if is_thinned {
            let (first, bytes) = thinned.at_or_before(cut_at).expect("read").expect("one");
            storage
                .replace(first, Witnessed::up_to(floor), &bytes)
                .expect("replaced");
        }
        let told = chain.advance().map(|_| ()).expect_err("it is cut");
        match told {
            Error::Pruned(Pruned { asked, .. }) => assert!(is_thinned && asked == cut_at),
            Error::Corrupt { revision, .. } => assert!(!is_thinned && revision == cut_at),
            other => panic!("{other}"),
        }
    }
}

/// A thinned frame of another log: nobody has thinned this one.
#[test]
fn a_thinned_frame_that_does_not_follow_is_told_as_that() {
    let (cut_at, floor) = (Revision(5), Revision(6));
    let [ours, other] = [1 << 10, 2 << 10].map(|body| {
        let storage = MemoryStorage::default();
        fill(&storage, FRAMES, body);
        Arc::new(storage)
    });
    let reader = Reader::new(Arc::clone(&other) as _);
    thin(&*other, &reader, floor, empty(), &[]).expect("thinned");
    let (first, bytes) = other.at_or_before(cut_at).expect("read").expect("one");
    assert!(first > Revision(1), "the first one follows no other");
    ours.replace(first, Witnessed::up_to(cut_at), &bytes)
        .expect("replaced");
    let told = verify(&Reader::new(ours), |_| {}).expect_err("two logs");
    assert!(
        matches!(told, Error::Corrupt { revision, .. } if revision == first),
        "{told}"
    );
}

/// A log of which the disk does not give back what begins behind a revision.
#[derive(Debug)]
struct Unread(MemoryStorage, Revision);

impl Records for Unread {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        if from > self.1 {
            return Err(Error::io("reading")(std::io::ErrorKind::Other.into()));
        }
        self.0.at_or_after(from)
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.0.at_or_before(until.min(self.1))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(None)
    }
}

#[test]
fn everything_before_what_cannot_be_fetched_is_read() {
    for last in [1, 6, 40, FRAMES - 1] {
        let storage = MemoryStorage::default();
        fill(&storage, FRAMES, 1 << 10);
        let records: Arc<dyn Records> = Arc::new(Unread(storage, Revision(last)));
        let mut chain = Chain::new(
            Decoder::within(records, Revision(1)),
            Links::containing(Revision(1)),
        );
        let frames = std::iter::from_fn(|| chain.advance().transpose());
        let walked: Vec<_> = frames.take_while(Result::is_ok).collect();
        assert_eq!(walked.len() as u64, last);
    }
}

#[test]
fn a_walk_that_ends_early_fetches_one_frame_behind_its_end() {
    let storage = Arc::new(Counting::default());
    filled(&*storage);
    for last in [1, 2, 7, FRAMES - 1] {
        let decoder = Decoder::within(Arc::clone(&storage) as Arc<dyn Records>, Revision(1));
        let mut chain = Chain::new(
            decoder.until(Revision(last)),
            Links::containing(Revision(1)),
        );
        let frames = std::iter::from_fn(|| chain.advance().transpose());
        let walked = frames.collect::<Result<Vec<_>, _>>().expect("intact");
        assert_eq!(walked.len() as u64, last + 1);
    }
}

#[test]
fn a_long_walk_is_ahead_by_bytes_and_not_by_frames_alone() {
    let storage = Arc::new(Counting::default());
    filled(&*storage);
    let decoder = Decoder::within(Arc::clone(&storage) as Arc<dyn Records>, Revision(1));
    let mut chain = Chain::new(decoder, Links::containing(Revision(1)));
    let (mut walked, mut held_most) = (0, 0);
    while chain.advance().expect("intact").is_some() {
        // Gives the thread that reads ahead time to run.
        std::thread::yield_now();
        held_most = held_most.max(storage.fetched.load(Ordering::SeqCst) - walked);
        walked += 1;
    }
    assert_eq!(walked as u64, FRAMES);
    assert!(held_most <= HELD_MAX, "{held_most} of {HELD_MAX}");
}

#[test]
fn a_walk_for_which_no_thread_can_be_started_goes_on_and_tries_again_later() {
    let frames = 20 * FRAMES;
    let storage = Arc::new(MemoryStorage::default());
    fill(&*storage, frames, 1 << 10);
    let mut decoder = Decoder::new(storage, Revision(1));
    let (mut read, mut tried) = (0, 0);
    loop {
        let batch = decoder.batch();
        if batch.is_empty() {
            break;
        }
        for decoded in batch {
            read += 1;
            assert_eq!(decoded.first, Revision(read));
            assert!(decoded.frame.is_ok(), "{read}");
        }
        if decoder.is_long() {
            tried += 1;
            let none = decoder.read_ahead(|_| Err(std::io::ErrorKind::WouldBlock.into()));
            decoder = none.expect_err("no thread was started");
            assert!(!decoder.is_long());
        }
    }
    assert_eq!(read, frames);
    assert!(tried > 1, "{tried}");
}

/// A storage that panics at one of its frames.
#[derive(Debug, Default)]
struct Broken(MemoryStorage, Option<Revision>);

impl Records for Broken {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        assert_ne!(self.1, Some(from), "a defect");
        self.0.at_or_after(from)
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.0.at_or_before(until)
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(None)
    }
}

impl Storage for Broken {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.0.append(first, frame)
    }

    fn replace(&self, first: Revision, last: Witnessed, frame: &[u8]) -> Result<(), Error> {
        self.0.replace(first, last, frame)
    }

    fn sync(&self) -> Result<(), Error> {
        self.0.sync()
    }

    fn ensure_space(&self, _: usize, _: Purpose) -> bool {
        true
    }

    fn witness(&self, _: &Tail) {}
}

/// Without a witness nothing else would show that there was more.
#[test]
fn a_panic_of_what_reads_ahead_is_no_end_of_the_log() {
    let frames = 20 * FRAMES;
    for broken_at in [frames / 2, frames, frames + 1] {
        let mut storage = Broken::default();
        fill(&storage, frames, 1 << 10);
        storage.1 = Some(Revision(broken_at));
        let storage: Arc<dyn Storage> = Arc::new(storage);
        let reader = Reader::new(Arc::clone(&storage) as _);
        let empty = empty();
        let last = reader
            .scan(Revision(1))
            .last()
            .expect("a commit or an error");
        let found = [
            last.err(),
            verify(&reader, |_| {}).err(),
            reader.newest_state(empty.clone()).err(),
            Log::open(storage, empty).err(),
        ];
        for error in found {
            let error = error.expect("it is not told from a part");
            assert!(error.to_string().contains("panic"), "{error}");
        }
    }
}
