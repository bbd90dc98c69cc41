//! Pages of the log: none larger than an answer may be, and together all of it.

use super::{create, key, plane, restored, some_history, write};
use crate::ControlPlane;
use crate::answer::LogEntry;
use crate::history::{HistoryIndex, LogHistory};
use crate::inspect::{Filter, Selection, for_each_entry, page};
use hindsight_api::AsOf;
use hindsight_core::command::{FieldValidation, Update};
use hindsight_core::{Intent, Revision, Time};
use hindsight_log::{Entry, Reader};
use serde_json::{Map, Value, json};

/// The most bytes of an answer, with the last entry that goes beyond the limit.
const PAGE_BYTES_MAX: usize = (1 << 20) + (64 << 10);

/// The entries of a selection, page by page, which equal those of a single read; and the length of each page.
fn in_pages(plane: &ControlPlane, selection: &Selection) -> (Vec<LogEntry>, Vec<usize>) {
    let asked = |from| page(&plane.history(), selection, from).expect("a page");
    let (mut told, mut next, mut pages, mut end) =
        (Vec::new(), Some(Revision(1)), Vec::new(), Revision(1));
    while let Some(from) = next {
        let page = asked(from);
        pages.push(json!(page).to_string().len());
        told.extend(page.entries);
        (next, end) = (page.next, page.end);
    }
    assert_eq!(asked(end).entries, []);
    let mut whole = Vec::new();
    let read = for_each_entry(&plane.history(), selection, Revision(1), |entry| {
        whole.push(entry.clone());
        Ok::<_, hindsight_log::Error>(())
    });
    read.expect("the log");
    assert_eq!(told, whole);
    (told, pages)
}

/// What happened to this object; an empty name is any.
fn one(kind: &str, namespace: &str, name: &str) -> Filter {
    let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Filter {
        kind: named(kind),
        namespace: named(namespace),
        name: named(name),
        ..Filter::default()
    }
}

/// A config map that has other members in each version.
fn changing(plane: &ControlPlane, members: usize, length: usize, versions: usize) -> Selection {
    write(plane, [create("hot")]);
    for version in 0..versions {
        let name = |at: usize| format!("{version:03}-{at:0length$}");
        let data: Map<_, _> = (0..members).map(|at| (name(at), "".into())).collect();
        write(plane, [update(&json!([]), &json!(data))]);
    }
    let filter = one("cm", "default", "hot");
    Selection::of(&plane.history(), &filter, &plane.state()).expect("a known kind")
}

pub(super) fn update(finalizers: &Value, data: &Value) -> Intent {
    Intent::Update(Update {
        key: key("hot"),
        version: "v1".into(),
        subresource: None,
        object: json!({"metadata": {"name": "hot", "finalizers": finalizers}, "data": data}),
        validation: FieldValidation::Ignore,
    })
}

#[test]
fn a_page_is_no_longer_than_an_answer_may_be_and_the_next_goes_on() {
    const VERSIONS: usize = 150;
    let plane = plane();
    let selection = changing(&plane, 120, 90, VERSIONS);
    let (told, pages) = in_pages(&plane, &selection);
    assert_eq!(told.len(), VERSIONS + 1);
    assert!(pages.len() > 1, "{pages:?}");
    assert!(
        pages.iter().all(|bytes| *bytes < PAGE_BYTES_MAX),
        "{pages:?}"
    );
}

#[test]
fn of_what_changed_so_much_is_told_and_how_many_more_there_are() {
    const MEMBERS: usize = 30_000;
    let plane = plane();
    let selection = changing(&plane, MEMBERS, 6, 3);
    let finalizers: Vec<_> = (0..5_000).map(|at| format!("example.com/f{at}")).collect();
    write(&plane, [update(&json!(finalizers), &json!({}))]);
    let (told, pages) = in_pages(&plane, &selection);
    assert!(
        pages.iter().all(|bytes| *bytes < PAGE_BYTES_MAX / 8),
        "{pages:?}"
    );
    let [_, _, of_members, _, of_finalizers] = &told[..] else {
        panic!("five commits: {}", told.len());
    };
    let of = |entry: &LogEntry| entry.changed.as_ref().map(Vec::len);
    assert_eq!(
        (of(of_members), of_members.more_changed),
        (Some(100), 2 * MEMBERS - 100)
    );
    assert_eq!(
        (of_finalizers.events.len(), of_finalizers.more_events),
        (101, 4_900)
    );
}

#[test]
fn pages_put_together_are_the_whole_log_of_a_selection() {
    let plane = plane();
    write(&plane, (0..1_200).map(|name| create(&format!("n{name}"))));
    some_history(&plane);
    for (filter, has_any) in [
        (Filter::default(), true),
        (one("configmaps", "", ""), true),
        (one("cm", "default", "c1"), true),
        (one("cm", "", "c1"), true),
        (one("cm", "other", "c1"), false),
        (one("ns", "default", "default"), true),
        (one("ns", "other", "default"), true),
        (one("ns", "default", "other"), false),
    ] {
        let selection =
            Selection::of(&plane.history(), &filter, &plane.state()).expect("a known kind");
        let (told, pages) = in_pages(&plane, &selection);
        let expected = if told.len() > 1_000 { 2 } else { 1 };
        assert_eq!(pages.len(), expected, "{filter:?}");
        assert_eq!(!told.is_empty(), has_any, "{filter:?}");
    }
}

