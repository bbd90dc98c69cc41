//! The lock that keeps a data directory to one process.

mod naming;
#[cfg(test)]
mod tests;

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
                let file = Self::locked(file, directory, File::try_lock)?;
                file.unlock()
                    .map_err(Error::io("releasing the data directory"))
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
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<File, Error> {
        let mut holder = READER.to_owned();
        // Again, because the holder may have ended before it was asked whether it reads.
        for _ in 0..2 {
            match lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => {
                    return Err(Error::io("locking the data directory")(source));
                }
            }
            if file.try_lock_shared().is_err() {
                holder = Self::written(&mut file)?;
                break;
            }
            // A reader could not write its name into the file: any name there is that of an earlier holder. A child
            // process that is being started has the descriptor too, so closing it does not release the lock.
            file.unlock().ok();
        }
        let holder = named(holder.trim_matches(['\0', '\n', ' ']), directory);
        let directory = directory.to_owned();
        Err(Error::Locked { directory, holder })
    }

    /// The holder as the file that it has locked names it.
    fn written(file: &mut File) -> Result<String, Error> {
        let mut holder = String::new();
        file.read_to_string(&mut holder)
            .map_err(Error::reading("the lock file"))?;
        if Held::contains(file) {
            let address = holder.find(AT).map(|at| holder.split_off(at));
            return Ok(format!("{OURSELVES}{}", address.unwrap_or_default()));
        }
        Ok(holder)
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

/// A child process that is being started has the descriptor too for a moment, so closing it does not release the lock.
impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Before another holder is named there.
        self.naming = None;
        self.file.unlock().ok();
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

/// Refuses a file in the place of the directory. Whoever makes the directory tells why it cannot be examined.
fn refuse_file(directory: &Path) -> Result<(), Error> {
    if directory.metadata().is_ok_and(|found| !found.is_dir()) {
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
