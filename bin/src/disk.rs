//! Tells a full disk from other failures.

use std::io::ErrorKind;

/// Whether the cause of an error is that the disk, or somebody's share of it, is full.
pub(crate) fn is_full(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(|cause: &std::io::Error| {
        matches!(
            cause.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        )
    })
}
