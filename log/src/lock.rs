//! One process per data directory.

use crate::{Error, elsewhere, private};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;

const FILE: &str = "lock";
const READER: &str = "a question that is asked where nothing can be written";

/// Held until it is dropped. The file says who holds it.
#[derive(Debug)]
pub struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    /// Takes the directory, which is made if it is not there, for its owner alone.
    pub fn acquire(directory: &Path) -> Result<Self, Error> {
        if directory.exists() && !directory.is_dir() {
            return Err(Error::Foreign(directory.to_owned()));
        }
        private::make(directory)?;
        private::warn_of_others(directory);
        elsewhere::warn_of_remote(directory);
        let mut options = private::options();
        options.read(true).write(true).create(true).truncate(false);
        let opened = options.open(directory.join(FILE));
        let file = opened.map_err(|error| match error.kind() {
            ErrorKind::ReadOnlyFilesystem => Error::ReadOnly(directory.to_owned()),
            _ => opening(directory)(error),
        })?;
        let mut lock = Self::of(file, directory, File::try_lock)?;
        lock.describe("")?;
        Ok(lock)
    }

    /// Keeps those who write out of a directory to which nothing can be written from here: it may be mounted in
    /// another place, too, and served there. Others may read. Nothing where it has no lock, which no server leaves.
    pub fn acquire_to_read(directory: &Path) -> Result<Option<Self>, Error> {
        match File::open(directory.join(FILE)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => {
                let file = opened.map_err(opening(directory))?;
                Self::of(file, directory, File::try_lock_shared).map(Some)
            }
        }
    }

    /// What the directory says of who has it, or who had it last: nothing is taken.
    pub fn holder(directory: &Path) -> Option<String> {
        let text = std::fs::read_to_string(directory.join(FILE)).ok()?;
        Some(text.trim().to_owned())
    }

    /// Lets go of a directory that nothing came of: the file goes too, while it is still held.
    pub fn remove(self, directory: &Path) {
        std::fs::remove_file(directory.join(FILE)).ok();
    }

    fn of(
        mut file: File,
        directory: &Path,
        lock: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> Result<Self, Error> {
        match lock(&file) {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => {
                let mut holder = READER.to_owned();
                // Who only reads could not write its name there: that is somebody's of before.
                if file.try_lock_shared().is_err() {
                    holder.clear();
                    file.read_to_string(&mut holder)
                        .map_err(Error::io("reading the lock"))?;
                }
                Err(Error::Locked {
                    directory: directory.to_owned(),
                    holder: holder.trim().to_owned(),
                })
            }
            Err(TryLockError::Error(source)) => {
                Err(Error::io("locking the data directory")(source))
            }
        }
    }

    /// Says who holds the directory: the process, and where it listens.
    pub fn describe(&mut self, address: &str) -> Result<(), Error> {
        let at = if address.is_empty() {
            String::new()
        } else {
            format!(" at {address}")
        };
        let text = format!("process {}{at}\n", std::process::id());
        let mut write = || {
            // In place: a full disk would not give the bytes back.
            self.file.rewind()?;
            self.file.write_all(text.as_bytes())?;
            self.file.set_len(text.len() as u64)
        };
        write().map_err(Error::io("writing the lock"))
    }
}

fn opening(directory: &Path) -> impl FnOnce(std::io::Error) -> Error {
    Error::io(format!("opening the lock of {}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_holder_who_is_named_to_the_next() {
        let temporary = tempfile::tempdir().expect("a directory");
        let mut held = DirectoryLock::acquire(temporary.path()).expect("free");
        held.describe("https://here").expect("written");
        let refused = DirectoryLock::acquire(temporary.path()).expect_err("held");
        let named = format!("process {} at https://here", std::process::id());
        assert!(matches!(&refused, Error::Locked { holder, .. } if *holder == named));
        drop(held);
        assert_eq!(DirectoryLock::holder(temporary.path()), Some(named));
        DirectoryLock::acquire(temporary.path()).expect("free again");
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
        writer.describe("https://here").expect("written");
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
}
