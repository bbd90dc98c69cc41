//! Quantities of Kubernetes: `1500m`, `2Gi`. Source: `apimachinery/pkg/api/resource`.

const SCALE: i128 = 1_000_000_000;

/// A quantity, in billionths; upstream rounds what is smaller up, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(i128);

impl Quantity {
    /// Reads a quantity; nothing where the text is none, or too large.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let sign = usize::from(text.starts_with(['+', '-']));
        let is_number = |one: char| one.is_ascii_digit() || one == '.';
        let rest = text.get(sign..)?;
        let length = rest.find(|one| !is_number(one)).unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(length);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return None;
        }
        let (factor, divisor) = scale(suffix)?;
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let divisor = power(10, fraction.len())?.checked_mul(divisor)?;
        let scaled = digits.checked_mul(factor)?.checked_mul(SCALE)?;
        let rounded = scaled / divisor + i128::from(scaled % divisor != 0);
        Some(Self(if text.starts_with('-') {
            -rounded
        } else {
            rounded
        }))
    }

    /// A whole number.
    pub(super) const fn whole(number: i64) -> Self {
        Self(number as i128 * SCALE)
    }

    pub(super) const fn sign(self) -> i64 {
        self.0.signum() as i64
    }

    /// Its whole number, if it is one.
    pub(super) fn integer(self) -> Option<i64> {
        let whole = (self.0 % SCALE == 0).then_some(self.0 / SCALE)?;
        i64::try_from(whole).ok()
    }

    #[expect(clippy::cast_precision_loss, reason = "an approximation is asked for")]
    pub(super) const fn approximate(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    pub(super) fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

fn power(base: i128, exponent: usize) -> Option<i128> {
    base.checked_pow(u32::try_from(exponent).ok()?)
}

/// What a suffix multiplies with, and what it divides by.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let found = match suffix {
        "" => (1, 1),
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "k" => (power(10, 3)?, 1),
        "M" => (power(10, 6)?, 1),
        "G" => (power(10, 9)?, 1),
        "T" => (power(10, 12)?, 1),
        "P" => (power(10, 15)?, 1),
        "E" => (power(10, 18)?, 1),
        "Ki" => (power(2, 10)?, 1),
        "Mi" => (power(2, 20)?, 1),
        "Gi" => (power(2, 30)?, 1),
        "Ti" => (power(2, 40)?, 1),
        "Pi" => (power(2, 50)?, 1),
        "Ei" => (power(2, 60)?, 1),
        _ => return exponent(suffix),
    };
    Some(found)
}

fn exponent(suffix: &str) -> Option<(i128, i128)> {
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let number: i32 = digits.parse().ok()?;
    let size = power(10, usize::try_from(number.unsigned_abs()).ok()?)?;
    Some(if number < 0 { (1, size) } else { (size, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("99999999999999999999999999999999999999999", None),
            ("1e99999999999", None),
        ] {
            let found = Quantity::parse(text).map(|quantity| quantity.0);
            assert_eq!(found, billionths, "{text}");
        }
    }
}
