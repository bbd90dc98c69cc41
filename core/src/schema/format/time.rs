//! Dates, times and durations.

use chrono::NaiveDate;

pub(super) fn is_date(text: &str) -> bool {
    text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// Seconds end at 59: leap seconds are refused upstream too.
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

const UNITS: [&str; 25] = [
    "ns",
    "us",
    "ms",
    "s",
    "m",
    "h",
    "d",
    "w",
    "nanosecond",
    "nanoseconds",
    "nano",
    "nanos",
    "micro",
    "micros",
    "microsecond",
    "microseconds",
    "milli",
    "millis",
    "second",
    "seconds",
    "minute",
    "minutes",
    "hour",
    "hours",
    "day",
];
const LONG_UNITS: [&str; 10] = [
    "millisecond",
    "milliseconds",
    "min",
    "mins",
    "hr",
    "hrs",
    "days",
    "wk",
    "week",
    "weeks",
];

/// Numbers with units, one after the other; zero needs none.
pub(super) fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    while !rest.is_empty() {
        let end = rest.find(|one: char| !one.is_ascii_digit() && one != '.');
        let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
        let after = after.trim_start();
        let end = after.find(|one: char| !one.is_alphabetic());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let counted = number.matches('.').count() < 2 && number.contains(|one: char| one != '.');
        let micro = matches!(unit, "\u{b5}s" | "\u{3bc}s");
        if !counted || !(micro || UNITS.contains(&unit) || LONG_UNITS.contains(&unit)) {
            return false;
        }
        rest = after.trim_start();
    }
    !text.is_empty()
}
