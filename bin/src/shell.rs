//! Words of the commands that are printed to be typed.

use crate::control_characters::is_control;
use std::borrow::Cow;
use std::fmt::Write;

/// Quotes a text as one word for a shell, so that a printed command can be typed as it is.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    if text.contains(is_control) {
        return Cow::Owned(escaped(text));
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// A word with control characters, as bash and zsh read it: it is typed as it is printed, and steers no terminal.
fn escaped(text: &str) -> String {
    let mut word = String::from("$'");
    for one in text.chars() {
        match one {
            '\'' | '\\' => word.extend(['\\', one]),
            '\n' => word.push_str(r"\n"),
            _ if is_control(one) => {
                // Byte by byte, as every locale reads it.
                for byte in one.encode_utf8(&mut [0; 4]).bytes() {
                    write!(word, r"\x{byte:02x}").ok();
                }
            }
            _ => word.push(one),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_word_as_it_is_meant() {
        for (text, printed) in [
            ("data/admin.kubeconfig", "data/admin.kubeconfig"),
            ("my dir/x", "'my dir/x'"),
            ("~/x", "'~/x'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("", "''"),
            ("a\nb", r"$'a\nb'"),
            ("it's \\n\u{1b}[31m", r"$'it\'s \\n\x1b[31m'"),
            ("\u{202e}1\u{9b}\u{1}", r"$'\xe2\x80\xae1\xc2\x9b\x01'"),
        ] {
            assert_eq!(word(text), printed);
        }
    }
}
