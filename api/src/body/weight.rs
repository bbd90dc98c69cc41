//! About how much memory a document takes that is decoded from a body: of `{"":0}` it is a hundred times as much as of
//! the text. It is told before anything is decoded, since many that are decoded at once would wait for the writer.

use super::document::VALUES_MAX;
use crate::protobuf;

/// A node of an object's map, for up to eleven members.
const NODE_BYTES: usize = 640;
/// A member of an object with many, whose nodes are half full.
const MEMBER_BYTES: usize = 112;
/// An item of a list that keeps room for as many.
const ITEM_BYTES: usize = 64;
/// What a byte of protobuf may take: a message of four is an object with one member. Most are text, and take less.
const MESSAGE_FACTOR: usize = 32;

/// About how much the document takes at most. In JSON an object begins with a brace and has a colon for each member;
/// in YAML it may begin with each colon or question mark, and an alias repeats what is there.
pub(super) fn document_bytes(body: &[u8], is_yaml: bool) -> usize {
    if protobuf::is_enveloped(body) {
        return body.len().saturating_mul(MESSAGE_FACTOR);
    }
    let is = |wanted: u8| body.iter().map(move |byte| usize::from(*byte == wanted));
    let count = |wanted| is(wanted).sum::<usize>();
    let members = count(b':');
    let (mut objects, mut items) = (count(b'{'), count(b',') + count(b'['));
    if is_yaml {
        objects += members + count(b'?');
        items += count(b'-');
        if body.contains(&b'*') && body.contains(&b'&') {
            objects += VALUES_MAX;
        }
    }
    2 * body.len() + objects * NODE_BYTES + members * MEMBER_BYTES + items * ITEM_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::document;
    use serde_json::Value;

    /// What a document takes, counted from below.
    fn taken(value: &Value) -> usize {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.len() * 32 + items.iter().map(taken).sum::<usize>(),
            Value::Object(members) => {
                let nodes = members.len().div_ceil(11) * NODE_BYTES;
                let inner = members
                    .iter()
                    .map(|(name, value)| name.len() + taken(value));
                nodes + inner.sum::<usize>()
            }
        }
    }

    #[test]
    fn no_document_takes_more_than_its_weight() {
        let many = |text: &str| format!("[{}1]", text.repeat(1_000));
        for json in [
            many("{\"\":0},"),
            many("{\"a\":{\"b\":[{}]}},"),
            many("[],"),
            many("\"\\u00e9\","),
            many("[[[0]]],"),
            "{\"a\":\"text\"}".to_owned(),
        ] {
            let document = document::json(json.as_bytes()).expect("JSON").document;
            let weight = document_bytes(json.as_bytes(), false);
            assert!(weight >= taken(&document), "{json:.80}");
        }
        let aliased = format!("a: &a {{b: c}}\nd: [{}]\n", "*a,".repeat(2_000));
        for yaml in [
            "- ".repeat(50) + "{a}",
            "- ? a\n".repeat(1_000),
            (0..1_000)
                .map(|key| format!("k{key}:\n  b:\n  - c\n"))
                .collect(),
            aliased,
        ] {
            let document = document::yaml(yaml.as_bytes()).expect("YAML").document;
            let weight = document_bytes(yaml.as_bytes(), true);
            assert!(weight >= taken(&document), "{yaml:.80}");
        }
    }

    #[test]
    fn a_body_of_text_weighs_little_more_than_its_length() {
        let text = format!("{{\"data\":{{\"k\":\"{}\"}}}}", "x".repeat(100_000));
        assert!(document_bytes(text.as_bytes(), false) < 3 * text.len());
    }
}
