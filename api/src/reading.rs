//! The pace that a client must keep while it reads what is long: otherwise one that reads a little now and then would
//! keep what the answer holds for ever.

use std::time::Duration;

/// A client that reads nothing for this long has stalled.
pub const STALLED: Duration = Duration::from_mins(1);

/// How long a client may read at any pace. Beyond it, [`BYTES_PER_SECOND`] is the least average.
pub const GRACE: Duration = Duration::from_mins(2);

/// The least pace at which a client must read a long answer.
pub const BYTES_PER_SECOND: u64 = 16 << 10;

/// The time that a client has for so many bytes.
pub const fn earned(bytes: u64) -> Duration {
    Duration::from_secs(bytes / BYTES_PER_SECOND)
}
