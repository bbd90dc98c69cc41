//! Directories and files that only their owner can read: a log holds every Secret that ever existed.

use crate::Error;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

/// Creates a directory and its parents if they do not exist. An existing one keeps its permissions.
pub(crate) fn make(directory: &Path) -> Result<(), Error> {
    make_or_tell(directory).map_err(Error::io(format!("creating {}", directory.display())))
}

/// What is there and cannot be looked at is not taken for a file: the reason is told.
fn make_or_tell(directory: &Path) -> std::io::Result<()> {
    make_or_tell_by(directory, system::make)
}

fn make_or_tell_by(
    directory: &Path,
    make: impl FnOnce(&Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let made = make(directory);
    let is_there = |error: &std::io::Error| error.kind() == ErrorKind::AlreadyExists;
    if made.as_ref().is_err_and(is_there) {
        match directory.metadata() {
            // The system could not examine it before.
            Ok(found) if found.is_dir() => return Ok(()),
            // A link that leads nowhere is there.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    made
}

/// Creates a directory and its parents, and closes it to all but its owner; fails if that is not
/// possible.
pub fn make_private(directory: &Path) -> std::io::Result<()> {
    make_or_tell(directory)?;
    system::restrict(directory)
}

/// Creates one of our own directories, or closes an existing one to all but its owner; warns if that is
/// not possible.
pub(crate) fn make_restricted(directory: &Path) -> Result<(), Error> {
    make(directory)?;
    if let Err(error) = system::restrict(directory) {
        tracing::warn!(%error, directory = %directory.display(), "other users may be able to read this directory");
    }
    Ok(())
}

/// Warns if other users could replace files in the directory, such as a certificate authority.
pub(crate) fn warn_if_open_to_others(directory: &Path) {
    if let Some(open) = system::open_to_others(directory) {
        tracing::warn!(
            directory = %open.display(),
            "other users may write to this directory, and so replace the log and its certificates; \
             restrict it with chmod go-w"
        );
    }
}

/// Options for opening files; files that they create are for their owner alone.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    system::restrict_new(&mut options);
    options
}

#[cfg(unix)]
mod system {
    use std::fs::{DirBuilder, OpenOptions, Permissions, set_permissions};
    use std::io::Result;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
    use std::path::{Path, PathBuf};

    const OWNER_ONLY_DIRECTORY: u32 = 0o700;
    const OWNER_ONLY_FILE: u32 = 0o600;
    const ANY: u32 = 0o777;
    const BY_GROUP: u32 = 0o020;
    const BY_ALL: u32 = 0o002;
    /// The sticky bit: users cannot remove or rename the files of others there.
    const STICKY: u32 = 0o1000;

    /// The directory, if others may write to it, or else the first above it in which all may replace what
    /// it holds. Write access of a group is ignored above it: some systems make a group for each user,
    /// which is then the user's own.
    pub(super) fn open_to_others(directory: &Path) -> Option<PathBuf> {
        let whole = directory.canonicalize().ok()?;
        let is_open = |(depth, path): &(usize, &Path)| {
            let mode = path
                .metadata()
                .map_or(0, |found| found.permissions().mode());
            match depth {
                0 => mode & (BY_GROUP | BY_ALL) != 0,
                _ => mode & (BY_ALL | STICKY) == BY_ALL,
            }
        };
        let (_, found) = whole.ancestors().enumerate().find(is_open)?;
        Some(found.to_owned())
    }

    pub(super) fn restrict_new(options: &mut OpenOptions) {
        options.mode(OWNER_ONLY_FILE);
    }

    pub(super) fn make(directory: &Path) -> Result<()> {
        let mut builder = DirBuilder::new();
        builder
            .recursive(true)
            .mode(OWNER_ONLY_DIRECTORY)
            .create(directory)
    }

    pub(super) fn restrict(directory: &Path) -> Result<()> {
        let mode = directory.metadata()?.permissions().mode();
        if mode & ANY & !OWNER_ONLY_DIRECTORY == 0 {
            return Ok(());
        }
        set_permissions(directory, Permissions::from_mode(OWNER_ONLY_DIRECTORY))
    }
}

#[cfg(not(unix))]
mod system {
    use std::io::Result;
    use std::path::Path;

    pub(super) fn make(directory: &Path) -> Result<()> {
        std::fs::create_dir_all(directory)
    }

    pub(super) fn restrict(_: &Path) -> Result<()> {
        Ok(())
    }

    pub(super) fn restrict_new(_: &mut std::fs::OpenOptions) {}

    pub(super) fn open_to_others(_: &Path) -> Option<std::path::PathBuf> {
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use crate::{Base, Log, SledStorage, Snapshots};
    use hindsight_core::State;
    use hindsight_core::kind::BuiltinKinds;
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::Arc;

    fn mode(path: &Path) -> Option<u32> {
        let found = path.metadata().ok()?;
        Some(found.permissions().mode() & 0o777)
    }

    #[test]
    fn a_directory_that_others_may_replace_is_found() {
        let temporary = tempfile::tempdir().expect("a directory");
        let above = temporary
            .path()
            .canonicalize()
            .expect("there")
            .join("above");
        let data = above.join("data");
        std::fs::create_dir_all(&data).expect("made");
        for (of_above, of_data, found) in [
            (0o755, 0o700, None),
            (0o755, 0o755, None),
            (0o755, 0o777, Some(&data)),
            (0o755, 0o770, Some(&data)),
            (0o755, 0o1777, Some(&data)),
            (0o777, 0o700, Some(&above)),
            (0o775, 0o700, None),
            (0o1777, 0o700, None),
        ] {
            for (path, mode) in [(&above, of_above), (&data, of_data)] {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(path, mode).expect("set");
            }
            let open = super::system::open_to_others(&data);
            assert_eq!(open.as_ref(), found, "{of_above:o} {of_data:o}");
        }
    }

    /// A loop of links stands for whatever is there and cannot be looked at.
    #[test]
    fn what_cannot_be_looked_at_is_told_and_not_taken_for_a_file() {
        let temporary = tempfile::tempdir().expect("a directory");
        let [file, lost, turning] =
            ["file", "lost", "turning"].map(|name| temporary.path().join(name));
        std::fs::write(&file, "").expect("written");
        std::os::unix::fs::symlink("nowhere", &lost).expect("linked");
        std::os::unix::fs::symlink("turning", &turning).expect("linked");
        for (path, is_told_as_there) in [(file, true), (lost, true), (turning, false)] {
            for made in [super::make_private(&path), super::make_or_tell(&path)] {
                let kind = made.expect_err("it is no directory").kind();
                assert_eq!(
                    kind == ErrorKind::AlreadyExists,
                    is_told_as_there,
                    "{}",
                    path.display()
                );
            }
        }
    }

    #[test]
    fn what_is_a_directory_when_it_is_looked_at_again_is_one() {
        let temporary = tempfile::tempdir().expect("a directory");
        let refused = |_: &Path| Err(ErrorKind::AlreadyExists.into());
        super::make_or_tell_by(temporary.path(), refused).expect("it is there");
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
