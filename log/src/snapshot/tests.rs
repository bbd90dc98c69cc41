//! Snapshots beside a log whose directory was moved, and what has taken its place.

use super::*;
use crate::MemoryStorage;
use crate::faults::script;
use crate::poison::tests::logged;
use std::collections::BTreeMap;
use std::fs;

const REVISION: Revision = Revision(7);

fn base() -> Base {
    let mut base = Base::empty(script::empty());
    base.state.revision = REVISION;
    base
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let listed = fs::read_dir(directory).expect("listed");
    let paths = listed.map(|entry| entry.expect("listed").path());
    paths
        .map(|path| (path.clone(), fs::read(&path).expect("a file")))
        .collect()
}

/// Moves the directory of a log, and puts another one there that has snapshots under the same names.
fn replace(at: &Path) -> Snapshots {
    fs::rename(at, at.with_extension("moved")).expect("moved");
    let theirs = Snapshots::at(at.join("snapshots"));
    fs::create_dir_all(&theirs.directory).expect("made");
    for suffix in [SUFFIX, UNFINISHED, DAMAGED] {
        for revision in [Revision(1), REVISION] {
            fs::write(theirs.path_with(revision, suffix), "theirs").expect("written");
        }
    }
    theirs
}

#[test]
fn of_a_directory_that_was_replaced_nothing_is_written_or_removed() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path().join("data");
    fs::create_dir(&at).expect("made");
    let own = Snapshots::at(at.join("snapshots")).in_place();
    let own = own.expect("found");
    own.write(&base()).expect("written");
    let begun = own.begin(REVISION).expect("begun");
    let theirs = replace(&at);
    let before = files(&theirs.directory);
    for refused in [
        own.write(&base()),
        own.fill(begun, &base()),
        own.retain(Revision(9), &[]),
    ] {
        let error = refused.expect_err("refused");
        assert!(matches!(error, Error::Gone(_)), "{error}");
    }
    assert_eq!(files(&theirs.directory), before);
}

/// What spoils a directory of snapshots, and what becomes of it.
type Spoil = (&'static str, fn(&Path));

/// A link that leads to itself: the system says nothing about what it is.
fn unexamined(at: &Path) {
    std::os::unix::fs::symlink(at, at).expect("linked");
}

#[test]
fn where_snapshots_are_the_only_evidence_those_that_cannot_be_read_are_not_taken_for_none() {
    let nothing = MemoryStorage::default();
    let snapshots_at: fn(&Path) -> PathBuf = |at| at.join("snapshots");
    let spoilt: [Spoil; 2] = [
        ("a directory that cannot be listed", |at| {
            fs::remove_dir_all(at).expect("removed");
            unexamined(at);
        }),
        ("a file that cannot be examined", |at| {
            unexamined(&at.join("00000000000000000009.snapshot"));
        }),
    ];
    for (what, spoil) in spoilt {
        let temporary = tempfile::tempdir().expect("a directory");
        let snapshots = Snapshots::at(snapshots_at(temporary.path()));
        snapshots.write(&base()).expect("written");
        spoil(&snapshots.directory);
        let error = snapshots.check_newest_alone(&nothing).expect_err(what);
        assert!(matches!(error, Error::Io { .. }), "{what}: {error}");
        assert!(
            snapshots.check_newest(&nothing).is_ok(),
            "{what}: the log is read instead"
        );
    }
    let temporary = tempfile::tempdir().expect("a directory");
    let none = Snapshots::at(snapshots_at(temporary.path()));
    assert!(none.check_newest_alone(&nothing).is_ok());
    // One that was listed and cannot be opened.
    let unopened = none.check_against(&nothing, vec![REVISION], Err, file::checked);
    assert!(matches!(unopened, Err(Error::Read { .. })), "{unopened:?}");
}

/// What is behind a bad sector may be intact.
#[test]
fn where_snapshots_are_the_only_evidence_one_with_a_bad_sector_is_not_taken_for_none() {
    let nothing = MemoryStorage::default();
    let temporary = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(temporary.path().join("snapshots"));
    snapshots.write(&base()).expect("written");
    let bad_sector = |_: &Path| Err(Unreadable::Io(ErrorKind::Other.into()));
    let checked = |unread: fn(Error) -> Result<(), Error>| {
        snapshots.check_against(&nothing, vec![REVISION], unread, bad_sector)
    };
    let alone = checked(Err);
    assert!(matches!(alone, Err(Error::Read { .. })), "{alone:?}");
    assert!(checked(|_| Ok(())).is_ok(), "the log is read instead");
    let damaged = |_: &Path| Err("a checksum in it does not match".into());
    let found = snapshots.check_against(&nothing, vec![REVISION], Err, damaged);
    assert!(found.is_ok(), "it shows nothing");
}

/// Older ones are removed while questions are answered.
#[test]
fn of_a_snapshot_that_is_removed_once_it_is_listed_nothing_is_told() {
    let temporary = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(temporary.path().join("snapshots"));
    let earlier = Revision(REVISION.0 - 1);
    for revision in [earlier, REVISION] {
        let mut base = base();
        base.state.revision = revision;
        snapshots.write(&base).expect("written");
    }
    for removed in [true, false] {
        let (found, told) = logged(|| {
            snapshots.find(&script::empty(), |path, head| {
                if head.revision == REVISION && removed {
                    fs::remove_file(path).expect("removed");
                } else if head.revision == REVISION {
                    fs::write(path, "damaged").expect("written");
                }
                true
            })
        });
        assert_eq!(found.map(|base| base.state.revision), Some(earlier));
        assert_eq!(told == 0, removed, "{told}");
        snapshots.write(&base()).expect("written");
    }
}

#[test]
fn a_snapshot_of_a_newer_release_refuses_the_log_and_stays_as_it_is() {
    const FORMAT_AT: usize = 4;
    let temporary = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(temporary.path().join("snapshots"));
    snapshots.write(&base()).expect("written");
    let path = snapshots.path(REVISION);
    let mut bytes = fs::read(&path).expect("read");
    bytes[FORMAT_AT] += 1;
    fs::write(&path, bytes).expect("written");
    let before = files(&snapshots.directory);
    let nothing = MemoryStorage::default();
    let error = snapshots.check_newest(&nothing).expect_err("refused");
    let (found, known) = (FORMAT + 1, FORMAT);
    let told = format!("has format {found}, and this release reads formats up to {known}");
    assert!(error.to_string().contains(&told), "{error}");
    assert!(snapshots.newest(&script::empty()).is_none());
    assert_eq!(files(&snapshots.directory), before);
}
