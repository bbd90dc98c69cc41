//! The lock that keeps a data directory to one process.

mod naming;

use crate::layout::LOCK;
use crate::place::{FileId, identity, is_at};
use crate::unpoisoned::unpoisoned;
use crate::{Error, owner_only, regular, remote_fs};
use naming::Naming;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How the file begins, whoever holds it.
const BEGIN: &str = "process ";
const READER: &str = "a command that reads it from a read-only file system";
/// How the holder is called if it is this process.
pub(crate) const OURSELVES: &str = "this process";
/// How often the lock is taken, at most: each time the file may have been removed before it was locked.
const ATTEMPTS_MAX: usize = 100;
/// How the holder is called if it was removed every time.
const REMOVER: &str = "a process that removes its lock file again and again";
/// Where its address follows.
const AT: &str = " at ";

/// The lock files that this process holds. The number in a lock file does not tell: in two containers, both servers
/// are process 1.
static HELD: Mutex<Vec<FileId>> = Mutex::new(Vec::new());

/// The lock of a data directory, held until it is dropped. The file names its holder.
#[derive(Debug)]
pub struct DirectoryLock {
    /// What is not written into the file yet; before it, because it has a copy of it.
    naming: Option<Naming>,
    file: File,
    directory: PathBuf,
    /// After the file: it is held for as long as that is open.
    _held: Held,
}

impl DirectoryLock {
    /// Locks the directory, which is created for its owner alone if it does not exist.
    pub fn acquire(directory: &Path) -> Result<Self, Error> {
        refuse_file(directory)?;
        owner_only::make(directory)?;
        owner_only::warn_if_open_to_others(directory);
        remote_fs::warn_of_remote(directory);
        let mut lock = Self::acquire_by(directory, File::try_lock)?;
        lock.refuse_foreign(directory)?;
        lock.describe(None)?;
        Ok(lock)
    }

