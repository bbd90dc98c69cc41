//! Directories for their owner alone: a log holds every Secret that there ever was.

use crate::Error;
use std::path::Path;

/// Makes a directory, and those above it, if they are not there. One that is there stays as open as it
/// is.
pub(crate) fn make(directory: &Path) -> Result<(), Error> {
    system::make(directory).map_err(Error::io(format!("making {}", directory.display())))
}

/// Makes a directory of ours, or closes the one that is there.
pub(crate) fn make_own(directory: &Path) -> Result<(), Error> {
    make(directory)?;
    if let Err(error) = system::close(directory) {
        tracing::warn!(%error, directory = %directory.display(), "others may be able to read this directory");
    }
    Ok(())
}

#[cfg(unix)]
mod system {
    use std::fs::{DirBuilder, Permissions, set_permissions};
    use std::io::Result;
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    use std::path::Path;

    const OWNER_ONLY: u32 = 0o700;
    const ANY: u32 = 0o777;

    pub(super) fn make(directory: &Path) -> Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(OWNER_ONLY).create(directory)
    }

    pub(super) fn close(directory: &Path) -> Result<()> {
        let mode = directory.metadata()?.permissions().mode();
        if mode & ANY & !OWNER_ONLY == 0 {
            return Ok(());
        }
        set_permissions(directory, Permissions::from_mode(OWNER_ONLY))
    }
}

#[cfg(not(unix))]
mod system {
    use std::io::Result;
    use std::path::Path;

    pub(super) fn make(directory: &Path) -> Result<()> {
        std::fs::create_dir_all(directory)
    }

    pub(super) fn close(_: &Path) -> Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use crate::{Base, Log, SledStorage, Snapshots};
    use hindsight_core::State;
    use hindsight_core::kind::BuiltinKinds;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::Arc;

    fn mode(path: &Path) -> Option<u32> {
        let found = path.metadata().ok()?;
        Some(found.permissions().mode() & 0o777)
    }

    #[test]
    fn what_is_ours_is_closed_and_what_is_not_is_left_alone() {
        let temporary = tempfile::tempdir().expect("a directory");
        let data = temporary.path().join("data");
        for directory in ["", "events", "snapshots"].map(|name| data.join(name)) {
            std::fs::create_dir_all(&directory).expect("made");
            std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755))
                .expect("open");
        }
        let empty = State::new(Arc::new(BuiltinKinds::new(Vec::new(), None)));
        let storage = SledStorage::open(&data.join("events")).expect("opened");
        drop(Log::open(Arc::new(storage), empty.clone()).expect("opened"));
        let snapshots = Snapshots::at(data.join("snapshots"));
        snapshots.write(&Base::empty(empty)).expect("written");
        assert_eq!(mode(&data), Some(0o755));
        assert_eq!(mode(&data.join("events")), Some(0o700));
        assert_eq!(mode(&data.join("snapshots")), Some(0o700));
    }
}
