//! Many watches come back after a restart, each at a position of its own. How much of the log is read for them is
//! counted.

use super::*;
use crate::opening::empty_state;
use crate::published::{Publisher, channel};
use crate::{Config, ControlPlane, reply};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use hindsight_core::command::{Create, FieldValidation, Patch, PatchObject};
use hindsight_core::{
    Actor, Command, Commit, GroupResource, Intent, Object, ObjectKey, Time, apply,
};
use hindsight_log::{Log, MemoryStorage, Publish, Records, Snapshots, Storage, Stored, Tail};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tower_service::Service as _;

const FRAMES: usize = 700;
/// In each frame but the first, which has one less.
const COMMITS: usize = 3;
const WATCHES: u64 = 200;
/// Between the positions of two watches: they are in the newest 2,000 revisions.
const APART: u64 = 10;
/// What a walk reads beside the frames on its way: one before and one behind them, and the end of a snapshot.
const BESIDE: usize = 8;

/// A log in memory that counts the frames that are read. One of them may be damaged.
#[derive(Debug)]
struct Counted {
    log: Arc<MemoryStorage>,
    read: AtomicUsize,
    damaged: Option<Revision>,
}

impl Counted {
    fn shown(&self, found: Option<Stored>) -> Option<Stored> {
        self.read.fetch_add(1, Ordering::SeqCst);
        let (first, mut bytes) = found?;
        if self.damaged == Some(first) {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
        Some((first, bytes))
    }
}

impl Records for Counted {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        Ok(self.shown(self.log.at_or_after(from)?))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        Ok(self.shown(self.log.at_or_before(until)?))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.log.witnessed()
    }
}

fn key(resource: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", resource), namespace, name)
}

fn create(resource: &str, namespace: &str, name: &str) -> Intent {
    Intent::Create(Create {
        key: key(resource, namespace, ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": name}}),
        validation: FieldValidation::Ignore,
    })
}

fn patch(name: &str, value: &str) -> Intent {
    Intent::Patch(PatchObject {
        key: key("configmaps", "default", name),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"data": {"k": value}})),
        validation: FieldValidation::Ignore,
    })
}

/// What is written together: an object is created, and changed, and so is the one before.
fn intents(number: usize) -> Vec<Intent> {
    let name = format!("c{number}");
    let created = create("configmaps", "default", &name);
    match number.checked_sub(1) {
        None => vec![create("namespaces", "", "default"), created],
        Some(before) => vec![
            created,
            patch(&name, "1"),
            patch(&format!("c{before}"), "2"),
        ],
    }
}

fn write(log: &Arc<MemoryStorage>, frames: Range<usize>) {
    let log = Log::open(Arc::clone(log) as Arc<dyn Storage>, empty_state()).expect("opened");
    let window = window_after(log.state().revision);
    let (publisher, _feed) = channel(log.state().clone(), window, log.latest());
    let writer = log.start(Box::new(publisher)).expect("started");
    for number in frames {
        let command = |(intent, index): (Intent, u8)| {
            let mut seed = [index; 16];
            seed[..8].copy_from_slice(&number.to_le_bytes());
            Command::new(Arc::new(Actor::new("t")), Time(1), seed, intent)
        };
        let commands = intents(number).into_iter().zip(1..).map(command);
        let (answer, waiter) = reply::channel();
        writer.submit_here(commands.collect(), answer);
        let written = waiter.wait().expect("answered").expect("it is open");
        assert!(written.iter().all(Result::is_ok), "{written:?}");
    }
    writer.close();
}

fn written() -> Arc<MemoryStorage> {
    let log = Arc::default();
    write(&log, 0..FRAMES);
    log
}

/// A commit, and the version that it replaced.
type Replaced = (Arc<Commit>, Option<Arc<Object>>);

/// Everything that happened, folded from the beginning.
fn happened(log: &Arc<MemoryStorage>) -> Vec<Replaced> {
    let mut state = empty_state();
    let reader = Reader::new(Arc::clone(log) as Arc<dyn Records>);
    let replaced = reader.scan_all(Revision(1)).map(|commit| {
        let commit = Arc::new(commit.expect("intact"));
        let previous = apply(&mut state, &commit);
        (commit, previous)
    });
    replaced.collect()
}

fn missed(happened: &[Replaced], position: Revision) -> &[Replaced] {
    let seen = usize::try_from(position.0).expect("few");
    &happened[seen..]
}

/// A change like this one, at another revision.
fn again(commit: &Commit, revision: u64) -> Arc<Change> {
    let mut commit = commit.clone();
    commit.revision = Revision(revision);
    let (commit, previous) = (Arc::new(commit), None);
    Arc::new(Change { commit, previous })
}

/// A server that was just started.
struct Started {
    records: Arc<Counted>,
    publisher: Publisher,
    backfill: Backfill,
    pasts: Pasts,
    opened: Revision,
}