#[test]
fn what_is_read_back_anyway_needs_no_index() {
    const NEAR: usize = 8;
    let plane = plane();
    write(&plane, (0..40).map(|name| create(&format!("n{name}"))));
    let index = HistoryIndex::new(NEAR, usize::MAX);
    let history = LogHistory::new(plane.reader(), &index);
    let (newest, last) = (plane.state().revision.0, key("n39"));
    for (from, found, is_indexed) in [(newest - 7, 1, false), (1, 1, true)] {
        let touched = history.touched(&last, Revision(from));
        assert_eq!(touched.expect("read").count(), found, "{from}");
        assert_eq!(index.covers() > Revision::ZERO, is_indexed, "{from}");
    }
}

#[test]
fn a_page_with_nothing_on_it_reads_no_log_for_a_restore_that_is_known() {
    let plane = plane();
    write(&plane, [create("first")]);
    let reader = Reader::new(restored(&plane));
    let next = reader.entries(plane.state().revision.next()).next();
    let restore = next.expect("an entry").expect("read").revision();
    let filter = Filter {
        uid: Some("never".into()),
        ..Filter::default()
    };
    let told = |index: &HistoryIndex, known: Option<Revision>| {
        let history = LogHistory::new(&reader, index);
        let history = match known {
            Some(known) => history.last_restored(known),
            None => history,
        };
        let selection = Selection::of(&history, &filter, &plane.state()).expect("no kind");
        let page = page(&history, &selection, Revision(1)).expect("a page");
        assert_eq!(page.entries, []);
        let is_read = index.definitions.lock().expect("a lock").restored.is_some();
        (page.restored, is_read)
    };
    let index = HistoryIndex::default();
    assert_eq!(told(&index, Some(restore)), (Some(restore), false));
    assert_eq!(told(&index, Some(Revision::ZERO)), (None, false));
    assert_eq!(told(&index, None), (Some(restore), true));
}

#[test]
fn a_restore_may_have_lost_what_a_period_holds_unless_that_ends_before_it() {
    let plane = plane();
    write(&plane, [create("first")]);
    let newest = plane.state().revision;
    let reader = Reader::new(restored(&plane));
    let next = reader.entries(newest.next()).next();
    let Entry::Restored { revision, time } = next.expect("an entry").expect("read") else {
        panic!("a restore follows");
    };
    let index = HistoryIndex::default();
    let history = LogHistory::new(&reader, &index);
    for (until, is_told) in [
        (None, true),
        (Some(AsOf::Revision(newest)), false),
        (Some(AsOf::Revision(revision.previous())), false),
        (Some(AsOf::Revision(revision)), true),
        (Some(AsOf::Revision(Revision(u64::MAX))), true),
        (Some(AsOf::Time(Time(time.0 - 1))), false),
        (Some(AsOf::Time(time)), true),
    ] {
        let filter = Filter {
            until,
            ..one("cm", "default", "never")
        };
        let selection = Selection::of(&history, &filter, &plane.state()).expect("a known kind");
        let page = page(&history, &selection, Revision(1)).expect("a page");
        let told = Some(revision).filter(|_| is_told);
        assert_eq!(page.restored, told, "{until:?}");
        assert_eq!(page.entries, []);
    }
}

#[test]
fn who_goes_on_at_the_end_of_a_page_about_one_object_reads_nothing_twice() {
    let plane = plane();
    write(&plane, [create("hot")]);
    write(&plane, (0..40).map(|name| create(&format!("n{name}"))));
    let read = |until: Option<Revision>, from| {
        let filter = Filter {
            until: until.map(AsOf::Revision),
            ..one("cm", "default", "hot")
        };
        let selection = Selection::of(&plane.history(), &filter, &plane.state());
        let selection = selection.expect("a known kind");
        page(&plane.history(), &selection, from).expect("a page")
    };
    let newest = plane.state().revision;
    let whole = read(None, Revision(1));
    assert_eq!((whole.entries.len(), whole.end), (1, newest.next()));
    let part = read(Some(newest.previous()), Revision(1));
    assert_eq!((part.entries.len(), part.end), (1, newest));
    write(&plane, [update(&json!([]), &json!({"a": "b"}))]);
    let later = read(None, whole.end);
    let revisions: Vec<_> = later.entries.iter().map(|entry| entry.revision).collect();
    assert_eq!((revisions, later.end), (vec![whole.end], whole.end.next()));
    let ahead = Revision(later.end.0 + 10);
    assert_eq!(read(None, ahead).end, ahead);
}
