//! A disk that fails at its n-th call: what was answered before stands, nothing is answered or shown
//! after, nothing is tried again, and what is left opens.

use super::disk::{Crash, Disk, Faults, Step};
use super::is_long;
use super::script::{Expected, empty, expected, run};
use crate::{Log, WriteError};
use std::io::ErrorKind;
use std::sync::Arc;

#[test]
fn a_failing_disk_poisons_the_log_at_whichever_call_it_fails() {
    let whole = Arc::new(Disk::default());
    assert_eq!(run(&whole), []);
    let expected = expected(&whole);
    let stride = if is_long() { 1 } else { 17 };
    // The first sync is that of opening: its failure is a refusal to open.
    for at in (1..whole.syncs()).step_by(stride) {
        for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
            let sync = Some((at, kind));
            check(
                Faults {
                    sync,
                    ..Faults::default()
                },
                &expected,
            );
        }
    }
    for at in (0..whole.appends()).step_by(stride) {
        for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
            let append = Some((at, kind));
            check(
                Faults {
                    append,
                    ..Faults::default()
                },
                &expected,
            );
        }
    }
}

#[test]
fn a_log_that_cannot_be_synced_is_not_opened() {
    let sync = Some((0, ErrorKind::Other));
    let disk = Disk::failing(Faults {
        sync,
        ..Faults::default()
    });
    assert!(Log::open(Arc::new(disk), empty()).is_err());
}

fn check(faults: Faults, expected: &Expected) {
    let disk = Arc::new(Disk::failing(faults));
    let refusals = run(&disk);
    assert_eq!(refusals.len(), 3, "{faults:?}");
    for refusal in refusals {
        assert!(matches!(refusal, WriteError::Poisoned(_)), "{refusal:?}");
    }
    let steps = disk.steps();
    let mut crash = Crash::before_everything();
    steps.iter().for_each(|step| crash.follow(step));
    assert_eq!(crash.told, crash.shown);
    let silent = |step: &Step| matches!(step, Step::FailedSync | Step::Append(..));
    assert!(steps.last().is_some_and(silent), "{faults:?}");
    let witness = crash.newest_witness();
    for kept in 0..=crash.unsynced.len() {
        let disk = crash.keeping(|index| index < kept, witness);
        let (_, state) = Log::open(Arc::new(disk), empty()).expect("opened");
        assert!(state.revision >= crash.told);
        assert_eq!(state.hash(), expected[&state.revision].1, "{faults:?}");
    }
}