impl Started {
    fn new(log: &Arc<MemoryStorage>, changes_max: usize) -> Self {
        Self::over(log, changes_max, None, None)
    }

    fn over(
        log: &Arc<MemoryStorage>,
        changes_max: usize,
        damaged: Option<Revision>,
        snapshots: Option<Snapshots>,
    ) -> Self {
        let records = Arc::new(Counted {
            log: Arc::clone(log),
            read: AtomicUsize::new(0),
            damaged,
        });
        let log = Log::open(Arc::clone(log) as Arc<dyn Storage>, empty_state()).expect("opened");
        let opened = log.state().revision;
        let window = Window::new(opened, changes_max, usize::MAX);
        let (publisher, _feed) = channel(log.state().clone(), window, log.latest());
        let reader = Reader::new(Arc::clone(&records) as Arc<dyn Records>);
        let reader = snapshots.into_iter().fold(reader, Reader::with_snapshots);
        Self {
            backfill: Backfill::new(publisher.window_front(), reader, empty_state()),
            records,
            publisher,
            pasts: Pasts::new(Arc::default()),
            opened,
        }
    }

    /// What a watch gets that comes back at this position.
    async fn resume(&self, position: Revision) -> Option<Vec<Replaced>> {
        let reaches = self.backfill.reach(position, &self.pasts).await;
        let window = self.backfill.source.front.window();
        let changes = window.after(position, usize::MAX);
        assert_eq!(changes.is_ok(), reaches, "{position}");
        let changes = changes.ok()?.into_iter();
        let changes = changes.map(|change| (Arc::clone(&change.commit), change.previous.clone()));
        Some(changes.collect())
    }

    /// All watches come back at once, those that missed least first.
    async fn resume_all(&self) -> Vec<(Revision, Option<Vec<Replaced>>)> {
        let back = (1..=WATCHES).map(|watch| Revision(self.opened.0 - watch * APART));
        let resumed = back.map(async |position| (position, self.resume(position).await));
        join_all(resumed).await
    }

    /// How many frames were read since the last call.
    fn read(&self) -> usize {
        self.records.read.swap(0, Ordering::SeqCst)
    }
}

#[test]
fn two_hundred_watches_at_as_many_positions_get_what_they_missed_for_one_walk_of_the_log() {
    let log = written();
    let mut happened = happened(&log);
    assert_eq!(happened.len(), FRAMES * COMMITS - 1);
    let mut started = Started::new(&log, usize::MAX);
    Runtime::new().expect("a runtime").block_on(async {
        for (position, got) in started.resume_all().await {
            let got = got.expect("it goes on");
            assert_eq!(got, missed(&happened, position), "{position}");
        }
        let read = started.read();
        assert!((FRAMES..=FRAMES + BESIDE).contains(&read), "{read}");
        // What happens from now on follows what was read back.
        let next = again(&happened[0].0, started.opened.0 + 1);
        happened.push((Arc::clone(&next.commit), None));
        started.publisher.publish(empty_state(), vec![next]);
        let early = Revision(50);
        let got = started.resume(early).await.expect("it goes on");
        assert_eq!(got, missed(&happened, early));
        assert_eq!(started.read(), 0);
    });
}

/// A fold begins at a snapshot, and a watch from before it has an earlier part read.
#[test]
fn no_part_of_the_log_is_read_twice() {
    let half = FRAMES / 2;
    let log = Arc::default();
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().join("snapshots"));
    write(&log, 0..half);
    let reader = Reader::new(Arc::clone(&log) as Arc<dyn Records>);
    let base = reader.base(empty_state()).expect("folded");
    snapshots.write(&base).expect("written");
    write(&log, half..FRAMES);
    let happened = happened(&log);
    let started = Started::over(&log, usize::MAX, None, Some(snapshots));
    let (opened, base) = (started.opened.0, base.state.revision.0);
    Runtime::new().expect("a runtime").block_on(async {
        for (position, frames) in [
            (opened - 1, half),
            (base + 7, 0),
            (base, 0),
            (base - 1, half),
            (5, 0),
        ] {
            let position = Revision(position);
            let got = started.resume(position).await.expect("it goes on");
            assert_eq!(got, missed(&happened, position), "{position}");
            let read = started.read();
            let allowed = frames..=frames + frames.min(BESIDE);
            assert!(allowed.contains(&read), "{position}: {read}");
        }
    });
}

#[test]
fn a_damaged_record_is_met_once_and_not_by_every_watch() {
    let log = written();
    let happened = happened(&log);
    let damaged = Revision((happened.len() - COMMITS + 1) as u64);
    let started = Started::over(&log, usize::MAX, Some(damaged), None);
    Runtime::new().expect("a runtime").block_on(async {
        let resumed = started.resume_all().await;
        assert!(resumed.iter().all(|(_, got)| got.is_none()));
        let read = started.read();
        assert!((FRAMES..=FRAMES + BESIDE).contains(&read), "{read}");
        let newest = started.resume(started.opened).await;
        assert_eq!(newest, Some(Vec::new()), "it missed nothing");
    });
}