    /// Who made the directory and did not use it removes it again, also between the opening and the locking of the
    /// file. What is locked then keeps nobody out.
    fn acquire_by(
        directory: &Path,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Self, Error> {
        for _ in 0..ATTEMPTS_MAX {
            refuse_file(directory)?;
            owner_only::make(directory)?;
            refuse_no_file(directory)?;
            let found = directory.canonicalize();
            let mut options = owner_only::options();
            options.read(true).write(true).create(true).truncate(false);
            let opened = found.and_then(|found| Ok((options.open(Self::path(&found))?, found)));
            let (file, found) = match opened {
                Err(error) if error.kind() == ErrorKind::NotFound && !directory.exists() => {
                    continue;
                }
                opened => opened.map_err(opening_to_write(directory))?,
            };
            let file = Self::locked(file, directory, &lock)?;
            if is_at(&file, Self::path(&found).metadata()) {
                return Ok(Self::of(file, found));
            }
        }
        Err(removed_again(directory))
    }

    /// A file that is locked, and its directory.
    fn of(file: File, directory: PathBuf) -> Self {
        Self {
            naming: None,
            _held: Held::note(&file),
            file,
            directory,
        }
    }

    /// Refuses a directory that somebody holds. Nothing is made or written: the file still names the last
    /// holder.
    pub fn check(directory: &Path) -> Result<(), Error> {
        refuse_file(directory)?;
        refuse_no_file(directory)?;
        let mut options = File::options();
        match options.read(true).write(true).open(Self::path(directory)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            opened => {
                let file = opened.map_err(opening_to_write(directory))?;
                Self::locked(file, directory, File::try_lock).map(drop)
            }
        }
    }

    /// Takes a shared lock on a directory that is read-only here, to keep writers out: it may also be
    /// mounted elsewhere and served there. Other readers are let in. `None` if there is no lock file,
    /// which every server leaves behind.
    pub fn acquire_to_read(directory: &Path) -> Result<Option<Self>, Error> {
        for _ in 0..ATTEMPTS_MAX {
            refuse_no_file(directory)?;
            let found = directory.canonicalize();
            let opened = found.and_then(|found| Ok((File::open(Self::path(&found))?, found)));
            let (file, found) = match opened {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                opened => opened.map_err(opening(directory))?,
            };
            let file = Self::locked(file, directory, File::try_lock_shared)?;
            if is_at(&file, Self::path(&found).metadata()) {
                return Ok(Some(Self::of(file, found)));
            }
        }
        Err(removed_again(directory))
    }

    /// The directory that is locked, by a path without links. Whoever uses it by another path may meet another
    /// one: a link is switched from one to the other while the lock is held.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The lock file of a directory.
    pub fn path(directory: &Path) -> PathBuf {
        directory.join(LOCK)
    }

    /// What the lock file says about the current or the last holder. Takes no lock.
    pub fn holder(directory: &Path) -> Option<String> {
        refuse_no_file(directory).ok()?;
        let text = std::fs::read_to_string(Self::path(directory)).ok()?;
        Some(text.trim().to_owned())
    }

    /// Releases a directory that was not used after all. The file is removed too, while it is still
    /// locked.
    pub fn remove(self) {
        std::fs::remove_file(Self::path(&self.directory)).ok();
    }

    fn locked(
        mut file: File,
        directory: &Path,
        lock: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> Result<File, Error> {
        match lock(&file) {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                let mut holder = READER.to_owned();
                // A reader could not write its name into the file: any name there is that of an earlier
                // holder.
                if file.try_lock_shared().is_err() {
                    holder.clear();
                    file.read_to_string(&mut holder)
                        .map_err(Error::reading("the lock file"))?;
                    if Held::contains(&file) {
                        let address = holder.find(AT).map(|at| holder.split_off(at));
                        holder = format!("{OURSELVES}{}", address.unwrap_or_default());
                    }
                }
                let holder = named(holder.trim_matches(['\0', '\n', ' ']), directory);
                let directory = directory.to_owned();
                Err(Error::Locked { directory, holder })
            }
            Err(TryLockError::Error(source)) => {
                Err(Error::io("locking the data directory")(source))
            }
        }
    }

    /// Refuses a file of this name that somebody else made. After a power cut ours may be blank.
    fn refuse_foreign(&self, directory: &Path) -> Result<(), Error> {
        let mut begin = Vec::new();
        let mut read = (&self.file).take(BEGIN.len() as u64);
        read.read_to_end(&mut begin)
            .map_err(Error::reading("the lock file"))?;
        let is_blank = begin.iter().all(|byte| *byte == 0);
        if is_blank || BEGIN.as_bytes().starts_with(&begin) {
            return Ok(());
        }
        Err(Error::Foreign(Self::path(directory)))
    }

    /// Names the holder in the file: the process, and the address at which it listens, if it does. On a full disk it is
    /// written as soon as there is space.
    pub fn describe(&mut self, address: Option<&str>) -> Result<(), Error> {
        let at = address.map_or_else(String::new, |address| format!("{AT}{address}"));
        let text = format!("{BEGIN}{}{at}\n", std::process::id());
        // Before the next one, so that one is not written over the other.
        self.naming = None;
        self.naming = Naming::begin(&self.file, text)?;
        Ok(())
    }
}

/// A lock file among those that this process holds. `None` if the system did not say which file it is.
#[derive(Debug)]
struct Held(Option<FileId>);

impl Held {
    fn note(file: &File) -> Self {
        let noted = Self::file(file);
        unpoisoned(HELD.lock()).extend(noted);
        Self(noted)
    }

    fn contains(file: &File) -> bool {
        Self::file(file).is_some_and(|file| unpoisoned(HELD.lock()).contains(&file))
    }

