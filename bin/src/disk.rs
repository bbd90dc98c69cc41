//! Tells failures from each other that the same call can have.

use std::io::{self, ErrorKind};

/// Whether the cause of an error is that the disk, or somebody's share of it, is full.
pub(crate) fn is_full(error: &anyhow::Error) -> bool {
    is_caused_by(error, |cause| {
        matches!(
            cause.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        )
    })
}

/// Whether the cause of an error is that a file system is mounted on the file: no other file can get its name. A file
/// that another process is writing is as busy, but not by what the system says.
pub(crate) fn is_mounted(error: &anyhow::Error) -> bool {
    is_caused_by(error, |cause| {
        cause.kind() == ErrorKind::ResourceBusy && cause.raw_os_error().is_some()
    })
}

fn is_caused_by(error: &anyhow::Error, is_it: impl Fn(&io::Error) -> bool) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(is_it)
}
