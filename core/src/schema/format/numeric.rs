//! Numbers with check digits, and quantities.

/// The digits of a text without the separators that `skip` accepts; `None` if there is anything
/// else.
fn digits(text: &str, skip: impl Fn(char) -> bool) -> Option<Vec<u32>> {
    let kept = text.chars().filter(|one| !skip(*one));
    kept.map(|one| one.to_digit(10)).collect()
}

fn is_gap(one: char) -> bool {
    one == '-' || one.is_whitespace()
}

pub(super) fn is_isbn(text: &str) -> bool {
    is_isbn10(text) || is_isbn13(text)
}

/// The last of the ten digits may stand for ten; it is then written as X.
pub(super) fn is_isbn10(text: &str) -> bool {
    let ten = text.strip_suffix('X');
    let Some(mut digits) = digits(ten.unwrap_or(text), is_gap) else {
        return false;
    };
    digits.extend(ten.map(|_| 10));
    let weighted = (1..=10).zip(&digits).map(|(weight, one)| weight * one);
    digits.len() == 10 && weighted.sum::<u32>().is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let Some(digits) = digits(text, is_gap) else {
        return false;
    };
    let weights = [1, 3].into_iter().cycle().take(13);
    let weighted = weights.zip(&digits).map(|(weight, one)| weight * one);
    digits.len() == 13 && weighted.sum::<u32>().is_multiple_of(10)
}

/// Checks the prefixes and lengths of the issuers, then the Luhn checksum.
pub(super) fn is_credit_card(text: &str) -> bool {
    let Some(digits) = digits(text, |one| !one.is_ascii_digit()) else {
        return false;
    };
    let number: String = digits
        .iter()
        .filter_map(|one| char::from_digit(*one, 10))
        .collect();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|one| number.starts_with(one));
    let issued = match number.len() {
        13 => starts(&["4"]),
        14 => starts(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => starts(&["34", "37", "2131", "1800"]),
        16 => starts(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    };
    let doubled = |(index, digit): (usize, &u32)| match (index % 2, digit * 2) {
        (0, _) => *digit,
        (_, twice) if twice > 9 => twice - 9,
        (_, twice) => twice,
    };
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
    issued && sum.is_multiple_of(10)
}

const SUFFIXES: [&str; 16] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];

/// A decimal number with a Kubernetes quantity suffix or an exponent.
pub(super) fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|one: char| !one.is_ascii_digit() && one != '.');
    let (number, suffix) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let decimal = number.matches('.').count() < 2 && number.contains(|one: char| one != '.');
    let exponent = suffix.strip_prefix(['e', 'E']).is_some_and(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && digits.bytes().all(|one| one.is_ascii_digit())
    });
    decimal && (exponent || SUFFIXES.contains(&suffix))
}
