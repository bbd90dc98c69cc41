//! Functions of strings. Indexes count characters. Source: `cel-go`'s `ext/strings.go`.

mod format;

use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::{Native, lists};

type Result<T> = std::result::Result<T, Fault>;

/// The longest string that an expression may create, in bytes.
const TEXT_MAX: usize = 4 << 20;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        ("string.contains(string) bool", |meter, given| {
            two(meter, given).map(|(text, part)| Value::Bool(text.contains(part)))
        }),
        ("string.startsWith(string) bool", |meter, given| {
            two(meter, given).map(|(text, part)| Value::Bool(text.starts_with(part)))
        }),
        ("string.endsWith(string) bool", |meter, given| {
            two(meter, given).map(|(text, part)| Value::Bool(text.ends_with(part)))
        }),
        ("string.lowerAscii() string", |meter, given| {
            one(meter, given).map(|text| Value::text(text.to_ascii_lowercase()))
        }),
        ("string.upperAscii() string", |meter, given| {
            one(meter, given).map(|text| Value::text(text.to_ascii_uppercase()))
        }),
        ("string.trim() string", |meter, given| {
            one(meter, given).map(|text| Value::text(text.trim()))
        }),
        ("strings.quote(string) string", |meter, given| {
            let text = one(meter, given)?;
            bounded(meter, text.len().saturating_mul(2))?;
            Ok(Value::text(quoted(text)))
        }),
        ("string.charAt(int) string", char_at),
        (
            "string.substring(int) string\nstring.substring(int, int) string",
            substring,
        ),
        (
            "string.indexOf(string) int
            string.indexOf(string, int) int
            list(A).indexOf(A) int",
            |meter, given| index_of(meter, given, false),
        ),
        (
            "string.lastIndexOf(string) int
            string.lastIndexOf(string, int) int
            list(A).lastIndexOf(A) int",
            |meter, given| index_of(meter, given, true),
        ),
        (
            "string.replace(string, string) string
            string.replace(string, string, int) string",
            replace,
        ),
        (
            "string.split(string) list(string)\nstring.split(string, int) list(string)",
            split,
        ),
        (
            "list(string).join() string\nlist(string).join(string) string",
            join,
        ),
        ("string.format(list(dyn)) string", format::format),
    ]
}

fn text<'b>(value: &'b Value<'_>) -> Result<&'b str> {
    match value {
        Value::Text(text) => Ok(text.as_str()),
        _ => Err(Fault::no_overload()),
    }
}

fn one<'b>(meter: &mut Meter, given: &'b [Value<'_>]) -> Result<&'b str> {
    let value = given.first().ok_or_else(Fault::no_overload)?;
    let text = text(value)?;
    meter.text(text.len())?;
    Ok(text)
}

fn two<'b>(meter: &mut Meter, given: &'b [Value<'_>]) -> Result<(&'b str, &'b str)> {
    let part = text(given.get(1).ok_or_else(Fault::no_overload)?)?;
    meter.text(part.len())?;
    Ok((one(meter, given)?, part))
}

/// Quotes a string so that it could stand in an expression.
fn quoted(text: &str) -> String {
    let mut made = String::from('"');
    for letter in text.chars() {
        let escape = match letter {
            '"' | '\\' => letter,
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            _ => {
                made.push(letter);
                continue;
            }
        };
        made.extend(['\\', escape]);
    }
    made.push('"');
    made
}

/// The integer argument at this index, if there is one.
fn number(given: &[Value<'_>], place: usize) -> Result<Option<i64>> {
    match given.get(place) {
        None => Ok(None),
        Some(Value::Int(number)) => Ok(Some(*number)),
        Some(_) => Err(Fault::no_overload()),
    }
}

fn outside(index: i64) -> Fault {
    Fault::failed(format!("index out of range: {index}"))
}

/// The byte offset of the character at an index; the end of the text is a valid index too.
fn byte(text: &str, index: i64) -> Result<usize> {
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let wanted = usize::try_from(index).map_err(|_| outside(index))?;
    let mut starts = starts.skip(wanted);
    starts.next().ok_or_else(|| outside(index))
}

fn char_at<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let text = one(meter, given)?;
    let index = number(given, 1)?.ok_or_else(Fault::no_overload)?;
    let rest = text.get(byte(text, index)?..).unwrap_or_default();
    Ok(Value::text(rest.chars().take(1).collect::<String>()))
}

fn substring<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let text = one(meter, given)?;
    let from = number(given, 1)?.ok_or_else(Fault::no_overload)?;
    let start = byte(text, from)?;
    let end = match number(given, 2)? {
        None => text.len(),
        Some(to) if to < from => {
            let why = format!("invalid substring range. start: {from}, end: {to}");
            return Err(Fault::failed(why));
        }
        Some(to) => byte(text, to)?,
    };
    Ok(Value::text(text.get(start..end).unwrap_or_default()))
}

