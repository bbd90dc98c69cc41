//! Reads YAML, which may be as deep and as long as JSON.

use super::{Decoded, Key, Node, plain};
use crate::status::Failure;
use hindsight_core::LEVELS_MAX;
use serde::de::{DeserializeSeed, Deserializer, Error as _};
use serde_json::{Value, json};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Budget, Error, Spanned};
use std::cell::RefCell;
use std::str::Utf8Error;
use std::thread;

/// How many levels are read on the stack of the request. A level takes some KiB of it, and in a build without
/// optimizations more than 16.
const LEVELS_NEAR: usize = 64;
/// The stack on which deeper documents are read, with room for all of these levels in every build.
const DEEP_STACK_BYTES: usize = 16 << 20;

/// How many values aliases may make of a text that is shorter.
pub(in crate::body) const VALUES_MAX: usize = 25_000;
/// How much text they may make of a shorter one, halved.
const TEXT_BYTES_MAX: usize = 512 << 10;

/// Why a text was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::body) enum Unread {
    Malformed(String),
    TooDeep(String),
    /// There is none with a deep stack.
    NoThread(String),
}

impl Unread {
    /// What its sender is told; first, what it would have been read for.
    pub(in crate::body) fn refused(self, unable: &str) -> Failure {
        match self {
            Self::Malformed(why) | Self::TooDeep(why) => {
                Failure::bad_request(format!("{unable}: {why}"))
            }
            Self::NoThread(why) => {
                let message =
                    format!("no thread can be started that reads the body: {why}; try again later");
                Failure::new(503, "ServiceUnavailable", message)
                    .with(json!({"retryAfterSeconds": 1}))
            }
        }
    }
}

/// The first document of a text.
pub(in crate::body) fn read(bytes: &[u8]) -> Result<Decoded, Unread> {
    read_with(bytes, DEEP_STACK_BYTES)
}

fn read_with(bytes: &[u8], deep_stack_bytes: usize) -> Result<Decoded, Unread> {
    let malformed = |error: Utf8Error| Unread::Malformed(error.to_string());
    let text = std::str::from_utf8(bytes).map_err(malformed)?;
    match to_level(text, LEVELS_NEAR) {
        Err(Unread::TooDeep(_)) => on_a_stack(deep_stack_bytes, text),
        read => read,
    }
}

fn on_a_stack(bytes: usize, text: &str) -> Result<Decoded, Unread> {
    thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(bytes);
        let reader = reader.spawn_scoped(scope, || to_level(text, LEVELS_MAX));
        let reader = reader.map_err(|error| Unread::NoThread(error.to_string()))?;
        let failed = |_panic| Err(Unread::Malformed("the reader failed".to_owned()));
        reader.join().unwrap_or_else(failed)
    })
}

fn to_level(text: &str, levels: usize) -> Result<Decoded, Unread> {
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget(text.len(), levels));
    options.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::LastWins;
    // YAML 1.1, as upstream's decoder reads it: `010` is 8, and `yes` is true, even as a key.
    options.legacy_octal_numbers = true;
    let (repeats, mut first) = (RefCell::default(), None);
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        first = Some(Node::<Spanned<YamlKey>>::root(&repeats).deserialize(reader)?);
        Ok(())
    });
    let document = match (first, read) {
        // Source: `Unmarshal` of `sigs.k8s.io/yaml`, which reads one document and ignores what follows it.
        (Some(first), _) => Ok(first),
        (None, Ok(())) => Ok(Value::Null),
        (None, Err(error)) if is_too_deep(&error) => Err(Unread::TooDeep(error.to_string())),
        (None, Err(error)) => Err(Unread::Malformed(error.to_string())),
    };
    let (document, repeats) = (document?, repeats.into_inner().list);
    Ok(Decoded { document, repeats })
}

/// What a text of this length may cost. Without aliases it has fewer values than bytes, each of which the parser
/// reports once or, if it contains others, twice, and no longer text; with aliases it may have no more, or so much.
fn budget(length: usize, levels: usize) -> Budget {
    let mut budget = Budget::default();
    budget.max_depth = levels;
    budget.max_nodes = length.max(VALUES_MAX);
    budget.max_events = 2 * length.max(VALUES_MAX);
    budget.max_total_scalar_bytes = 2 * length.max(TEXT_BYTES_MAX);
    budget
}

fn is_too_deep(error: &Error) -> bool {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => is_too_deep(error),
        Error::Budget { breach, .. } => matches!(breach, BudgetBreach::Depth { .. }),
        _ => false,
    }
}

