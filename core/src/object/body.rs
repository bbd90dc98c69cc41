//! Documents as the bytes that are stored and sent: those that `serde_json` writes, without a look at
//! each letter of a long text by itself.

use bytes::Bytes;
use serde_json::{Error, Map, Value, to_writer};

/// Most bodies are smaller.
const BODY_BYTES: usize = 1024;
/// Letters that are looked at together.
const LETTERS: usize = 32;

/// Written with room, then cut to size: versions are kept, and most are small.
pub(super) fn written(document: &Value) -> Result<Bytes, Error> {
    let mut body = Vec::with_capacity(BODY_BYTES);
    write(document, &mut body)?;
    Ok(Bytes::copy_from_slice(&body))
}

fn write(value: &Value, body: &mut Vec<u8>) -> Result<(), Error> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => to_writer(body, value),
        Value::String(text) => write_text(text, body),
        Value::Array(list) => write_list(list, body),
        Value::Object(members) => write_members(members, body),
    }
}

fn write_list(list: &[Value], body: &mut Vec<u8>) -> Result<(), Error> {
    body.push(b'[');
    for (index, value) in list.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write(value, body)?;
    }
    body.push(b']');
    Ok(())
}

fn write_members(members: &Map<String, Value>, body: &mut Vec<u8>) -> Result<(), Error> {
    body.push(b'{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_text(name, body)?;
        body.push(b':');
        write(value, body)?;
    }
    body.push(b'}');
    Ok(())
}

fn write_text(text: &str, body: &mut Vec<u8>) -> Result<(), Error> {
    if !is_plain(text) {
        return to_writer(body, text);
    }
    if text.len() > BODY_BYTES {
        // With room behind it, or what comes next would have all of it copied.
        body.reserve(text.len() + BODY_BYTES);
    }
    body.push(b'"');
    body.extend_from_slice(text.as_bytes());
    body.push(b'"');
    Ok(())
}

/// Whether it is written as it is.
fn is_plain(text: &str) -> bool {
    let is = |is: bool| u8::from(is);
    let is_odd = |one: u8| is(one < b' ') | is(one == b'"') | is(one == b'\\');
    let mut pieces = text.as_bytes().chunks(LETTERS);
    pieces.all(|piece| piece.iter().fold(0, |odd, one| odd | is_odd(*one)) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_what_serde_json_writes() {
        let letters: String = (0..0x300).filter_map(char::from_u32).collect();
        let mut values = vec![
            json!(null),
            json!([]),
            json!({}),
            json!([[], {}, [null, true, false]]),
            json!([0, -1, u64::MAX, i64::MIN, 0.1, 1e300, -2.5e-7]),
            json!({"b": {"a": "x", "": ""}, "a\n\"": ["y"], "\u{1f600}": 1}),
            json!(letters),
        ];
        values.extend(letters.chars().map(|letter| json!(letter)));
        // Wherever in a text of several pieces the letter is.
        for letter in ['"', '\\', '\n', '\u{1f}', '\u{7f}', '\u{2028}'] {
            let texts = (0..3 * LETTERS).map(|at| {
                let mut text = "x".repeat(3 * LETTERS);
                text.insert(at, letter);
                json!({text.clone(): [text]})
            });
            values.extend(texts);
        }
        for value in values {
            let expected = serde_json::to_vec(&value).unwrap();
            assert_eq!(written(&value).unwrap(), expected, "{value}");
        }
    }
}
