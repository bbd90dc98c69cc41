//! Bytes in a field of a built-in kind, as Go's `encoding/base64` decodes them. It skips ends of lines, and the
//! bits that are left over in the last symbol may be anything.

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::{BASE64_STANDARD, Engine};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Where Go's decoder stops; `None` if it can decode the text.
pub(super) fn illegal_at(text: &str) -> Option<usize> {
    let bytes = text.bytes().enumerate();
    let mut bytes = bytes.filter(|(_, byte)| !is_line_end(*byte));
    let mut symbols = 0;
    while let Some((at, byte)) = bytes.next() {
        if byte != b'=' {
            if !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'/') {
                return Some(at);
            }
            symbols = (symbols + 1) % 4;
            continue;
        }
        if symbols < 2 {
            return Some(at);
        }
        if symbols == 2 {
            match bytes.next() {
                Some((_, b'=')) => {}
                Some((next, _)) => return Some(next.saturating_sub(1)),
                None => return Some(text.len()),
            }
        }
        return bytes.next().map(|(after, _)| after);
    }
    (symbols != 0).then(|| text.len().saturating_sub(symbols))
}

/// The text as Go encodes what it stands for; `None` if that is the text.
pub(super) fn written(text: &str) -> Option<String> {
    let mut symbols = text.to_owned();
    symbols.retain(|one| !matches!(one, '\r' | '\n'));
    let encoded = BASE64_STANDARD.encode(LENIENT.decode(symbols).ok()?);
    (encoded != text).then_some(encoded)
}

const fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::{illegal_at, written};

    #[test]
    fn what_cannot_be_decoded_is_found_where_go_finds_it() {
        for (text, at) in [
            ("", None),
            ("YQ==", None),
            ("YR==", None),
            ("YWI=", None),
            ("YW\nJj\r\n", None),
            ("YQ=\n=\n", None),
            ("hunter2-plain!", Some(7)),
            ("!!", Some(0)),
            ("Y Q=", Some(1)),
            ("YQ", Some(0)),
            ("YWJjYQ", Some(4)),
            ("YW\nJjY", Some(5)),
            ("=", Some(0)),
            ("Y===", Some(1)),
            ("YQ=", Some(3)),
            ("YQ=a", Some(2)),
            ("YQ==YQ==", Some(4)),
            ("YWI==", Some(4)),
        ] {
            assert_eq!(illegal_at(text), at, "{text:?}");
        }
    }

    #[test]
    fn bytes_are_written_without_ends_of_lines_and_left_over_bits() {
        for (sent, to_write) in [
            ("", None),
            ("YWJj", None),
            ("YQ==", None),
            ("YW\nJj\r\n", Some("YWJj")),
            ("YR==", Some("YQ==")),
            ("YWK=", Some("YWI=")),
        ] {
            assert_eq!(written(sent).as_deref(), to_write, "{sent}");
        }
    }
}
