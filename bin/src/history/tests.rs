//! Answers with the index equal those of a plain walk over the log.

mod dropped;
mod pages;
mod reused;
mod thinned;

use super::{HistoryIndex, LogHistory};
use crate::ControlPlane;
use crate::inspect::{Filter, ObjectQuery, Selection, for_each_entry, page};
use crate::testing::{plane, restored};
use hindsight_api::AsOf;
use hindsight_core::command::{Create, Delete, FieldValidation, Target};
use hindsight_core::{
    Actor, Command, Commit, GroupResource, Intent, ObjectKey, Revision, Rule, Time, Uid,
};
use hindsight_log::Stored;
use hindsight_projector::History;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// The longest wait, for a run that fails.
const PATIENCE: Duration = Duration::from_mins(1);

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
}

fn create(name: &str) -> Intent {
    Intent::Create(Create {
        key: key(""),
        version: "v1".into(),
        object: json!({"metadata": {"name": name}}),
        validation: FieldValidation::Ignore,
    })
}

fn delete(name: &str) -> Intent {
    Intent::Delete(Delete::new(
        Target::any(key(name)),
        "v1".into(),
        Rule::Requested,
    ))
}

fn write(plane: &ControlPlane, intents: impl IntoIterator<Item = Intent>) {
    write_at(plane, plane.now(), intents);
}

fn write_at(plane: &ControlPlane, time: Time, intents: impl IntoIterator<Item = Intent>) {
    let actor = Arc::new(Actor::new("t"));
    let command = |intent| Command::new(Arc::clone(&actor), time, plane.seed(), intent);
    let commands: Vec<Command> = intents.into_iter().map(command).collect();
    for answer in plane.submit_blocking(commands).expect("written") {
        answer.expect("it is taken");
    }
}

/// Names come and go; the later ones are rare.
fn some_history(plane: &ControlPlane) {
    for round in 0..12_u32 {
        let names = (0..6_u32).filter(|name| round.is_multiple_of(name + 1));
        let names: Vec<String> = names.map(|name| format!("c{name}")).collect();
        write(plane, names.iter().map(|name| create(name)));
        write(plane, names.iter().map(|name| delete(name)));
    }
}

fn object(name: &str) -> ObjectQuery {
    ObjectQuery {
        kind: "cm".into(),
        name: name.into(),
        ..ObjectQuery::default()
    }
}

fn named(name: &str) -> Filter {
    Filter {
        kind: Some("cm".into()),
        namespace: Some("default".into()),
        name: Some(name.into()),
        ..Filter::default()
    }
}

/// The frames of the log, as if it were restored from a backup.
fn frames(plane: &ControlPlane) -> Vec<Stored> {
    let storage = restored(plane);
    let (mut frames, mut from) = (Vec::new(), Revision(1));
    while let Some(frame) = storage.at_or_after(from).expect("it is read") {
        from = frame.0.next();
        frames.push(frame);
    }
    frames
}

fn walked(
    plane: &ControlPlane,
    key: &ObjectKey,
    uid: Option<&Uid>,
    until: Revision,
) -> Option<Commit> {
    let mut all = plane
        .reader()
        .scan(Revision(1))
        .map(|one| one.expect("a commit"));
    let mut last = None;
    while let Some(commit) = all.next().filter(|commit| commit.revision <= until) {
        if commit.key == *key && uid.is_none_or(|uid| *uid == commit.uid) {
            last = Some(commit);
        }
    }
    last
}

#[test]
fn an_index_of_any_size_finds_what_a_walk_finds() {
    let plane = plane();
    some_history(&plane);
    let newest = plane.state().revision;
    let commits = plane
        .reader()
        .scan(Revision(1))
        .map(|one| one.expect("a commit"));
    let mut subjects: BTreeSet<(ObjectKey, Option<Uid>)> = commits
        .flat_map(|commit| [(commit.key.clone(), None), (commit.key, Some(commit.uid))])
        .collect();
    subjects.insert((key("never"), None));
    for (near, max) in [(1, usize::MAX), (7, usize::MAX), (1, 20), (usize::MAX, 0)] {
        let index = HistoryIndex::new(near, max);
        let history = LogHistory::new(plane.reader(), &index);
        for (key, uid) in &subjects {
            for until in [0, 1, newest.0 / 2, newest.0 - 1, newest.0, u64::MAX] {
                let until = Revision(until);
                let found = history.last(key, uid.as_ref(), until).expect("it is read");
                assert_eq!(
                    found,
                    walked(&plane, key, uid.as_ref(), until),
                    "{near} {max} {until}"
                );
            }
        }
    }
}

