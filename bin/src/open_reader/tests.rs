//! What a program may read of a directory that it has no control plane on.

use super::open_reader;
use crate::opening::find;
use crate::testing::tree;
use crate::{Config, ControlPlane, OpenError};
use hindsight_core::command::{Create, Delete, FieldValidation, Target};
use hindsight_core::{Actor, Command, GroupResource, Intent, ObjectKey, Rejection, Rule};
use hindsight_log::{Error, Found, Snapshots, layout};
use serde_json::json;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

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
    let reader = opened.reader().clone();
    drop(opened);
    let again = plane(&data);
    let read = reader.newest();
    assert!(matches!(read, Err(Error::Closed)), "{read:?}");
    assert_eq!(again.state().revision, state.revision);
    again.close();
}

#[test]
fn what_a_plane_answers_its_directory_does() {
    let temporary = tempfile::tempdir().expect("a directory");
    let held = plane(temporary.path());
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "a");
    let command = |intent| {
        let actor = Arc::new(Actor::new("alice"));
        Command::new(actor, held.now(), held.seed(), intent)
    };
    let create = command(Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": "a"}}),
        validation: FieldValidation::Ignore,
    }));
    let delete = Delete::new(Target::any(key.clone()), "v1".into(), Rule::Requested);
    let delete = command(Intent::Delete(delete));
    let write = |command| {
        let written = held.submit_blocking(vec![command]).expect("open");
        assert!(written.iter().all(Result::is_ok));
        held.state().revision
    };
    let there = write(create);
    write(delete.clone());
    let why = held.explain(&key, None).expect("read");
    let then = held.forecast_at(there, delete.clone()).expect("kept");
    assert_eq!(then.course.changes.len(), 1);
    held.close();
    let opened = open_reader(temporary.path()).expect("it is free");
    assert_eq!(opened.explain(&key, None).expect("read"), why);
    let again = opened.forecast_at(there, delete.clone()).expect("kept");
    assert_eq!(again.course.changes.len(), 1);
    let now = opened.forecast_at(there.next(), delete).expect("kept");
    assert!(matches!(now.answer, Err(Rejection::NotFound { .. })));
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

/// Takes away these parts of a log, puts into their place what is given, and expects that whoever opens the directory
/// is refused and makes nothing; then puts the parts back.
fn check_missed(data: &Path, parts: &[&str], put: impl FnOnce(&Path)) {
    let away = data.with_extension("away");
    std::fs::create_dir(&away).expect("made");
    let place = |part: &str| away.join(part.replace('/', "-"));
    for part in parts {
        std::fs::rename(data.join(part), place(part)).expect("moved");
    }
    put(data);
    let before = tree(data);
    let config = Config {
        data_dir: Some(data.to_owned()),
        ..Config::default()
    };
    let refused = [
        ControlPlane::open(config).expect_err("its log is missing"),
        open_reader(data).expect_err("its log is missing"),
    ];
    let database = data.join("events/db");
    for refused in refused {
        let told = refused.to_string();
        assert!(
            matches!(refused, OpenError::Log(Error::Missing { .. })),
            "{parts:?}: {told}"
        );
        assert!(told.contains(&format!("{} is missing", database.display())));
    }
    assert!(tree(data) == before, "{parts:?}: nothing was made");
    std::fs::remove_file(&database).ok();
    if parts.contains(&layout::EVENTS) {
        std::fs::remove_dir(data.join(layout::EVENTS)).ok();
    }
    for part in parts {
        std::fs::rename(place(part), data.join(part)).expect("moved back");
    }
    std::fs::remove_dir(away).expect("empty");
    plane(data).close();
}

#[test]
fn a_start_that_misses_its_log_makes_nothing_in_the_place_of_what_is_moved_back() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path().canonicalize().expect("there").join("data");
    with_a_snapshot(&data);
    let all = [layout::EVENTS, layout::TAIL, layout::RESERVE];
    // A mount point that is not mounted.
    let is_unmounted = |at: &Path| std::fs::create_dir(at.join("events")).expect("made");
    let nowhere = data.with_extension("unmounted");
    let leads_nowhere = |at: &Path| {
        std::os::unix::fs::symlink(nowhere.join("db"), at.join("events/db")).expect("linked");
    };
    check_missed(&data, &all, |_| {});
    check_missed(&data, &all, is_unmounted);
    check_missed(&data, &[layout::EVENTS], is_unmounted);
    for parts in [
        &["events/db", "events/journal"][..],
        &["events/db", "events/journal", layout::SNAPSHOTS],
        &["events/db", "events/journal", layout::TAIL],
    ] {
        check_missed(&data, parts, |_| {});
        check_missed(&data, parts, leads_nowhere);
    }
}

#[test]
fn where_nothing_tells_of_a_log_an_empty_place_for_it_is_no_log_and_a_start_makes_one() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path();
    std::fs::create_dir_all(data.join("events/lost+found")).expect("made");
    let before = tree(data);
    let refused = open_reader(data).expect_err("there is none");
    assert!(matches!(refused, OpenError::NoLog(_)), "{refused}");
    assert!(tree(data) == before, "a question makes nothing");
    plane(data).close();
    drop(open_reader(data).expect("now there is one"));
}

/// What is in the journal a start takes from there, and so does a question.
#[test]
fn without_its_database_a_log_that_the_journal_has_whole_is_one() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path().join("data");
    let held = plane(&data);
    let state = held.state();
    held.close();
    std::fs::remove_file(data.join("events/db")).expect("removed");
    let left = find(&data).expect("examined");
    assert_eq!(left, Found::Journal(state.revision));
    let opened = open_reader(&data).expect("the journal has it");
    let found = opened.reader().newest_state(opened.empty_state());
    assert_eq!(found.expect("read").hash(), state.hash());
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
