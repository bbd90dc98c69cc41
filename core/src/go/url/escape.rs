//! Percent-encoding, which differs between the parts of a URL. Source: `shouldEscape`, `unescape` and
//! `validEncoded`.

use super::super::{quoted, quoted_bytes};
use std::fmt::Write;

/// A part of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Host,
    /// The zone of an address in brackets.
    Zone,
    User,
    Query,
    Fragment,
}

/// Whether a byte has to be escaped in this part.
fn must_escape(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    let plain: &[u8] = match part {
        Part::Path => b"$&+,/:;=@",
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"",
        Part::User => b"$&+,;=",
        Part::Query => b"",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    !plain.contains(&byte)
}

pub(super) fn escaped(bytes: &[u8], part: Part) -> String {
    let mut made = String::with_capacity(bytes.len());
    for byte in bytes {
        if must_escape(*byte, part) {
            // Writing to a `String` cannot fail.
            write!(made, "%{byte:02X}").unwrap_or_default();
        } else {
            made.push(char::from(*byte));
        }
    }
    made
}

/// Checks the escapes in a path or a fragment, and returns it as it is if Go would, else with what
/// must be escaped escaped.
pub(super) fn encoded(text: &str, part: Part) -> Result<String, String> {
    let plain = unescaped(text, part)?;
    let is_legal = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || !must_escape(byte, part);
    if text.bytes().all(is_legal) {
        return Ok(text.to_owned());
    }
    Ok(escaped(&plain, part))
}

pub(super) fn unescaped(text: &str, part: Part) -> Result<Vec<u8>, String> {
    let mut made = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'%' => {
                let [high, low, after @ ..] = after else {
                    return Err(bad_escape(after));
                };
                let byte = pair(*high, *low).ok_or_else(|| bad_escape(rest))?;
                check_escape(*high, byte, part).map_err(|()| bad_escape(rest))?;
                made.push(byte);
                rest = after;
            }
            b'+' if part == Part::Query => made.push(b' '),
            _ => {
                let in_host = matches!(part, Part::Host | Part::Zone);
                if in_host && byte.is_ascii() && must_escape(*byte, part) {
                    let shown = quoted(&char::from(*byte).to_string());
                    return Err(format!("invalid character {shown} in host name"));
                }
                made.push(*byte);
            }
        }
    }
    Ok(made)
}

/// The message for an escape; `after` is what follows its percent sign.
fn bad_escape(after: &[u8]) -> String {
    let shown: Vec<u8> = [b'%']
        .into_iter()
        .chain(after.iter().copied())
        .take(3)
        .collect();
    format!("invalid URL escape {}", quoted_bytes(&shown))
}

fn pair(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

/// In a host only bytes beyond ASCII may be escaped, in a zone also what may stand there unescaped,
/// and spaces. A percent sign may be escaped in both.
fn check_escape(high: u8, byte: u8, part: Part) -> Result<(), ()> {
    let is_legal = match part {
        Part::Host => byte == b'%' || high >= b'8',
        Part::Zone => matches!(byte, b'%' | b' ') || !must_escape(byte, Part::Host),
        Part::Path | Part::User | Part::Query | Part::Fragment => true,
    };
    is_legal.then_some(()).ok_or(())
}
