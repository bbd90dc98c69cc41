//! Objects as YAML that kubectl reads.

use anyhow::Result;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

/// An object as a document.
pub(super) fn document(object: &Value) -> Result<String> {
    Ok(serde_saphyr::to_string(&Node(object))?)
}

/// An object as an item of a list.
pub(super) fn item(object: &Value) -> Result<String> {
    Ok(serde_saphyr::to_string(&[Node(object)])?)
}

struct Node<'a>(&'a Value);

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if begins_with_tab(text) => {
                DoubleQuoted(text).serialize(serializer)
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Node)),
            Value::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, Node(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

/// Whether the first line that is not empty begins with a tab. At the beginning of a block kubectl's parser
/// takes it for indentation, and refuses it.
fn begins_with_tab(text: &str) -> bool {
    text.trim_start_matches('\n').starts_with('\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_block_that_would_begin_with_a_tab_is_quoted_and_others_stay_readable() {
        for (text, is_quoted) in [
            ("\ta\n>\t", true),
            ("\n\tb\n", true),
            ("all:\n\techo\n", false),
            ("a\n\n\tb\n", false),
        ] {
            let object = json!({"data": {"k": text}, "empty": [{}, []]});
            let written = document(&object).expect("written");
            assert_eq!(written.contains("k: \""), is_quoted, "{written}");
            assert_eq!(written.contains("k: |"), !is_quoted, "{written}");
            let read: Value = serde_saphyr::from_str(&written).expect("read");
            assert_eq!(read, object);
            let read: Value =
                serde_saphyr::from_str(&item(&object).expect("written")).expect("read");
            assert_eq!(read, json!([object]));
        }
    }
}
