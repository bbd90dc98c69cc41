//! Characters that do more than stand in a line.

/// Control characters (C0, DEL, C1), the separators that end lines, and the marks that reorder text.
///
/// Source: Unicode Standard Annex 9, `Bidi_Control`.
pub(crate) const fn is_control(one: char) -> bool {
    matches!(
        one,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}
