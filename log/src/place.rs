//! Whether what was opened is still where it was: what is synced into a file that has lost its name is
//! nowhere, and what is named in a directory that has come to its place is somebody else's.

use crate::Error;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// A file or a directory, and where it is.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    #[cfg_attr(not(unix), allow(dead_code))]
    file: system::Identity,
}

impl Place {
    /// Of what was opened at this path.
    pub(crate) fn of(path: &Path, opened: &Metadata) -> std::io::Result<Self> {
        Ok(Self {
            path: path.canonicalize()?,
            file: system::identity(opened),
        })
    }

    /// Refuses where somebody removed or replaced it, or moved it away.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_kept() {
            return Ok(());
        }
        Err(Error::Gone(self.path.clone()))
    }

    #[cfg(unix)]
    pub(crate) fn is_kept(&self) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match self.path.metadata() {
            Ok(found) => system::identity(&found) == self.file,
            // What cannot be looked at may be there.
            Err(error) => !matches!(error.kind(), NotFound | NotADirectory),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn is_kept(&self) -> bool {
        self.path.exists()
    }
}

#[cfg(unix)]
mod system {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;

    pub(super) type Identity = (u64, u64);

    pub(super) fn identity(found: &Metadata) -> Identity {
        (found.dev(), found.ino())
    }
}

#[cfg(not(unix))]
mod system {
    pub(super) type Identity = ();

    pub(super) fn identity(_: &std::fs::Metadata) -> Identity {}
}
