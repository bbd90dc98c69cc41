//! Locks of this crate.

use std::sync::{LockResult, PoisonError};

/// What a lock guards, even if a thread panicked while it held the lock. A panic ends its own request and no
/// other, and what is guarded here is still usable then: documents and definitions that can be built again,
/// the receiver of the relay, and leases, each of one answer.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