#[test]
fn a_watch_that_leaves_while_the_log_is_read_does_not_have_it_read_again() {
    let log = written();
    let started = Started::new(&log, usize::MAX);
    Runtime::new().expect("a runtime").block_on(async {
        let left = started.resume(Revision(100)).now_or_never();
        assert!(left.is_none_or(|got| got.is_some()));
        assert!(started.resume(Revision(90)).await.is_some());
        let read = started.read();
        assert!((FRAMES..=FRAMES + BESIDE).contains(&read), "{read}");
    });
}

/// Those that missed more than there is room for have it looked for once.
#[test]
fn a_window_takes_in_no_more_than_it_has_room_for() {
    const ROOM: usize = 500;
    let log = written();
    let happened = happened(&log);
    let started = Started::new(&log, ROOM);
    Runtime::new().expect("a runtime").block_on(async {
        for (position, got) in started.resume_all().await {
            let missed = missed(&happened, position);
            let expected = (missed.len() <= ROOM).then_some(missed);
            assert_eq!(got.as_deref(), expected, "{position}");
        }
        let read = started.read();
        assert!((FRAMES..=FRAMES + BESIDE).contains(&read), "{read}");
    });
}

/// What was written since the start has taken all the room.
#[test]
fn for_a_window_that_is_full_nothing_is_read() {
    let log = written();
    let happened = happened(&log);
    let mut started = Started::new(&log, 1);
    // The newest two batches stay, however small the window is.
    for after in 1..=3 {
        let change = again(&happened[0].0, started.opened.0 + after);
        started.publisher.publish(empty_state(), vec![change]);
    }
    Runtime::new().expect("a runtime").block_on(async {
        for missed in 0..2 {
            let position = Revision(started.opened.0 - missed);
            assert_eq!(started.resume(position).await, None, "{position}");
        }
    });
    assert_eq!(started.read(), 0);
}

/// The window has no room for so much.
#[test]
fn for_a_position_that_is_too_far_back_nothing_is_read() {
    let log = Arc::default();
    write(&log, 0..2);
    let mut started = Started::new(&log, usize::MAX);
    let window = Window::new(Revision(100_002), usize::MAX, usize::MAX);
    let (publisher, _feed) = channel(empty_state(), window, Time(1));
    let reader = Reader::new(Arc::clone(&started.records) as Arc<dyn Records>);
    started.backfill = Backfill::new(publisher.window_front(), reader, empty_state());
    Runtime::new().expect("a runtime").block_on(async {
        // This log ends long before that window begins, so that there is nothing to put in front of it.
        for (position, is_read) in [(1, false), (2, true)] {
            assert_eq!(started.resume(Revision(position)).await, None);
            assert_eq!(started.read() > 0, is_read, "{position}");
        }
    });
}

/// A program polled it once, and does something else now. What it waits for is given to it first.
#[test]
fn a_watch_that_is_not_polled_keeps_no_other_from_catching_up() {
    let temporary = tempfile::tempdir().expect("a directory");
    let open = || {
        let config = Config {
            data_dir: Some(temporary.path().join("data")),
            collectors: false,
            ..Config::default()
        };
        ControlPlane::open(config).expect("it opens")
    };
    let plane = open();
    let seed = plane.seed();
    let intent = create("namespaces", "", "a");
    let command = Command::new(Arc::new(Actor::new("t")), Time(1), seed, intent);
    let written = plane.submit_blocking(vec![command]).expect("open");
    assert!(written.iter().all(Result::is_ok), "{written:?}");
    plane.close();
    let plane = open();
    Runtime::new().expect("a runtime").block_on(async {
        let service = plane.service();
        let missed_one = plane.state().revision.0 - 1;
        let watch = async || {
            let path = format!("/api/v1/namespaces?watch=1&resourceVersion={missed_one}");
            let request = Request::get(path).body(Full::<Bytes>::default());
            let mut service = service.clone();
            let answer = service.call(request.expect("a request")).await;
            answer.expect("an answer").into_body()
        };
        let reading = plane.backfill().is_over.lock().await;
        let mut kept = watch().await;
        assert!(kept.frame().now_or_never().is_none(), "it waits");
        drop(reading);
        for mut body in [watch().await, kept] {
            let seen = timeout(Duration::from_mins(2), body.frame()).await;
            let seen = seen.expect("it goes on").expect("an event");
            let seen = seen.expect("sound").into_data().expect("data");
            let event: Value = serde_json::from_slice(&seen).expect("JSON");
            assert_eq!(event["object"]["metadata"]["name"], "a", "{event}");
        }
    });
}
