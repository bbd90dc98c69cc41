//! What a user may not do in the data directory of another.

use super::Error;
use std::io::ErrorKind;
use std::path::Path;

impl Error {
    /// The same error as one about this data directory, if permission was denied. Of a directory that is closed to
    /// this user nothing in it is named: whether that exists is unknown.
    #[must_use]
    pub fn in_data_directory(self, directory: &Path) -> Self {
        let is_closed = || {
            let entered = directory.join(".").metadata();
            entered.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
        };
        self.in_directory(directory, is_closed)
    }

    fn in_directory(self, directory: &Path, is_closed: impl FnOnce() -> bool) -> Self {
        match self {
            Self::Io { source, .. }
                if source.kind() == ErrorKind::PermissionDenied && is_closed() =>
            {
                let what = format!("opening the data directory {}", directory.display());
                Self::Denied { what, source }
            }
            Self::Io { what, source } if source.kind() == ErrorKind::PermissionDenied => {
                Self::Denied { what, source }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Here the user of the tests may enter everything.
    #[test]
    fn of_a_directory_that_is_closed_nothing_in_it_is_named() {
        const ADVICE: &str = "; run as the user that the server runs as, ";
        let directory = Path::new("/data");
        let error = |kind: ErrorKind| Error::io("examining /data/restoring")(kind.into());
        for (kind, is_closed, begin, is_advised) in [
            (
                ErrorKind::PermissionDenied,
                true,
                "opening the data directory /data: ",
                true,
            ),
            (
                ErrorKind::PermissionDenied,
                false,
                "examining /data/restoring: ",
                true,
            ),
            (
                ErrorKind::NotADirectory,
                true,
                "examining /data/restoring: ",
                false,
            ),
        ] {
            let told = error(kind)
                .in_directory(directory, || is_closed)
                .to_string();
            assert!(told.starts_with(begin), "{told}");
            assert_eq!(told.contains(ADVICE), is_advised, "{told}");
        }
        let temporary = tempfile::tempdir().expect("a directory");
        let denied = error(ErrorKind::PermissionDenied).in_data_directory(temporary.path());
        assert!(
            denied.to_string().starts_with("examining "),
            "it is not closed"
        );
    }
}
