//! What a restore and a verification make beside a log, told by its names from what others keep there. It is
//! removed with all that is in it, so it is examined before.

use crate::layout::{EVENTS, RESERVE, SNAPSHOTS, SPARE, TAIL};
use crate::storage::sled::{is_of_database, is_set_aside};
use crate::{DirectoryLock, Error, place, snapshot};
use std::fs::FileType;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Refuses a directory in which something is no part of a log, and what is in its place and no directory. Nothing is
/// followed, opened or changed; there need not be a directory.
pub fn check_parts(directory: &Path) -> Result<(), Error> {
    let parts = listed(directory)?;
    parts.iter().try_for_each(|part| check_part(part))
}

/// As [`check_parts`], for one part, which need not be there.
pub fn check_part(part: &Path) -> Result<(), Error> {
    let name = part.file_name().unwrap_or_default();
    if name == EVENTS {
        return check_each(part, is_of_database);
    }
    if name == SNAPSHOTS {
        return check_each(part, snapshot::has_name_of_ours);
    }
    let is_ours = [TAIL, RESERVE, SPARE].iter().any(|file| name == *file)
        || part == DirectoryLock::path(part.parent().unwrap_or(part))
        || is_set_aside(part);
    match file_type(part)? {
        None => Ok(()),
        Some(found) if is_ours && found.is_file() => Ok(()),
        Some(_) => Err(Error::Foreign(part.to_owned())),
    }
}

fn check_each(directory: &Path, is_ours: impl Fn(&Path) -> bool) -> Result<(), Error> {
    let foreign = listed(directory)?.into_iter().find(|path| !is_ours(path));
    foreign.map_or(Ok(()), |path| Err(Error::Foreign(path)))
}

/// What is in a directory, if there is one.
fn listed(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    match file_type(directory)? {
        None => return Ok(Vec::new()),
        Some(found) if found.is_dir() => {}
        Some(_) => return Err(Error::Foreign(directory.to_owned())),
    }
    place::paths_in(directory).map_err(Error::io(format!("listing {}", directory.display())))
}

/// What is at a path. A link is a link.
fn file_type(path: &Path) -> Result<Option<FileType>, Error> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(found.file_type())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(format!("examining {}", path.display()))(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SledStorage;
    use std::fs;

    /// What a restore and a verification can leave, and more than that.
    fn left(directory: &Path) {
        let events = directory.join(EVENTS);
        drop(SledStorage::open(&events).expect("opened"));
        drop(DirectoryLock::acquire(directory).expect("free"));
        fs::create_dir(directory.join(SNAPSHOTS)).expect("made");
        for name in [
            "events/snap.00000000000000A0.generating",
            "events/reserve",
            "events/blobs/7",
            "events/unread.snap.00000000000000A0.damaged",
            "snap.00000000000000A0.damaged",
            "conf.damaged",
            "snapshots/00000000000000000007.snapshot",
            "snapshots/00000000000000000009.unfinished",
        ] {
            fs::write(directory.join(name), "").expect("written");
        }
    }

    #[test]
    fn a_log_and_all_that_its_opening_makes_are_parts_of_one() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        check_parts(&at.join("none")).expect("nothing is there");
        check_parts(at).expect("it is empty");
        left(at);
        assert!(at.join(SPARE).exists());
        check_parts(at).expect("all of it is ours");
    }

    #[test]
    fn what_is_of_somebody_else_is_named_wherever_it_is() {
        for name in [
            "thesis.txt",
            "snap.txt",
            "events.tail/keep.txt",
            "events/calendar.ics",
            "events/lost+found/a",
            "snapshots/photo.txt",
            "snapshots/7.snapshot",
            "pki/ca.crt",
        ] {
            let temporary = tempfile::tempdir().expect("a directory");
            let at = temporary.path();
            left(at);
            fs::remove_file(at.join(TAIL)).expect("removed");
            let path = at.join(name);
            fs::create_dir_all(path.parent().expect("one")).expect("made");
            fs::write(&path, "of somebody else").expect("written");
            let refused = check_parts(at).expect_err(name);
            let is_named = matches!(&refused, Error::Foreign(named) if path.starts_with(named));
            assert!(is_named, "{refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_and_a_file_in_the_place_of_a_directory_are_of_somebody_else() {
        let temporary = tempfile::tempdir().expect("a directory");
        let [file, link] = ["file", "link"].map(|name| temporary.path().join(name));
        fs::write(&file, "").expect("written");
        std::os::unix::fs::symlink(temporary.path(), &link).expect("linked");
        for path in [file, link] {
            let refused = check_parts(&path).expect_err("no directory of ours");
            assert!(matches!(refused, Error::Foreign(named) if named == path));
        }
    }
}
