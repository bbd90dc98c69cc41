//! Kubernetes quantities, as `1500m` or `2Gi`. Source: `apimachinery/pkg/api/resource`.

use serde_json::{Number, Value};

const SCALE: i128 = 1_000_000_000;
const MILLI: i128 = SCALE / 1_000;
/// The limit of quantities with a binary suffix, as upstream's. Others have that of the type, which upstream
/// does not have: 1.7e29.
const MAX: i128 = i64::MAX as i128 * SCALE;

const NO_QUANTITY: &str = "quantities must match the regular expression \
     '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NO_SUFFIX: &str = "unable to parse quantity's suffix";
const TOO_LARGE: &str = "quantities must be less than 1.7e29";
/// The digits of the largest number of billionths.
const DIGITS_MAX: usize = 39;

/// Suffixes for powers of 1000, from billionths, and of 1024, from ones.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The index of ones in `DECIMAL`.
const ONES: i32 = 3;

/// A quantity in billionths; smaller fractions are rounded up, as upstream does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(i128);

/// The letters that occur in suffixes.
const LETTERS: &str = "eEinumkKMGTP";

/// Reads a value as a quantity, with its text; `None` for null.
///
/// # Errors
///
/// Why it is not a quantity, in the words of Kubernetes.
pub(crate) fn read(value: &Value) -> Result<Option<(Quantity, String)>, &'static str> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => plain(number),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(NO_QUANTITY),
    };
    let found = Quantity::read(&text)?;
    Ok(Some((found, text)))
}

/// The text of a number, without an exponent, since an exponent is a suffix form of its own.
fn plain(number: &Number) -> String {
    let fraction = number.as_f64().filter(|_| number.is_f64());
    fraction.map_or_else(|| number.to_string(), |fraction| fraction.to_string())
}

fn why_not(text: &str) -> &'static str {
    let suffix = text.trim_start_matches(|one: char| !one.is_ascii_alphabetic());
    let exponent = suffix.trim_start_matches(|one| LETTERS.contains(one));
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let is_number = |one: char| one.is_ascii_digit();
    match suffix.len() {
        0 => NO_QUANTITY,
        _ if digits.trim_start_matches(is_number).is_empty() => NO_SUFFIX,
        _ => NO_QUANTITY,
    }
}

/// Writes a quantity in its canonical form; any other value stays as it is.
pub(crate) fn canonicalize(value: &mut Value) {
    if let Ok(Some((found, text))) = read(value) {
        *value = canonical(found.0, &text).into();
    }
}

/// The same for an amount of a resource, which is rounded to thousandths, away from zero.
///
/// Source: `SetDefaults_ResourceList`.
pub(crate) fn round_up(value: &mut Value) {
    if let Ok(Some((Quantity(found), text))) = read(value) {
        let rest = found % MILLI;
        // Only the largest amounts have no thousandth above them. They stay.
        let rounded = found.checked_add(rest.signum() * MILLI - rest);
        if let Some(rounded) = rounded.filter(|_| rest != 0) {
            *value = canonical(rounded, &text).into();
        }
    }
}

/// A value with the suffix that fits it, of the family that the text uses. Upstream keeps some texts that
/// are not canonical (`+3`, `12E6`); here there is one form for each amount and family.
///
/// Source: `Quantity.CanonicalizeBytes`.
fn canonical(value: i128, text: &str) -> String {
    let suffix = text.trim_start_matches(|one: char| !one.is_ascii_alphabetic());
    let is_large = value.abs() >= 1024 * SCALE && value % SCALE == 0;
    let is_binary = matches!(suffix.as_bytes(), [_, b'i']);
    match suffix.as_bytes() {
        _ if value == 0 => "0".into(),
        _ if is_binary && is_large => {
            let (amount, times) = without(value / SCALE, 1024, BINARY.len() - 1);
            format!("{amount}{}", BINARY.get(times).unwrap_or(&""))
        }
        [b'e' | b'E', _, ..] if !is_binary => {
            let (amount, times) = without(value, 1000, usize::MAX);
            match 3 * (i32::try_from(times).unwrap_or(i32::MAX) - ONES) {
                0 => amount.to_string(),
                exponent => format!("{amount}e{exponent}"),
            }
        }
        _ => {
            let (amount, times) = without(value, 1000, DECIMAL.len() - 1);
            format!("{amount}{}", DECIMAL.get(times).unwrap_or(&""))
        }
    }
}

