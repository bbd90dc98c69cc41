//! Parses a path.

use super::{Comparison, Filter, JsonPath, Slice, Step};
use serde_json::{Number, Value};

/// The depth to which filters and unions may be nested.
const DEPTH_MAX: usize = 8;
/// The most parts of a union. People write two or three, and each part is followed from every value.
const PARTS_MAX: usize = 100;

pub(super) fn path(text: &str) -> Option<JsonPath> {
    nested(text, 0)
}

fn nested(text: &str, depth: usize) -> Option<JsonPath> {
    if depth > DEPTH_MAX {
        return None;
    }
    let mut reader = Reader {
        rest: text,
        depth,
        steps: Vec::new(),
    };
    while !reader.rest.is_empty() {
        reader.step()?;
    }
    Some(JsonPath {
        steps: reader.steps,
    })
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
    steps: Vec<Step>,
}

impl<'a> Reader<'a> {
    fn step(&mut self) -> Option<()> {
        if let Some(rest) = self.rest.strip_prefix("[?(") {
            return self.filter(rest);
        }
        if let Some(rest) = self.rest.strip_prefix("..") {
            return self.descend(rest);
        }
        let first = self.rest.chars().next()?;
        let rest = self.rest.get(first.len_utf8()..)?;
        match first {
            ' ' | '@' | '$' => self.rest = rest,
            '[' => return self.array(rest),
            '.' => self.field(rest),
            '"' | '\'' => return self.quoted(first, rest),
            '+' | '-' | '0'..='9' => return self.number(),
            _ => return self.word(),
        }
        Some(())
    }

    /// A name, up to a character that ends names; a backslash escapes the next character.
    fn field(&mut self, text: &'a str) {
        let mut name = String::new();
        let mut rest = text.char_indices();
        let end = loop {
            match rest.next() {
                None => break text.len(),
                Some((_, '\\')) => name.extend(rest.next().map(|(_, one)| one)),
                Some((index, one)) if ends_a_name(one) => break index,
                Some((_, one)) => name.push(one),
            }
        };
        self.rest = text.get(end..).unwrap_or_default();
        self.steps.push(match name.as_str() {
            "*" => Step::Wildcard,
            _ => Step::Field(name),
        });
    }

    fn descend(&mut self, rest: &'a str) -> Option<()> {
        if self.steps.last() == Some(&Step::Descend) {
            return None;
        }
        self.steps.push(Step::Descend);
        if rest.starts_with(|one: char| one == '_' || one.is_alphanumeric()) {
            self.field(rest);
        } else {
            self.rest = self.rest.strip_prefix("..")?;
        }
        Some(())
    }

    fn array(&mut self, rest: &'a str) -> Option<()> {
        let (inside, rest) = rest.split_once(']')?;
        let parts: Vec<&str> = inside.split(',').collect();
        if parts.len() > PARTS_MAX {
            return None;
        }
        if parts.len() > 1 {
            let part = |part: &&str| nested(&format!("[{}]", part.trim()), self.depth + 1);
            let parts = parts.iter().map(part).collect::<Option<_>>()?;
            self.steps.push(Step::Union(parts));
        } else if let Some(key) = key(inside) {
            self.steps
                .extend(nested(&format!(".{key}"), self.depth + 1)?.steps);
        } else {
            self.steps.push(Step::Slice(slice(inside)?));
        }
        self.rest = rest;
        Some(())
    }

    fn filter(&mut self, text: &'a str) -> Option<()> {
        let end = end_of_filter(text)?;
        let inside = text.get(..end)?;
        self.rest = text.get(end..)?.strip_prefix(")]")?;
        let sign = |one: char| "!<>=".contains(one);
        let left_end = inside.find(sign).filter(|end| *end > 0);
        let (left, right) = inside.split_at(left_end.unwrap_or(inside.len()));
        let right_start = right.find(|one| !sign(one)).unwrap_or(right.len());
        let (operator, right) = right.split_at(right_start);
        let deeper = self.depth + 1;
        let right = match operator {
            "" => None,
            operator => Some((comparison(operator)?, nested(right, deeper)?)),
        };
        let left = nested(left, deeper)?;
        self.steps.push(Step::Filter(Filter { left, right }));
        Some(())
    }

    fn quoted(&mut self, quote: char, text: &'a str) -> Option<()> {
        let mut content = String::new();
        let mut rest = text.char_indices();
        loop {
            match rest.next()? {
                (_, '\\') => content.push(rest.next()?.1),
                (index, one) if one == quote => {
                    self.rest = text.get(index + 1..)?;
                    self.steps.push(Step::Literal(content.into()));
                    return Some(());
                }
                (_, one) => content.push(one),
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest.get(sign..)?;
        let end = digits.find(|one: char| one != '.' && !one.is_ascii_digit());
        let (text, rest) = self.rest.split_at(sign + end.unwrap_or(digits.len()));
        let whole = text.parse::<i64>().ok().map(Number::from);
        let number = whole.or_else(|| Number::from_f64(text.parse().ok()?))?;
        self.steps.push(Step::Literal(Value::Number(number)));
        self.rest = rest;
        Some(())
    }

    /// A boolean: `range` and other words are for templates.
    fn word(&mut self) -> Option<()> {
        let end = self.rest.find(ends_a_name).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.steps
            .push(Step::Literal(word.parse::<bool>().ok()?.into()));
        self.rest = rest;
        Some(())
    }
}

fn ends_a_name(one: char) -> bool {
    matches!(
        one,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

/// The text between single quotes.
fn key(text: &str) -> Option<&str> {
    let key = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!key.contains('\'')).then_some(key)
}

fn slice(text: &str) -> Option<Slice> {
    let text = if text == "*" { ":" } else { text };
    let parts: Vec<&str> = text.split(':').collect();
    let number = |index: usize| match parts.get(index).copied().unwrap_or_default() {
        "" => Some(None),
        digits => digits.parse::<i64>().ok().map(Some),
    };
    if parts.len() > 3 || text.is_empty() {
        return None;
    }
    Some(Slice {
        start: number(0)?,
        end: number(1)?,
        step: number(2)?,
        single: parts.len() == 1,
    })
}

/// The position of the bracket that closes a filter; one between quotes does not.
fn end_of_filter(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (index, one) in text.char_indices() {
        match (one, quote) {
            ('"' | '\'', None) => quote = Some(one),
            (_, Some(open)) if one == open && !escaped => quote = None,
            (')', None) => return Some(index),
            _ => {}
        }
        escaped = one == '\\' && !escaped;
    }
    None
}

fn comparison(text: &str) -> Option<Comparison> {
    let comparisons = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    let found = comparisons.iter().find(|(sign, _)| *sign == text);
    found.map(|(_, comparison)| *comparison)
}
