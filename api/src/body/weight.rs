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

/// What a document consists of: what it takes is told by that, and not by its length.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// The length of the text, and of texts in it.
    pub(crate) bytes: usize,
    pub(crate) objects: usize,
    pub(crate) members: usize,
    pub(crate) items: usize,
}

impl Census {
    /// Adds what a text consists of. In JSON an object begins with a brace and has a colon for each member; in YAML it
    /// may begin with each colon or question mark, and an alias repeats what is there.
    pub(crate) fn add_text(&mut self, text: &[u8], is_yaml: bool) {
        let is = |wanted: u8| text.iter().map(move |byte| usize::from(*byte == wanted));
        let count = |wanted| is(wanted).sum::<usize>();
        let members = count(b':');
        self.bytes += text.len();
        self.members += members;
        self.objects += count(b'{');
        self.items += count(b',') + count(b'[');
        if is_yaml {
            self.objects += members + count(b'?');
            self.items += count(b'-');
            if text.contains(&b'*') && text.contains(&b'&') {
                self.objects += VALUES_MAX;
            }
        }
    }
}

/// About how much the document takes at most.
pub(super) fn document_bytes(body: &[u8], is_yaml: bool) -> usize {
    let mut census = Census::default();
    if protobuf::is_enveloped(body) && !is_yaml {
        protobuf::add_to(&mut census, body);
    } else {
        census.add_text(body, is_yaml);
    }
    let Census {
        bytes,
        objects,
        members,
        items,
    } = census;
    2 * bytes + objects * NODE_BYTES + members * MEMBER_BYTES + items * ITEM_BYTES
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

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2];
        let mut rest = bytes.len();
        while rest > 0x7f {
            field.push(u8::try_from(rest & 0x7f | 0x80).expect("a byte"));
            rest >>= 7;
        }
        field.push(u8::try_from(rest).expect("a byte"));
        [field, bytes.to_vec()].concat()
    }

    fn enveloped(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())];
        [b"k8s\0".to_vec(), field(1, &meta.concat()), field(2, raw)].concat()
    }

    #[test]
    fn no_message_takes_more_than_its_weight() {
        let json = format!("[{}1]", "{\"\":0},".repeat(1_000));
        let entry = |at: u32| field(2, &field(1, at.to_string().as_bytes()));
        let meta = |one: &[u8]| field(1, &one.repeat(1_000));
        for (api_version, kind, raw) in [
            ("v1", "Pod", field(2, &field(2, b"").repeat(1_000))),
            (
                "v1",
                "Pod",
                field(2, &field(2, &field(1, b"a")).repeat(1_000)),
            ),
            (
                "v1",
                "Pod",
                field(2, &field(2, &field(7, &field(1, b"a"))).repeat(1_000)),
            ),
            ("v1", "Pod", meta(&field(14, b"f"))),
            ("v1", "ConfigMap", (0..1_000).flat_map(entry).collect()),
            (
                "apps/v1",
                "ControllerRevision",
                field(2, &field(1, json.as_bytes())),
            ),
        ] {
            let body = enveloped(api_version, kind, &raw);
            let document = protobuf::decode(&body, api_version, kind).expect("a message");
            let least = taken(&document);
            let weight = document_bytes(&body, false);
            assert!(weight >= least, "{kind} {weight} {least}");
            // The endpoint says what it does not say.
            let unnamed = enveloped("", kind, &raw);
            assert!(document_bytes(&unnamed, false) >= least, "{kind}");
        }
        let text = enveloped(
            "v1",
            "ConfigMap",
            &field(2, &field(2, &vec![b'x'; 100_000])),
        );
        assert!(document_bytes(&text, false) < 3 * text.len());
    }

    #[test]
    fn a_body_of_text_weighs_little_more_than_its_length() {
        let text = format!("{{\"data\":{{\"k\":\"{}\"}}}}", "x".repeat(100_000));
        assert!(document_bytes(text.as_bytes(), false) < 3 * text.len());
    }
}
