//! Files that exist completely or not at all: they are written under another name, fsynced, then renamed.

use crate::{owner_only, place};
use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// How often the unfinished file is created, at most: each time another process may have taken the new file
/// for a leftover before it was locked.
const ATTEMPTS_MAX: usize = 100;

/// Whether a file that nobody writes to any more may be removed.
type IsLeftover = fn(&File) -> Result<bool>;
const ANYTHING: IsLeftover = |_| Ok(true);

/// A file that gets its name from [`Self::finish`]; if it is dropped before, it is removed.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    beside: Option<PathBuf>,
    path: PathBuf,
}

impl WholeFile {
    /// Creates the file, for its owner alone, as `path` with `suffix` appended. What a process that has ended
    /// left under that name is removed; if another is still writing there, this fails. At `path` there must
    /// be a regular file or nothing.
    pub fn begin(path: &Path, suffix: &str) -> Result<Self> {
        Self::begin_over(path, suffix, ANYTHING)
    }

    /// As [`Self::begin`], but fails if what has the unfinished name is not a leftover.
    pub fn begin_over(path: &Path, suffix: &str, is_leftover: IsLeftover) -> Result<Self> {
        let beside = Self::unfinished(path, suffix);
        Self::begin_with(path, beside, is_leftover)
    }

    /// The name of the file until it is finished.
    pub fn unfinished(path: &Path, suffix: &str) -> PathBuf {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".");
        beside.push(suffix);
        beside.into()
    }

    /// As [`Self::begin`], with a chosen unfinished name in the same directory.
    pub(crate) fn begin_as(path: &Path, beside: PathBuf) -> Result<Self> {
        Self::begin_with(path, beside, ANYTHING)
    }

    fn begin_with(path: &Path, beside: PathBuf, is_leftover: IsLeftover) -> Result<Self> {
        check_replaceable(path)?;
        Ok(Self {
            file: create_locked(&beside, is_leftover)?,
            beside: Some(beside),
            path: path.to_owned(),
        })
    }

    /// The file to write to.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Leaves the file under its unfinished name.
    pub(crate) fn leave(mut self) {
        self.beside = None;
    }

    /// Syncs the file, renames it over whatever has its name, and syncs the directory.
    pub fn finish(mut self) -> Result<()> {
        self.file.sync_all()?;
        if let Some(beside) = &self.beside {
            std::fs::rename(beside, &self.path)?;
            self.beside = None;
        }
        self.sync_name()
    }

    /// As [`Self::finish`], but replaces nothing. If something has the name by now, this fails with
    /// [`ErrorKind::AlreadyExists`], and the file, which is whole, keeps its unfinished name.
    pub fn finish_new(mut self) -> Result<()> {
        self.file.sync_all()?;
        let Some(beside) = &self.beside else {
            return Ok(());
        };
        let renamed = rename_new(beside, &self.path);
        match &renamed {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return renamed,
            Ok(()) | Err(_) => self.beside = None,
        }
        self.sync_name()?;
        renamed
    }

    fn sync_name(&self) -> Result<()> {
        place::sync_directory(place::above(&self.path))
    }
}

/// Renames a file to a name that nothing has. A file system that cannot do that at once is asked before.
fn rename_new(from: &Path, to: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => {}
            renamed => return Ok(renamed?),
        }
    }
    if to.symlink_metadata().is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(from, to)
}

/// Creates a file and locks it for as long as it is open. Only who holds the lock of a file removes or
/// renames it.
fn create_locked(path: &Path, is_leftover: IsLeftover) -> Result<File> {
    for _ in 0..ATTEMPTS_MAX {
        remove_leftover(path, is_leftover)?;
        let mut options = owner_only::options();
        match options.write(true).create_new(true).open(path) {
            Ok(file) if lock(&file) && is_at(&file, path) => return Ok(file),
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Err(in_use(path))
}

/// Removes what nobody writes to any more. A link is removed without a look at what it leads to.
fn remove_leftover(path: &Path, is_leftover: IsLeftover) -> Result<()> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.is_file() {
        return std::fs::remove_file(path);
    }
    match File::options().read(true).write(true).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(left) if !lock(&left) => Err(in_use(path)),
        // It was finished meanwhile, and what has the name now is looked at next.
        Ok(left) if !is_at(&left, path) => Ok(()),
        Ok(left) if is_leftover(&left)? => std::fs::remove_file(path),
        Ok(_) => Err(kept(path)),
    }
}

/// Locks the file; false if another process has. On a file system without locks everything is free.
fn lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn in_use(path: &Path) -> Error {
    let path = path.display();
    let why = format!(
        "another process is writing {path}; wait until it has finished, or name another file"
    );
    Error::new(ErrorKind::ResourceBusy, why)
}

