//! What an interrupted restore or verification has left in a data directory. A restore works in a directory beside
//! the place of the log, and moves its parts there when it is complete. See `docs/decisions/0013-backup-and-restore.md`.

use crate::data_dir::DataDir;
use hindsight_log::regular::is_there;
use hindsight_log::{Error, check_part, check_parts, layout};
use std::path::Path;

/// Whether a restore was interrupted. Another restore removes what that has left, so what cannot be examined
/// is an error.
pub(crate) fn is_unfinished(directory: &Path) -> Result<bool, Error> {
    let data = DataDir(directory);
    let is_there = |part: &Path| is_there(part).map_err(|error| error.in_data_directory(directory));
    Ok(is_there(&data.restoring())? && !is_there(&data.events())?)
}

/// Refuses a directory in which somebody else has files where a restore would leave its own, and then one in which a
/// restore is half done. Nothing is changed.
pub(crate) fn check(directory: &Path) -> Result<(), Error> {
    let checked = check_parts(&DataDir(directory).restoring());
    checked.map_err(|error| error.in_data_directory(directory))?;
    if is_unfinished(directory)? {
        return Err(Error::UnfinishedRestore(directory.to_owned()));
    }
    Ok(())
}

/// Removes what an unfinished restore has left, once all of it is known to be a restore's: its work, and what it
/// had moved to its place.
pub(crate) fn discard(directory: &Path) -> Result<(), Error> {
    let parts = layout::PARTS.map(|part| directory.join(part));
    parts.iter().try_for_each(|part| check_part(part))?;
    parts.iter().try_for_each(|part| remove(part))?;
    remove(&DataDir(directory).restoring())
}

/// Whether there is something for [`settle`] to remove.
pub(crate) fn is_left(data: DataDir<'_>) -> bool {
    let places = [data.restoring(), data.verifying()];
    places.iter().any(|place| place.symlink_metadata().is_ok())
}

/// Removes what a completed restore or a verification has left behind, beside a log that is known to be one. The
/// directory must be locked, and is refused as by [`check`].
pub(crate) fn settle(directory: &Path) -> Result<(), Error> {
    settle_with(directory, remove)
}

/// The same with this way to remove. What stays hinders nobody: the copy of a verification may be another user's, or
/// there may be something else in its place, and a disk may fail.
fn settle_with(directory: &Path, remove: impl Fn(&Path) -> Result<(), Error>) -> Result<(), Error> {
    check(directory)?;
    let data = DataDir(directory);
    remove_work_with(data, &remove);
    if let Err(error) = remove_copy_with(data, remove) {
        tracing::warn!(
            %error,
            directory = %data.verifying().display(),
            "what is in the place of a verification's copy stays; a copy there is not needed, and its owner may remove it"
        );
    }
    Ok(())
}

/// Removes the directory in which the log beside it was restored. That is whole without it, so it may stay.
pub(crate) fn remove_work(data: DataDir<'_>) {
    remove_work_with(data, remove);
}

fn remove_work_with(data: DataDir<'_>, remove: impl Fn(&Path) -> Result<(), Error>) {
    let work = data.restoring();
    if let Err(error) = remove(&work) {
        tracing::warn!(
            %error,
            directory = %work.display(),
            "the directory in which the log was restored stays; it is not needed, and its owner may remove it"
        );
    }
}

/// Removes the copy that a verification left; refuses what is none.
#[cfg(feature = "http")]
pub(crate) fn remove_copy(data: DataDir<'_>) -> Result<(), Error> {
    remove_copy_with(data, remove)
}

