//! When the log is thinned while nobody writes.

use super::*;
use crate::faults::script::Silent;
use crate::{Clock, Keeping, Log, MemoryStorage, Reader, Retention};
use hindsight_core::command::{Create, FieldValidation};
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{Actor, Command, GroupResource, Intent, ObjectKey, Revision, Time, builtin};

pub(super) const COMMITS: u64 = 40;

/// A log of this many commits, and a snapshot of its end.
pub(super) fn logged(snapshots: &Snapshots, empty: &State) -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let opened = Log::open(Arc::clone(&storage), empty.clone());
    let log = opened.expect("opened");
    let (writer, mut stages) = log.by_stages(Box::new(Silent));
    for number in 0..COMMITS {
        let intent = Intent::Create(Create {
            key: ObjectKey::new(GroupResource::new("", "namespaces"), "", ""),
            version: "v1".into(),
            object: serde_json::json!({"metadata": {"name": format!("n{number}")}}),
            validation: FieldValidation::Warn,
        });
        let seed = u128::from(number).to_le_bytes();
        let command = Command::new(Arc::new(Actor::new("t")), Time(1), seed, intent);
        writer.submit(vec![command], Box::new(|_| {}));
        assert!(stages.decide() && stages.sync());
    }
    let base = Reader::new(Arc::clone(&storage) as _).base(empty.clone());
    snapshots.write(&base.expect("folded")).expect("written");
    storage
}

/// The work on this log of a policy that keeps hardly anything.
fn work(
    snapshots: &Snapshots,
    storage: &Arc<dyn Storage>,
    empty: &State,
    owed: Option<Base>,
) -> Work {
    let policy = Retention {
        age_micros: None,
        bytes: Some(1),
        kinds: Vec::new(),
    };
    let keeping = Keeping {
        policy,
        clock: Clock::new(|| Time(0)),
        empty: empty.clone(),
    };
    let (kept, poison) = (snapshots.clone(), Poison::default());
    let thinner = Thinner::new(Arc::clone(storage), kept, keeping, poison);
    Work {
        snapshots: snapshots.clone(),
        storage: Arc::clone(storage),
        is_refused: false,
        bytes_of_state: Arc::default(),
        owed,
        written_while_idle: Arc::default(),
        thinner: Some(thinner),
        received: crossbeam_channel::never(),
    }
}

#[test]
fn a_log_that_nobody_writes_to_is_thinned_after_a_minute_and_every_hour() {
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let empty = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
    let idle = || Err(RecvTimeoutError::Timeout);
    let waits = [
        (Rest::First, Duration::from_mins(1)),
        (Rest::UntilDue, Duration::from_hours(1)),
    ];
    for (waited, pause) in waits {
        assert_eq!(waited.pause(), pause);
        let storage = logged(&snapshots, &empty);
        let mut work = work(&snapshots, &storage, &empty, None);
        let floor = || {
            Reader::new(Arc::clone(&storage) as _)
                .floor()
                .expect("read")
        };
        // No round is in progress: the pause between two turns does not begin one.
        assert_eq!(work.step(idle(), Rest::BetweenTurns), Some(Rest::UntilDue));
        assert_eq!(floor(), Revision::ZERO);
        let mut pieces = 0;
        let mut rest = waited;
        while let Some(Rest::BetweenTurns) = work.step(idle(), rest) {
            rest = Rest::BetweenTurns;
            pieces += 1;
        }
        assert!(pieces > 0, "{waited:?}");
        assert!(floor() > Revision(COMMITS / 2), "{waited:?}");
        let end = Err(RecvTimeoutError::Disconnected);
        assert_eq!(work.step(end, Rest::UntilDue), None);
    }
}

/// Fewer commits were written than make a snapshot due, and nothing can be thinned without one.
#[test]
fn a_log_that_has_no_snapshot_yet_gets_one_to_be_thinned_to() {
    let directory = tempfile::tempdir().expect("a directory");
    let others = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let empty = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
    let storage = logged(&Snapshots::at(others.path().to_owned()), &empty);
    let base = Reader::new(Arc::clone(&storage) as _).base(empty.clone());
    let first = Some(base.expect("folded"));
    let mut work = work(&snapshots, &storage, &empty, first);
    let idle = || Err(RecvTimeoutError::Timeout);
    let mut rest = Rest::First;
    while let Some(Rest::BetweenTurns) = work.step(idle(), rest) {
        rest = Rest::BetweenTurns;
    }
    let floor = Reader::new(storage as _).floor().expect("read");
    assert!(floor > Revision(COMMITS / 2), "{floor}");
}

