//! Kinds of errors of the operating system.

pub(crate) use codes::is_unread;
pub use codes::is_without_descriptors;
use std::io::{Error, ErrorKind};

/// Whether a write failed for lack of space: the disk is full, or this process may not use more.
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}

/// Whether the system refused something, and nothing of what was to be read or written is at fault.
pub(crate) fn is_system_failure(error: &Error) -> bool {
    let is_listed = matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::NotADirectory
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::WouldBlock
            | ErrorKind::OutOfMemory
    );
    is_listed || is_full(error) || is_without_descriptors(error)
}

/// Errors that the standard library has no kind for.
#[cfg(target_os = "linux")]
mod codes {
    use rustix::io::Errno;
    use std::io::Error;

    fn code(error: &Error) -> Option<Errno> {
        error.raw_os_error().map(Errno::from_raw_os_error)
    }

    /// Whether the process or the machine has reached its limit of open files.
    pub fn is_without_descriptors(error: &Error) -> bool {
        matches!(code(error), Some(Errno::MFILE | Errno::NFILE))
    }

    /// Whether the disk does not give back what was written: a bad sector, or a checksum of the file system
    /// that does not match.
    pub(crate) fn is_unread(error: &Error) -> bool {
        matches!(
            code(error),
            Some(Errno::IO | Errno::NODATA | Errno::BADMSG | Errno::ILSEQ | Errno::UCLEAN)
        )
    }
}

#[cfg(not(target_os = "linux"))]
mod codes {
    use std::io::Error;

    pub fn is_without_descriptors(_: &Error) -> bool {
        false
    }

    pub(crate) fn is_unread(_: &Error) -> bool {
        false
    }
}
