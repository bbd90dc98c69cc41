//! The side files of sled, `snap.*`, all of which it can do without.

use super::foreign::entries;
use crate::Error;
use crate::layout::CONFIGURATION;
use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(super) const PREFIX: &str = "snap.";
/// What the name of a side file begins with that had to stay in the directory.
const UNREAD_PREFIX: &str = "unread.";
const ASIDE: &str = ".damaged";

/// Removes unfinished ones, which sled would mistake for whole ones.
pub(super) fn drop_unfinished(directory: &Path) -> Result<(), Error> {
    for path in all(directory)? {
        if is_unfinished(&path) {
            let what = "removing an unfinished side file of the storage engine";
            std::fs::remove_file(&path).map_err(Error::io(what))?;
        }
    }
    Ok(())
}

fn is_unfinished(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".generating")
}

/// Sets all aside. A damaged one keeps sled from opening although every record is there.
pub(super) fn quarantine_all(directory: &Path) -> Result<(), Error> {
    let found = all(directory)?;
    found.iter().try_for_each(|path| set_aside(directory, path))
}

/// Sets aside those that belong to another user, who asked the log a question while no server ran. They keep sled from
/// opening too.
pub(super) fn quarantine_unreadable(directory: &Path) -> Result<(), Error> {
    for path in all(directory)? {
        match File::options().read(true).write(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                set_aside(directory, &path)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The finished side files, the one that sled reads first. It takes the last by name, which is a number.
pub(super) fn newest_first(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = all(directory)?;
    found.retain(|path| !is_unfinished(path));
    found.sort();
    found.reverse();
    Ok(found)
}

/// Moves a file out of the directory of the engine, which can do without it. It comes beside that directory as it is
/// named: if that is a link, this user may not write where it leads.
pub(super) fn set_aside(directory: &Path, path: &Path) -> Result<(), Error> {
    let mut aside = path.file_name().unwrap_or_default().to_owned();
    aside.push(ASIDE);
    let aside = directory.parent().unwrap_or(directory).join(aside);
    tracing::warn!(
        file = %path.display(),
        to = %aside.display(),
        "setting aside a side file of the storage engine"
    );
    let to = aside.display();
    let what = format!("setting aside a side file of the storage engine as {to}");
    move_file(path, &aside).map_err(Error::io(what))
}

/// Whether a file has the name of one that was set aside.
pub(crate) fn is_set_aside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let former = name.strip_suffix(ASIDE);
    let former = former.map(|name| name.strip_prefix(UNREAD_PREFIX).unwrap_or(name));
    former.is_some_and(|name| name.starts_with(PREFIX) || name == CONFIGURATION)
}

/// Moves a file, also to another file system: the directory of the engine may be a mount, or a link. What cannot be
/// copied there, because this user may not read it or there is no space, stays, under a name that the engine does not
/// know.
fn move_file(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {}
        moved => return moved,
    }
    let Err(error) = copy(from, to) else {
        return std::fs::remove_file(from);
    };
    let mut unread = OsString::from(UNREAD_PREFIX);
    unread.push(to.file_name().unwrap_or_default());
    let unread = from.with_file_name(unread);
    tracing::warn!(
        %error,
        to = %unread.display(),
        "the side file cannot be copied to another file system; it stays where it is, under another name"
    );
    std::fs::rename(from, unread)
}

/// Copies a file durably; leaves no part of it if that fails.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    // Before anything is made in its place.
    File::open(from)?;
    let copied = std::fs::copy(from, to).and_then(|_| File::open(to)?.sync_all());
    if copied.is_err() {
        std::fs::remove_file(to).ok();
    }
    copied
}

fn all(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut paths = entries(directory)?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PREFIX)
    });
    Ok(paths)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::place::device;
    use std::io::Write;

    /// `/dev/shm` is mostly of another file system than the directory for temporary files.
    #[test]
    fn a_file_is_moved_to_another_file_system_too() {
        let here = tempfile::tempdir().expect("a directory");
        let shared = Path::new("/dev/shm");
        if [None, device(here.path())].contains(&device(shared)) {
            let is_set = |set: OsString| !set.is_empty();
            let is_failure = std::env::var_os("HINDSIGHT_NO_SKIPS").is_some_and(is_set);
            assert!(!is_failure, "/dev/shm is no file system of its own");
            let skipped = "SKIPPED: moving a file: /dev/shm is no file system of its own";
            writeln!(std::io::stderr(), "\n{skipped}\n").expect("a terminal");
            return;
        }
        let there = tempfile::tempdir_in(shared).expect("a directory");
        assert_ne!(device(here.path()), device(there.path()));
        let from = here.path().join("snap.1");
        let to = there.path().join("snap.1.damaged");
        std::fs::write(&from, "side").expect("written");
        move_file(&from, &to).expect("moved");
        assert_eq!(std::fs::read(&to).expect("there"), b"side");
        assert!(!from.exists());
        // What is written to this device finds a full disk, and a directory is in the way of a file.
        std::fs::remove_file(&to).expect("removed");
        let full: fn(&Path) = |to| std::os::unix::fs::symlink("/dev/full", to).expect("linked");
        let taken: fn(&Path) = |to| std::fs::create_dir(to).expect("made");
        for (is_left, prepare) in [(false, full), (true, taken)] {
            prepare(&to);
            std::fs::write(&from, "side").expect("written");
            move_file(&from, &to).expect("renamed");
            let unread = here.path().join("unread.snap.1.damaged");
            assert_eq!(std::fs::read(&unread).expect("there"), b"side");
            assert!(!from.exists() && is_set_aside(&unread));
            assert_eq!(to.symlink_metadata().is_ok(), is_left);
        }
    }
}
