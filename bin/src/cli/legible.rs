//! Texts as they can be printed in a line. Names of owners, roles and fields are whatever users wrote, and a
//! line that one of them forged would pass for a part of the audit.

use crate::control_characters::is_control;
use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// The text with what would end the line, or steer the terminal, written as an escape.
pub(crate) fn legible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for one in text.chars() {
        if is_control(one) {
            escaped.extend(one.escape_default());
        } else {
            escaped.push(one);
        }
    }
    Cow::Owned(escaped)
}

/// The answer with every text in it made legible, so that no field of it can be forgotten.
pub(super) fn legible_answer<T: Serialize + DeserializeOwned>(answer: &T) -> Result<T> {
    let mut document = serde_json::to_value(answer)?;
    escape_texts(&mut document);
    Ok(serde_json::from_value(document)?)
}

fn escape_texts(document: &mut Value) {
    match document {
        Value::String(text) => *text = legible(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(escape_texts),
        Value::Object(members) => members.values_mut().for_each(escape_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_that_ends_a_line_or_steers_a_terminal_is_printed() {
        for (text, printed) in [
            ("system:controller:a b\\n", "system:controller:a b\\n"),
            (
                "Gr\u{f6}\u{df}e \u{65e5}\u{672c}",
                "Gr\u{f6}\u{df}e \u{65e5}\u{672c}",
            ),
            ("a\n  9  T  alice", "a\\n  9  T  alice"),
            (
                "\r\t\u{1b}[2K\u{7f}\u{9b}",
                "\\r\\t\\u{1b}[2K\\u{7f}\\u{9b}",
            ),
            (
                "\u{202e}x\u{2069}\u{200f}\u{61c}",
                "\\u{202e}x\\u{2069}\\u{200f}\\u{61c}",
            ),
            ("a\u{2028}b\u{2029}c", "a\\u{2028}b\\u{2029}c"),
        ] {
            assert_eq!(legible(text), printed);
        }
    }

    #[test]
    fn every_text_of_an_answer_is_made_legible_wherever_it_stands() {
        let answer = json!({"a": ["x\n", {"b": "\u{1b}"}], "c": 1, "d": null});
        let expected = json!({"a": ["x\\n", {"b": "\\u{1b}"}], "c": 1, "d": null});
        assert_eq!(legible_answer(&answer).expect("an answer"), expected);
    }
}
