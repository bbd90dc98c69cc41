//! A witness that lags behind, as a power cut within a second of the last writes leaves it, and questions that are
//! asked before the next start; and what is synced before the journal, which proves the same, is emptied.

use super::copies::copy;
use super::refusals::{append, tail, written_frames};
use super::rot::{frames, open};
use super::script;
use crate::{Error, Intact, Reader, Records, SledStorage, Storage, thin};
use hindsight_core::Revision;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a clean end left, and all that was written.
const NOTED: usize = 3;
const WRITTEN: usize = 8;

/// Appends these frames, each synced and noted alone, so that the journal has them.
fn write(storage: &SledStorage, range: Range<usize>) {
    for one in &frames()[range] {
        storage.append(one.0, &one.1).expect("appended");
        storage.sync().expect("synced");
        storage.witness(&tail(one));
    }
}

/// A log whose last records are in the journal alone, behind the note of its witness.
fn cut(at: &Path) {
    let live = tempfile::tempdir().expect("a directory");
    written_frames(live.path(), NOTED);
    let noted = fs::read(live.path().join("events.tail")).expect("read");
    let storage = SledStorage::open(&live.path().join("events")).expect("opened");
    write(&storage, NOTED..WRITTEN);
    copy(live.path(), at);
    fs::write(at.join("events.tail"), noted).expect("written");
}

/// A question opens the files, and nothing else.
fn ask(at: &Path) {
    drop(SledStorage::open(&at.join("events")).expect("opened"));
}

fn witnessed(at: &Path) -> Option<Revision> {
    let storage = SledStorage::open(&at.join("events")).expect("opened");
    let found = storage.witnessed().expect("read");
    found.map(|tail| tail.revision)
}

/// Flips a bit in every copy that the database has of this frame, or in the only one that the journal has.
fn damage(at: &Path, (first, bytes): &(Revision, Arc<[u8]>)) {
    let events = at.join("events");
    let mut places = Intact::of(&events, |_, _| {}).expect("read").ranges(*first);
    let mut path = events.join("db");
    if places.is_empty() {
        path = events.join("journal");
        let journal = fs::read(&path).expect("read");
        let mut all = journal.windows(bytes.len());
        let place = all.position(|one| *one == **bytes).expect("it is there");
        places.push(place..place + bytes.len());
    }
    let mut found = fs::read(&path).expect("read");
    places.iter().for_each(|place| found[place.end - 8] ^= 1);
    fs::write(path, found).expect("written");
}

#[test]
fn what_a_question_takes_from_the_journal_is_missed_as_it_would_have_been_there() {
    let temporary = tempfile::tempdir().expect("a directory");
    let place = |name: &str| -> PathBuf { temporary.path().join(name) };
    let acknowledged = tail(&frames()[WRITTEN - 1]).revision;
    cut(&place("unasked"));
    damage(&place("unasked"), &frames()[NOTED + 1]);
    let error = open(&place("unasked")).expect_err("refused");
    assert!(matches!(error, Error::Gap { .. }), "{error}");
    for questions in [1, 2] {
        let asked = place(&format!("asked {questions} times"));
        cut(&asked);
        (0..questions).for_each(|_| ask(&asked));
        damage(&asked, &frames()[WRITTEN - 1]);
        for _ in 0..2 {
            let error = open(&asked).expect_err("refused");
            assert!(
                matches!(error, Error::Lost { acknowledged: one, .. } if one == acknowledged),
                "{error}"
            );
        }
    }
    cut(&place("sound"));
    ask(&place("sound"));
    assert_eq!(witnessed(&place("sound")), Some(acknowledged));
    assert_eq!(open(&place("sound")).expect("opened"), acknowledged);
}

type Prepare = fn(&Path);

/// Logs that are later than their note, and of which a question notes nothing.
const LEFT: &[(&str, Prepare)] = &[
    ("the note of another log", |at| {
        written_frames(at, NOTED);
        let storage = SledStorage::open(&at.join("events")).expect("opened");
        let mut other = tail(&frames()[NOTED - 1]);
        other.hash[0] ^= 1;
        storage.witness(&other);
        storage.witness(&other);
        drop(storage);
        append(at, &frames()[NOTED]);
    }),
    ("a record behind the note is damaged", |at| {
        written_frames(at, NOTED);
        let (first, bytes) = &frames()[NOTED];
        let mut damaged = bytes.to_vec();
        damaged[60] ^= 1;
        append(at, &(*first, damaged.into()));
        append(at, &frames()[NOTED + 1]);
    }),
    ("a record behind the note is missing", |at| {
        written_frames(at, NOTED);
        append(at, &frames()[NOTED + 1]);
    }),
    ("a witness that is blank", |at| {
        cut(at);
        fs::write(at.join("events.tail"), vec![0; 8192]).expect("written");
    }),
];

#[test]
fn no_question_replaces_a_note_that_shows_what_is_wrong() {
    for (name, prepare) in LEFT {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        prepare(at);
        let noted = || fs::read(at.join("events.tail")).expect("read");
        let before = noted();
        for _ in 0..2 {
            ask(at);
            assert!(noted() == before, "{name}");
        }
        let is_blank = before.iter().all(|byte| *byte == 0);
        assert_eq!(open(at).is_ok(), is_blank, "{name}");
    }
}

/// A killed process leaves its last note to the system, which a power cut may lose.
#[test]
fn the_note_that_a_kill_left_is_synced_before_the_journal_is_emptied() {
    let temporary = tempfile::tempdir().expect("a directory");
    let [live, killed] = ["live", "killed"].map(|name| temporary.path().join(name));
    let storage = SledStorage::open(&live.join("events")).expect("made");
    write(&storage, 0..WRITTEN);
    copy(&live, &killed);
    let storage = SledStorage::open(&killed.join("events")).expect("opened");
    let end = tail(&frames()[WRITTEN - 1]);
    assert_eq!(storage.witnessed().expect("read"), Some(end));
    assert_eq!(storage.synced_note(), end.revision);
}

/// What is replaced may not come back from the journal, which is emptied before.
#[test]
fn all_that_is_noted_is_synced_before_what_the_journal_has_is_replaced() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(&temporary.path().join("events")).expect("made");
    let first = tail(&frames()[0]).revision;
    for written in [0..NOTED, NOTED..WRITTEN] {
        let newest = tail(&frames()[written.end - 1]).revision;
        write(&storage, written);
        storage.ensure_witnessed(first).expect("synced");
        assert_eq!(storage.synced_note(), newest);
    }
}

/// The chain of hashes goes on from the last of the frames that a thinned one replaced.
#[test]
fn what_follows_a_log_that_was_thinned_to_its_end_is_taken_from_the_journal() {
    let temporary = tempfile::tempdir().expect("a directory");
    let [live, killed] = ["live", "killed"].map(|name| temporary.path().join(name));
    written_frames(&live, NOTED);
    let storage = Arc::new(SledStorage::open(&live.join("events")).expect("opened"));
    let reader = Reader::new(Arc::clone(&storage) as Arc<dyn Records>);
    let floor = tail(&frames()[NOTED - 1]).revision;
    thin(&*storage, &reader, floor, script::empty(), &[]).expect("thinned");
    write(&storage, NOTED..NOTED + 1);
    copy(&live, &killed);
    let acknowledged = tail(&frames()[NOTED]).revision;
    assert_eq!(open(&killed).expect("opened"), acknowledged);
}
