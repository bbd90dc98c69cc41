//! Semantic versions, and the functions of them. Source: `semverlib.go` of
//! `k8s.io/apiserver/pkg/cel/library`, which reads them with `github.com/blang/semver`.

use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::Native;
use crate::go::quoted;
use std::cmp::Ordering;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Fault>;
type Parsed<T> = std::result::Result<T, String>;

/// How many times the length of a text is paid for when it becomes a version: it may be normalized,
/// and is then kept in parts.
const COPIES: usize = 4;

/// A version. What is said of its build is checked, but decides nothing.
#[derive(Debug)]
pub(crate) struct Version {
    numbers: [u64; 3],
    before: Vec<Identifier>,
    /// The length of the text, by which comparisons are paid for.
    pub(in crate::cel) length: usize,
}

/// A part of what comes before a release. Numbers come before words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        (
            "semver(string) kubernetes.Semver\nsemver(string, bool) kubernetes.Semver",
            |meter, given| {
                let version = read(meter, given)?.map_err(Fault::Failed)?;
                Ok(Value::Version(Arc::new(version)))
            },
        ),
        (
            "isSemver(string) bool\nisSemver(string, bool) bool",
            |meter, given| read(meter, given).map(|version| Value::Bool(version.is_ok())),
        ),
        ("kubernetes.Semver.major() int", |_, given| number(given, 0)),
        ("kubernetes.Semver.minor() int", |_, given| number(given, 1)),
        ("kubernetes.Semver.patch() int", |_, given| number(given, 2)),
    ]
}

fn number<'a>(given: &[Value<'a>], place: usize) -> Result<Value<'a>> {
    let [Value::Version(version)] = given else {
        return Err(Fault::no_overload());
    };
    let number = version.numbers.get(place).copied().unwrap_or_default();
    // Upstream lets the largest numbers become negative, too.
    Ok(Value::Int(number.cast_signed()))
}

fn read(meter: &mut Meter, given: &[Value<'_>]) -> Result<Parsed<Version>> {
    let (text, normalize) = match given {
        [Value::Text(text)] => (text.as_str(), false),
        [Value::Text(text), Value::Bool(normalize)] => (text.as_str(), *normalize),
        _ => return Err(Fault::no_overload()),
    };
    meter.text(text.len().saturating_mul(COPIES))?;
    Ok(if normalize {
        normalized(text).and_then(|text| Version::parse(&text))
    } else {
        Version::parse(text)
    })
}

/// A version without its `v`, with all its numbers, and without their leading zeros.
fn normalized(text: &str) -> Parsed<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return Err("short version cannot contain PreRelease/Build meta data".into());
    }
    parts.resize(3, "0".to_owned());
    Ok(parts.join("."))
}

fn without_zeros(part: &str) -> String {
    let rest = part.trim_start_matches('0');
    if part.len() > 1 && !rest.starts_with(|one: char| one.is_ascii_digit()) {
        return format!("0{rest}");
    }
    if part.len() > 1 {
        rest.to_owned()
    } else {
        part.to_owned()
    }
}

impl Version {
    /// Parses a version, or says in the words of upstream's parser why it is none.
    fn parse(text: &str) -> Parsed<Self> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (major, minor) = (
            part("major", "Major", major)?,
            part("minor", "Minor", minor)?,
        );
        let (rest, build) = rest
            .split_once('+')
            .map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, before) = rest
            .split_once('-')
            .map_or((rest, None), |(patch, before)| (patch, Some(before)));
        let patch = part("patch", "Patch", patch)?;
        let before = before
            .into_iter()
            .flat_map(|before| before.split('.'))
            .map(identifier);
        let before = before.collect::<Parsed<_>>()?;
        for word in build.into_iter().flat_map(|build| build.split('.')) {
            if word.is_empty() {
                return Err("Build meta data is empty".into());
            }
            if !word.bytes().all(is_letter) {
                let shown = quoted(word);
                return Err(format!(
                    "Invalid character(s) found in build meta data {shown}"
                ));
            }
        }
        Ok(Self {
            numbers: [major, minor, patch],
            before,
            length: text.len(),
        })
    }

    /// The order of versions. A version that comes before a release is less than the release.
    pub(in crate::cel) fn order(&self, other: &Self) -> Ordering {
        let releases = self.before.is_empty().cmp(&other.before.is_empty());
        let numbers = self.numbers.cmp(&other.numbers);
        numbers
            .then(releases)
            .then_with(|| self.before.cmp(&other.before))
    }
}

/// One of the three numbers; its name is written in two ways.
fn part(name: &str, capital: &str, digits: &str) -> Parsed<u64> {
    if !digits.bytes().all(|one| one.is_ascii_digit()) {
        let shown = quoted(digits);
        return Err(format!(
            "Invalid character(s) found in {name} number {shown}"
        ));
    }
    if has_leading_zeros(digits) {
        let shown = quoted(digits);
        return Err(format!(
            "{capital} number must not contain leading zeroes {shown}"
        ));
    }
    whole(digits)
}

fn identifier(text: &str) -> Parsed<Identifier> {
    if text.is_empty() {
        return Err("Prerelease is empty".into());
    }
    let shown = || quoted(text);
    if !text.bytes().all(|one| one.is_ascii_digit()) {
        let wrong = || format!("Invalid character(s) found in prerelease {}", shown());
        let word = text.bytes().all(is_letter).then(|| text.to_owned());
        return word.map(Identifier::Word).ok_or_else(wrong);
    }
    if has_leading_zeros(text) {
        let shown = shown();
        return Err(format!(
            "Numeric PreRelease version must not contain leading zeroes {shown}"
        ));
    }
    whole(text).map(Identifier::Number)
}

fn has_leading_zeros(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Parses digits, or says why not as Go's `strconv.ParseUint`.
fn whole(digits: &str) -> Parsed<u64> {
    digits.parse().map_err(|_| {
        let why = if digits.is_empty() {
            "invalid syntax"
        } else {
            "value out of range"
        };
        format!("strconv.ParseUint: parsing {}: {why}", quoted(digits))
    })
}
