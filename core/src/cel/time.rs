//! Timestamps and durations as text, in Go's format. Nothing here reads a clock.

use chrono::{DateTime, SecondsFormat, Utc};

const SECOND: i64 = 1_000_000_000;
/// Parses a timestamp in the format of RFC 3339.
pub(super) fn timestamp(text: &str) -> Option<DateTime<Utc>> {
    let moment = DateTime::parse_from_rfc3339(text).ok()?;
    Some(moment.with_timezone(&Utc))
}

/// Formats a timestamp as CEL does.
pub(super) fn moment(moment: &DateTime<Utc>) -> String {
    if moment.timestamp_subsec_nanos() == 0 {
        return moment.to_rfc3339_opts(SecondsFormat::Secs, true);
    }
    let text = moment.to_rfc3339_opts(SecondsFormat::Nanos, true);
    let digits = text.trim_end_matches('Z').trim_end_matches('0');
    format!("{digits}Z")
}

/// Formats a duration as CEL does: in seconds.
pub(super) fn seconds(span: i64) -> String {
    let (whole, part) = (span / SECOND, (span % SECOND).unsigned_abs());
    let sign = if span < 0 && whole == 0 { "-" } else { "" };
    if part == 0 {
        return format!("{whole}s");
    }
    let part = format!("{part:09}");
    format!("{sign}{whole}.{}s", part.trim_end_matches('0'))
}
