//! A log that a newer release wrote to: what this release can report of it, and what it can save.

use super::refusals::{append, newer, tail, written_frames};
use super::rot::{frames, open};
use crate::frame::FRAME_FORMAT;
use crate::{Error, Intact, Newer};
use hindsight_core::Revision;
use std::path::Path;

const KNOWN: usize = 5;
const ALL: usize = 8;
/// The size of a slot of the witness, and of the part of a slot that its checksum covers.
const SLOT_BYTES: usize = 4096;
const NOTE_BYTES: usize = 4 + 1 + 8 + 32;

fn intact(at: &Path) -> Intact {
    Intact::of(&at.join("events"), |_, _| {}).expect("read")
}

/// The last revision in this frame.
fn last(frame: usize) -> Revision {
    tail(&frames()[frame]).revision
}

#[test]
fn of_a_newer_log_is_told_where_it_begins_to_be_one_and_where_it_ends() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    written_frames(at, KNOWN);
    for (first, bytes) in &frames()[KNOWN..ALL] {
        append(at, &(*first, newer(bytes).into()));
    }
    let (known, first, newest) = (last(KNOWN - 1), frames()[KNOWN].0, last(ALL - 1));
    let refused = open(at).expect_err("refused").to_string();
    let what = format!(
        "the log has format {} at revision {first}",
        FRAME_FORMAT + 1
    );
    assert!(refused.starts_with(&what), "{refused}");
    let found = intact(at);
    assert_eq!(found.until, known);
    assert_eq!(
        found.newer,
        Newer {
            records: 3,
            until: newest
        }
    );
    let told = format!(
        "intact up to revision {known}, and the record at revision {first} has format {}, from a newer release; \
         records of newer formats: 3, and the last revision in them is {newest}",
        FRAME_FORMAT + 1
    );
    assert_eq!(found.extent(), told);
    let read = found.reader.scan(Revision(1));
    assert_eq!(
        read.map(|commit| commit.expect("whole").revision).last(),
        Some(known)
    );
}

#[test]
fn under_a_newer_witness_every_record_that_is_known_can_be_saved() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    written_frames(at, KNOWN);
    let file = at.join("events.tail");
    let mut bytes = std::fs::read(&file).expect("there");
    for slot in bytes.chunks_mut(SLOT_BYTES) {
        slot[4] += 1;
        let checksum = crc32fast::hash(&slot[..NOTE_BYTES]);
        slot[NOTE_BYTES..][..4].copy_from_slice(&checksum.to_le_bytes());
    }
    std::fs::write(&file, bytes).expect("written");
    let refused = open(at).expect_err("refused");
    assert!(
        matches!(refused, Error::NewerFormat { revision: None, .. }),
        "{refused}"
    );
    let found = intact(at);
    assert_eq!(
        (found.until, found.newer),
        (last(KNOWN - 1), Newer::default())
    );
    assert!(
        found.extent().contains("the log has format 2, and"),
        "{}",
        found.extent()
    );
}

#[test]
fn beside_a_newer_journal_every_record_that_is_known_can_be_saved() {
    const FORMAT_AT: usize = 16 + 4;
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    written_frames(at, KNOWN);
    let file = at.join("events/journal");
    let mut bytes = std::fs::read(&file).expect("there");
    let length = u32::from_le_bytes(bytes[16 + 37..][..4].try_into().expect("four"));
    let end = 16 + 41 + usize::try_from(length).expect("small");
    bytes[FORMAT_AT] += 1;
    let checksum = crc32fast::hash(&bytes[16..end]);
    bytes[end..][..4].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&file, bytes).expect("written");
    let refused = open(at).expect_err("refused");
    assert!(
        matches!(refused, Error::NewerFormat { found: 3, .. }),
        "{refused}"
    );
    let found = intact(at);
    assert_eq!(found.until, last(KNOWN - 1));
    assert!(!found.has_all_acknowledged());
    assert!(
        found.extent().contains("has format 3"),
        "{}",
        found.extent()
    );
}