/// It took the place of the snapshot before it, up to which questions about the time before the start are answered.
#[test]
fn a_snapshot_that_was_due_at_the_start_is_not_due_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let others = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let empty = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
    let storage = logged(&Snapshots::at(others.path().to_owned()), &empty);
    let base = Reader::new(Arc::clone(&storage) as _).base(empty.clone());
    let base = base.expect("folded");
    for is_written in [false, true] {
        let every = NonZeroU64::new(COMMITS / 2);
        let since = (None, Written::default());
        let due = Due::new(every, None, since, Arc::default());
        assert!(due.is_due_at_start(&base));
        let mut work = work(&snapshots, &storage, &empty, Some(base.clone()));
        let (thread_takes, taken) = bounded(1);
        let mut snapshotter = Snapshotter {
            due,
            end: base.clone(),
            written_while_idle: Arc::clone(&work.written_while_idle),
            thread_takes: Some(thread_takes),
            thread: None,
        };
        if is_written {
            work.step(Err(RecvTimeoutError::Timeout), Rest::First);
        }
        let mut state = base.state.clone();
        state.revision = state.revision.next();
        let (revision, hash) = (state.revision, base.hash);
        snapshotter.note(&state, Tail { revision, hash }, &[]);
        assert_eq!(taken.try_recv().is_ok(), !is_written);
    }
}

/// A full disk lets nothing be written, so that none is handed over any more.
#[test]
fn a_snapshot_that_could_not_be_written_is_written_later_and_the_log_thinned_to_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let others = tempfile::tempdir().expect("a directory");
    let at = directory.path().join("snapshots");
    let snapshots = Snapshots::at(at.clone());
    let empty = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
    let storage = logged(&Snapshots::at(others.path().to_owned()), &empty);
    let base = Reader::new(Arc::clone(&storage) as _).base(empty.clone());
    let base = base.expect("folded");
    let mut work = work(&snapshots, &storage, &empty, None);
    std::fs::write(&at, "in the way").expect("written");
    let floor = || {
        Reader::new(Arc::clone(&storage) as _)
            .floor()
            .expect("read")
    };
    assert_eq!(
        work.step(Ok(base.clone()), Rest::UntilDue),
        Some(Rest::UntilDue)
    );
    assert_eq!(floor(), Revision::ZERO);
    std::fs::remove_file(&at).expect("removed");
    let idle = || Err(RecvTimeoutError::Timeout);
    let mut rest = Rest::UntilDue;
    while let Some(Rest::BetweenTurns) = work.step(idle(), rest) {
        rest = Rest::BetweenTurns;
    }
    let written = snapshots.revisions().expect("listed");
    assert_eq!(written, [base.state.revision]);
    assert!(floor() > Revision(COMMITS / 2), "{}", floor());
    assert!(work.owed.is_none());
}

/// As where the clock of the thinner holds the last clone of the plane.
#[test]
fn it_may_end_on_its_own_thread() {
    let empty = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
    let others = tempfile::tempdir().expect("a directory");
    let storage = logged(&Snapshots::at(others.path().to_owned()), &empty);
    let base = Reader::new(storage as _).base(empty).expect("folded");
    for every in [None, NonZeroU64::new(1)] {
        let due = Due::new(every, None, (None, Written::default()), Arc::default());
        assert_eq!(due.is_due_at_end(&base), every.is_some());
        let (thread_takes, received) = bounded(0);
        let (gives, takes) = bounded::<Snapshotter>(1);
        let (ends, ended) = bounded(1);
        let thread = std::thread::spawn(move || {
            drop(takes.recv());
            ends.send(received).expect("somebody waits");
        });
        let snapshotter = Snapshotter {
            due,
            end: base.clone(),
            written_while_idle: Arc::default(),
            thread_takes: Some(thread_takes),
            thread: Some(thread),
        };
        gives.send(snapshotter).expect("it lives");
        let received = ended.recv_timeout(Duration::from_mins(1));
        let received = received.expect("it has ended");
        assert!(received.try_recv().is_err(), "nobody would write it");
    }
}
