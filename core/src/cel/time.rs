//! Moments and spans as texts, as Go writes them. Nothing here knows what time it is.

use chrono::{DateTime, SecondsFormat, Utc};

const SECOND: i64 = 1_000_000_000;
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];

/// A moment, of RFC 3339.
pub(super) fn timestamp(text: &str) -> Option<DateTime<Utc>> {
    let moment = DateTime::parse_from_rfc3339(text).ok()?;
    Some(moment.with_timezone(&Utc))
}

/// Nanoseconds of `1h30m`, as Go's `ParseDuration` reads them.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut sum = 0_i64;
    let is_number = |one: char| one.is_ascii_digit() || one == '.';
    loop {
        let length = rest.find(|one| !is_number(one))?;
        let (number, tail) = rest.split_at(length);
        let length = tail.find(is_number).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(length);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(nanoseconds(number, *unit)?)?;
        if tail.is_empty() {
            return if negative {
                sum.checked_neg()
            } else {
                Some(sum)
            };
        }
        rest = tail;
    }
}

fn nanoseconds(number: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: i64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut sum = whole.checked_mul(unit)?;
    let mut part = unit;
    for digit in fraction.chars() {
        part /= 10;
        sum = sum.checked_add(part * i64::from(digit.to_digit(10)?))?;
    }
    Some(sum)
}

/// A moment as CEL writes it.
pub(super) fn moment(moment: &DateTime<Utc>) -> String {
    if moment.timestamp_subsec_nanos() == 0 {
        return moment.to_rfc3339_opts(SecondsFormat::Secs, true);
    }
    let text = moment.to_rfc3339_opts(SecondsFormat::Nanos, true);
    let digits = text.trim_end_matches('Z').trim_end_matches('0');
    format!("{digits}Z")
}

/// A span as CEL writes it: seconds.
pub(super) fn seconds(span: i64) -> String {
    let (whole, part) = (span / SECOND, (span % SECOND).unsigned_abs());
    let sign = if span < 0 && whole == 0 { "-" } else { "" };
    if part == 0 {
        return format!("{whole}s");
    }
    let part = format!("{part:09}");
    format!("{sign}{whole}.{}s", part.trim_end_matches('0'))
}
