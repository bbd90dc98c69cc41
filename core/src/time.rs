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
    /// The form that Kubernetes writes in `metav1.Time`: RFC 3339, UTC, whole seconds.
    pub fn to_rfc3339(self) -> String {
        self.format(SecondsFormat::Secs)
    }

    /// The form of `metav1.MicroTime`: RFC 3339, UTC, microseconds.
    pub fn to_rfc3339_micros(self) -> String {
        self.format(SecondsFormat::Micros)
    }

    /// Reads any RFC 3339 time; `None` where the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self(parsed.timestamp_micros()))
    }

    /// This time moved by whole seconds, saturating.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// This time cut to whole seconds, as it reads once it has been through an object.
    #[must_use]
    pub const fn whole_seconds(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000_000))
    }

    fn format(self, precision: SecondsFormat) -> String {
        DateTime::<Utc>::from_timestamp_micros(self.0)
            .unwrap_or_default()
            .to_rfc3339_opts(precision, true)
    }
}
