//! Wall-clock time as a value: recorded in commits, never read by this crate.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

/// Microseconds since the Unix epoch.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// The last second of the year 9999, the latest that RFC 3339 can express; later times are written as
    /// this one.
    pub const MAX: Self = Self(253_402_300_799_000_000);
    /// The beginning of the year 1, the earliest time in Kubernetes.
    pub const MIN: Self = Self(-62_135_596_800_000_000);

    /// The form that Kubernetes writes in `metav1.Time`: RFC 3339, UTC, whole seconds.
    pub fn to_rfc3339(self) -> String {
        self.format(SecondsFormat::Secs)
    }

    /// The form of `metav1.MicroTime`: RFC 3339, UTC, microseconds.
    pub fn to_rfc3339_micros(self) -> String {
        self.format(SecondsFormat::Micros)
    }

    /// Reads any RFC 3339 time; `None` if the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self(parsed.timestamp_micros()))
    }

    /// This time moved by whole seconds, clamped to [`Self::MIN`] and [`Self::MAX`].
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000))).clamp(Self::MIN, Self::MAX)
    }

    /// This time truncated to whole seconds, which is the precision that objects record.
    #[must_use]
    pub(crate) const fn whole_seconds(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000_000))
    }

    fn format(self, precision: SecondsFormat) -> String {
        DateTime::<Utc>::from_timestamp_micros(self.clamp(Self::MIN, Self::MAX).0)
            .unwrap_or_default()
            .to_rfc3339_opts(precision, true)
    }
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn every_time_that_is_written_can_be_read_again() {
        for seconds in [
            i64::MIN,
            -300_000_000_000,
            -1,
            0,
            1,
            300_000_000_000,
            i64::MAX,
        ] {
            let moved = Time::default().plus_seconds(seconds);
            for time in [moved, Time(seconds)] {
                let text = time.to_rfc3339();
                let read = Time::parse(&text).unwrap_or_default();
                assert_eq!(read.to_rfc3339(), text, "{seconds}");
            }
            assert_eq!(Time::parse(&moved.to_rfc3339()), Some(moved), "{seconds}");
        }
    }

    #[test]
    fn what_is_too_late_is_the_last_second_of_the_year_9999() {
        let late = Time::default().plus_seconds(i64::MAX);
        assert_eq!(late.to_rfc3339(), "9999-12-31T23:59:59Z");
        assert_eq!(Time(i64::MAX).to_rfc3339(), "9999-12-31T23:59:59Z");
        assert_eq!(Time(i64::MIN).to_rfc3339(), "0001-01-01T00:00:00Z");
    }
}