    fn file(file: &File) -> Option<FileId> {
        Some(identity(&file.metadata().ok()?))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = unpoisoned(HELD.lock());
        if let Some(at) = held.iter().position(|file| Some(*file) == self.0) {
            held.swap_remove(at);
        }
    }
}

/// Refuses a file in the place of the directory.
fn refuse_file(directory: &Path) -> Result<(), Error> {
    if directory.exists() && !directory.is_dir() {
        return Err(Error::Foreign(directory.to_owned()));
    }
    Ok(())
}

/// Refuses what is no file in the place of the lock file: nobody is to wait for a pipe.
fn refuse_no_file(directory: &Path) -> Result<(), Error> {
    let checked = regular::check(&DirectoryLock::path(directory), u64::MAX);
    checked.map_err(|error| error.in_data_directory(directory))
}

fn removed_again(directory: &Path) -> Error {
    let (directory, holder) = (directory.to_owned(), REMOVER.to_owned());
    Error::Locked { directory, holder }
}

/// What is told of a holder with this name, which is empty if there was no space for one.
fn named(holder: &str, directory: &Path) -> String {
    if holder.is_empty() {
        let file = DirectoryLock::path(directory);
        return format!(
            "a process that could not write its name into {}",
            file.display()
        );
    }
    holder.to_owned()
}

fn opening_to_write(directory: &Path) -> impl FnOnce(std::io::Error) -> Error {
    |error| match error.kind() {
        ErrorKind::ReadOnlyFilesystem => Error::ReadOnly(directory.to_owned()),
        _ => opening(directory)(error),
    }
}

fn opening(directory: &Path) -> impl FnOnce(std::io::Error) -> Error {
    |error| {
        let what = format!("opening the lock file of {}", directory.display());
        Error::io(what)(error).in_data_directory(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Another process that holds a lock.
    #[cfg(unix)]
    struct Other(std::process::Child);

    #[cfg(unix)]
    impl Other {
        fn holding(directory: &Path) -> Self {
            use std::io::{BufRead, BufReader};
            use std::process::{Command, Stdio};
            let mut command = Command::new("flock");
            command
                .arg(DirectoryLock::path(directory))
                .args(["-c", "echo held; read end"]);
            let begun = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
            let mut other = begun.expect("flock runs");
            let mut told = String::new();
            let output = other.stdout.take().expect("a pipe");
            BufReader::new(output).read_line(&mut told).expect("read");
            assert_eq!(told, "held\n");
            Self(other)
        }

        fn end(mut self) {
            drop(self.0.stdin.take());
            self.0.wait().expect("it ends");
        }
    }

    #[test]
    fn a_directory_has_one_holder_who_is_named_to_the_next() {
        let temporary = tempfile::tempdir().expect("a directory");
        let mut held = DirectoryLock::acquire(temporary.path()).expect("free");
        held.describe(Some("https://here")).expect("written");
        let refused = DirectoryLock::acquire(temporary.path()).expect_err("held");
        let named = "this process at https://here";
        assert!(matches!(&refused, Error::Locked { holder, .. } if holder == named));
        drop(held);
        let named = format!("process {} at https://here", std::process::id());
        assert_eq!(DirectoryLock::holder(temporary.path()), Some(named));
        DirectoryLock::acquire(temporary.path()).expect("free again");
    }

    /// Another process, because this one would be told of as itself.
    #[cfg(unix)]
    #[test]
    fn a_holder_without_a_name_is_told_as_one_that_could_not_write_it() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        for unnamed in ["", "\0\0\0\0"] {
            std::fs::write(DirectoryLock::path(at), unnamed).expect("written");
            let other = Other::holding(at);
            let refused = DirectoryLock::acquire(at).expect_err("held").to_string();
            let told = format!(
                "is in use by a process that could not write its name into {}; stop it, or",
                DirectoryLock::path(at).display()
            );
            assert!(refused.contains(&told), "{refused}");
            other.end();
        }
    }

    /// As in two containers with one volume, in both of which the server is process 1.
    #[cfg(unix)]
    #[test]
    fn a_holder_with_the_number_of_this_process_is_not_taken_for_it() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        let id = std::process::id();
        // Held before and given back.
        drop(DirectoryLock::acquire(at).expect("free"));
        let other = Other::holding(at);
        let named = Some(format!("process {id}"));
        assert_eq!(DirectoryLock::holder(at), named, "as we left it");
        let refused = DirectoryLock::acquire(at).expect_err("held").to_string();
        let advice = format!("by process {id}; stop it, or name another data directory");
        assert!(refused.ends_with(&advice), "{refused}");
        other.end();
        DirectoryLock::acquire(at).expect("free again");
    }

    #[test]
    fn a_file_of_somebody_else_that_is_called_lock_is_left_as_it_is() {
        let temporary = tempfile::tempdir().expect("a directory");
        let file = DirectoryLock::path(temporary.path());
        for foreign in ["{\"name\": \"x\"}\n", "\0\0x", "processes\n", "p r"] {
            std::fs::write(&file, foreign).expect("written");
            let refused = DirectoryLock::acquire(temporary.path()).expect_err("not ours");
            assert!(matches!(refused, Error::Foreign(path) if path == file));
            let kept = std::fs::read_to_string(&file).expect("there");
            assert_eq!(kept, foreign);
        }
        for ours in [
            "",
            "process 1\n",
            "process 1 at https://here\n",
            "proc",
            "\0\0\0\0\0\0\0\0\0",
        ] {
            std::fs::write(&file, ours).expect("written");
            let taken = DirectoryLock::acquire(temporary.path());
            assert!(taken.is_ok(), "{ours:?}");
        }
    }

    #[test]
    fn what_was_removed_before_it_was_locked_is_made_and_locked_again() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path().join("new");
        let left = Cell::new(2_u32);
        let others_remove = |file: &File| {
            if let Some(fewer) = left.get().checked_sub(1) {
                left.set(fewer);
                std::fs::remove_file(DirectoryLock::path(&at)).expect("removed");
                std::fs::remove_dir(&at).expect("removed");
            }
            file.try_lock()
        };
        let held = DirectoryLock::acquire_by(&at, others_remove).expect("in the end");
        assert!(DirectoryLock::check(&at).is_err(), "others are kept out");
        assert_eq!(left.get(), 0);
        held.remove();
        left.set(u32::MAX);
        let refused = DirectoryLock::acquire_by(&at, others_remove).expect_err("never");
        let told = refused.to_string();
        let advised = "again and again; stop it, or name another";
        assert!(told.contains(advised), "{told}");
    }

