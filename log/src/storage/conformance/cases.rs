//! What every storage must do. Another implementation can include this file in a module that provides its
//! names, and run it, as the simulator does.

use super::{Purpose, Revision, Storage, Stored, Tail, Witnessed};

/// A storage, and the means to crash it.
pub(crate) trait Backend {
    /// The open storage.
    fn storage(&self) -> &dyn Storage;

    /// The storages that a crash now may leave, opened again; none if nothing outlives the process.
    fn crashed(&self) -> Vec<Box<dyn Backend>>;

    /// Whether it can run out of space.
    fn is_bounded(&self) -> bool;
}

/// Runs all cases, each on a new storage.
#[allow(clippy::print_stdout, reason = "a test that fails says in which case")]
pub(crate) fn conforms(make: &dyn Fn() -> Box<dyn Backend>) {
    for (name, case) in CASES {
        println!("{name}");
        case(&*make());
    }
}

type Case = fn(&dyn Backend);

const CASES: &[(&str, Case)] = &[
    ("what is appended is found by its place", |one| {
        holds(one.storage());
    }),
    ("one frame stands in the place of others", |one| {
        replaces(one.storage());
    }),
    (
        "what was synced outlives a crash, and of the rest the first",
        survives,
    ),
    (
        "what was replaced outlives a crash, or what replaces it",
        survives_replacing,
    ),
    ("what was witnessed is found again", witnesses),
    (
        "of what was replaced no note is left",
        witnesses_beyond_what_is_replaced,
    ),
    ("tidying ends and changes nothing", tidies),
    ("space is taken and changes nothing", |one| {
        ensure_space(one.storage(), one.is_bounded());
    }),
];

fn frame(revision: u64, length: usize) -> Vec<u8> {
    let mut bytes = format!("frame {revision} ").into_bytes();
    bytes.resize(length.max(bytes.len()), revision.to_le_bytes()[0]);
    bytes
}

fn append(storage: &dyn Storage, revision: u64, length: usize) {
    let appended = storage.append(Revision(revision), &frame(revision, length));
    appended.expect("appended");
}

fn all(storage: &dyn Storage) -> Vec<Stored> {
    let mut found = Vec::new();
    let mut from = Revision::ZERO;
    while let Some(one) = storage.at_or_after(from).expect("readable") {
        from = one.0.next();
        assert_eq!(
            storage.at_or_before(one.0).expect("readable").as_ref(),
            Some(&one)
        );
        found.push(one);
    }
    found
}

fn stored(revisions: &[(u64, usize)]) -> Vec<Stored> {
    let frames = revisions.iter();
    frames
        .map(|(one, length)| (Revision(*one), frame(*one, *length)))
        .collect()
}

fn replaces(storage: &dyn Storage) {
    for (revision, length) in [
        (1, 9),
        (2, 9),
        (4, 300 << 10),
        (5, 9),
        (9, 200 << 10),
        (10, 9),
    ] {
        append(storage, revision, length);
    }
    storage.sync().expect("synced");
    // Replaces several frames, the last of which are large; then a single one; then one by itself, with
    // missing ones behind it.
    for (first, last, left) in [
        (2, 8, &[(1, 9), (2, 50), (9, 200 << 10), (10, 9)][..]),
        (9, 9, &[(1, 9), (2, 50), (9, 50), (10, 9)]),
        (10, 90, &[(1, 9), (2, 50), (9, 50), (10, 50)]),
        (1, 10, &[(1, 50)]),
    ] {
        let put = storage.replace(
            Revision(first),
            Witnessed::up_to(Revision(last)),
            &frame(first, 50),
        );
        put.expect("replaced");
        storage.sync().expect("synced");
        assert_eq!(all(storage), stored(left), "{first} to {last}");
    }
    append(storage, 11, 9);
    storage.sync().expect("synced");
    assert_eq!(all(storage), stored(&[(1, 50), (11, 9)]));
}

