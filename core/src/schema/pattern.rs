//! Regular expressions in Go's syntax, with bounds on their size and number.

use regex::{Regex, RegexBuilder};
use std::collections::BTreeMap;

/// Size limit of a compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Length limit of a pattern, in bytes. The size limit alone is not enough: each character may be
/// expanded to a class of several kilobytes before the size is known.
const PATTERN_LENGTH_MAX: usize = 16 << 10;
/// How many different patterns one schema may have.
pub(crate) const PATTERNS_MAX: usize = 256;

/// The patterns of one schema; equal ones are compiled once.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: BTreeMap<String, Option<Regex>>,
}

impl Patterns {
    /// Returns the compiled pattern, or `None` if it does not compile or there are too many.
    pub(crate) fn get(&mut self, text: &str) -> Option<Regex> {
        if let Some(known) = self.compiled.get(text) {
            return known.clone();
        }
        if text.is_empty() || self.compiled.len() >= PATTERNS_MAX {
            return None;
        }
        let made = compile(text).ok();
        self.compiled.insert(text.to_owned(), made.clone());
        made
    }
}

/// Compiles a pattern; the error says what is wrong with it.
pub(crate) fn compile(text: &str) -> Result<Regex, String> {
    compile_within(text, PATTERN_BYTES_MAX)
}

/// The same with a size limit of `bytes`.
pub(crate) fn compile_within(text: &str, bytes: usize) -> Result<Regex, String> {
    if text.len() > PATTERN_LENGTH_MAX {
        return Err(format!(
            "error parsing regexp: it is longer than {PATTERN_LENGTH_MAX} bytes"
        ));
    }
    let translated = from_go(text).map_err(|why| format!("error parsing regexp: {why}"))?;
    let built = RegexBuilder::new(&translated).size_limit(bytes).build();
    built.map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        format!(
            "error parsing regexp: {}",
            last.trim_start_matches("error: ")
        )
    })
}

/// Translates a pattern from Go's syntax to that of `regex`: classes that Go limits to ASCII,
/// characters that are literal inside Go's brackets, a `{` that begins no repeat, and `\Q...\E`.
/// Refuses what Go does not know.
fn from_go(pattern: &str) -> Result<String, String> {
    let mut translated = String::with_capacity(pattern.len());
    let mut bracket = Bracket::Outside;
    let mut rest = pattern.chars();
    while let Some(one) = rest.next() {
        let next = rest.clone().next();
        match (one, bracket) {
            ('\\', Bracket::Outside) if next == Some('Q') => {
                let behind = rest.as_str().get(1..).unwrap_or_default();
                let (literal, after) = behind.split_once("\\E").unwrap_or((behind, ""));
                translated.push_str(&regex::escape(literal));
                rest = after.chars();
            }
            ('\\', _) => {
                let escaped = rest
                    .next()
                    .map(|one| escape(one, bracket != Bracket::Outside))
                    .transpose()?;
                translated.push_str(escaped.as_deref().unwrap_or("\\"));
                if next.is_some_and(|one| "pPx".contains(one)) {
                    translated.extend(rest.clone().next().filter(|one| *one == '{'));
                    rest = rest
                        .as_str()
                        .strip_prefix('{')
                        .unwrap_or(rest.as_str())
                        .chars();
                }
                bracket = bracket.after_item();
            }
            ('(', Bracket::Outside) if next == Some('?') => {
                let flags = rest.clone().skip(1);
                let flags: String = flags.take_while(|flag| !":)<P".contains(*flag)).collect();
                if flags.contains(|flag: char| !"imsU-".contains(flag)) {
                    return Err(format!("invalid or unsupported Perl syntax: `(?{flags}`"));
                }
                translated.push('(');
            }
            ('{', Bracket::Outside) if !begins_a_repeat(rest.clone()) => translated.push_str("\\{"),
            ('[', Bracket::Outside) => {
                translated.push('[');
                bracket = Bracket::Start;
            }
            ('[', _) if next == Some(':') => {
                translated.push('[');
                bracket = Bracket::Class;
            }
            ('[' | '&' | '~', Bracket::Start | Bracket::Inside) => {
                translated.extend(['\\', one]);
                bracket = Bracket::Inside;
            }
            ('^', Bracket::Start) if !translated.ends_with("[^") => translated.push('^'),
            (']', Bracket::Start) => {
                translated.push_str("\\]");
                bracket = Bracket::Inside;
            }
            (']', Bracket::Class) => {
                translated.push(']');
                bracket = Bracket::Inside;
            }
            (']', Bracket::Inside) => {
                translated.push(']');
                bracket = Bracket::Outside;
            }
            (_, _) => {
                translated.push(one);
                bracket = bracket.after_item();
            }
        }
    }
    Ok(translated)
}

