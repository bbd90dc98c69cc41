//! Regular expressions in Go's syntax, with bounds on their size and number.

mod go;

use regex::{Regex, RegexBuilder};
use std::collections::{BTreeMap, BTreeSet};

/// Size limit of a compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Length limit of a pattern, in bytes. The size limit alone is not enough: each character may be
/// expanded to a class of several kilobytes before the size is known.
const PATTERN_LENGTH_MAX: usize = 16 << 10;
/// How many different patterns all schemas of one definition may have.
pub(crate) const PATTERNS_MAX: usize = 256;

/// How many bytes a character of a pattern is compiled to, roughly.
const CHARACTER_BYTES: usize = 1 << 10;
/// What is in a pattern of which a short part may be compiled to very much: counts, classes of Unicode, flags.
const EXPANDED: [&str; 4] = ["{", "\\p", "\\P", "(?"];

/// The patterns of all schemas of a definition; equal ones are compiled once.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: BTreeMap<String, Result<Regex, String>>,
}

impl Patterns {
    /// Returns the compiled pattern, or `None` if it does not compile or there are too many.
    pub(crate) fn get(&mut self, text: &str) -> Option<Regex> {
        self.compiled(text)?.as_ref().ok().cloned()
    }

    /// Says what is wrong with a pattern.
    pub(crate) fn wrong(&mut self, text: &str) -> Option<&str> {
        self.compiled(text)?.as_ref().err().map(String::as_str)
    }

    /// How many there are together with others.
    pub(crate) fn count_with(&self, others: &BTreeSet<&str>) -> usize {
        let new = others
            .iter()
            .filter(|one| !self.compiled.contains_key(**one));
        self.compiled.len() + new.count()
    }

    /// About how many bytes those take that compile, without what they note while they match.
    pub(crate) fn estimated_bytes(&self) -> usize {
        let compiled = self
            .compiled
            .iter()
            .filter(|(_, compiled)| compiled.is_ok());
        compiled.map(|(text, _)| compiled_bytes(text)).sum()
    }

    fn compiled(&mut self, text: &str) -> Option<&Result<Regex, String>> {
        if !self.compiled.contains_key(text) {
            if text.is_empty() || self.compiled.len() >= PATTERNS_MAX {
                return None;
            }
            self.compiled.insert(text.to_owned(), compile(text));
        }
        self.compiled.get(text)
    }
}

/// About how many bytes a pattern is compiled to.
fn compiled_bytes(text: &str) -> usize {
    if EXPANDED.iter().any(|expanded| text.contains(expanded)) {
        return PATTERN_BYTES_MAX;
    }
    PATTERN_BYTES_MAX.min(CHARACTER_BYTES * text.len())
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
    let translated = go::translated(text).map_err(|why| format!("error parsing regexp: {why}"))?;
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
            (r"^\p{^L}\P{^L}[\p{^L}]$", "1a1", true),
            (r"^\p{^L}$", "a", false),
            (r"^[\P{^Lu}-]+$", "A-", true),
            (r"^[\P{^Lu}-]+$", "a", false),
            ("^(?:a{10}|b{100}){10}$", &"b".repeat(1000), true),
            ("^((?:a{1000}){0}(b{1000}){1}c{0,}d{1000})?$", "", true),
            ("^(a+)*(b??)?(?:c{2}){3}d{2}e*$", "abccccccdd", true),
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
            ("^[a-z--9]+$", "b-.5", true),
            ("^[a-z--9]+$", "a:", false),
            ("^[--9]+$", "-.5", true),
            ("^[^--9]+$", ".", false),
            ("^[+--]+$", "+,-", true),
            ("^[+--]+$", ".", false),
            ("^[---]$", "-", true),
            ("^[a-]+$", "a-", true),
            (r"^[\d--9]+$", "7./", true),
            (r"^[\w-.]+$", "a-.", true),
            (r"^[\x41-\x43--9]+$", "B-.", true),
            (r"^[\x{41}-\x{43}-9]+$", "B-9", true),
            (r"^[\x{41}-\x{43}-9]+$", "5", false),
            (r"^[\p{Greek}-\pN-9]+$", "\u{3b1}-9", true),
            ("^[a-c-e]+$", "b-e", true),
            ("^[a-c-e]+$", "d", false),
            ("^[*-[:]+$", "A:[", true),
            (r"^\101\60\0$", "A0\0", true),
            (r"^\1018\08$", "A8\u{0}8", true),
            (r"^\777$", "\u{1ff}", true),
            (r"^\0123$", "\n3", true),
            (r"^[\101-\103\55]+$", "B-", true),
            (r"^[\101-\103\55]+$", "D", false),
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
            ("[a--]", "invalid character class range"),
            (r"[A-\d]", r"invalid escape sequence: `\d`"),
            (r"\pL{1000}", "size limit"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{1001,}?", "invalid repeat count: `{1001,}?`"),
            ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("((a{100}){100})", "invalid repeat count: `{100}`"),
            ("(b|(?:a{0,100})*c){11}d", "invalid repeat count: `{11}`"),
            (
                "(?i)(?P<n>a{34,})+(a{30}){34}",
                "invalid repeat count: `{34}`",
            ),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a+?+?b", "invalid nested repetition operator: `+?+?`"),
            ("a???", "invalid nested repetition operator: `???`"),
            ("x{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            (r"\p{^L", "incomplete escape sequence"),
            (r"\p{^Nobody}", "Unicode property not found"),
            ("\\", "incomplete escape sequence"),
            ("(?x)a b", "unsupported Perl syntax: `(?x`"),
            ("(?u:a)", "unsupported Perl syntax: `(?u`"),
            ("a(?=b)", "unsupported Perl syntax: `(?=b`"),
            (r"\u0041", r"invalid escape sequence: `\u`"),
            (r"a\Z", r"invalid escape sequence: `\Z`"),
            (r"(a)\1", r"invalid escape sequence: `\1`"),
            (r"\18", r"invalid escape sequence: `\1`"),
            (r"\81", r"invalid escape sequence: `\8`"),
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
            assert_eq!(go::translated(&pattern).as_deref(), Ok("^a$"));
        }
    }

    #[test]
    fn patterns_weigh_as_much_as_they_may_be_compiled_to_and_equal_ones_once() {
        let mut patterns = Patterns::default();
        for text in ["^a+$", "^a+$", "(", "^b{1,63}$"] {
            drop(patterns.get(text));
        }
        let expected = 4 * CHARACTER_BYTES + PATTERN_BYTES_MAX;
        assert_eq!(patterns.estimated_bytes(), expected);
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