fn survives(one: &dyn Backend) {
    let storage = one.storage();
    append(storage, 1, 9);
    append(storage, 2, 300 << 10);
    storage.sync().expect("synced");
    let synced = stored(&[(1, 9), (2, 300 << 10)]);
    let whole = stored(&[(1, 9), (2, 300 << 10), (3, 9), (4, 250 << 10), (5, 9)]);
    for crashed in one.crashed() {
        assert_eq!(all(crashed.storage()), synced);
    }
    for (revision, length) in [(3, 9), (4, 250 << 10), (5, 9)] {
        append(storage, revision, length);
    }
    for crashed in one.crashed() {
        let found = all(crashed.storage());
        assert!(
            found.len() >= synced.len() && whole.starts_with(&found),
            "{}",
            found.len()
        );
        // The storage can be used further.
        append(crashed.storage(), 6, 9);
        crashed.storage().sync().expect("synced");
    }
}

fn survives_replacing(one: &dyn Backend) {
    let storage = one.storage();
    for revision in 1..=4 {
        append(storage, revision, 9);
    }
    storage.sync().expect("synced");
    let replaced = storage.replace(Revision(2), Witnessed::up_to(Revision(3)), &frame(2, 50));
    replaced.expect("replaced");
    for is_synced in [false, true] {
        for crashed in one.crashed() {
            let found = all(crashed.storage());
            let new = stored(&[(1, 9), (2, 50), (4, 9)]);
            let both = stored(&[(1, 9), (2, 50), (3, 9), (4, 9)]);
            let old = stored(&[(1, 9), (2, 9), (3, 9), (4, 9)]);
            let is_lawful = found == new || !is_synced && (found == both || found == old);
            assert!(is_lawful, "{is_synced} {found:?}");
        }
        storage.sync().expect("synced");
    }
}

fn tail(revision: u64) -> Tail {
    Tail {
        revision: Revision(revision),
        hash: [revision.to_le_bytes()[0]; 32],
    }
}

fn acknowledge(storage: &dyn Storage, revision: u64) {
    append(storage, revision, 9);
    storage.sync().expect("synced");
    storage.witness(&tail(revision));
}

/// A power cut may lose the note, but never makes up one.
fn witnesses(one: &dyn Backend) {
    let storage = one.storage();
    assert_eq!(storage.witnessed().expect("read"), None);
    for revision in 1..=3 {
        acknowledge(storage, revision);
        let made: Vec<_> = (1..=revision)
            .map(|one| Some(tail(one)))
            .chain([None])
            .collect();
        for crashed in one.crashed() {
            let found = crashed.storage().witnessed().expect("read");
            assert!(made.contains(&found), "{found:?}");
        }
        let told = one
            .crashed()
            .last()
            .map(|one| one.storage().witnessed().expect("read"));
        assert!(
            told.is_none_or(|told| told == Some(tail(revision))),
            "{told:?}"
        );
    }
}

/// With a note within them, the frame that stands in their place could not be compared.
fn witnesses_beyond_what_is_replaced(one: &dyn Backend) {
    let storage = one.storage();
    let nothing = storage.ensure_witnessed(Revision(1));
    nothing.expect("there is no note that could be lost");
    for (revisions, last) in [(1..=3, 2), (4..=8, 7)] {
        for revision in revisions {
            acknowledge(storage, revision);
        }
        let ensured = storage.ensure_witnessed(Revision(last));
        let witnessed = ensured.expect("witnessed");
        let check = || {
            for crashed in one.crashed() {
                let found = crashed.storage().witnessed().expect("read");
                assert!(
                    found.is_some_and(|found| found.revision >= Revision(last)),
                    "up to {last} is replaced, and noted is {found:?}"
                );
            }
        };
        check();
        let replaced = storage.replace(Revision(1), witnessed, &frame(1, 50));
        replaced.expect("replaced");
        check();
        storage.sync().expect("synced");
        check();
    }
}

