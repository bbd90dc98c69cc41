//! Regular expressions in Go's syntax, with bounds on their size and number.

mod go;

use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{BuildError, Config, State, WhichCaptures};
use regex_automata::{Input, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;

/// Size limit of a compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Length limit of a pattern, in bytes. The size limit alone is not enough: each character may be
/// expanded to a class of several kilobytes before the size is known.
const PATTERN_LENGTH_MAX: usize = 16 << 10;
/// How many different patterns all schemas of one definition may have, where a large one counts as several.
pub(crate) const PATTERNS_MAX: usize = 256;
/// A pattern counts once for each of so many bytes that it is compiled to.
const USUAL_BYTES: usize = 64 << 10;
/// As many ranges of bytes in a state are looked at in the time that a state takes by itself.
const RANGES_PER_STEP: usize = 8;
/// As many alternatives of a state are left alone in that time because they were looked at before.
const ALTERNATIVES_PER_STEP: usize = 4;
/// As how many the largest counts, and one that is too large.
pub(crate) const WEIGHT_MAX: usize = PATTERN_BYTES_MAX / USUAL_BYTES;

/// A compiled regular expression. What is noted while it matches is gone when it has: some 200 nanoseconds for a small
/// one, and less than a search of an empty text takes for a large one.
#[derive(Debug)]
pub struct Pattern {
    automaton: PikeVM,
    /// The most steps that are taken at a place of a text.
    steps: u64,
    text: Box<str>,
}

/// Why a pattern cannot be used.
#[derive(Debug)]
pub(crate) struct Unusable {
    pub(crate) why: String,
    /// As how many it counts all the same: to find that it is too large takes as long as to compile it.
    weight: usize,
}

impl Pattern {
    /// Compiles an expression in Rust's syntax.
    ///
    /// Without groups, and for the one engine that has no further automaton, which no limit of the size would count,
    /// and that takes a time for each byte that is known before.
    pub(super) fn new(text: &str, bytes: usize) -> Result<Self, Box<BuildError>> {
        let config = Config::new()
            .nfa_size_limit(Some(bytes))
            .which_captures(WhichCaptures::Implicit);
        let automaton = PikeVM::builder().thompson(config).build(text)?;
        let steps: usize = automaton.get_nfa().states().iter().map(steps).sum();
        Ok(Self {
            automaton,
            steps: steps as u64,
            text: text.into(),
        })
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        let mut noted = self.automaton.create_cache();
        self.automaton.is_match(&mut noted, text)
    }

    /// Where it matches first, from a place of the text on.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<Span> {
        let mut noted = self.automaton.create_cache();
        let input = Input::new(text).range(from..);
        let found = self.automaton.find(&mut noted, input);
        found.map(|found| found.span())
    }

    /// The most steps that it takes to search a text of this length: before and behind each byte, each state may be
    /// looked at.
    pub(super) const fn work(&self, length: usize) -> u64 {
        (length as u64).saturating_add(1).saturating_mul(self.steps)
    }

    /// As how many it counts.
    fn weight(&self) -> usize {
        self.bytes().div_ceil(USUAL_BYTES).max(1)
    }

    /// What it is compiled to.
    fn bytes(&self) -> usize {
        self.automaton.get_nfa().memory_usage()
    }
}

