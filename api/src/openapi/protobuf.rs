//! The binary form of an OpenAPI v2 document, which older clients insist on.
//! Source: field numbers of `openapiv2/OpenAPIv2.proto`.

use super::parts::{Parts, TITLE, VERSION};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A message being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Writes seven bits a byte, lowest first; all bytes but the last have the high bit set.
    fn varint(&mut self, mut number: u64) {
        loop {
            let [low, ..] = number.to_le_bytes();
            number >>= 7;
            if number == 0 {
                self.0.push(low & 0x7f);
                return;
            }
            self.0.push(low | 0x80);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, message: Self) {
        self.bytes(field, &message.0);
    }

    fn text(&mut self, field: u64, value: Option<&Value>) {
        if let Some(text) = value.and_then(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: u64, value: Option<&Value>) {
        for item in value.and_then(Value::as_array).into_iter().flatten() {
            self.text(field, Some(item));
        }
    }

    fn flag(&mut self, field: u64, value: Option<&Value>) {
        if value == Some(&Value::Bool(true)) {
            self.varint(field << 3);
            self.varint(1);
        }
    }

    fn integer(&mut self, field: u64, value: Option<&Value>) {
        if let Some(number) = value.and_then(Value::as_u64) {
            self.varint(field << 3);
            self.varint(number);
        }
    }

    fn double(&mut self, field: u64, value: Option<&Value>) {
        if let Some(number) = value.and_then(Value::as_f64) {
            self.varint(field << 3 | 1);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Writes any value as YAML, of which JSON is a subset.
    fn any(&mut self, field: u64, value: &Value) {
        let mut any = Self::default();
        any.bytes(2, value.to_string().as_bytes());
        self.message(field, any);
    }

    fn extensions(&mut self, field: u64, members: &Value) {
        for (name, value) in entries(members).filter(|(name, _)| name.starts_with("x-")) {
            let mut named = Self::default();
            named.bytes(1, name.as_bytes());
            named.any(2, value);
            self.message(field, named);
        }
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// The whole document, of parts in this form.
pub(super) fn encode(parts: Parts) -> Vec<u8> {
    let mut message = Message::default();
    message.bytes(1, b"2.0");
    let mut info = Message::default();
    info.bytes(1, TITLE.as_bytes());
    info.bytes(2, VERSION.as_bytes());
    message.message(2, info);
    message.message(8, all_named(2, parts.paths));
    message.message(9, all_named(1, parts.definitions));
    message.0
}

pub(super) fn definition(value: &Value) -> Vec<u8> {
    schema(value).0
}

pub(super) fn path(item: &Value) -> Vec<u8> {
    path_item(item).0
}

fn all_named(field: u64, members: BTreeMap<String, Vec<u8>>) -> Message {
    let mut message = Message::default();
    for (name, value) in members {
        message.message(field, named(&name, Message(value)));
    }
    message
}

fn named(name: &str, value: Message) -> Message {
    let mut message = Message::default();
    message.bytes(1, name.as_bytes());
    message.message(2, value);
    message
}

fn named_schemas(members: &Value) -> Message {
    let mut message = Message::default();
    for (name, value) in entries(members) {
        message.message(1, named(name, schema(value)));
    }
    message
}

fn path_item(item: &Value) -> Message {
    let mut message = Message::default();
    for (field, method) in [
        (2, "get"),
        (3, "put"),
        (4, "post"),
        (5, "delete"),
        (8, "patch"),
    ] {
        if let Some(one) = item.get(method) {
            message.message(field, operation(one));
        }
    }
    add_parameters(&mut message, 9, item.get("parameters"));
    message
}

fn operation(value: &Value) -> Message {
    let mut message = Message::default();
    message.text(5, value.get("operationId"));
    message.texts(6, value.get("produces"));
    message.texts(7, value.get("consumes"));
    add_parameters(&mut message, 8, value.get("parameters"));
    let mut responses = Message::default();
    let nothing = Value::Null;
    for (code, response) in entries(value.get("responses").unwrap_or(&nothing)) {
        let mut inner = Message::default();
        inner.text(1, response.get("description"));
        if let Some(one) = response.get("schema") {
            let mut item = Message::default();
            item.message(1, schema(one));
            inner.message(2, item);
        }
        let mut outer = Message::default();
        outer.message(1, inner);
        responses.message(1, named(code, outer));
    }
    message.message(9, responses);
    message.extensions(13, value);
    message
}

fn add_parameters(message: &mut Message, field: u64, parameters: Option<&Value>) {
    let parameters = parameters.and_then(Value::as_array);
    for one in parameters.into_iter().flatten() {
        let mut item = Message::default();
        item.message(1, parameter(one));
        message.message(field, item);
    }
}

fn parameter(value: &Value) -> Message {
    let mut inner = Message::default();
    let mut message = Message::default();
    let place = value.get("in").and_then(Value::as_str);
    if place == Some("body") {
        inner.text(2, value.get("name"));
        inner.text(3, value.get("in"));
        inner.flag(4, value.get("required"));
        if let Some(one) = value.get("schema") {
            inner.message(5, schema(one));
        }
        message.message(1, inner);
        return message;
    }
    inner.flag(1, value.get("required"));
    inner.text(2, value.get("in"));
    inner.text(4, value.get("name"));
    let in_path = place == Some("path");
    inner.text(if in_path { 5 } else { 6 }, value.get("type"));
    let mut outer = Message::default();
    outer.message(if in_path { 4 } else { 3 }, inner);
    message.message(2, outer);
    message
}

/// Recursive: documents are bounded in depth where they are decoded, and built-in ones refer to each other by
/// name.
fn schema(value: &Value) -> Message {
    let mut message = Message::default();
    message.text(1, value.get("$ref"));
    message.text(2, value.get("format"));
    message.text(3, value.get("title"));
    message.text(4, value.get("description"));
    if let Some(default) = value.get("default") {
        message.any(5, default);
    }
    message.double(7, value.get("maximum"));
    message.double(9, value.get("minimum"));
    message.integer(11, value.get("maxLength"));
    message.integer(12, value.get("minLength"));
    message.text(13, value.get("pattern"));
    message.integer(14, value.get("maxItems"));
    message.integer(15, value.get("minItems"));
    message.flag(16, value.get("uniqueItems"));
    message.texts(19, value.get("required"));
    for one in value
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        message.any(20, one);
    }
    if let Some(additional) = value.get("additionalProperties") {
        let mut item = Message::default();
        match additional {
            Value::Bool(_) => item.flag(2, Some(additional)),
            _ => item.message(1, schema(additional)),
        }
        message.message(21, item);
    }
    if let Some(type_name) = value.get("type") {
        let mut item = Message::default();
        item.text(1, Some(type_name));
        message.message(22, item);
    }
    if let Some(items) = value.get("items") {
        let mut item = Message::default();
        item.message(1, schema(items));
        message.message(23, item);
    }
    if let Some(properties) = value.get("properties") {
        message.message(25, named_schemas(properties));
    }
    message.extensions(31, value);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_tagged_and_measured() {
        let mut message = Message::default();
        message.text(1, Some(&json!("ab")));
        message.integer(11, Some(&json!(300)));
        message.flag(16, Some(&json!(true)));
        assert_eq!(message.0, [0x0a, 2, b'a', b'b', 0x58, 0xac, 2, 0x80, 1, 1]);
    }

    #[test]
    fn extensions_are_kept_as_text() {
        let encoded = schema(&json!({"x-a": ["b"], "type": "object"})).0;
        let text = String::from_utf8_lossy(&encoded).into_owned();
        assert!(text.contains("x-a") && text.contains("[\"b\"]") && text.contains("object"));
    }
}
