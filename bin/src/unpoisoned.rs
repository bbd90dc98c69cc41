//! Locks of this crate.

use std::sync::{LockResult, PoisonError};

/// What a lock guards, even if a thread panicked while it held the lock. What is guarded here stays usable: each
/// change of it is one step, or is derived and can be made again. Closing the plane must work in any case.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
