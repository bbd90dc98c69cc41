//! The only clock and the only randomness.

use hindsight_core::Time;

/// Now, to the microsecond.
pub(crate) fn now() -> Time {
    Time(chrono::Utc::now().timestamp_micros())
}

/// Sixteen fresh random bytes.
pub(crate) fn seed() -> [u8; 16] {
    uuid::Uuid::new_v4().into_bytes()
}
