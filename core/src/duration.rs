//! Durations as Go's `time.ParseDuration` reads them: `300ms`, `-1.5h`, `2h45m`, or just `0`.

const SECOND: u64 = 1_000_000_000;
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];

/// The nanoseconds of the shortest duration, without its sign, which the longest one does not reach.
const MAX: u64 = 1 << 63;

/// Reads a duration as nanoseconds; `None` if the text is not a duration, or one that does not fit.
pub fn parse(text: &str) -> Option<i64> {
    read(text).ok()
}

/// Reads a duration as nanoseconds.
///
/// # Errors
///
/// Why it is none, in the words of Go.
pub(crate) fn read(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quoted(text));
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let (number, behind) = number(rest).ok_or_else(invalid)?;
        let length = behind.find(begins_a_number).unwrap_or(behind.len());
        let (name, behind) = behind.split_at(length);
        if name.is_empty() {
            return Err(format!("time: missing unit in duration {}", quoted(text)));
        }
        let Some((_, unit)) = UNITS.iter().find(|(known, _)| *known == name) else {
            let (name, text) = (quoted(name), quoted(text));
            return Err(format!("time: unknown unit {name} in duration {text}"));
        };
        let added = number.times(*unit).and_then(|part| sum.checked_add(part));
        sum = added.filter(|sum| *sum <= MAX).ok_or_else(invalid)?;
        rest = behind;
    }
    let signed = if is_negative {
        0_i64.checked_sub_unsigned(sum)
    } else {
        i64::try_from(sum).ok()
    };
    signed.ok_or_else(invalid)
}

fn begins_a_number(one: char) -> bool {
    one.is_ascii_digit() || one == '.'
}

/// A decimal number: what is before the point, and the digits behind it.
struct Decimal<'a> {
    whole: u64,
    fraction: &'a str,
}

/// Reads the number at the start of a text, and returns it with the rest; `None` if there is no digit, or if
/// the part before the point is too large.
fn number(text: &str) -> Option<(Decimal<'_>, &str)> {
    let (digits, mut rest) = digits(text);
    let mut fraction = "";
    if let Some(behind) = rest.strip_prefix('.') {
        (fraction, rest) = self::digits(behind);
    }
    let whole = match digits {
        "" if fraction.is_empty() => return None,
        "" => 0,
        digits => digits.parse().ok()?,
    };
    Some((Decimal { whole, fraction }, rest))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.len()
            - text
                .trim_start_matches(|one: char| one.is_ascii_digit())
                .len(),
    )
}

impl Decimal<'_> {
    /// As many units, in nanoseconds.
    fn times(&self, unit: u64) -> Option<u64> {
        let (mut digits, mut scale) = (0_u64, 1.0_f64);
        for digit in self.fraction.chars().filter_map(|one| one.to_digit(10)) {
            let more = digits.checked_mul(10);
            let more = more.and_then(|more| more.checked_add(digit.into()));
            // Further digits make no difference.
            let Some(more) = more.filter(|more| *more <= MAX) else {
                break;
            };
            digits = more;
            scale *= 10.0;
        }
        self.whole
            .checked_mul(unit)?
            .checked_add(part(digits, scale, unit))
    }
}

/// A fraction of a unit, in the arithmetic of Go.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "what is less than a nanosecond is cut off, as it is in Go"
)]
fn part(digits: u64, scale: f64, unit: u64) -> u64 {
    (digits as f64 * (unit as f64 / scale)) as u64
}

/// A text in quotes. Source: `quote` of Go's package `time`.
fn quoted(text: &str) -> String {
    let shown = text.bytes().map(|byte| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' | b'\x7f' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    });
    format!("\"{}\"", shown.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn durations_are_what_go_takes_for_one() {
        for (text, nanoseconds) in [
            ("0", Some(0)),
            ("-0", Some(0)),
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
            ("0.100000000000000000000h", Some(360 * SECOND)),
            ("1.0000000000001h", Some(3600 * SECOND)),
            ("0.3333333333333333333h", Some(1200 * SECOND)),
            ("9223372036854775807ns", Some(i64::MAX)),
            ("9223372036854775808ns", None),
            ("-9223372036854775808ns", Some(i64::MIN)),
            ("-9223372036854775809ns", None),
            ("18446744073709551616ns", None),
        ] {
            assert_eq!(parse(text), nanoseconds, "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_told_as_go_tells_it() {
        for (text, why) in [
            ("", r#"invalid duration """#),
            ("+", r#"invalid duration "+""#),
            ("-.s", r#"invalid duration "-.s""#),
            ("s", r#"invalid duration "s""#),
            ("1 s", r#"unknown unit " s" in duration "1 s""#),
            ("1m30", r#"missing unit in duration "1m30""#),
            ("1.2.3s", r#"missing unit in duration "1.2.3s""#),
            (
                "1\u{e9}\"\\",
                r#"unknown unit "\xc3\xa9\"\\" in duration "1\xc3\xa9\"\\""#,
            ),
        ] {
            assert_eq!(read(text), Err(format!("time: {why}")), "{text}");
        }
    }
}
