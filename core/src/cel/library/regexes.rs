//! Functions of regular expressions. Source: `k8s.io/apiserver/pkg/cel/library/regex.go`.

use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::Native;
use crate::schema::{Pattern, compile_pattern_within, work_to_compile};
use std::sync::Arc;

/// The cost of compiling a pattern that the expression computed.
const PATTERN_COST: u64 = 20_000;
/// Size limit of a compiled pattern that the expression computed: it is compiled again at each
/// call.
const MADE_BYTES_MAX: usize = 128 << 10;

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        (
            "string.matches(string) bool\nmatches(string, string) bool",
            |meter, given| {
                let (text, pattern) = both(meter, given)?;
                Ok(Value::Bool(pattern.is_match(text)))
            },
        ),
        ("string.find(string) string", |meter, given| {
            let (text, pattern) = both(meter, given)?;
            let found = pattern.find(text, 0);
            let found = found.and_then(|at| text.get(at.range()));
            Ok(Value::text(found.unwrap_or_default()))
        }),
        (
            "string.findAll(string) list(string)\nstring.findAll(string, int) list(string)",
            |meter, given| {
                let limit = match given.get(2) {
                    None => usize::MAX,
                    Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
                    Some(_) => return Err(Fault::no_overload()),
                };
                let (text, pattern) = both(meter, given)?;
                let found = all(meter, text, &pattern, limit)?;
                Ok(Value::list(found.into_iter().map(Value::text).collect()))
            },
        ),
    ]
}

fn both<'b>(meter: &mut Meter, given: &'b [Value<'_>]) -> Result<(&'b str, Arc<Pattern>)> {
    let [Value::Text(text), pattern, ..] = given else {
        return Err(Fault::no_overload());
    };
    let text = text.as_str();
    let pattern = match pattern {
        Value::Pattern(pattern) => Arc::clone(pattern),
        Value::Text(pattern) => {
            meter.spend(PATTERN_COST)?;
            meter.text(pattern.as_str().len())?;
            let made = compile_pattern_within(pattern.as_str(), MADE_BYTES_MAX);
            if !meter.work.spend(work_to_compile(pattern.as_str(), &made)) {
                return Err(Fault::Exhausted);
            }
            Arc::new(made.map_err(|unusable| Fault::Failed(unusable.why))?)
        }
        _ => return Err(Fault::no_overload()),
    };
    search(meter, text.len(), &pattern)?;
    Ok((text, pattern))
}

/// The first parts of a text that match, without overlaps. An empty one right behind another is none.
fn all<'t>(
    meter: &mut Meter,
    text: &'t str,
    pattern: &Pattern,
    limit: usize,
) -> Result<Vec<&'t str>> {
    let mut found = Vec::new();
    let (mut from, mut end) = (0, None);
    while found.len() < limit
        && let Some(one) = pattern.find(text, from)
    {
        if one.is_empty() && end == Some(one.start) {
            let Some(passed) = text.get(from..).and_then(|rest| rest.chars().next()) else {
                break;
            };
            from += passed.len_utf8();
            meter.search(pattern, text.len() - from)?;
            continue;
        }
        found.push(text.get(one.range()).unwrap_or_default());
        (from, end) = (one.end, Some(one.end));
        // The next search may scan the rest of the text, whether or not it finds anything.
        search(meter, text.len() - from, pattern)?;
    }
    Ok(found)
}

/// Charges for a search through `length` bytes.
fn search(meter: &mut Meter, length: usize, pattern: &Pattern) -> Result<()> {
    meter.text(length.saturating_mul(pattern.text().len().div_ceil(8)))?;
    meter.search(pattern, length)
}
