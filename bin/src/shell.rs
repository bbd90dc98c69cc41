//! Words of the commands that are printed to be typed.

use std::borrow::Cow;

/// Quotes a text as one word for a shell, so that a printed command can be typed as it is.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
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
        ] {
            assert_eq!(word(text), printed);
        }
    }
}
