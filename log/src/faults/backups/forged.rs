//! Backups that were put together by hand, entry by entry.

use super::super::retention;
use super::{Target, backup_of, short, thinned};
use crate::{MemoryStorage, Reader, copy_backup, frame};
use std::sync::Arc;

#[test]
fn parts_in_another_order_are_refused() {
    let file = backup_of(&Reader::new(short()));
    let parts = parts(&file);
    assert!(parts.len() > 4);
    for place in 0..parts.len() - 1 {
        let mut swapped = parts.clone();
        swapped.swap(place, place + 1);
        let mut less = parts.clone();
        less.remove(place);
        let mut twice = parts.clone();
        twice.insert(place, parts[place]);
        for parts in [swapped, less, twice] {
            let whole = [&file[..5], &parts.concat()].concat();
            Target::new().take(&whole).expect_err("refused");
        }
    }
}

/// The entries of a backup.
pub(super) fn parts(file: &[u8]) -> Vec<&[u8]> {
    let mut rest = &file[5..];
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[1..5].try_into().expect("four bytes"));
        let (part, after) = rest.split_at(9 + length as usize);
        parts.push(part);
        rest = after;
    }
    parts
}

/// An entry of this kind, with this payload.
pub(super) fn entry(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("it fits").to_le_bytes();
    let mut entry = [&[kind][..], &length, payload].concat();
    entry.extend_from_slice(&crc32fast::hash(&entry).to_le_bytes());
    entry
}

#[test]
fn a_thinned_frame_that_is_sound_and_not_the_one_that_was_backed_up_is_refused() {
    let file = backup_of(&Reader::new(thinned()));
    let forged = parts(&file).into_iter().map(|part| {
        let payload = &part[5..part.len() - 4];
        let moved = (part[0] == 3).then(|| {
            let first = frame::first(payload).expect("a frame");
            retention::forged(first, payload, |floor, _, _| *floor += 1)
        });
        let forged = moved.flatten().map(|frame| entry(3, &frame));
        forged.unwrap_or_else(|| part.to_vec())
    });
    let forged = [&file[..5], &forged.collect::<Vec<_>>().concat()].concat();
    assert_eq!(forged.len(), file.len());
    assert_ne!(forged, file);
    Target::new().take(&file).expect("restored");
    let error = Target::new().take(&forged).expect_err("refused");
    assert!(error.to_string().contains("does not match"), "{error}");
}

/// The same backup in the first format.
pub(in super::super) fn first_format(file: &[u8]) -> Vec<u8> {
    let parts = parts(file);
    let (end, before) = parts.split_last().expect("an end");
    let end = entry(4, &end[5..end.len() - 4 - 32]);
    [b"HSBK\x01", &*before.concat(), &end].concat()
}

#[test]
fn a_backup_of_the_first_format_is_restored() {
    let file = backup_of(&Reader::new(short()));
    let old = first_format(&file);
    let restored = Target::new().take(&old).expect("restored");
    assert_eq!(restored.backup.content(), None);
    let mut copied = Vec::new();
    copy_backup(&*old, &mut copied, |_, _| {}).expect("copied");
    assert_eq!(copied, old);
    let newer = [b"HSBK\x03", &old[5..]].concat();
    Target::new().take(&newer).expect_err("refused");
    let mixed = [b"HSBK\x02", &old[5..]].concat();
    Target::new()
        .take(&mixed)
        .expect_err("an end without its hash");
}

/// The frames do not name the last of them, and the first format has no hash of all.
#[test]
fn an_end_that_names_another_record_than_the_last_one_is_refused() {
    let nothing = Reader::new(Arc::new(MemoryStorage::default()));
    for reader in [Reader::new(short()), Reader::new(thinned()), nothing] {
        let file = backup_of(&reader);
        for file in [first_format(&file), file] {
            Target::new().take(&file).expect("restored");
            let parts = parts(&file);
            let (end, before) = parts.split_last().expect("an end");
            let mut end = end[5..end.len() - 4].to_vec();
            // Behind the revision is the hash.
            end[8] ^= 1;
            let forged = [&file[..5], &before.concat(), &entry(4, &end)].concat();
            let error = Target::new().take(&forged).expect_err("refused");
            assert!(error.to_string().contains("does not match"), "{error}");
        }
    }
}
