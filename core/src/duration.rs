//! Durations as Go's `time.ParseDuration` reads them: `300ms`, `-1.5h`, `2h45m`, or just `0`.

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

/// Reads a duration as nanoseconds; `None` if the text is not a duration, or one that does not fit.
pub fn parse(text: &str) -> Option<i64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_what_go_takes_for_one() {
        for (text, nanoseconds) in [
            ("0", Some(0)),
            ("30s", Some(30 * SECOND)),
            ("1m30s", Some(90 * SECOND)),
            ("1.5h", Some(5400 * SECOND)),
            (".5s", Some(SECOND / 2)),
            ("5.s", Some(5 * SECOND)),
            ("-1s", Some(-SECOND)),
            ("+2ms", Some(2_000_000)),
            ("1us", Some(1000)),
            ("1\u{b5}s", Some(1000)),
            ("34s0m", Some(34 * SECOND)),
            ("", None),
            ("abc", None),
            ("30", None),
            ("s", None),
            ("1.2.3s", None),
            ("1 s", None),
            ("1d", None),
            ("-", None),
            ("+", None),
            (".s", None),
            ("1m30", None),
            ("1sm", None),
            ("9999999h", None),
        ] {
            assert_eq!(parse(text), nanoseconds, "{text}");
        }
    }
}
