//! Whether the database is still where it was opened: what is synced into a file that has lost its name
//! is nowhere.

use crate::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file and where it is.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    #[cfg_attr(not(unix), allow(dead_code))]
    file: system::Identity,
}

impl Place {
    pub(super) fn of(path: &Path, file: &File) -> std::io::Result<Self> {
        Ok(Self {
            path: path.canonicalize()?,
            file: system::identity(&file.metadata()?),
        })
    }

    /// Refuses where somebody removed or replaced it, or moved it away.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.is_kept() {
            return Ok(());
        }
        Err(Error::Gone(self.path.clone()))
    }

    #[cfg(unix)]
    fn is_kept(&self) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match self.path.metadata() {
            Ok(found) => system::identity(&found) == self.file,
            // What cannot be looked at may be there.
            Err(error) => !matches!(error.kind(), NotFound | NotADirectory),
        }
    }

    #[cfg(not(unix))]
    fn is_kept(&self) -> bool {
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
