//! Tells failures from each other that the same call can have.

use std::io::ErrorKind;

/// Whether the cause of an error is that the disk, or somebody's share of it, is full.
pub(crate) fn is_full(error: &anyhow::Error) -> bool {
    is_caused_by(error, &[ErrorKind::StorageFull, ErrorKind::QuotaExceeded])
}

/// Whether the cause of an error is that a file system is mounted on the file: no other file can get its name.
pub(crate) fn is_mounted(error: &anyhow::Error) -> bool {
    is_caused_by(error, &[ErrorKind::ResourceBusy])
}

fn is_caused_by(error: &anyhow::Error, kinds: &[ErrorKind]) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(|cause: &std::io::Error| kinds.contains(&cause.kind()))
}
