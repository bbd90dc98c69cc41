//! What an interrupted restore or verification has left in a data directory. A restore works in a directory beside
//! the place of the log, and moves its parts there when it is complete. See `docs/decisions/0013-backup-and-restore.md`.

use crate::data_dir::DataDir;
use hindsight_log::Error;
use std::path::Path;

/// Whether a restore was interrupted. Another restore removes what that has left, so what cannot be examined
/// is an error.
pub(crate) fn is_unfinished(directory: &Path) -> Result<bool, Error> {
    let data = DataDir(directory);
    Ok(is_there(&data.restoring())? && !is_there(&data.events())?)
}

/// Whether there is anything at the path. If the system cannot examine it, that is an error rather than a no.
pub(crate) fn is_there(path: &Path) -> Result<bool, Error> {
    path.try_exists().map_err(failed("examining", path))
}

/// To be called before the directory is used: refuses it if a restore is half done, and removes what a
/// completed restore or a verification has left behind. The directory must be locked.
pub(crate) fn settle(directory: &Path) -> Result<(), Error> {
    settle_with(directory, remove)
}

/// The same with this way to remove. The copy of a verification may be another user's, and hinders nobody.
fn settle_with(directory: &Path, remove: impl Fn(&Path) -> Result<(), Error>) -> Result<(), Error> {
    if is_unfinished(directory)? {
        return Err(Error::UnfinishedRestore(directory.to_owned()));
    }
    remove(&DataDir(directory).restoring())?;
    let copy = DataDir(directory).verifying();
    if let Err(error) = remove(&copy) {
        tracing::warn!(
            %error,
            directory = %copy.display(),
            "the copy that a verification left could not be removed; it is not needed, and its owner may remove it"
        );
    }
    Ok(())
}

/// Removes whatever is at the path.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(failed("removing", path))
}

/// Says what failed, and at which path.
pub(crate) fn failed(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    Error::io(format!("{what} {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;

    #[test]
    fn a_copy_of_somebody_else_hinders_nobody_and_an_unfinished_restore_does() {
        let temporary = tempfile::tempdir().expect("a directory");
        let data = DataDir(temporary.path());
        for made in [data.events(), data.restoring(), data.verifying()] {
            fs::create_dir(made).expect("made");
        }
        let all_but = |kept: &Path| {
            let kept = kept.to_owned();
            settle_with(temporary.path(), move |path| {
                if path == kept {
                    return Err(failed("removing", path)(ErrorKind::PermissionDenied.into()));
                }
                remove(path)
            })
        };
        let told = all_but(&data.restoring())
            .expect_err("it is kept")
            .to_string();
        assert!(told.contains("restoring"), "{told}");
        all_but(&data.verifying()).expect("it is a copy");
        assert!(!data.restoring().exists() && data.verifying().exists());
        settle(temporary.path()).expect("settled");
        assert!(!data.verifying().exists());
    }

    /// Here a link to itself; in practice a disk that fails.
    #[test]
    fn a_log_that_cannot_be_examined_is_not_one_that_a_restore_has_yet_to_bring() {
        let temporary = tempfile::tempdir().expect("a directory");
        let data = DataDir(temporary.path());
        fs::create_dir(data.restoring()).expect("made");
        assert!(is_unfinished(temporary.path()).expect("examined"));
        std::os::unix::fs::symlink(data.events(), data.events()).expect("made");
        let told = is_unfinished(temporary.path()).expect_err("unknown");
        assert!(told.to_string().starts_with("examining "), "{told}");
        settle(temporary.path()).expect_err("unknown");
        assert!(data.restoring().exists(), "nothing was removed");
    }
}
