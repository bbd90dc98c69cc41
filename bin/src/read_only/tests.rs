//! What a program may read of a directory that it has no control plane on.

use super::open_reader;
use crate::testing::tree;
use crate::{Config, ControlPlane, OpenError};
use hindsight_log::{Error, Snapshots, layout};
use std::num::NonZeroU64;
use std::path::Path;

fn plane(directory: &Path) -> ControlPlane {
    let config = Config {
        data_dir: Some(directory.to_owned()),
        ..Config::default()
    };
    ControlPlane::open(config).expect("it opens")
}

#[test]
fn a_log_is_read_by_one_at_a_time_and_nothing_is_committed() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path().join("data");
    let held = plane(&data);
    let refused = open_reader(&data).expect_err("it is in use");
    assert!(matches!(refused, OpenError::Log(Error::Locked { .. })));
    let state = held.state();
    held.close();
    let opened = open_reader(&data).expect("it is free");
    let found = opened.reader().newest_state(opened.empty_state());
    assert_eq!(found.expect("read").hash(), state.hash());
    assert_eq!(opened.witnessed(), Some(state.revision));
    assert!(open_reader(&data).is_err(), "it is in use again");
    drop(opened);
    let again = plane(&data);
    assert_eq!(again.state().revision, state.revision);
    again.close();
}

#[test]
fn a_directory_without_a_log_is_refused_and_stays_as_it_is() {
    let temporary = tempfile::tempdir().expect("a directory");
    for directory in [temporary.path().to_owned(), temporary.path().join("none")] {
        let refused = open_reader(&directory).expect_err("there is none");
        assert!(matches!(refused, OpenError::NoLog(_)), "{refused}");
    }
    let left = temporary.path().read_dir().expect("read").count();
    assert_eq!(left, 0);
}

#[test]
fn a_log_that_has_lost_its_end_is_refused_as_by_a_start() {
    let temporary = tempfile::tempdir().expect("a directory");
    plane(temporary.path()).close();
    std::fs::remove_file(temporary.path().join("events.tail")).expect("removed");
    let refused = open_reader(temporary.path()).expect_err("it may have lost its end");
    assert!(matches!(refused, OpenError::Log(Error::Unwitnessed { .. })));
}

/// A log of which there is a snapshot.
fn with_a_snapshot(directory: &Path) {
    let config = Config {
        data_dir: Some(directory.to_owned()),
        snapshot_every: Some(NonZeroU64::MIN),
        ..Config::default()
    };
    // Its end writes one if it has not written one yet.
    ControlPlane::open(config).expect("it opens").close();
    let snapshots = Snapshots::at(directory.join(layout::SNAPSHOTS));
    let found = snapshots.revisions().expect("listed");
    assert!(!found.is_empty(), "there is no snapshot");
}

#[test]
fn a_start_that_misses_its_log_makes_nothing_in_the_place_of_what_is_moved_back() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, away) = (temporary.path().join("data"), temporary.path().join("away"));
    with_a_snapshot(&data);
    std::fs::create_dir(&away).expect("made");
    let parts = [layout::EVENTS, layout::TAIL, layout::RESERVE];
    for part in parts {
        std::fs::rename(data.join(part), away.join(part)).expect("moved");
    }
    let before = tree(&data);
    let config = || Config {
        data_dir: Some(data.clone()),
        ..Config::default()
    };
    let refused = ControlPlane::open(config()).expect_err("its log is missing");
    assert!(
        matches!(refused, OpenError::Log(Error::Lost { .. })),
        "{refused}"
    );
    assert!(tree(&data) == before, "nothing was made");
    for part in parts {
        std::fs::rename(away.join(part), data.join(part)).expect("moved back");
    }
    plane(&data).close();
}

#[test]
fn a_question_that_its_snapshots_refute_removes_nothing() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, other) = (
        temporary.path().join("data"),
        temporary.path().join("other"),
    );
    with_a_snapshot(&data);
    plane(&other).close();
    std::fs::remove_dir_all(other.join(layout::SNAPSHOTS)).ok();
    std::fs::rename(data.join(layout::SNAPSHOTS), other.join(layout::SNAPSHOTS)).expect("moved");
    let left = other.join("verifying");
    std::fs::create_dir(&left).expect("made");
    let refused = open_reader(&other).expect_err("its snapshot is of another log");
    let is_told = matches!(
        refused,
        OpenError::Log(Error::OtherSnapshot { .. } | Error::Lost { .. })
    );
    assert!(is_told, "{refused}");
    assert!(left.exists());
}