fn index_of<'a>(meter: &mut Meter, given: &[Value<'a>], last: bool) -> Result<Value<'a>> {
    if let [list, wanted] = given
        && list.length().is_some()
    {
        return lists::index_of(meter, list, wanted, last);
    }
    let (text, part) = two(meter, given)?;
    let found = match number(given, 2)? {
        Some(offset) if part.is_empty() => return Ok(Value::Int(offset)),
        Some(offset) if offset < 0 => return Err(outside(offset)),
        Some(offset) => found_from(text, part, offset, last),
        None if last => text.rfind(part),
        None => text.find(part),
    };
    let before = found.and_then(|at| text.get(..at));
    let index = before.map(|before| before.chars().count());
    let index = index.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX));
    Ok(Value::Int(index))
}

/// Searches from a character offset. An offset at or past the end finds nothing.
fn found_from(text: &str, part: &str, offset: i64, last: bool) -> Option<usize> {
    let start = byte(text, offset).ok().filter(|at| *at < text.len())?;
    if !last {
        let found = text.get(start..)?.find(part);
        return found.map(|at| at + start);
    }
    let end = text.len().min(start + part.len());
    let end = (0..=end).rev().find(|at| text.is_char_boundary(*at))?;
    text.get(..end)?.rfind(part)
}

/// The limit argument; a negative number means no limit.
fn limit(given: &[Value<'_>], place: usize) -> Result<usize> {
    let limit = number(given, place)?;
    let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(limit.unwrap_or(usize::MAX))
}

fn replace<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let (text, part) = two(meter, given)?;
    let with = self::text(given.get(2).ok_or_else(Fault::no_overload)?)?;
    let limit = limit(given, 3)?;
    let times = text.matches(part).count().min(limit);
    let length = text.len().saturating_add(with.len().saturating_mul(times));
    bounded(meter, length)?;
    Ok(Value::text(text.replacen(part, with, limit)))
}

fn split<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let (text, separator) = two(meter, given)?;
    let limit = limit(given, 2)?;
    if limit == 0 || text.is_empty() && separator.is_empty() {
        return Ok(Value::list(Vec::new()));
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() + 1 < limit {
        meter.spend(1)?;
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let cut = if separator.is_empty() {
            Some((first, 0)).filter(|_| first < rest.len())
        } else {
            rest.find(separator).map(|at| (at, separator.len()))
        };
        let Some((at, width)) = cut else { break };
        parts.push(Value::text(rest.get(..at).unwrap_or_default()));
        rest = rest.get(at + width..).unwrap_or_default();
    }
    parts.push(Value::text(rest));
    Ok(Value::list(parts))
}

fn join<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let list = given.first().ok_or_else(Fault::no_overload)?;
    let separator = given.get(1).map_or(Ok(""), text)?;
    let items = lists::items(meter, list)?;
    let mut texts = Vec::with_capacity(items.len());
    for item in &items {
        texts.push(text(item)?);
    }
    let length = texts.iter().map(|text| text.len() + separator.len()).sum();
    bounded(meter, length)?;
    Ok(Value::text(texts.join(separator)))
}

/// Charges for a string before it is created.
fn bounded(meter: &mut Meter, length: usize) -> Result<()> {
    meter.text(length)?;
    if length > TEXT_MAX {
        return Err(Fault::Exhausted);
    }
    Ok(())
}
