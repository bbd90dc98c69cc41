//! What Go takes for printable: letters, marks, numbers, punctuation, symbols, and of all blanks the space. Source:
//! `unicode.IsPrint`.

use regex_syntax::hir::{Class, HirKind};
use std::sync::LazyLock;

static RANGES: LazyLock<Vec<(char, char)>> = LazyLock::new(ranges);

fn ranges() -> Vec<(char, char)> {
    let class = regex_syntax::parse(r"[\pL\pM\pN\pP\pS ]").map(regex_syntax::hir::Hir::into_kind);
    let Ok(HirKind::Class(Class::Unicode(class))) = class else {
        return Vec::new();
    };
    let ranges = class.iter().map(|range| (range.start(), range.end()));
    ranges.collect()
}

/// The index of the first character that is not printable.
pub(super) fn first_not(text: &str) -> Option<usize> {
    let found = text.char_indices().find(|(_, one)| !is_printable(*one));
    found.map(|(index, _)| index)
}

fn is_printable(one: char) -> bool {
    let at = RANGES.partition_point(|(_, last)| *last < one);
    RANGES.get(at).is_some_and(|(first, _)| *first <= one)
}