/// Whether these characters, which follow a `{`, make it a repeat; otherwise Go takes it literally.
fn begins_a_repeat(behind: impl Iterator<Item = char>) -> bool {
    let mut behind = behind.peekable();
    let mut count = String::new();
    while let Some(one) = behind.next_if(|one| one.is_ascii_digit() || *one == ',') {
        count.push(one);
    }
    let is_number = |text: &str| text == "0" || !(text.is_empty() || text.starts_with('0'));
    let (low, high) = count.split_once(',').unwrap_or((&count, ""));
    let is_count = is_number(low) && (high.is_empty() || is_number(high)) && !high.contains(',');
    is_count && behind.next() == Some('}')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Outside,
    /// Right after `[` or `[^`, where `]` is literal.
    Start,
    Inside,
    /// Inside `[:alpha:]`.
    Class,
}

impl Bracket {
    const fn after_item(self) -> Self {
        match self {
            Self::Start => Self::Inside,
            Self::Outside | Self::Inside | Self::Class => self,
        }
    }
}

fn escape(one: char, inside: bool) -> Result<String, String> {
    let plain = match one {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => "[\\t\\n\\f\\r ]",
        'S' => "[^\\t\\n\\f\\r ]",
        'b' if !inside => "(?-u:\\b)",
        'B' if !inside => "(?-u:\\B)",
        'A' | 'z' if !inside => return Ok(format!("\\{one}")),
        'a' | 'f' | 'n' | 'p' | 'P' | 'r' | 't' | 'v' | 'x' => return Ok(format!("\\{one}")),
        _ if one.is_ascii_alphanumeric() || !one.is_ascii() => {
            return Err(format!("invalid escape sequence: `\\{one}`"));
        }
        // Some escaped punctuation has a meaning in `regex` but not in Go.
        _ => return Ok(regex::escape(one.encode_utf8(&mut [0; 4]))),
    };
    Ok(plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        for (pattern, text, matches) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "\u{661}", false),
            (r"^[\w.]+$", "a_1.b", true),
            (r"^[\w.]+$", "\u{e9}", false),
            (r"^[^\s]+$", "a b", false),
            (r"\bab\b", "x ab y", true),
            (r"^[[a]+$", "[a", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]a]+$", "b", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[[:alpha:]-]+$", "a-B", true),
            (r"^[\]]$", "]", true),
            (r"^a\.b$", "a.b", true),
            (r"(?i)^\p{Greek}$", "\u{3b1}", true),
            (r"^\Qa.b\E+$", "a.bb", true),
            (r"^\Qa.b\E+$", "acb", false),
            (r"^\Q[", "[", true),
            (r"^\<a\>$", "<a>", true),
            (r"^[\-\<\&]+$", "<&-", true),
            (r"^(?i:A)(?P<b>b)(?<c>c)$", "abc", true),
            ("^[a-z]([-a-z0-9]*[a-z0-9])?$", "a-1", true),
            (r"^\${[A-Z]+}$", "${A}", true),
            ("^{{.*}}$", "{{a}}", true),
            ("^a{2}b{1,}c{0,2}$", "aabbc", true),
            ("^a{,2}{a,2}{01}{1,2,3}{1$", "a{,2}{a,2}{01}{1,2,3}{1", true),
            ("^[{]{2}$", "{{", true),
            (r"^\Qa\Eb\Q\E\Q.\E$", "ab.", true),
            (r"^\Q\u{e9}\Q\Ea$", "\\u{e9}\\Qa", true),
        ] {
            let compiled = compile(pattern).expect(pattern);
            assert_eq!(compiled.is_match(text), matches, "{pattern} {text:?}");
        }
    }

    #[test]
    fn what_cannot_be_compiled_or_is_too_large_is_refused() {
        for (pattern, why) in [
            ("(", "unclosed group"),
            ("[b-a]", "invalid character class range"),
            ("a{1000}{1000}{1000}", "size limit"),
            ("\\", "incomplete escape sequence"),
            ("(?x)a b", "unsupported Perl syntax: `(?x`"),
            ("(?u:a)", "unsupported Perl syntax: `(?u`"),
            ("a(?=b)", "unsupported Perl syntax: `(?=b`"),
            (r"\u0041", r"invalid escape sequence: `\u`"),
            (r"a\Z", r"invalid escape sequence: `\Z`"),
            (&r"\pL".repeat(10_000), "longer than 16384 bytes"),
        ] {
            let error = compile(pattern).expect_err(pattern);
            assert!(error.contains(why), "{pattern}: {error}");
        }
    }

    /// Reading all that follows for each of them would take minutes.
    #[test]
    fn many_quoted_parts_are_read_in_one_go() {
        let pattern = format!("^{}a$", r"\Q\E".repeat(PATTERN_LENGTH_MAX / 4 - 1));
        for _ in 0..500 {
            assert_eq!(from_go(&pattern).as_deref(), Ok("^a$"));
        }
    }

    #[test]
    fn patterns_are_compiled_once_and_counted() {
        let mut patterns = Patterns::default();
        for number in 0..PATTERNS_MAX {
            assert!(patterns.get(&format!("a{number}")).is_some());
        }
        assert!(patterns.get("one-more").is_none());
        assert!(patterns.get("a0").is_some());
    }
}