/// Divides an amount by a factor as often as it divides evenly, and returns how often that was.
fn without(mut amount: i128, factor: i128, times_max: usize) -> (i128, usize) {
    let mut times = 0;
    while times < times_max && amount != 0 && amount % factor == 0 {
        amount /= factor;
        times += 1;
    }
    (amount, times)
}

impl Quantity {
    /// Reads a quantity; `None` if the text is not one, or too large.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::read(text).ok()
    }

    fn read(text: &str) -> Result<Self, &'static str> {
        let sign = usize::from(text.starts_with(['+', '-']));
        let is_number = |one: char| one.is_ascii_digit() || one == '.';
        let rest = text.get(sign..).unwrap_or_default();
        let length = rest.find(|one| !is_number(one)).unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(length);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return Err(why_not(text));
        }
        let unit = Unit::parse(suffix).ok_or_else(|| why_not(text))?;
        let billionths = unit.billionths(whole, fraction).ok_or(TOO_LARGE)?;
        Ok(Self(if text.starts_with('-') {
            -billionths
        } else {
            billionths
        }))
    }

    /// The quantity of a whole number.
    pub(crate) const fn whole(number: i64) -> Self {
        Self(number as i128 * SCALE)
    }

    pub(crate) const fn sign(self) -> i64 {
        self.0.signum() as i64
    }

    /// The whole number that it is equal to, if there is one.
    pub(crate) fn integer(self) -> Option<i64> {
        let whole = (self.0 % SCALE == 0).then_some(self.0 / SCALE)?;
        i64::try_from(whole).ok()
    }

    #[expect(clippy::cast_precision_loss, reason = "an approximation is asked for")]
    pub(crate) const fn approximate(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }

    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    pub(crate) fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

/// What a suffix stands for: a power of ten, or one of 1024.
enum Unit {
    Ten(i64),
    Binary(usize),
}

impl Unit {
    fn parse(suffix: &str) -> Option<Self> {
        let place = |suffixes: &[&str]| suffixes.iter().position(|one| *one == suffix);
        if let Some(index) = place(&DECIMAL) {
            let thousands = i64::try_from(index).ok()? - i64::from(ONES);
            return Some(Self::Ten(3 * thousands));
        }
        if let Some(times) = place(&BINARY) {
            return Some(Self::Binary(times));
        }
        let exponent = suffix.strip_prefix(['e', 'E'])?;
        exponent.parse().ok().map(Self::Ten)
    }

    /// The number with these digits before and behind the point, times this unit: in billionths, rounded up; `None` if
    /// it is too large.
    fn billionths(&self, whole: &str, fraction: &str) -> Option<i128> {
        let digits = [whole, fraction].concat();
        let fraction = i64::try_from(fraction.len()).ok()?;
        match self {
            Self::Ten(exponent) => {
                let exponent = exponent.saturating_sub(fraction).saturating_add(9);
                shifted(&digits, exponent)
            }
            Self::Binary(times) => {
                let digits = (0..*times).fold(digits, |digits, _| times_1024(&digits));
                let found = shifted(&digits, 9 - fraction);
                Some(found.map_or(MAX, |found| found.min(MAX)))
            }
        }
    }
}

/// A decimal number whose point moves by this many places to the right, rounded up; `None` if it is too large.
fn shifted(digits: &str, places: i64) -> Option<i128> {
    let significant = digits.trim_start_matches('0');
    let digits = significant.trim_end_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let zeros = i64::try_from(significant.len() - digits.len()).ok()?;
    let places = places.saturating_add(zeros);
    let Ok(zeros) = usize::try_from(places) else {
        let cut = usize::try_from(places.unsigned_abs()).unwrap_or(usize::MAX);
        // What is cut off does not end in a zero, so there is something to round up.
        let kept = digits.len().saturating_sub(cut);
        let kept: i128 = match digits.get(..kept) {
            None | Some("") => 0,
            Some(kept) => kept.parse().ok()?,
        };
        return kept.checked_add(1);
    };
    if digits.len().saturating_add(zeros) > DIGITS_MAX {
        return None;
    }
    format!("{digits}{}", "0".repeat(zeros)).parse().ok()
}