    #[test]
    fn who_asks_whether_a_directory_is_free_writes_nothing() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        DirectoryLock::check(at).expect("free");
        assert!(!DirectoryLock::path(at).exists());
        let mut held = DirectoryLock::acquire(at).expect("free");
        held.describe(Some("https://here")).expect("written");
        let refused = DirectoryLock::check(at).expect_err("held");
        assert!(
            matches!(&refused, Error::Locked { holder, .. } if holder.ends_with("at https://here"))
        );
        drop(held);
        let named = DirectoryLock::holder(at);
        DirectoryLock::check(at).expect("free");
        assert_eq!(DirectoryLock::holder(at), named);
        DirectoryLock::acquire(at).expect("not kept");
    }

    #[test]
    fn who_only_reads_keeps_writers_out_and_not_other_readers() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        let none = DirectoryLock::acquire_to_read(at).expect("nobody");
        assert!(none.is_none(), "nothing is made for it");
        let held_by = |refused| match refused {
            Error::Locked { holder, .. } => holder,
            other => panic!("{other}"),
        };
        let mut writer = DirectoryLock::acquire(at).expect("free");
        writer.describe(Some("https://here")).expect("written");
        let refused = DirectoryLock::acquire_to_read(at).expect_err("held");
        assert!(held_by(refused).ends_with(" at https://here"));
        drop(writer);
        let readers = [0; 2].map(|_| DirectoryLock::acquire_to_read(at).expect("free"));
        assert!(readers.iter().all(Option::is_some));
        let refused = DirectoryLock::acquire(at).expect_err("read");
        assert_eq!(held_by(refused), READER, "and nobody of before");
        drop(readers);
        DirectoryLock::acquire(at).expect("free again");
    }

    #[cfg(unix)]
    #[test]
    fn who_locks_by_a_link_has_the_directory_to_which_it_led_then() {
        use std::os::unix::fs::symlink;
        let temporary = tempfile::tempdir().expect("a directory");
        let above = temporary.path().canonicalize().expect("there");
        let [own, other, link] = ["own", "other", "current"].map(|name| above.join(name));
        for directory in [&own, &other] {
            std::fs::create_dir(directory).expect("made");
        }
        symlink(&own, &link).expect("linked");
        let held = DirectoryLock::acquire(&link).expect("free");
        std::fs::remove_file(&link).expect("removed");
        symlink(&other, &link).expect("switched");
        assert_eq!(held.directory(), own);
        let next = DirectoryLock::acquire(&link).expect("free");
        assert_eq!(next.directory(), other);
        assert!(DirectoryLock::check(&own).is_err(), "it is still held");
    }
}
