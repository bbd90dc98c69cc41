//! Parsers of arguments that several subcommands take.

use hindsight_core::Revision;

/// Parses a value that narrows a question. An empty one is refused: it would narrow nothing, or match nothing.
pub(super) fn non_empty(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("it is empty; give a value, or leave it out".into());
    }
    Ok(text.to_owned())
}

/// Parses a namespace. Nobody can have one with a comma, so a list is meant.
pub(super) fn namespace(text: &str) -> Result<String, String> {
    if text.contains(',') {
        return Err("it names more than one namespace; ask about one at a time".into());
    }
    non_empty(text)
}

/// Parses a revision or a count.
pub(super) fn number(text: &str) -> Result<u64, &'static str> {
    let parsed = Revision::parse(text).map(|revision| revision.0);
    parsed.ok_or("expected a whole number, such as 42")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_one() {
        assert_eq!(namespace("prod").as_deref(), Ok("prod"));
        for text in ["", "a,b", ","] {
            assert!(namespace(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_is_nothing_but_digits() {
        for (text, expected) in [("0", 0), ("42", 42), ("007", 7)] {
            assert_eq!(number(text), Ok(expected));
        }
        for text in ["", "+7", "-7", " 7", "7 ", "0x7", "18446744073709551616"] {
            assert!(number(text).is_err(), "{text}");
        }
    }
}
