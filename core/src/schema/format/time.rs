//! Dates, times and durations.

use crate::Time;
use chrono::NaiveDate;

pub(super) fn is_date(text: &str) -> bool {
    text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// A date and a time of RFC 3339. Seconds end at 59: upstream refuses leap seconds too.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let bytes = time.as_bytes();
    let (Some(clock), Some(rest)) = (bytes.get(..8), time.get(8..)) else {
        return false;
    };
    is_date(date) && is_clock(clock) && is_zone(after_fraction(rest))
}

/// The same, with capital letters only, as Go parses it.
pub(super) fn is_rfc3339(text: &str) -> bool {
    is_date_time(text) && !text.contains(['t', 'z'])
}

/// The same, with exactly six digits after the decimal point, as the layout of `metav1.MicroTime`
/// has.
pub(super) fn is_micro_time(text: &str) -> bool {
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    digits == 6 && is_rfc3339(text) && Time::parse(text).is_some()
}

/// Rewrites a time in the form of `metav1.Time`.
pub(super) fn in_seconds(text: &str) -> Option<String> {
    let is_so = text.len() == "2006-01-02T15:04:05Z".len();
    rewritten(text, is_so, Time::to_rfc3339)
}

/// Rewrites a time in the form of `metav1.MicroTime`.
pub(super) fn in_micros(text: &str) -> Option<String> {
    let is_so = text.len() == "2006-01-02T15:04:05.000000Z".len();
    rewritten(text, is_so, Time::to_rfc3339_micros)
}

fn rewritten(text: &str, is_so: bool, write: fn(Time) -> String) -> Option<String> {
    if is_so && text.ends_with('Z') {
        return None;
    }
    Time::parse(text).map(write)
}

fn is_clock(clock: &[u8]) -> bool {
    let pair = |most: u8, pair: &[u8]| match pair {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => (tens - b'0') * 10 + ones - b'0' <= most,
        _ => false,
    };
    match clock {
        [h1, h2, b':', m1, m2, b':', s1, s2] => {
            pair(23, &[*h1, *h2]) && pair(59, &[*m1, *m2]) && pair(59, &[*s1, *s2])
        }
        _ => false,
    }
}

fn after_fraction(text: &str) -> &str {
    let Some(fraction) = text.strip_prefix('.') else {
        return text;
    };
    let rest = fraction.trim_start_matches(|one: char| one.is_ascii_digit());
    if rest.len() == fraction.len() {
        text
    } else {
        rest
    }
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            [h1, h2, m1, m2].iter().all(|one| one.is_ascii_digit())
        }
        _ => false,
    }
}

/// Names of units, and nanoseconds per unit. A longer word that begins with the last name of a row
/// counts as that name.
const UNITS: [(&[&str], i64); 8] = [
    (&["ns", "nano"], 1),
    (&["us", "\u{b5}s", "micro"], 1_000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], SECOND),
    (&["m", "min"], 60 * SECOND),
    (&["h", "hr", "hour"], 3600 * SECOND),
    (&["d", "day"], 86_400 * SECOND),
    (&["w", "wk", "week"], 604_800 * SECOND),
];
const SECOND: i64 = 1_000_000_000;

pub(super) fn is_duration(text: &str) -> bool {
    duration(text).is_some()
}

/// Parses a duration into nanoseconds: in Go's syntax, or else as the sum of all numbers with a
/// unit anywhere in the text. Source: `kube-openapi/pkg/validation/strfmt`, `ParseDuration`.
pub(crate) fn duration(text: &str) -> Option<i64> {
    if let Some(found) = crate::duration::parse(text) {
        return Some(found);
    }
    let mut sum = None;
    let mut rest = text;
    while let Some(start) = rest.find(|one: char| one.is_ascii_digit()) {
        let digits = rest.get(start..)?;
        let after = digits.trim_start_matches(|one: char| one.is_ascii_digit());
        let number = digits.strip_suffix(after)?;
        let word = after.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let tail =
            word.trim_start_matches(|one: char| one.is_ascii_alphabetic() || one == '\u{b5}');
        let unit = word.strip_suffix(tail)?.to_lowercase();
        rest = tail;
        if unit.is_empty() {
            rest = after;
            continue;
        }
        let number: i64 = number.parse().ok()?;
        if let Some((_, size)) = UNITS.iter().find(|(names, _)| names_unit(names, &unit)) {
            let span = number.checked_mul(*size)?;
            sum = Some(sum.unwrap_or(0_i64).checked_add(span)?);
        }
    }
    sum
}

fn names_unit(names: &[&str], unit: &str) -> bool {
    names.contains(&unit) || names.last().is_some_and(|last| unit.starts_with(last))
}
