//! Where a file is: above all, whether one that was opened, or a directory, is still at its path. Bytes synced into a
//! file that was unlinked are lost, and files created in a directory that has taken the place of ours belong to another
//! log.

use crate::Error;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
pub use system::device;
pub(crate) use system::{FileId, examined_device, identity};

/// The directory that a path leads to without its last part; of a bare name, the current one.
pub fn above(path: &Path) -> &Path {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    above.unwrap_or(Path::new("."))
}

/// Syncs a directory: which names are in it, and not what has these names.
pub fn sync_directory(directory: &Path) -> std::io::Result<()> {
    File::open(directory)?.sync_all()
}

/// The paths of what is in a directory.
pub(crate) fn paths_in(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = directory.read_dir()?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// The same file or directory by a path of which only the last part may still be a link. Where the links
/// before that lead later, and which directory is the current one then, does not matter.
pub(crate) fn resolved(path: &Path) -> std::io::Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return path.canonicalize();
    };
    Ok(above(path).canonicalize()?.join(name))
}

/// Whether this is what was examined at a path.
pub(crate) fn is_at(file: &File, path: std::io::Result<Metadata>) -> bool {
    let found = |examined: std::io::Result<Metadata>| Some(identity(&examined.ok()?));
    let named = found(path);
    named.is_some() && named == found(file.metadata())
}

/// A file or a directory, and the path at which it was opened.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    #[cfg_attr(not(unix), allow(dead_code))]
    file: FileId,
}

impl Place {
    /// The place of what was opened at `path`.
    pub(crate) fn of(path: &Path, opened: &Metadata) -> std::io::Result<Self> {
        Ok(Self {
            path: path.canonicalize()?,
            file: identity(opened),
        })
    }

    /// Fails if the file or directory was removed, replaced or moved.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_unmoved() {
            return Ok(());
        }
        Err(Error::Gone(self.path.clone()))
    }

    #[cfg(unix)]
    pub(crate) fn is_unmoved(&self) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match self.path.metadata() {
            Ok(found) => identity(&found) == self.file,
            // If it cannot be examined, it may still be there.
            Err(error) => !matches!(error.kind(), NotFound | NotADirectory),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn is_unmoved(&self) -> bool {
        !matches!(self.path.try_exists(), Ok(false))
    }
}

#[cfg(unix)]
mod system {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// The device and the number of the file on it.
    pub(crate) type FileId = (u64, u64);

    pub(crate) fn identity(found: &Metadata) -> FileId {
        (found.dev(), found.ino())
    }

    /// The file system that the path is on; `None` if there is nothing there.
    pub fn device(path: &Path) -> Option<u64> {
        examined_device(path).ok().flatten()
    }

    /// The same of what must be there.
    pub(crate) fn examined_device(path: &Path) -> std::io::Result<Option<u64>> {
        Ok(Some(path.metadata()?.dev()))
    }
}

#[cfg(not(unix))]
mod system {
    pub(crate) type FileId = ();

    pub(crate) fn identity(_: &std::fs::Metadata) -> FileId {}

    /// Not known here.
    pub fn device(_: &std::path::Path) -> Option<u64> {
        None
    }

    pub(crate) fn examined_device(_: &std::path::Path) -> std::io::Result<Option<u64>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_a_bare_name_is_the_current_directory() {
        for (path, directory) in [("a/b/c", "a/b"), ("/a", "/"), ("a", "."), ("./a", ".")] {
            assert_eq!(above(Path::new(path)), Path::new(directory), "{path}");
        }
    }
}