/// As many steps it may take to look at a state at one place of a text.
fn steps(state: &State) -> usize {
    match state {
        State::Sparse(ranges) => 1 + ranges.transitions.len() / RANGES_PER_STEP,
        State::Union { alternates } => 1 + alternates.len() / ALTERNATIVES_PER_STEP,
        State::ByteRange { .. }
        | State::Dense(_)
        | State::Look { .. }
        | State::BinaryUnion { .. }
        | State::Capture { .. }
        | State::Fail
        | State::Match { .. } => 1,
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The patterns of all schemas of a definition; equal ones are compiled once.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: BTreeMap<String, Result<Arc<Pattern>, String>>,
    /// As how many they count, those included that are too large.
    weight: usize,
}

impl Patterns {
    /// Returns the compiled pattern, or `None` if it does not compile or there are too many.
    pub(crate) fn get(&mut self, text: &str) -> Option<Arc<Pattern>> {
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

    fn compiled(&mut self, text: &str) -> Option<&Result<Arc<Pattern>, String>> {
        if !self.compiled.contains_key(text) {
            if text.is_empty() || self.compiled.len() >= PATTERNS_MAX {
                return None;
            }
            let compiled = self.compile(text);
            self.compiled.insert(text.to_owned(), compiled);
        }
        self.compiled.get(text)
    }

    fn compile(&mut self, text: &str) -> Result<Arc<Pattern>, String> {
        let compiled = (self.weight < PATTERNS_MAX).then(|| compile(text));
        let compiled = compiled.unwrap_or_else(|| Err(too_much()));
        let weight = weight_of(&compiled);
        let has_room = self.weight + weight <= PATTERNS_MAX;
        // After the first for which there is no room, none is compiled: it takes long.
        self.weight = PATTERNS_MAX.min(self.weight + weight);
        let compiled = compiled.map_err(|unusable| unusable.why)?;
        has_room
            .then(|| Arc::new(compiled))
            .ok_or_else(|| too_much().why)
    }
}

fn too_much() -> Unusable {
    let why = format!(
        "with those before it, it counts as more than {PATTERNS_MAX}, of which a large one counts as up to {WEIGHT_MAX}"
    );
    Unusable { why, weight: 0 }
}

/// As how many a pattern counts, compiled or not.
pub(crate) fn weight_of(compiled: &Result<Pattern, Unusable>) -> usize {
    match compiled {
        Ok(pattern) => pattern.weight(),
        Err(unusable) => unusable.weight,
    }
}

/// The most bytes that so many regular expressions of one definition take, however large.
pub(crate) fn bytes_max(count: usize) -> usize {
    (count.saturating_mul(PATTERN_BYTES_MAX)).min(PATTERNS_MAX * USUAL_BYTES)
}

/// Compiles a pattern; the error says what is wrong with it.
pub(crate) fn compile(text: &str) -> Result<Pattern, Unusable> {
    compile_within(text, PATTERN_BYTES_MAX)
}

/// The same with a size limit of `bytes`.
pub(crate) fn compile_within(text: &str, bytes: usize) -> Result<Pattern, Unusable> {
    let unusable = |why: &str| Unusable {
        why: format!("error parsing regexp: {why}"),
        weight: 0,
    };
    if text.len() > PATTERN_LENGTH_MAX {
        let why = format!("it is longer than {PATTERN_LENGTH_MAX} bytes");
        return Err(unusable(&why));
    }
    let translated = go::translated(text).map_err(|why| unusable(&why))?;
    match Pattern::new(&translated, bytes) {
        Ok(pattern) => Ok(Pattern {
            text: text.into(),
            ..pattern
        }),
        Err(error) if error.size_limit().is_some() => Err(Unusable {
            weight: WEIGHT_MAX,
            ..unusable(&format!(
                "compiled, it exceeds the size limit of {bytes} bytes"
            ))
        }),
        Err(error) => {
            let syntax = error.source().map(ToString::to_string);
            let told = syntax.unwrap_or_else(|| error.to_string());
            let last = told.lines().last().unwrap_or_default();
            Err(unusable(last.trim_start_matches("error: ")))
        }
    }
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
            let error = compile(pattern).expect_err(pattern).why;
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
        let label = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
        let mut patterns = Patterns::default();
        for text in [label, label, "(", "^(?:a|b)*$"] {
            drop(patterns.get(text));
        }
        assert_eq!(patterns.weight, 2);
        drop(patterns.get(r"^\pL{40}$"));
        let large = patterns.weight - 2;
        assert!((WEIGHT_MAX / 2..=WEIGHT_MAX).contains(&large), "{large}");
        assert_eq!(patterns.bytes_max(), patterns.weight * USUAL_BYTES);
        let room = (PATTERNS_MAX - patterns.weight) / large;
        for number in 0..PATTERNS_MAX - 4 {
            let text = format!(r"^\pL{{40}}{number}$");
            let why = patterns.wrong(&text).map(str::to_owned);
            assert_eq!(why.is_none(), number < room, "{text}: {why:?}");
            let is_told = why.is_none_or(|why| why.contains("counts as more than 256"));
            assert!(is_told, "{text}");
        }
        assert_eq!(patterns.bytes_max(), PATTERNS_MAX * USUAL_BYTES);
    }

    /// To find that a pattern is too large takes as long as to compile a large one.
    #[test]
    fn what_is_too_large_counts_and_what_is_not_understood_does_not() {
        let told = |pattern: &dyn Fn(usize) -> String| {
            let mut patterns = Patterns::default();
            let one = |number| patterns.wrong(&pattern(number)).map(str::to_owned);
            let mut all = (0..PATTERNS_MAX).map(one);
            all.position(|why| why.is_some_and(|why| why.contains("more than 256")))
        };
        let too_large = |number: usize| format!(r"^\pL{{1000}}{number}$");
        assert_eq!(told(&too_large), Some(PATTERNS_MAX / WEIGHT_MAX));
        assert_eq!(told(&|number: usize| format!("({number}")), None);
    }

    /// Another engine would compile more than one automaton, of which the limit of the size bounds each or none.
    #[test]
    fn a_pattern_is_compiled_to_no_more_than_its_limit() {
        for text in [
            r"^\pL{40}$",
            &format!("^([a-z{}])x{{850}}$", ('0'..='Z').collect::<String>()),
        ] {
            let pattern = compile(text).expect(text);
            let bytes = pattern.bytes();
            assert!(bytes <= PATTERN_BYTES_MAX, "{text}: {bytes}");
        }
    }

    /// At each place of a text, and there is one in an empty text.
    #[test]
    fn matching_is_as_much_work_as_there_are_states_to_look_at() {
        let alternatives = format!("^(?:{}a)$", "|".repeat(8000));
        let class = "[acegikmoqsuwyACEGIKMOQSUWY02468]".repeat(100);
        for (text, least, most) in [
            ("[a-z]{1000}b", 1000, 1100),
            ("^(?:a?){1000}(?:b?){1000}$", 4000, 4100),
            (&alternatives, 2000, 2100),
            (&class, 400, 600),
            ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 5, 20),
        ] {
            let pattern = compile(text).expect(text);
            let work = pattern.work(0);
            assert!((least..=most).contains(&work), "{text}: {work}");
            assert_eq!(pattern.work(99), 100 * work);
        }
    }

    /// To look for the next place again from all that follow the first would take minutes.
    #[test]
    fn a_search_goes_once_through_a_text() {
        let pattern = compile(r"(?:\B)").expect("a pattern");
        let text = format!("{}a\u{e9}", "a ".repeat(50_000));
        assert!(pattern.is_match(&text));
        let end = text.len();
        let found = pattern.find(&text, 0).map(|found| found.range());
        assert_eq!(found, Some(end..end));
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
