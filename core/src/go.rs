//! URLs and addresses as Go's standard library reads them, refused in its words: what it accepts, and
//! what it says, is visible to whoever writes a rule.

pub(crate) mod address;
pub(crate) mod range;
pub(crate) mod url;

use std::fmt::Write;

/// Quotes a string like Go's `%q`.
pub(crate) fn quoted(text: &str) -> String {
    quoted_bytes(text.as_bytes())
}

/// The same for bytes, which need not be UTF-8.
fn quoted_bytes(bytes: &[u8]) -> String {
    let mut made = String::from('"');
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            quote(&mut made, letter);
        }
        for byte in chunk.invalid() {
            // Writing to a `String` cannot fail.
            write!(made, "\\x{byte:02x}").unwrap_or_default();
        }
    }
    made.push('"');
    made
}

fn quote(made: &mut String, letter: char) {
    match letter {
        '"' => made.push_str("\\\""),
        '\\' => made.push_str("\\\\"),
        '\u{7}' => made.push_str("\\a"),
        '\u{8}' => made.push_str("\\b"),
        '\u{b}' => made.push_str("\\v"),
        '\u{c}' => made.push_str("\\f"),
        '\n' => made.push_str("\\n"),
        '\r' => made.push_str("\\r"),
        '\t' => made.push_str("\\t"),
        '\0'..=' ' | '\u{7f}' if letter != ' ' => {
            write!(made, "\\x{:02x}", u32::from(letter)).unwrap_or_default();
        }
        _ if letter.is_control() => {
            write!(made, "\\u{:04x}", u32::from(letter)).unwrap_or_default();
        }
        _ => made.push(letter),
    }
}