#[test]
fn what_is_written_after_a_question_is_found_by_the_next() {
    let plane = plane();
    let index = HistoryIndex::new(1, usize::MAX);
    let history = LogHistory::new(plane.reader(), &index);
    for _ in 0..3 {
        some_history(&plane);
        let found = history.last(&key("c5"), None, Revision::MAX);
        assert_eq!(
            found.expect("it is read"),
            walked(&plane, &key("c5"), None, Revision::MAX)
        );
        let rebuilt = HistoryIndex::new(1, usize::MAX);
        for one in [&rebuilt, &index] {
            let all = one.extend(plane.reader(), Revision::MAX);
            all.expect("it is read");
        }
        assert_eq!(*index.places(), *rebuilt.places());
    }
}

/// One question may ask for hundreds of objects that were all last written a little before.
#[test]
fn who_reads_a_little_back_again_and_again_uses_the_index() {
    let plane = plane();
    write(&plane, [create("a")]);
    let others = (0..20).map(|number| format!("o{number}"));
    write(&plane, others.map(|name| create(&name)));
    let index = HistoryIndex::new(30, usize::MAX);
    let history = LogHistory::new(plane.reader(), &index);
    for covers in [Revision::ZERO, plane.state().revision] {
        let found = history.last(&key("a"), None, Revision::MAX);
        assert!(found.expect("it is read").is_some());
        assert_eq!(index.covers(), covers);
    }
}

/// A log, and an index that covers all of it.
fn indexed(near: usize) -> (ControlPlane, HistoryIndex) {
    let plane = plane();
    some_history(&plane);
    let index = HistoryIndex::new(near, usize::MAX);
    let all = index.extend(plane.reader(), Revision::MAX);
    all.expect("it is read");
    (plane, index)
}

#[test]
fn a_walk_of_the_log_blocks_only_questions_that_need_the_new_commits() {
    let (plane, index) = indexed(4);
    let (index, (sender, told)) = (Arc::new(index), mpsc::channel());
    // As many commits as are read back without the index.
    write(&plane, [create("late"), create("later")]);
    let known = [
        ("c5", u64::MAX),
        ("c5", 9),
        ("late", u64::MAX),
        ("never", 9),
    ];
    let expected = known.map(|(name, until)| walked(&plane, &key(name), None, Revision(until)));
    let walk = index.walk.lock().expect("a lock");
    let asking = (plane, Arc::clone(&index));
    std::thread::spawn(move || {
        let history = LogHistory::new(asking.0.reader(), &asking.1);
        let found = known.map(|(name, until)| {
            let last = history.last(&key(name), None, Revision(until));
            last.expect("it is read")
        });
        let late = key("late");
        let touched = history.touched(&late, Revision(1)).expect("it is read");
        sender.send((found, touched.count())).ok();
    });
    let found = told.recv_timeout(PATIENCE);
    drop(walk);
    assert_eq!(found.expect("nobody waits"), (expected, 1));
}

#[test]
fn the_index_is_free_while_the_log_is_read() {
    let (plane, _) = indexed(1);
    let index = HistoryIndex::new(1, usize::MAX);
    let commits = plane.reader().scan(Revision(1));
    let mut read = 0;
    let commits = commits.inspect(|_| {
        read += 1;
        assert!(index.places.try_write().is_ok());
    });
    index.add(commits).expect("it is read");
    assert!(read > 40, "{read}");
    assert_eq!(index.covers(), plane.state().revision);
}

#[test]
fn until_a_time_everything_is_told_that_was_done_by_then_in_pages_and_without() {
    let plane = plane();
    let begin = plane.now().0;
    // The clock was ahead for a while.
    let done = [
        (10, create("a")),
        (900, create("b")),
        (20, delete("a")),
        (30, create("a")),
    ];
    for (after, intent) in done {
        write_at(&plane, Time(begin + after), [intent]);
    }
    let narrow = named("a");
    for (after, of_all, of_one) in [(9, 0, 0), (10, 1, 1), (20, 2, 2), (899, 3, 3), (900, 4, 3)] {
        for (filter, expected) in [(Filter::default(), of_all), (narrow.clone(), of_one)] {
            let filter = Filter {
                user: Some("t".into()),
                until: Some(AsOf::Time(Time(begin + after))),
                ..filter
            };
            let selection =
                Selection::of(&plane.history(), &filter, &plane.state()).expect("a known kind");
            let page = page(&plane.history(), &selection, Revision(1)).expect("a page");
            assert_eq!(page.next, None);
            let mut whole = Vec::new();
            let read = for_each_entry(&plane.history(), &selection, Revision(1), |entry| {
                whole.push(entry.clone());
                Ok::<_, hindsight_log::Error>(())
            });
            read.expect("the log");
            assert_eq!(page.entries, whole, "{after}");
            assert_eq!(whole.len(), expected, "{after}");
        }
    }
}
