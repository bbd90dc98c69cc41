//! Formats of strings. Source: `apiextensions-apiserver/pkg/apiserver/validation/formats.go` and
//! `kube-openapi/pkg/validation/strfmt`. A format that is unknown there checks nothing.

mod bytes;
mod network;
mod numeric;
mod time;

pub(crate) use time::duration;

use super::Pattern;
use crate::validate;
use std::fmt;
use std::sync::LazyLock;

/// A known format.
#[derive(Clone, Copy)]
pub struct Format {
    name: &'static str,
    rule: Rule,
    written: Option<Written>,
}

type Check = fn(&str) -> bool;
/// Returns the canonical form of a text, or `None` if the text already has it.
type Written = fn(&str) -> Option<String>;

#[derive(Clone, Copy)]
enum Rule {
    Any,
    Pattern(usize),
    Function(Check),
    /// Bytes in a built-in kind.
    Bytes,
}

/// Formats that are defined by a regular expression.
const PATTERNS: [(&str, &str); 9] = [
    ("bsonobjectid", "^[0-9a-fA-F]{24}$"),
    (
        "uuid",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
    ),
    (
        "uuid3",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
    ),
    (
        "uuid4",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
    (
        "uuid5",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
    ("ssn", "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"),
    ("hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    (
        "rgbcolor",
        r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*(,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*){2}\)$",
    ),
    (
        "byte",
        "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$",
    ),
];

const FUNCTIONS: [(&str, Check); 18] = [
    ("uri", network::is_uri),
    ("email", network::is_email),
    ("hostname", network::is_hostname),
    ("ipv4", network::is_ipv4),
    ("ipv6", network::is_ipv6),
    ("cidr", network::is_cidr),
    ("mac", network::is_mac),
    ("isbn", numeric::is_isbn),
    ("isbn10", numeric::is_isbn10),
    ("isbn13", numeric::is_isbn13),
    ("creditcard", numeric::is_credit_card),
    ("quantity", numeric::is_quantity),
    ("date", time::is_date),
    ("datetime", time::is_date_time),
    ("date-time", time::is_date_time),
    ("duration", time::is_duration),
    ("k8s-short-name", |text| validate::label(text).is_ok()),
    ("k8s-long-name", |text| validate::subdomain(text).is_ok()),
];

static COMPILED: LazyLock<Vec<Option<Pattern>>> = LazyLock::new(|| {
    let patterns = PATTERNS.iter();
    let compiled = patterns.map(|(_, text)| Pattern::new(text, usize::MAX).ok());
    compiled.collect()
});

impl Format {
    /// Returns the format with this name; dashes are ignored.
    pub fn named(name: &str) -> Option<Self> {
        let same = |known: &str| known == name || known.replace('-', "") == name.replace('-', "");
        if name == "password" {
            let rule = Rule::Any;
            return Some(Self {
                name: "password",
                rule,
                written: None,
            });
        }
        let pattern = || {
            let index = PATTERNS.iter().position(|(known, _)| same(known))?;
            Some((PATTERNS.get(index)?.0, Rule::Pattern(index)))
        };
        let exact = FUNCTIONS.iter().find(|(known, _)| *known == name);
        let function = exact.or_else(|| FUNCTIONS.iter().find(|(known, _)| same(known)));
        let function = function.map(|(name, rule)| (*name, Rule::Function(*rule)));
        let (name, rule) = function.or_else(pattern)?;
        Some(Self {
            name,
            rule,
            written: None,
        })
    }

    /// The format of a field of a built-in kind, as Go decodes it: bytes may be empty, and the
    /// letters of a time must be capitals.
    pub fn of_field(name: &str) -> Option<Self> {
        let (name, rule, written): (_, _, Written) = match name {
            "byte" => ("byte", Rule::Bytes, bytes::written),
            "date-time" => (
                "date-time",
                Rule::Function(time::is_rfc3339),
                time::in_seconds,
            ),
            _ => return None,
        };
        Some(Self {
            name,
            rule,
            written: Some(written),
        })
    }

    /// The format of a `metav1.MicroTime`, which has exactly six digits after the decimal point.
    pub fn of_micro_time() -> Self {
        Self {
            name: "date-time with six decimals (as 2006-01-02T15:04:05.000000Z)",
            rule: Rule::Function(time::is_micro_time),
            written: Some(time::in_micros),
        }
    }

    /// The canonical form of a text of this format; `None` if the text already has it or does not
    /// fit.
    pub(super) fn rewritten(&self, text: &str) -> Option<String> {
        let written = self.written.filter(|_| self.fits(text))?;
        written(text)
    }

    /// The name of the format.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Why Go cannot decode a text that does not fit, if it says so without the text: bytes may be a secret.
    pub(super) fn decoding_error(&self, text: &str) -> Option<String> {
        match self.rule {
            Rule::Bytes => {
                let at = bytes::illegal_at(text)?;
                Some(format!("illegal base64 data at input byte {at}"))
            }
            Rule::Any | Rule::Pattern(_) | Rule::Function(_) => None,
        }
    }

    /// Whether a text is of this format.
    pub(crate) fn fits(&self, text: &str) -> bool {
        match self.rule {
            Rule::Any => true,
            Rule::Function(rule) => rule(text),
            Rule::Bytes => bytes::illegal_at(text).is_none(),
            Rule::Pattern(index) => COMPILED
                .get(index)
                .and_then(Option::as_ref)
                .is_some_and(|pattern| pattern.is_match(text)),
        }
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Format").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Format, texts that fit, texts that do not.
    const TABLE: &[(&str, &[&str], &[&str])] = &[
        (
            "uri",
            &[
                "http://a.b/c?d=%20",
                "/a",
                "urn:x:y",
                "https://[::1]:80/",
                "//",
                "*",
            ],
            &[
                "",
                "a",
                "http://a b/",
                "/%zz",
                "http://a:x/",
                "http://[1.2.3.4]/",
            ],
        ),
        (
            "email",
            &["a@b.c", "A B <a@b>", "a.b+c@d-e", "\"a b\"@c"],
            &["", "a", "a@", "@b", "a..b@c", "a@b c", "<a@b"],
        ),
        (
            "hostname",
            &["a", "a.com", "a-b.example", "1.example.org", "a-"],
            &["", "a.b", "-a", "a_b", "a.com.", "a..com"],
        ),
        (
            "ipv4",
            &["1.2.3.4"],
            &["1.2.3", "1.2.3.256", "::1", "01.2.3.4"],
        ),
        (
            "ipv6",
            &["::1", "fe80::1", "::ffff:1.2.3.4"],
            &["1.2.3.4", ":::", "::1%eth0"],
        ),
        (
            "cidr",
            &["10.0.0.0/8", "::/0"],
            &["10.0.0.0", "10.0.0.0/33", "::/129", "/8"],
        ),
        (
            "mac",
            &["01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab"],
            &["01:23:45:67:89", "01:23:45:67:89:ag", "01:23-45:67:89:ab"],
        ),
        (
            "uuid4",
            &["6BA7B810-9dad-41d1-80b4-00c04fd430c8"],
            &["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "x"],
        ),
        (
            "isbn",
            &["0321751043", "978-0321751041"],
            &["0321751044", "1"],
        ),
        (
            "isbn10",
            &["0-321-75104-3", "0-8044-2957-X"],
            &["978-0321751041", "0-8044-2957-XX", "0-8044-2957"],
        ),
        ("isbn13", &["978-0321751041"], &["978-0321751042"]),
        (
            "creditcard",
            &["4111 1111-1111 1111"],
            &["4111111111111112", "1234"],
        ),
        (
            "quantity",
            &["1", "1.5Gi", "-10m", "1e3", "2E", ".5"],
            &["", "1x", "Gi", "1 Gi", "1e"],
        ),
        (
            "date",
            &["2024-02-29"],
            &["2023-02-29", "2024-2-1", "2024-01-01T00:00:00Z"],
        ),
        (
            "date-time",
            &["2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20+01:00"],
            &[
                "2014-12-15",
                "2014-12-15T24:00:00Z",
                "2014-12-15T19:30:20",
                "2014-12-15 19:30:20Z",
            ],
        ),
        (
            "duration",
            &[
                "22 ns",
                "1h30m",
                "-1.5s",
                "3 days",
                "0",
                "1w 2 Mins",
                "- 1 hour",
                "1 fortnight, 1d",
            ],
            &[
                "",
                "1",
                "1 fortnight",
                "h",
                "1 hrs",
                "99999999999999999999d",
            ],
        ),
        ("byte", &["YQ==", "YWJj"], &["", "YQ", "Y Q="]),
        ("hexcolor", &["#FFFFFF", "abc"], &["#ab", "red"]),
        (
            "rgbcolor",
            &["rgb(255,0, 10)"],
            &["rgb(256,0,0)", "rgb(1,2)"],
        ),
        ("ssn", &["123-45-6789", "123456789"], &["12-345-678"]),
        ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f1f77"]),
        ("password", &["", "any"], &[]),
        ("k8s-short-name", &["a-1"], &["A", "a.b"]),
        ("k8s-long-name", &["a.b-1"], &["a..b"]),
    ];

    /// Weighted, its digits are more than a sum can hold.
    #[test]
    fn a_long_row_of_digits_is_no_number_with_check_digits() {
        let long = "9".repeat(40_000);
        for name in ["isbn", "isbn10", "isbn13", "creditcard"] {
            let format = Format::named(name).expect(name);
            assert!(!format.fits(&long), "{name}");
        }
    }

    #[test]
    fn formats_are_checked_as_kubernetes_checks_them() {
        for (name, good, bad) in TABLE {
            let format = Format::named(name).expect(name);
            assert_eq!(format.name(), *name);
            for text in *good {
                assert!(format.fits(text), "{name}: {text:?} fits");
            }
            for text in *bad {
                assert!(!format.fits(text), "{name}: {text:?} does not fit");
            }
        }
    }

    #[test]
    fn fields_of_built_in_kinds_hold_what_go_decodes() {
        for (name, good, bad) in [
            (
                "byte",
                &["", "YQ==", "YW\nJj"][..],
                &["!!", "YQ", "Y Q="][..],
            ),
            (
                "date-time",
                &["2014-12-15T19:30:20Z", "2014-12-15T19:30:20.123456+01:00"],
                &["", "yesterday", "2014-12-15t19:30:20z", "2014-12-15"],
            ),
        ] {
            let format = Format::of_field(name).expect(name);
            for text in good {
                assert!(format.fits(text), "{name}: {text:?} fits");
            }
            for text in bad {
                assert!(!format.fits(text), "{name}: {text:?} does not fit");
            }
        }
        assert!(Format::of_field("int32").is_none());
    }

    #[test]
    fn a_time_is_written_in_one_way() {
        let (seconds, micros) = (Format::of_field("date-time"), Format::of_micro_time());
        let seconds = |text: &str| seconds.and_then(|one| one.rewritten(text));
        for (sent, written) in [
            ("2026-01-01T00:00:00Z", None),
            ("2026-01-01T00:00:00.9Z", Some("2026-01-01T00:00:00Z")),
            ("2026-01-01T00:30:00+01:00", Some("2025-12-31T23:30:00Z")),
            ("2026-01-01", None),
        ] {
            assert_eq!(seconds(sent).as_deref(), written, "{sent}");
        }
        let six = "2026-01-01T02:00:00.123456+02:00";
        let written = micros.rewritten(six);
        assert_eq!(written.as_deref(), Some("2026-01-01T00:00:00.123456Z"));
        assert_eq!(micros.rewritten("2026-01-01T00:00:00.123456Z"), None);
        let example = micros.name().split(['(', ')', ' ']).rev().nth(1);
        assert!(micros.fits(example.expect("in the name")), "{example:?}");
        for text in [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.5Z",
            "2026-01-01T00:00:00.1234567Z",
        ] {
            assert!(!micros.fits(text), "{text}");
        }
    }

    #[test]
    fn every_pattern_compiles_and_unknown_formats_are_unknown() {
        assert!(COMPILED.iter().all(Option::is_some));
        assert!(Format::named("phone").is_none() && Format::named("").is_none());
        assert_eq!(Format::named("u-uid").expect("a format").name(), "uuid");
    }
}
