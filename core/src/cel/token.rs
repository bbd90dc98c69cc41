//! The lexer: from text to tokens.

use super::CompileError;
use super::literal;

/// One token, with the byte offset at which it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// The magnitude only: the sign is an operator.
    Int(u64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Ident(String),
    /// An identifier in backquotes, which is allowed only as the field of a selection.
    Quoted(String),
    Sign(&'static str),
    End,
}

/// Longer operators come first, so that `<=` is not read as `<`.
const SIGNS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "(", ")", "[", "]", "{", "}", ".", ",", "-", "+",
    "*", "/", "%", "?", ":", "!",
];

/// Returns all tokens of an expression, followed by `End`.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, CompileError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let blank = blank(rest);
        if blank > 0 {
            at += blank;
            continue;
        }
        let (kind, length) = token(rest).map_err(|why| CompileError::new(source, at, why))?;
        tokens.push(Token { at, kind });
        at += length.max(1);
    }
    tokens.push(Token {
        at,
        kind: Kind::End,
    });
    Ok(tokens)
}

fn blank(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    let is_blank = |one: char| matches!(one, ' ' | '\t' | '\n' | '\r' | '\u{c}');
    rest.find(|one| !is_blank(one)).unwrap_or(rest.len())
}

fn token(rest: &str) -> Result<(Kind, usize), String> {
    if let Some(found) = literal::text(rest)? {
        return Ok(found);
    }
    if let Some(found) = literal::number(rest)? {
        return Ok(found);
    }
    let is_word = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let length = rest.find(|one| !is_word(one)).unwrap_or(rest.len());
    if let Some(word) = rest.get(..length).filter(|word| !word.is_empty()) {
        return Ok((Kind::Ident(word.to_owned()), length));
    }
    if let Some(quoted) = rest.strip_prefix('`') {
        return quoted_name(quoted);
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Kind::Sign(sign), sign.len()));
    }
    let found = rest.chars().next().unwrap_or_default();
    Err(format!(
        "Syntax error: token recognition error at: '{found}'"
    ))
}

fn quoted_name(rest: &str) -> Result<(Kind, usize), String> {
    let is_part = |one: char| one.is_ascii_alphanumeric() || "_.-/ ".contains(one);
    let name = rest.split('`').next().unwrap_or_default();
    if name.is_empty() || name.len() == rest.len() || !name.chars().all(is_part) {
        return Err("Syntax error: token recognition error at: '`'".into());
    }
    Ok((Kind::Quoted(name.to_owned()), name.len() + 2))
}
