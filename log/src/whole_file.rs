//! Files that exist completely or not at all: they are written under another name, fsynced, then renamed.

use crate::private;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// A file that gets its name from [`Self::finish`]; if it is dropped before, it is removed.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    beside: Option<PathBuf>,
    path: PathBuf,
}

impl WholeFile {
    /// Creates the file, for its owner alone, as `path` with `suffix` appended. Anything left under that
    /// name is removed. At `path` there must be a regular file or nothing.
    pub fn begin(path: &Path, suffix: &str) -> Result<Self> {
        Self::begin_as(path, Self::unfinished(path, suffix))
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
        check_place(path)?;
        std::fs::remove_file(&beside).ok();
        let mut options = private::options();
        let file = options.write(true).create_new(true).open(&beside)?;
        Ok(Self {
            file,
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
        let above = self.path.parent();
        let above = above.filter(|above| !above.as_os_str().is_empty());
        File::open(above.unwrap_or(Path::new(".")))?.sync_all()
    }
}

/// Refuses to replace anything but a regular file: a device, a pipe or a socket would be gone, and the
/// bytes meant for it would be in a file that nobody asked for.
fn check_place(path: &Path) -> Result<()> {
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
