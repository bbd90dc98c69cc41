//! Regular expressions in Go's syntax, with bounds on their size and number.

mod go;

use regex::{Regex, RegexBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Size limit of a compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Length limit of a pattern, in bytes. The size limit alone is not enough: each character may be
/// expanded to a class of several kilobytes before the size is known.
const PATTERN_LENGTH_MAX: usize = 16 << 10;
/// How many different patterns all schemas of one definition may have, where a large one counts as several.
pub(crate) const PATTERNS_MAX: usize = 256;
/// A pattern that is compiled to more bytes than this is large.
const USUAL_BYTES: usize = 64 << 10;
/// A large pattern is compiled within the first of these sizes that is enough, and counts as so many usual ones.
const LARGE_BYTES: [usize; 2] = [4 * USUAL_BYTES, PATTERN_BYTES_MAX];
/// As how many the largest counts.
pub(crate) const WEIGHT_MAX: usize = PATTERN_BYTES_MAX / USUAL_BYTES;

/// A compiled pattern, and as how many it counts. A clone of a [`Regex`] has memory of its own for what it notes while
/// it matches, so that it is the pointer that is cloned.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) regex: Arc<Regex>,
    pub(crate) weight: usize,
}

/// The patterns of all schemas of a definition; equal ones are compiled once.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: BTreeMap<String, Result<Arc<Regex>, String>>,
    /// As how many those count that compiled.
    weight: usize,
}

impl Patterns {
    /// Returns the compiled pattern, or `None` if it does not compile or there are too many.
    pub(crate) fn get(&mut self, text: &str) -> Option<Arc<Regex>> {
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

    /// The most bytes that those take which compile, without what they note while they match.
    pub(crate) const fn bytes_max(&self) -> usize {
        self.weight * USUAL_BYTES
    }

    fn compiled(&mut self, text: &str) -> Option<&Result<Arc<Regex>, String>> {
        if !self.compiled.contains_key(text) {
            if text.is_empty() || self.compiled.len() >= PATTERNS_MAX {
                return None;
            }
            let compiled = self.compile(text);
            self.compiled.insert(text.to_owned(), compiled);
        }
        self.compiled.get(text)
    }

    fn compile(&mut self, text: &str) -> Result<Arc<Regex>, String> {
        let too_much = || {
            let most = PATTERNS_MAX * USUAL_BYTES / (1 << 20);
            format!("it and those before it are compiled to more than {most} MiB")
        };
        if self.weight >= PATTERNS_MAX {
            return Err(too_much());
        }
        let Pattern { regex, weight } = compile(text)?;
        let is_too_much = self.weight + weight > PATTERNS_MAX;
        // After the first for which there is no room, none is compiled: it takes long.
        self.weight = PATTERNS_MAX.min(self.weight + weight);
        (!is_too_much).then_some(regex).ok_or_else(too_much)
    }
}

/// The most bytes that so many regular expressions of one definition take, however large.
pub(crate) fn bytes_max(count: usize) -> usize {
    (count.saturating_mul(PATTERN_BYTES_MAX)).min(PATTERNS_MAX * USUAL_BYTES)
}

/// Compiles a pattern; the error says what is wrong with it.
pub(crate) fn compile(text: &str) -> Result<Pattern, String> {
    let compiled = |bytes: usize| {
        let regex = Arc::new(compile_within(text, bytes)?);
        let weight = bytes / USUAL_BYTES;
        Ok(Pattern { regex, weight })
    };
    // What is wrong with it otherwise is wrong in each size.
    let larger = LARGE_BYTES.into_iter();
    larger.fold(compiled(USUAL_BYTES), |found, bytes| {
        found.or_else(|_| compiled(bytes))
    })
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
            let compiled = compile(pattern).expect(pattern).regex;
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

    /// Otherwise a definition of some kilobytes would be compiled to hundreds of megabytes, which takes seconds.
    #[test]
    fn patterns_count_by_what_they_are_compiled_to_and_equal_ones_once() {
        let mut patterns = Patterns::default();
        for (text, weight) in [
            ("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", 1),
            ("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", 1),
            ("(", 1),
            (r"^\pL{10}$", 5),
            (r"^\pL{50}$", 21),
        ] {
            drop(patterns.get(text));
            assert_eq!(patterns.weight, weight, "{text}");
        }
        assert_eq!(patterns.bytes_max(), 21 * USUAL_BYTES);
        let mut many = (0..16).map(|number| format!(r"^\pL{{50}}{number}$"));
        for text in many.by_ref().take(14) {
            assert!(patterns.get(&text).is_some(), "{text}");
        }
        for text in many {
            assert!(patterns.get(&text).is_none(), "{text}");
            let why = patterns.wrong(&text).expect("refused");
            assert!(why.contains("more than 16 MiB"), "{why}");
        }
        assert_eq!(patterns.bytes_max(), PATTERNS_MAX * USUAL_BYTES);
    }

    /// What a regular expression notes while it matches would otherwise be there for each field that has it.
    #[test]
    fn fields_of_the_same_pattern_share_what_it_is_compiled_to() {
        let mut patterns = Patterns::default();
        let [one, other] = ["^a+$"; 2].map(|text| patterns.get(text).expect("compiled"));
        assert!(Arc::ptr_eq(&one, &other));
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
