//! Items of built-in lists without `apiVersion` and `kind`, which the list states for all of them: Go's typed
//! lists are written so, and clients expect that.

use memchr::memchr2;

/// Appends a stored object without its `apiVersion` and `kind`. It is appended unchanged where it is not
/// written as stored objects are: without spaces, and with more members after those two.
pub(super) fn append(body: &[u8], to: &mut Vec<u8>) {
    let before = to.len();
    if try_append(body, to).is_none() {
        to.truncate(before);
        to.extend_from_slice(body);
    }
}

/// Scans no further than the second of the two members; `None` if the form is not the expected one.
fn try_append(body: &[u8], to: &mut Vec<u8>) -> Option<()> {
    let (mut kept, mut found) = (0, 0);
    let mut at = usize::from(*body.first()? == b'{');
    while found < 2 {
        let key_end = string_end(body, at)?;
        let key = body.get(at..key_end)?;
        let value = key_end + usize::from(*body.get(key_end)? == b':');
        let end = value_end(body, value)?;
        if *body.get(end)? != b',' {
            return None;
        }
        if matches!(key, b"\"apiVersion\"" | b"\"kind\"") {
            to.extend_from_slice(body.get(kept..at)?);
            (kept, found) = (end + 1, found + 1);
        }
        at = end + 1;
    }
    to.extend_from_slice(body.get(kept..)?);
    Some(())
}

/// The position after the string that begins here.
fn string_end(body: &[u8], start: usize) -> Option<usize> {
    let mut at = start + usize::from(*body.get(start)? == b'"');
    loop {
        at += memchr2(b'"', b'\\', body.get(at..)?)?;
        if *body.get(at)? == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The position after the value that begins here.
fn value_end(body: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match body.get(at)? {
            b'"' => at = string_end(body, at)?,
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' if depth > 0 => (at, depth) = (at + 1, depth - 1),
            b',' | b'}' if depth == 0 => return Some(at),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::append;
    use serde_json::{Value, json};

    fn without(body: &[u8]) -> String {
        let mut out = b"[".to_vec();
        append(body, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn both_go_wherever_they_stand_and_nothing_else() {
        for document in [
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"kind": "x"}}),
            json!({"apiVersion": "v1", "data": {"kind": "a", "\"kind\":": "}\\\""}, "kind": "ConfigMap",
                "metadata": {"apiVersion": "x"}}),
            json!({"aa": [{"kind": ["b", 1.5]}, "]"], "ab": -1, "ac": null, "apiVersion": "v1", "b": true,
                "kind": "Event", "metadata": {}}),
        ] {
            let body = document.to_string();
            let read: Value = serde_json::from_str(&without(body.as_bytes())[1..]).expect("JSON");
            let mut expected = document;
            let members = expected.as_object_mut().expect("an object");
            members.remove("apiVersion");
            members.remove("kind");
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn what_is_written_otherwise_stays_as_it_is() {
        let whole = r#"{"apiVersion":"v1","data":{"a":"\\"},"kind":"ConfigMap","metadata":{}}"#;
        let ends = r#"{"apiVersion":"v1","kind":"Pod"}"#;
        let spaced = r#"{ "apiVersion": "v1", "kind": "Pod", "metadata": {}}"#;
        let untyped = r#"{"metadata":{"name":"a"},"spec":{}}"#;
        let cuts = (0..40).map(|length| &whole[..length]);
        for body in cuts.chain([ends, spaced, untyped]) {
            assert_eq!(without(body.as_bytes()), format!("[{body}"));
        }
    }
}
