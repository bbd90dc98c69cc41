//! Signatures of functions, parsed once from the table of the library.

use super::library::{self, Native};
use super::types::Type;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// One overload of a function.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) member: bool,
    /// The target of a member function comes first.
    pub(super) parameters: Vec<Type<'static>>,
    pub(super) result: Type<'static>,
    pub(super) native: Native,
}

static SIGNATURES: LazyLock<BTreeMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
    let mut all: BTreeMap<&str, Vec<Signature>> = BTreeMap::new();
    for (lines, native) in library::functions() {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, signature) = read(line, native);
            all.entry(name).or_default().push(signature);
        }
    }
    all
});

/// Returns every overload of the functions with this name.
pub(super) fn named(name: &str) -> &'static [Signature] {
    SIGNATURES.get(name).map_or(&[], Vec::as_slice)
}

/// Parses a signature such as `string.startsWith(string) bool` or `optional.of(A) optional(A)`. A
/// prefix is the type of the target, unless it is a namespace.
fn read(line: &'static str, native: Native) -> (&'static str, Signature) {
    let (head, result) = line.rsplit_once(' ').unwrap_or((line, "dyn"));
    let (name, parameters) = callee(head);
    let mut rest = parameters;
    let mut found = Vec::new();
    let target = target(name);
    let plain = target.map_or(name, |target| {
        name.get(target.len() + 1..).unwrap_or_default()
    });
    found.extend(target.map(written));
    while !rest.is_empty() {
        let (one, tail) = first(rest);
        found.push(one);
        rest = tail.trim_start_matches([',', ' ']);
    }
    let signature = Signature {
        member: target.is_some(),
        parameters: found,
        result: written(result),
        native,
    };
    (plain, signature)
}

/// Splits off the last parenthesised list: returns what precedes it, and its content.
fn callee(head: &str) -> (&str, &str) {
    let inside = head.strip_suffix(')').unwrap_or(head);
    let mut depth = 0;
    for (at, one) in inside.char_indices().rev() {
        match one {
            ')' => depth += 1,
            '(' if depth == 0 => {
                let (name, rest) = inside.split_at(at);
                return (name, rest.trim_start_matches('('));
            }
            '(' => depth -= 1,
            _ => {}
        }
    }
    (inside, "")
}

fn target(name: &str) -> Option<&str> {
    let (target, _) = name.rsplit_once('.')?;
    let is_namespace = library::NAMESPACES.contains(&target);
    (!is_namespace).then_some(target)
}

/// Parses a type in the notation of signatures.
pub(super) fn written(text: &'static str) -> Type<'static> {
    first(text).0
}

fn first(text: &'static str) -> (Type<'static>, &'static str) {
    let end = text.find(['(', ',', ')']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some(inside) = rest.strip_prefix('(') else {
        return (plain(name), rest);
    };
    let (one, tail) = first(inside);
    let one = Arc::new(one);
    if name == "map" {
        let (other, tail) = first(tail.trim_start_matches([',', ' ']));
        let tail = tail.strip_prefix(')').unwrap_or(tail);
        return (Type::Map(one, Arc::new(other)), tail);
    }
    let tail = tail.strip_prefix(')').unwrap_or(tail);
    let found = match name {
        "list" => Type::List(one),
        _ => Type::Optional(one),
    };
    (found, tail)
}

fn plain(name: &'static str) -> Type<'static> {
    match name.as_bytes() {
        b"dyn" => Type::Dyn,
        [one @ b'A'..=b'Z'] => Type::Variable(*one),
        _ => Type::Plain(name),
    }
}