impl Key for Spanned<YamlKey> {
    fn name(&self) -> &str {
        &self.value.0
    }

    fn repeated(&self, _path: impl FnOnce() -> String) -> String {
        let line = self.referenced.line();
        format!("line {line}: key {:?} already set in map", self.value.0)
    }

    fn float(value: f64) -> Value {
        plain(value)
    }
}

/// The text of a key that YAML may read as another type: `8`, `true`.
struct YamlKey(String);

impl<'de> serde::Deserialize<'de> for YamlKey {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let key = Value::deserialize(reader)?;
        match key {
            Value::String(text) => Ok(Self(text)),
            Value::Bool(_) | Value::Number(_) => Ok(Self(key.to_string())),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                Err(D::Error::custom("unsupported map key"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    #[test]
    fn yaml_is_as_deep_as_json() {
        let nested = |levels: usize, open: &str, close: &str| {
            format!("{}1{}", open.repeat(levels), close.repeat(levels))
        };
        for levels in [1, 64, 65, 120, LEVELS_MAX] {
            for (open, close) in [("{\"k\": ", "}"), ("[", "]")] {
                let text = nested(levels, open, close);
                let as_json = json(text.as_bytes()).expect("JSON");
                assert_eq!(read(text.as_bytes()), Ok(as_json), "{levels}");
            }
            let lines = (0..levels).map(|level| format!("{}k:\n", " ".repeat(level)));
            let lines = lines.collect::<String>() + &" ".repeat(levels) + "1\n";
            let as_json = json(nested(levels, "{\"k\": ", "}").as_bytes()).expect("JSON");
            assert_eq!(read(lines.as_bytes()), Ok(as_json), "{levels}");
        }
        let deeper = nested(LEVELS_MAX + 1, "[", "]");
        assert!(read(deeper.as_bytes()).is_err() && json(deeper.as_bytes()).is_err());
    }

    #[test]
    fn that_there_is_no_thread_for_a_deep_document_is_no_fault_of_the_document() {
        // There is no room for so large a stack.
        const NOWHERE: usize = 1 << 60;
        let told = |levels: usize, stack: usize| {
            let text = "[".repeat(levels) + &"]".repeat(levels);
            let read = read_with(text.as_bytes(), stack);
            read.map_err(|unread| unread.refused("unread").code).err()
        };
        assert_eq!(told(LEVELS_NEAR, NOWHERE), None);
        assert_eq!(told(LEVELS_NEAR + 1, NOWHERE), Some(503));
        assert_eq!(told(LEVELS_MAX + 1, DEEP_STACK_BYTES), Some(400));
    }

    #[test]
    fn yaml_is_as_long_as_json() {
        const KEYS: usize = 130_000;
        let lines: String = (0..KEYS).map(|key| format!("k{key}: v\n")).collect();
        let decoded = read(lines.as_bytes()).expect("YAML");
        assert_eq!(
            decoded.document.as_object().map(serde_json::Map::len),
            Some(KEYS)
        );
        let list = format!("[{}1]", "1,".repeat(600_000));
        let decoded = read(list.as_bytes()).expect("YAML");
        assert_eq!(decoded.document.as_array().map(Vec::len), Some(600_001));
    }

    fn is_of_the_budget(unread: &Unread) -> bool {
        matches!(unread, Unread::Malformed(why) if why.contains("budget"))
    }

    #[test]
    fn aliases_make_no_more_of_a_long_text_than_it_could_say_itself() {
        let ten = |name: char, below: char| {
            format!(
                "{name}: &{name} [{}]\n",
                vec![format!("*{below}"); 10].join(",")
            )
        };
        let names = ['a', 'b', 'c', 'd', 'e', 'f'];
        let lines: String = names.windows(2).map(|pair| ten(pair[1], pair[0])).collect();
        let bomb = format!("a: &a [{}]\n{lines}", ["x"; 10].join(","));
        for padding in [0, 300_000] {
            let text = format!("{bomb}# {}\n", "x".repeat(padding));
            let why = read(text.as_bytes()).expect_err("more than a million values");
            assert!(is_of_the_budget(&why), "{why:?}");
        }
    }

    #[test]
    fn aliases_make_little_of_a_short_text() {
        let said = |length: usize, times: usize| {
            let text = "x".repeat(length);
            let aliases = "*a,".repeat(times);
            read(format!("a: &a \"{text}\"\nb: [{aliases}]\n").as_bytes())
        };
        assert!(said(1_000, 500).is_ok());
        let why = said(100_000, 600).expect_err("much more than its length");
        assert!(is_of_the_budget(&why), "{why:?}");
    }
}