fn tidies(one: &dyn Backend) {
    /// More than any storage takes for so little.
    const STEPS_MAX: usize = 10_000;
    let storage = one.storage();
    for revision in 1..=4 {
        append(storage, revision, 100 << 10);
    }
    storage.sync().expect("synced");
    let replaced = storage.replace(Revision(1), Witnessed::up_to(Revision(3)), &frame(1, 50));
    replaced.expect("replaced");
    let left = stored(&[(1, 50), (4, 100 << 10)]);
    let mut steps = 0;
    while storage.tidy().expect("tidied") {
        steps += 1;
        assert!(steps < STEPS_MAX, "it does not end");
        assert_eq!(all(storage), left);
    }
    assert!(!storage.tidy().expect("tidied"), "nothing is left to do");
    storage.sync().expect("synced");
    assert_eq!(all(storage), left);
    for crashed in one.crashed() {
        assert_eq!(all(crashed.storage()), left);
    }
}

fn ensure_space(storage: &dyn Storage, is_bounded: bool) {
    append(storage, 1, 9);
    storage.sync().expect("synced");
    let snapshots = [true, false].map(|thins| Purpose::Snapshot { thins });
    let purposes = [Purpose::Deletions, Purpose::Writes]
        .into_iter()
        .chain(snapshots);
    for bytes in [0, 1, 1 << 10] {
        for purpose in purposes.clone() {
            assert!(storage.ensure_space(bytes, purpose), "{bytes}");
        }
    }
    for purpose in purposes {
        assert_eq!(storage.ensure_space(1 << 50, purpose), !is_bounded);
    }
    assert!(
        storage.ensure_space(1, Purpose::Writes),
        "a refusal is not for ever"
    );
    assert_eq!(all(storage), stored(&[(1, 9)]));
}

pub(crate) fn holds(storage: &dyn Storage) {
    assert_eq!(storage.at_or_after(Revision::ZERO).expect("readable"), None);
    assert_eq!(storage.at_or_before(Revision::MAX).expect("readable"), None);
    for first in [1, 3, 300, 70_000] {
        storage
            .append(Revision(first), format!("frame {first}").as_bytes())
            .expect("appended");
    }
    storage.sync().expect("synced");
    let after = |from| {
        storage
            .at_or_after(Revision(from))
            .expect("readable")
            .map(|found| found.0.0)
    };
    let before = |until| {
        storage
            .at_or_before(Revision(until))
            .expect("readable")
            .map(|one| one.0.0)
    };
    assert_eq!(
        [after(0), after(1), after(2), after(4)],
        [Some(1), Some(1), Some(3), Some(300)]
    );
    assert_eq!([after(70_001), before(0)], [None, None]);
    assert_eq!(
        [before(1), before(299), before(u64::MAX)],
        [Some(1), Some(3), Some(70_000)]
    );
    for (first, bytes) in large() {
        storage.append(first, &bytes).expect("appended");
        storage.sync().expect("synced");
    }
    holds_large(storage);
}

/// Frames of all sizes up to that of the largest object, together more than a page of sled may hold; also
/// of sizes around those of pieces.
fn large() -> impl Iterator<Item = (Revision, Vec<u8>)> {
    let pieces = [(8 << 10) - 4, 8 << 10, 64 << 10, 96 << 10];
    let around = |piece: usize| [piece - 1, piece, piece + 1, 2 * piece - 1, 2 * piece];
    let sizes = pieces
        .into_iter()
        .flat_map(around)
        .chain([200_000, 3 << 20]);
    let sizes = sizes.chain((0..40).map(|index| 900_000 + index));
    let frames = (80_000..).zip(sizes);
    frames.map(|(first, size)| (Revision(first), vec![size.to_le_bytes()[0]; size]))
}

pub(crate) fn holds_large(storage: &dyn Storage) {
    for (first, bytes) in large() {
        let before = storage.at_or_before(first).expect("readable");
        let after = storage.at_or_after(first).expect("readable");
        assert!(before == Some((first, bytes)) && before == after, "{first}");
    }
}
