//! Long walks of a log beside rayon's pools and in their threads. In a process of its own: where a walk hangs, the
//! global pool does too, and whatever needs it.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::command::{Create, FieldValidation};
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Actor, Change, Command, GroupResource, Intent, ObjectKey, Revision, State, Time, builtin,
};
use hindsight_log::{Log, MemoryStorage, Publish, Reader};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::json;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

/// Many more than are read on the thread of the caller where it belongs to no pool.
const FRAMES: u64 = 2_000;
/// How long to wait for what takes a second.
const PATIENCE: Duration = Duration::from_mins(2);

struct Nobody;

impl Publish for Nobody {
    fn publish(&mut self, _: State, _: Vec<Arc<Change>>) {}
}

fn empty() -> State {
    State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
}

/// A log with one commit in each frame.
fn reader() -> Reader {
    let log = Log::open(Arc::new(MemoryStorage::default()), empty()).expect("it opens");
    let reader = log.reader.clone();
    let writer = log.start(Box::new(Nobody)).expect("it starts");
    for at in 1..=FRAMES {
        let name = format!("n{at}");
        let intent = Intent::Create(Create {
            key: ObjectKey::new(GroupResource::new("", "namespaces"), "", &name),
            version: "v1".into(),
            object: json!({"metadata": {"name": name}}),
            validation: FieldValidation::Ignore,
        });
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&at.to_le_bytes());
        let command = Command::new(Arc::new(Actor::new("t")), Time(1), seed, intent);
        let (sender, answer) = mpsc::channel();
        writer.submit_here(vec![command], Box::new(move |done| drop(sender.send(done))));
        let answers = answer.recv().expect("an answer").expect("written");
        assert!(answers.iter().all(Result::is_ok));
    }
    reader
}

/// What this computes in a thread of its own; `None` if it does not end.
fn in_time<T: Send + 'static>(compute: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, done) = mpsc::channel();
    thread::spawn(move || sender.send(compute()));
    done.recv_timeout(PATIENCE).ok()
}

#[test]
fn a_long_walk_in_a_pool_waits_for_no_other_thread_of_it() {
    let reader = reader();
    let walk = |reader: &Reader| {
        let state = reader.state_at(empty(), Revision(FRAMES));
        state.expect("the state").revision
    };
    let local = reader.clone();
    let walked = in_time(move || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        pool.expect("a thread").install(|| walk(&local))
    });
    assert_eq!(walked, Some(Revision(FRAMES)), "in a small pool");
    // As many at once as there are threads, and more.
    let walks = 4 * rayon::current_num_threads();
    let walked = in_time(move || {
        let all = (0..walks).into_par_iter();
        all.map(|_| walk(&reader)).collect::<Vec<_>>()
    });
    assert_eq!(
        walked,
        Some(vec![Revision(FRAMES); walks]),
        "in the global pool"
    );
}

/// A program may have each thread of its pool wait for what somebody holds who reads the log.
#[test]
fn a_long_walk_outside_of_the_pools_waits_for_no_thread_of_the_global_one() {
    let reader = reader();
    let threads = rayon::current_num_threads() + 1;
    let (all_wait, may_go) = (
        Arc::new(Barrier::new(threads)),
        Arc::new(Barrier::new(threads)),
    );
    let (waiting, going) = (Arc::clone(&all_wait), Arc::clone(&may_go));
    rayon::spawn_broadcast(move |_| {
        waiting.wait();
        going.wait();
    });
    let walked = in_time(move || {
        all_wait.wait();
        let state = reader.state_at(empty(), Revision(FRAMES));
        state.expect("the state").revision
    });
    may_go.wait();
    assert_eq!(walked, Some(Revision(FRAMES)));
}
