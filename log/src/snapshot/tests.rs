//! Snapshots beside a log whose directory was moved, and what has taken its place.

use super::*;
use crate::faults::script;
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
            fs::write(theirs.named_as(revision, suffix), "theirs").expect("written");
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
