//! Finds the place of a file that a user named.

use crate::data_dir::DataDir;
use anyhow::{Error, Result, anyhow, bail};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The most links that are followed, as in the system's own limit.
const LINKS_MAX: usize = 40;

/// The path to write to. Links stay and what they lead to is replaced, which must be a regular file or not
/// exist yet. `name` is the file's name in messages.
pub(crate) fn place(path: &Path, name: &str) -> Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => path.canonicalize().map_err(unwritten(name)),
        Ok(found) if found.is_dir() => bail!("{name} is a directory; name a file"),
        Ok(_) => bail!(
            "{name} is not a regular file; name a regular file, or one that does not exist yet"
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(end_of_links(path)),
        Err(error) => Err(unwritten(name)(error)),
    }
}

/// The error of a file or an output that cannot be written, with what to do about it.
pub(crate) fn unwritten(name: &str) -> impl FnOnce(io::Error) -> Error {
    move |error| {
        let advice = match error.kind() {
            // It says that itself.
            _ if error.get_ref().is_some() => "",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "; free some disk space, or write to another file system"
            }
            ErrorKind::FileTooLarge => {
                "; raise the limit on file size (`ulimit -f`), or write to a file system that has room for longer files"
            }
            ErrorKind::ReadOnlyFilesystem => {
                "; its file system is read-only: make it writable, or write to another"
            }
            ErrorKind::BrokenPipe => "; what reads it has ended: see what that said",
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                "; name a file in a directory that exists, or create the directory"
            }
            ErrorKind::PermissionDenied => "; name a file in a directory that you may write to",
            _ => "; name a file in another directory, or look for disk errors in the system log",
        };
        Error::new(error).context(format!("{name} cannot be written{advice}"))
    }
}

/// Refuses a place at which a part of the data directory is, or that is in one: the part would be gone, or the file
/// be taken for one.
pub(crate) fn check_apart(place: &Path, name: &str, data: DataDir<'_>) -> Result<()> {
    data.part_at(place)
        .map_or(Ok(()), |part| Err(of_part(&part, name, data)))
}

/// The refusal to write to this part of the data directory.
pub(crate) fn of_part(part: &Path, name: &str, data: DataDir<'_>) -> Error {
    anyhow!(
        "{name} is not written, because {} is a part of the data directory; name a file outside of {}",
        part.display(),
        data.0.display()
    )
}

/// The path that a chain of links leads to, if nothing exists there yet.
fn end_of_links(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = end.read_link() else { break };
        end.pop();
        end.push(target);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_cannot_be_written_is_told_of_with_what_to_do() {
        for (kind, advice) in [
            (ErrorKind::StorageFull, "free some disk space"),
            (ErrorKind::QuotaExceeded, "free some disk space"),
            (ErrorKind::FileTooLarge, "ulimit -f"),
            (ErrorKind::ReadOnlyFilesystem, "make it writable"),
            (ErrorKind::BrokenPipe, "see what that said"),
            (ErrorKind::NotFound, "or create the directory"),
            (ErrorKind::NotADirectory, "a directory that exists"),
            (ErrorKind::PermissionDenied, "that you may write to"),
            (ErrorKind::Other, "look for disk errors"),
        ] {
            let told = format!("{:#}", unwritten("monday.backup")(kind.into()));
            assert!(
                told.starts_with("monday.backup cannot be written; "),
                "{told}"
            );
            assert!(told.contains(advice), "{told}");
        }
        let own = io::Error::other("it is taken; wait");
        let told = format!("{:#}", unwritten("it")(own));
        assert_eq!(told, "it cannot be written: it is taken; wait");
    }

    #[test]
    fn a_link_stays_and_what_is_no_file_is_not_replaced() {
        let temporary = tempfile::tempdir().expect("a directory");
        let directory = temporary.path().canonicalize().expect("there");
        let [file, link, dangling, missing] =
            ["file", "link", "dangling", "missing"].map(|name| directory.join(name));
        std::fs::write(&file, "").expect("written");
        symlink("file", &link).expect("linked");
        symlink("other", directory.join("between")).expect("linked");
        symlink("between", &dangling).expect("linked");
        for (named, written) in [
            (&file, &file),
            (&link, &file),
            (&dangling, &directory.join("other")),
            (&missing, &missing),
        ] {
            assert_eq!(place(named, "it").expect("usable"), *written);
        }
        let device = directory.join("device");
        symlink("/dev/null", &device).expect("linked");
        for (other, why) in [
            (&*directory, "is a directory"),
            (Path::new("/dev/null"), "not a regular file"),
            (&device, "not a regular file"),
        ] {
            let error = place(other, "it").expect_err("refused");
            assert!(error.to_string().contains(why), "{error:#}");
        }
    }
}
