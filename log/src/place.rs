//! Checks that an opened file or directory is still at its path. Bytes synced into a file that was
//! unlinked are lost, and files created in a directory that has taken the place of ours belong to another
//! log.

use crate::Error;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
pub(crate) use system::{Identity, identity};

/// The same file or directory by a path of which only the last part may still be a link. Where the links
/// before that lead later, and which directory is the current one then, does not matter.
pub(crate) fn resolved(path: &Path) -> std::io::Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return path.canonicalize();
    };
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    Ok(above.unwrap_or(Path::new(".")).canonicalize()?.join(name))
}

/// A file or a directory, and the path at which it was opened.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    #[cfg_attr(not(unix), allow(dead_code))]
    file: Identity,
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

    /// The device and the number of the file on it.
    pub(crate) type Identity = (u64, u64);

    pub(crate) fn identity(found: &Metadata) -> Identity {
        (found.dev(), found.ino())
    }
}

#[cfg(not(unix))]
mod system {
    pub(crate) type Identity = ();

    pub(crate) fn identity(_: &std::fs::Metadata) -> Identity {}
}
