//! Regular expressions in Go's syntax, with bounds on their size and number.

mod folding;
mod go;
#[cfg(test)]
mod tests;

use super::Schema;
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
/// How many bytes of compiled patterns count as one pattern.
const USUAL_BYTES: usize = 64 << 10;
/// How many characters may be looked up to read a pattern without regard to case: it takes 200 milliseconds.
const FOLDED_MAX: u64 = WEIGHT_MAX as u64 * folding::ALL;
/// How long reading one byte of a pattern takes at most, in steps of matching.
const READ_STEPS: u64 = 256;
/// How many byte ranges of a state are compared in the time of one step.
const RANGES_PER_STEP: usize = 8;
/// How many alternatives of a state are skipped in that time, because they were visited before.
const ALTERNATIVES_PER_STEP: usize = 4;
/// How many patterns the largest one counts as, and one that is too large.
pub(crate) const WEIGHT_MAX: usize = PATTERN_BYTES_MAX / USUAL_BYTES;

/// A compiled regular expression. Each match allocates its own memory: for a small expression that takes some 200
/// nanoseconds, and for a large one less than the search of an empty text.
#[derive(Debug)]
pub struct Pattern {
    automaton: PikeVM,
    /// The most steps that are taken at a place of a text.
    steps: u64,
    /// How many characters were looked up to read it.
    folded: u64,
    text: Box<str>,
}

/// Why a pattern cannot be used.
#[derive(Debug)]
pub(crate) struct Unusable {
    pub(crate) why: String,
    /// How many patterns it still counts as: finding that one is too large takes as long as compiling it.
    weight: usize,
    /// How many characters were looked up to read it.
    folded: u64,
}

impl Pattern {
    /// Compiles an expression in Rust's syntax.
    ///
    /// It has no groups. Its engine has no automaton besides this one, whose size is limited, and takes a known time
    /// for each byte.
    pub(super) fn new(text: &str, bytes: usize) -> Result<Self, Box<BuildError>> {
        let config = Config::new()
            .nfa_size_limit(Some(bytes))
            .which_captures(WhichCaptures::Implicit);
        let automaton = PikeVM::builder().thompson(config).build(text)?;
        let steps: usize = automaton.get_nfa().states().iter().map(steps).sum();
        Ok(Self {
            automaton,
            steps: steps as u64,
            folded: 0,
            text: text.into(),
        })
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches somewhere in a text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
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

    /// How many patterns it counts as.
    fn weight(&self) -> usize {
        let bytes = self.bytes().div_ceil(USUAL_BYTES);
        bytes.max(folded_weight(self.folded)).max(1)
    }

    /// Its compiled size.
    fn bytes(&self) -> usize {
        self.automaton.get_nfa().memory_usage()
    }
}

/// How many patterns one counts as because it takes long to read.
fn folded_weight(folded: u64) -> usize {
    usize::try_from(folded / folding::ALL).unwrap_or(WEIGHT_MAX)
}

/// The most steps that it takes to visit a state at one place of a text.
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

/// The patterns of all schemas of a definition; equal ones are compiled once. Also its plain schemas, which are shared in
/// the same way.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    /// By type and format.
    pub(super) plain: BTreeMap<(String, String), Arc<Schema>>,
    compiled: BTreeMap<String, Result<Arc<Pattern>, String>>,
    /// How many they count as, including those that are too large.
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

    /// The most bytes that the compiled ones take, without the memory of a match.
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
    Unusable {
        why,
        weight: 0,
        folded: 0,
    }
}

/// How many patterns this one counts as, compiled or not.
pub(crate) fn weight_of(compiled: &Result<Pattern, Unusable>) -> usize {
    match compiled {
        Ok(pattern) => pattern.weight(),
        Err(unusable) => unusable.weight,
    }
}

/// How long compiling or refusing this pattern takes at most, in steps of matching.
pub(crate) fn work_to_compile(text: &str, compiled: &Result<Pattern, Unusable>) -> u64 {
    let folded = match compiled {
        Ok(pattern) => pattern.folded,
        Err(unusable) => unusable.folded,
    };
    READ_STEPS * text.len() as u64 + folded
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
    let mut folded = 0;
    let unusable = |why: &str, folded| Unusable {
        why: format!("error parsing regexp: {why}"),
        weight: folded_weight(folded),
        folded,
    };
    if text.len() > PATTERN_LENGTH_MAX {
        let why = format!("it is longer than {PATTERN_LENGTH_MAX} bytes");
        return Err(unusable(&why, folded));
    }
    let translated = go::translated(text).map_err(|why| unusable(&why, folded))?;
    folded = folding::looked_up(&translated);
    if folded > FOLDED_MAX {
        let why = "it has too many classes that are to be looked up without regard to case";
        return Err(unusable(why, 0));
    }
    match Pattern::new(&translated, bytes) {
        Ok(pattern) => Ok(Pattern {
            text: text.into(),
            folded,
            ..pattern
        }),
        Err(error) if error.size_limit().is_some() => Err(Unusable {
            weight: WEIGHT_MAX,
            ..unusable(
                &format!("compiled, it exceeds the size limit of {bytes} bytes"),
                folded,
            )
        }),
        Err(error) => {
            let syntax = error.source().map(ToString::to_string);
            let told = syntax.unwrap_or_else(|| error.to_string());
            let last = told.lines().last().unwrap_or_default();
            Err(unusable(last.trim_start_matches("error: "), folded))
        }
    }
}