fn kept(path: &Path) -> Error {
    let path = path.display();
    let why = format!(
        "{path} is in the way, and is whole or of somebody else; give it another name, or remove it"
    );
    Error::new(ErrorKind::AlreadyExists, why)
}

/// Whether the open file is the one that has this name.
fn is_at(file: &File, path: &Path) -> bool {
    place::is_at(file, path.symlink_metadata())
}

/// Refuses to replace anything but a regular file: a device, a pipe or a socket would be gone, and the
/// bytes meant for it would be in a file that nobody asked for.
fn check_replaceable(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() => Err(Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file, and would be replaced by one; move it away, or name another",
        )),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            std::fs::remove_file(beside).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_not_finished_leaves_what_was_there_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let names = || {
            let entries = std::fs::read_dir(directory.path()).expect("readable");
            let names = entries.map(|entry| entry.expect("readable").file_name());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        let write = |text: &str| {
            let begun = WholeFile::begin(&path, "unfinished").expect("begun");
            begun.file().write_all(text.as_bytes()).expect("written");
            begun
        };
        std::fs::write(directory.path().join("file.unfinished"), "of a kill").expect("written");
        write("first").finish().expect("finished");
        let second = write("second");
        assert_eq!(names(), ["file", "file.unfinished"]);
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "first");
        drop(second);
        assert_eq!(names(), ["file"]);
        write("third").finish().expect("finished");
        assert_eq!(names(), ["file"]);
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "third");
    }

    #[test]
    fn what_is_finished_as_new_replaces_nothing_and_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let read = |path: &Path| std::fs::read(path).expect("there");
        let finish = |text: &[u8]| {
            let begun = WholeFile::begin(&path, "unfinished").expect("begun");
            begun.file().write_all(text).expect("written");
            begun.finish_new()
        };
        finish(b"first").expect("nothing has the name");
        let refused = finish(b"second").expect_err("it is there");
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!(read(&path), b"first");
        assert_eq!(read(&WholeFile::unfinished(&path, "unfinished")), b"second");
    }

    #[test]
    fn what_one_is_writing_no_other_removes_or_finishes() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let begin = || WholeFile::begin(&path, "unfinished");
        let first = begin().expect("begun");
        for _ in 0..2 {
            let refused = begin().expect_err("it is being written");
            let told = refused.to_string();
            assert!(told.contains("another process is writing "), "{told}");
        }
        first.file().write_all(b"whole").expect("written");
        first.finish().expect("finished");
        assert_eq!(std::fs::read(&path).expect("there"), b"whole");
        let left = begin().expect("the first has finished");
        left.leave();
        begin()
            .expect("nobody writes there")
            .finish()
            .expect("finished");
        assert_eq!(std::fs::read(&path).expect("there"), b"");
    }

    #[test]
    fn of_many_that_begin_at_once_each_is_refused_or_finishes_its_own() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let write = |number: u8| {
            for _ in 0..200 {
                let Ok(begun) = WholeFile::begin(&path, "unfinished") else {
                    continue;
                };
                begun.file().write_all(&[number; 64]).expect("written");
                begun.finish().expect("it is still there");
                let found = std::fs::read(&path).expect("there");
                let first = found.first().copied().unwrap_or_default();
                assert_eq!(found, [first; 64]);
            }
        };
        std::thread::scope(|scope| {
            for number in 1..5 {
                scope.spawn(move || write(number));
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_replaced_by_one() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        use std::os::unix::net::UnixListener;
        let temporary = tempfile::tempdir().expect("a directory");
        let [socket, link, directory] =
            ["socket", "link", "directory"].map(|name| temporary.path().join(name));
        let _listener = UnixListener::bind(&socket).expect("bound");
        symlink("/dev/null", &link).expect("linked");
        std::fs::create_dir(&directory).expect("made");
        for path in [&socket, &link, &directory] {
            let error = WholeFile::begin(path, "new").expect_err("refused");
            assert!(error.to_string().contains("not a regular file"), "{error}");
            assert!(!path.with_extension("new").exists());
        }
        let found = |path: &Path| path.symlink_metadata().expect("there").file_type();
        assert!(found(&socket).is_socket() && found(&link).is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn it_is_for_its_owner_alone_also_where_the_other_name_was_open_to_all() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let left = directory.path().join("file.new");
        std::fs::write(&left, "").expect("written");
        std::fs::set_permissions(&left, PermissionsExt::from_mode(0o666)).expect("open");
        let begun = WholeFile::begin(&path, "new").expect("begun");
        begun.finish().expect("finished");
        let mode = path.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
