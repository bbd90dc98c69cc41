//! Pages of a log that is thinned while they are made.

use super::*;
use crate::history::HistoryIndex;
use crate::testing::{plane, restored};
use hindsight_core::command::{Create, FieldValidation, Patch, PatchObject};
use hindsight_core::{Actor, Command, Intent, Pruned};
use hindsight_log::{Reader, Storage, thin};
use std::iter::once_with;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
}

fn create() -> Intent {
    Intent::Create(Create {
        key: key(""),
        version: "v1".into(),
        object: json!({"metadata": {"name": "a"}}),
        validation: FieldValidation::Ignore,
    })
}

fn patch(version: u64) -> Intent {
    Intent::Patch(PatchObject {
        key: key("a"),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"data": {"version": version.to_string()}})),
        validation: FieldValidation::Ignore,
    })
}

/// The log of a config map with some versions, and the revisions of these.
fn versions() -> (Arc<dyn Storage>, Vec<Revision>) {
    let plane = plane();
    let mut revisions = Vec::new();
    for intent in [create()].into_iter().chain((0..6).map(patch)) {
        let command = Command::new(Arc::new(Actor::new("t")), plane.now(), plane.seed(), intent);
        let answers = plane.submit_blocking(vec![command]).expect("written");
        assert!(answers.iter().all(Result::is_ok));
        revisions.push(plane.state().revision);
    }
    (restored(&plane), revisions)
}

#[test]
fn a_page_of_a_log_that_is_thinned_meanwhile_tells_the_floor_of_what_it_shows() {
    let (storage, revisions) = versions();
    let (reader, index) = (
        Reader::new(Arc::clone(&storage) as _),
        HistoryIndex::default(),
    );
    let history = LogHistory::new(&reader, &index);
    let (selection, empty) = (Selection::default(), plane().empty_state());
    let whole = page(&history, &selection, Revision(1)).expect("a page");
    assert_eq!(whole.floor, Revision::ZERO);
    let first = entry_builder(&history, &selection).expect("a builder");
    let second = entry_builder(&history, &selection).expect("a builder");
    for (builder, floor) in [(first, revisions[2]), (second, revisions[5])] {
        // After the question has arrived, and before the log is read.
        let thinned = once_with(|| {
            let done = thin(&*storage, &reader, floor, empty.clone(), &[]);
            done.expect("thinned");
        });
        let found = thinned.flat_map(|()| history.all(Revision(1)));
        let left = fill(builder, Revision(1), found).expect("a page");
        assert!(left.entries.len() < whole.entries.len());
        assert_eq!(left.floor, floor);
    }
}

/// The version before the newest that is shown is one that was read before the log was thinned.
#[test]
fn what_changed_is_not_told_where_versions_were_dropped_meanwhile() {
    let (storage, revisions) = versions();
    let (reader, index) = (
        Reader::new(Arc::clone(&storage) as _),
        HistoryIndex::default(),
    );
    let history = LogHistory::new(&reader, &index);
    let (read, floor, last) = (revisions[1], revisions[5], revisions[6]);
    let selection = Selection {
        filter: Filter {
            name: Some("a".into()),
            ..Filter::default()
        },
        ..Selection::default()
    };
    let changed = |page: &LogPage| -> Vec<(Revision, bool)> {
        let shown = page.entries.iter();
        let told = shown.map(|entry| (entry.revision, entry.changed.is_some()));
        told.filter(|(revision, _)| *revision >= floor).collect()
    };
    let whole = page(&history, &selection, Revision(1)).expect("a page");
    assert_eq!(changed(&whole), [(floor, true), (last, true)]);
    let builder = entry_builder(&history, &selection).expect("a builder");
    let early = history.all(Revision(1));
    let early = early.take_while(|entry| {
        let entry = entry.as_ref();
        entry.is_ok_and(|entry| entry.revision() <= read)
    });
    let late = once_with(|| {
        let empty = plane().empty_state();
        thin(&*storage, &reader, floor, empty, &[]).expect("thinned");
    });
    let late = late.flat_map(|()| history.all(read.next()));
    let page = fill(builder, Revision(1), early.chain(late)).expect("a page");
    assert_eq!(changed(&page), [(floor, false), (last, true)]);
}

#[test]
fn what_is_thinned_while_it_is_told_is_told_by_the_next_page() {
    let plane = plane();
    let history = plane.history();
    let selection = Selection::default();
    let (asked, floor) = (Revision(3), Revision(4));
    let pruned = || Err(Error::Pruned(Pruned { asked, floor }));
    for (read, next) in [(0, 1), (2, 3)] {
        let commits = plane.reader().entries(Revision(1)).take(read);
        let found = commits.chain([pruned()]);
        let builder = entry_builder(&history, &selection).expect("a builder");
        let page = fill(builder, Revision(1), found).expect("a page");
        assert_eq!(page.entries.len(), read);
        assert_eq!(page.next, Some(Revision(next)));
    }
    let broken = Err(Error::Closed);
    let builder = entry_builder(&history, &selection).expect("a builder");
    assert!(fill(builder, Revision(1), [broken].into_iter()).is_err());
}

#[test]
fn where_objects_are_looked_for_follows_from_their_kinds_and_the_filter() {
    let state = plane().state();
    let named = |resource: &str| {
        let resource = GroupResource::new("", resource);
        let kind = state.kinds.by_resource(&resource).cloned();
        (resource, kind)
    };
    let within = |or_cluster| Scope::Namespace {
        name: "default".into(),
        or_cluster,
    };
    let namespaced = [named("configmaps")];
    let cluster = [named("namespaces")];
    let gone = [named("widgets")];
    let object =
        |kind: &Named, namespace| Scope::Object(ObjectKey::new(kind.0.clone(), namespace, "a"));
    for (kinds, [of_all, in_one, of_name, of_both]) in [
        (
            &[][..],
            [
                Scope::Anywhere,
                within(false),
                Scope::Anywhere,
                within(false),
            ],
        ),
        (
            &namespaced,
            [
                Scope::Anywhere,
                within(false),
                Scope::Anywhere,
                object(&namespaced[0], "default"),
            ],
        ),
        (
            &cluster,
            [
                Scope::Cluster,
                Scope::Cluster,
                object(&cluster[0], ""),
                object(&cluster[0], ""),
            ],
        ),
        (
            &gone,
            [Scope::Anywhere, within(true), Scope::Anywhere, within(true)],
        ),
    ] {
        for (namespace, name, expected) in [
            (None, None, of_all),
            (Some("default"), None, in_one),
            (None, Some("a"), of_name),
            (Some("default"), Some("a"), of_both),
        ] {
            let filter = Filter {
                namespace: namespace.map(str::to_owned),
                name: name.map(str::to_owned),
                ..Filter::default()
            };
            let found = Scope::of(kinds, &filter);
            assert_eq!(found, expected, "{kinds:?} {namespace:?} {name:?}");
        }
    }
}