/// A decimal number times 1024, of any length.
fn times_1024(digits: &str) -> String {
    let mut carry = 0;
    let mut reversed = Vec::with_capacity(digits.len() + 4);
    for digit in digits.chars().rev() {
        carry += digit.to_digit(10).unwrap_or(0) * 1024;
        reversed.extend(char::from_digit(carry % 10, 10));
        carry /= 10;
    }
    while carry > 0 {
        reversed.extend(char::from_digit(carry % 10, 10));
        carry /= 10;
    }
    reversed.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_written_as_kubernetes_writes_them() {
        for (text, written) in [
            ("1", "1"),
            ("0", "0"),
            ("0Mi", "0"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            ("1000k", "1M"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("0.3Gi", "322122547200m"),
            ("-2048Ki", "-2Mi"),
            ("5E", "5E"),
            ("1e3", "1e3"),
            ("12E6", "12e6"),
            ("100e0", "100"),
            ("1e-3", "1e-3"),
            ("0.1u", "100n"),
            ("+3", "3"),
            ("10E", "10E"),
            ("10Ei", "9223372036854775807"),
            ("0.3Ei", "345876451382054092800m"),
            ("1000000000000000000000Ei", "9223372036854775807"),
            ("-10Ei", "-9223372036854775807"),
            ("1e-50", "1e-9"),
            ("100000E", "100000E"),
            ("1e28", "10e27"),
        ] {
            let mut value = json!(text);
            canonicalize(&mut value);
            assert_eq!(value, written, "{text}");
        }
    }

    #[test]
    fn numbers_are_quantities_and_what_is_none_stays() {
        for (value, written) in [
            (json!(1), json!("1")),
            (json!(0.5), json!("500m")),
            (json!(0.000_001), json!("1u")),
            (json!(" 1 "), json!("1")),
            (json!("one"), json!("one")),
            (json!(null), json!(null)),
        ] {
            let mut found = value.clone();
            canonicalize(&mut found);
            assert_eq!(found, written, "{value}");
        }
    }

    #[test]
    fn amounts_of_resources_are_rounded_to_thousandths() {
        for (text, written) in [
            ("0.1u", "1m"),
            ("-0.1u", "-1m"),
            ("1100u", "2m"),
            ("1m", "1m"),
            // Nothing above it is a thousandth.
            (
                "170141183460469231731687303715884105727n",
                "170141183460469231731687303715884105727n",
            ),
            (
                "-170141183460469231731687303715884105727n",
                "-170141183460469231731687303715884105727n",
            ),
        ] {
            let mut value = json!(text);
            round_up(&mut value);
            assert_eq!(value, written, "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_told_as_kubernetes_tells_it() {
        for (value, why) in [
            (json!("one"), NO_QUANTITY),
            (json!(""), NO_QUANTITY),
            (json!("1Gib"), NO_QUANTITY),
            (json!("1.2.3"), NO_QUANTITY),
            (json!(true), NO_QUANTITY),
            (json!("1KK"), NO_SUFFIX),
            (json!("1e+"), NO_SUFFIX),
            (json!("1e30"), TOO_LARGE),
            (json!("1000000000000E"), TOO_LARGE),
        ] {
            assert_eq!(read(&value), Err(why), "{value}");
        }
    }

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        for (text, billionths) in [
            ("1", Some(SCALE)),
            ("1.5", Some(SCALE * 3 / 2)),
            ("1500m", Some(SCALE * 3 / 2)),
            ("-2Ki", Some(-2048 * SCALE)),
            ("1e3", Some(1000 * SCALE)),
            ("1E-3", Some(SCALE / 1000)),
            (".5", Some(SCALE / 2)),
            ("5.", Some(5 * SCALE)),
            ("0.1n", Some(1)),
            ("", None),
            ("m", None),
            ("1.2.3", None),
            ("1x", None),
            ("1e", None),
            ("0.0000000000000000000000000000000000000000000001", Some(1)),
            (
                "1.00000000000000000000000000000000000000000000",
                Some(SCALE),
            ),
            (
                "-1.00000000000000000000000000000000000000000001",
                Some(-SCALE - 1),
            ),
            (
                "0.500000000000000000000000000000000000000000001Ki",
                Some(512 * SCALE + 1),
            ),
            (
                "00000000000000000000000000000000000000000000000007",
                Some(7 * SCALE),
            ),
            ("0e99999999999", Some(0)),
            ("1e-99999999999", Some(1)),
            ("123456789e-15", Some(124)),
            ("170141183460469231731687303715884105727n", Some(i128::MAX)),
            ("170141183460469231731687303715884105728n", None),
            ("99999999999999999999999999999999999999999", None),
            ("1e99999999999", None),
            ("99999999999999999999999999999999999999999Ei", Some(MAX)),
        ] {
            let found = Quantity::parse(text).map(|quantity| quantity.0);
            assert_eq!(found, billionths, "{text}");
        }
    }
}
