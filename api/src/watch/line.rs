//! The lines of a watch.

use bytes::Bytes;
use hindsight_core::{Object, Revision};
use serde_json::Value;

/// Appends an event to what is sent next.
pub(super) fn push(lines: &mut Vec<u8>, kind: &str, object: &[u8]) {
    lines.reserve(object.len() + kind.len() + 24);
    lines.extend_from_slice(b"{\"type\":\"");
    lines.extend_from_slice(kind.as_bytes());
    lines.extend_from_slice(b"\",\"object\":");
    lines.extend_from_slice(object);
    lines.extend_from_slice(b"}\n");
}

/// The object as it was, under the revision of its removal.
pub(super) fn removed(object: &Object, revision: Revision) -> Object {
    Object {
        body: spliced(object, revision).unwrap_or_else(|| rewritten(object, revision)),
        revision,
        ..object.clone()
    }
}

/// The stored bytes with another revision. Where a client stored the same member too, only a parser
/// knows which is meant.
fn spliced(object: &Object, revision: Revision) -> Option<Bytes> {
    let body = std::str::from_utf8(&object.body).ok()?;
    let member = format!("\"resourceVersion\":\"{}\"", object.revision);
    let (before, after) = body.split_once(&member)?;
    if after.contains(&member) {
        return None;
    }
    Some(format!("{before}\"resourceVersion\":\"{revision}\"{after}").into())
}

fn rewritten(object: &Object, revision: Revision) -> Bytes {
    let mut document = object.document();
    if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".into(), revision.to_string().into());
    }
    serde_json::to_vec(&document).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::{GroupResource, ObjectKey};
    use serde_json::json;

    fn object(spec: Value) -> Object {
        let key = ObjectKey::new(GroupResource::new("example.com", "things"), "default", "a");
        let document = json!({"apiVersion": "example.com/v1", "kind": "Thing",
            "metadata": {"name": "a", "uid": "11111111-1111-4111-8111-111111111111"},
            "copy": spec});
        Object::from_value(key, document, Revision(7), None).expect("an object")
    }

    #[test]
    fn a_removed_object_shows_the_revision_of_its_removal_and_is_otherwise_what_it_was() {
        let texts = [
            json!("plain"),
            json!({"metadata": {"resourceVersion": "7"}}),
            json!("\"resourceVersion\":\"7\""),
            json!({"resourceVersion": "77"}),
        ];
        for copy in texts {
            let before = object(copy.clone());
            let after = removed(&before, Revision(12));
            let mut expected = before.document();
            expected["metadata"]["resourceVersion"] = json!("12");
            assert_eq!(after.document(), expected, "{copy}");
            assert_eq!(after.revision, Revision(12));
        }
    }
}