fn remove_copy_with(
    data: DataDir<'_>,
    remove: impl Fn(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    check_parts(&data.verifying())?;
    remove(&data.verifying())
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
    use crate::testing::{fill, logged, tree};
    use crate::{Config, ControlPlane, OpenError, open_reader};
    use std::fs;
    use std::io::ErrorKind;

    fn open(directory: &Path) -> Result<ControlPlane, OpenError> {
        ControlPlane::open(Config {
            data_dir: Some(directory.to_owned()),
            collectors: false,
            ..Config::default()
        })
    }

    #[test]
    fn what_somebody_else_keeps_where_ours_would_be_left_is_named_and_stays() {
        for (others, named) in [
            (
                &[
                    "events/calendar.ics",
                    "restoring/keep.txt",
                    "verifying/thesis.txt",
                ][..],
                "restoring/keep.txt",
            ),
            (
                &["events/calendar.ics", "restoring/", "verifying/"],
                "events/calendar.ics",
            ),
            (
                &["restoring/keep.txt", "snapshots/photo.txt"],
                "restoring/keep.txt",
            ),
        ] {
            let temporary = tempfile::tempdir().expect("a directory");
            let at = temporary.path();
            fill(at, others);
            let before = tree(at);
            let told = open(at).expect_err("it is refused").to_string();
            let advice = "something that is not an event log; name another data directory, or move it elsewhere";
            assert!(told.contains(&format!("{named} is, or")), "{told}");
            assert!(told.contains(advice), "{told}");
            open_reader(at).expect_err("it is refused");
            assert!(tree(at) == before, "{others:?}");
        }
    }

    #[test]
    fn what_a_verification_left_goes_once_the_log_beside_it_is_accepted() {
        let temporary = tempfile::tempdir().expect("a directory");
        let [data, copy] = ["data", "copy"].map(|name| temporary.path().join(name));
        for directory in [&data, &copy] {
            open(directory).expect("it opens").close();
        }
        let left = DataDir(&data).verifying();
        fs::rename(copy, &left).expect("moved");
        let (tail, aside) = (data.join("events.tail"), data.join("aside"));
        fs::rename(&tail, &aside).expect("moved");
        let before = tree(&left);
        let refused = open_reader(&data).expect_err("its witness is missing");
        assert!(matches!(refused, OpenError::Log(Error::Unwitnessed { .. })));
        assert!(
            tree(&left) == before,
            "a question that is refused removes nothing"
        );
        fs::rename(aside, tail).expect("moved back");
        drop(open_reader(&data).expect("it opens"));
        assert!(!left.exists());
    }

    /// Such as what the copy of an earlier release has of the top of a file system.
    #[test]
    fn what_is_no_copy_of_a_verification_stays_and_hinders_no_start_and_no_question() {
        for others in [
            &["verifying/thesis.txt"][..],
            &["verifying/events/db", "verifying/events/lost+found/"],
        ] {
            let temporary = tempfile::tempdir().expect("a directory");
            let data = DataDir(temporary.path());
            fill(temporary.path(), others);
            let before = tree(&data.verifying());
            open(temporary.path()).expect("it opens").close();
            drop(open_reader(temporary.path()).expect("it opens"));
            let remove_copy = || remove_copy_with(data, remove);
            let refused = remove_copy().expect_err("no copy gets its place");
            assert!(matches!(refused, Error::Foreign(_)), "{refused}");
            assert!(tree(&data.verifying()) == before, "{others:?}");
        }
    }

    #[test]
    fn what_stays_beside_a_log_hinders_nobody_and_an_unfinished_restore_does() {
        let temporary = tempfile::tempdir().expect("a directory");
        let data = DataDir(temporary.path());
        let left = [data.restoring(), data.verifying()];
        let all_but = |kept: &Path| {
            let kept = kept.to_owned();
            settle_with(temporary.path(), move |path| {
                if path == kept {
                    return Err(failed("removing", path)(ErrorKind::PermissionDenied.into()));
                }
                remove(path)
            })
        };
        fs::create_dir(data.restoring()).expect("made");
        let refused = all_but(&data.verifying()).expect_err("it is unfinished");
        assert!(matches!(refused, Error::UnfinishedRestore(_)), "{refused}");
        assert!(data.restoring().exists());
        fs::create_dir(data.events()).expect("made");
        for kept in &left {
            left.iter()
                .for_each(|made| fs::create_dir_all(made).expect("made"));
            let told = logged(|| all_but(kept).expect("there is a log"));
            for place in &left {
                let is_named = told.contains(&*place.to_string_lossy());
                assert_eq!(place.exists(), place == kept, "{told}");
                assert_eq!(is_named, place == kept, "{told}");
            }
        }
        settle(temporary.path()).expect("settled");
        assert!(left.iter().all(|place| !place.exists()));
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
