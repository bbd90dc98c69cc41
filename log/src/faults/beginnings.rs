//! The beginning of a log is a log too, up to whatever revision, and whatever was dropped before.

use super::script::{self, Silent};
use crate::{Error, Log, MemoryStorage, Reader, Storage, thin, verify};
use hindsight_core::{Pruned, Revision};
use std::sync::Arc;

const SUBMISSIONS: usize = 40;

/// What is submitted together is one frame, so most revisions are in the middle of one.
fn written() -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let log = Log::open(Arc::clone(&storage), script::empty()).expect("opened");
    let writer = log.start(Box::new(Silent)).expect("started");
    let mut commands = script::Commands::default();
    for _ in 0..SUBMISSIONS {
        script::submit(&writer, &Arc::default(), commands.submission()).expect("written");
    }
    storage
}

fn reader(storage: &Arc<dyn Storage>) -> Reader {
    Reader::new(Arc::clone(storage) as _)
}

/// Copies the beginning, and compares it with the original; then the copy goes on.
fn check(original: &Reader, until: Revision) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    original.copy_until(until, &*storage).expect("copied");
    let copy = reader(&storage);
    let report = verify(&copy, |_| {}).expect("whole");
    assert_eq!(report.newest, until);
    assert_eq!(report.floor, original.floor().expect("read"));
    let kept = original.scan(Revision(1));
    let is_before = |revision: Revision| revision <= until;
    let kept = kept.map(|commit| commit.expect("read").revision);
    assert_eq!(
        report.commits,
        kept.filter(|at| is_before(*at)).count() as u64
    );
    let state = |of: &Reader| of.state_at(script::empty(), until).expect("kept");
    assert_eq!(state(&copy).hash(), state(original).hash(), "{until}");

    let log = Log::open(Arc::clone(&storage), script::empty()).expect("opened");
    let writer = log.start(Box::new(Silent)).expect("started");
    let mut commands = script::Commands::default();
    let told = script::submit(&writer, &Arc::default(), commands.submission());
    let is_there = until >= Revision(1);
    let next = if is_there {
        Revision::ZERO
    } else {
        Revision(1)
    };
    assert_eq!(
        told,
        Ok(next),
        "the namespace is there already, but for revision 0"
    );
    let more = commands.submission();
    script::submit(&writer, &Arc::default(), more).expect("written");
    drop(writer);
    verify(&copy, |_| {}).expect("whole");
}

#[test]
fn the_beginning_of_a_log_is_a_log_that_goes_on() {
    let storage = written();
    let original = reader(&storage);
    let newest = original.newest().expect("read");
    assert!(newest > Revision(SUBMISSIONS as u64), "frames are shared");
    (0..=newest.0)
        .map(Revision)
        .for_each(|until| check(&original, until));
    let nowhere = MemoryStorage::default();
    let refused = original.copy_until(newest.next(), &nowhere);
    assert!(matches!(refused, Err(Error::Future(_))), "{refused:?}");
}

#[test]
fn the_beginning_of_a_thinned_log_ends_no_earlier_than_all_is_kept() {
    let storage = written();
    let original = reader(&storage);
    let newest = original.newest().expect("read");
    let middle = Revision(newest.0 / 2);
    thin(&*storage, &original, middle, script::empty(), &[]).expect("thinned");
    let floor = original.floor().expect("read");
    assert!(Revision::ZERO < floor && floor < newest, "{floor}");
    (floor.0..=newest.0)
        .map(Revision)
        .for_each(|until| check(&original, until));
    let refused = original.copy_until(floor.previous(), &MemoryStorage::default());
    let is_told =
        |error| matches!(error, Error::Pruned(Pruned { floor: told, .. }) if told == floor);
    assert!(refused.is_err_and(is_told));
}
