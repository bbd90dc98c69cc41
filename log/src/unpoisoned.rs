//! Locks of this crate.

use std::sync::{LockResult, PoisonError};

/// What a lock guards, even if a thread panicked while it held the lock. A panic that may have left the log in
/// an unknown state sets its [`Poison`](crate::Poison), which stops all writes; reading and closing must still
/// work after it.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
