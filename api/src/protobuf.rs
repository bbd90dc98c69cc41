//! The protobuf bodies that kubectl's own `create` commands send, for the few kinds that they
//! are small enough to know: a table of field numbers, and a reader. Answers are always JSON.

use crate::status::Failure;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value, json};

/// What stands before every such body.
const MAGIC: &[u8] = b"k8s\0";
/// Messages within messages; the known types need four.
const DEPTH_MAX: usize = 8;

#[derive(Debug, Clone, Copy)]
enum Field {
    Text,
    Bytes,
    Bool,
    Integer,
    Texts,
    TextMap,
    BytesMap,
    Message(&'static [(u64, &'static str, Field)]),
    Messages(&'static [(u64, &'static str, Field)]),
}

type Fields = &'static [(u64, &'static str, Field)];

const OWNER: Fields = &[
    (1, "kind", Field::Text),
    (3, "name", Field::Text),
    (4, "uid", Field::Text),
    (5, "apiVersion", Field::Text),
    (6, "controller", Field::Bool),
    (7, "blockOwnerDeletion", Field::Bool),
];
const METADATA: Fields = &[
    (1, "name", Field::Text),
    (2, "generateName", Field::Text),
    (3, "namespace", Field::Text),
    (5, "uid", Field::Text),
    (6, "resourceVersion", Field::Text),
    (11, "labels", Field::TextMap),
    (12, "annotations", Field::TextMap),
    (13, "ownerReferences", Field::Messages(OWNER)),
    (14, "finalizers", Field::Texts),
];
const PRECONDITIONS: Fields = &[(1, "uid", Field::Text), (2, "resourceVersion", Field::Text)];
/// By kind. Source: the `generated.proto` files of the API types.
const KINDS: &[(&str, Fields)] = &[
    (
        "ConfigMap",
        &[
            (1, "metadata", Field::Message(METADATA)),
            (2, "data", Field::TextMap),
            (3, "binaryData", Field::BytesMap),
            (4, "immutable", Field::Bool),
        ],
    ),
    (
        "Secret",
        &[
            (1, "metadata", Field::Message(METADATA)),
            (2, "data", Field::BytesMap),
            (3, "type", Field::Text),
            (4, "stringData", Field::TextMap),
            (5, "immutable", Field::Bool),
        ],
    ),
    ("Namespace", &[(1, "metadata", Field::Message(METADATA))]),
    (
        "ServiceAccount",
        &[(1, "metadata", Field::Message(METADATA))],
    ),
    (
        "SelfSubjectReview",
        &[(1, "metadata", Field::Message(METADATA))],
    ),
    (
        "DeleteOptions",
        &[
            (1, "gracePeriodSeconds", Field::Integer),
            (2, "preconditions", Field::Message(PRECONDITIONS)),
            (3, "orphanDependents", Field::Bool),
            (4, "propagationPolicy", Field::Text),
            (5, "dryRun", Field::Texts),
        ],
    ),
];
const TYPE_META: Fields = &[(1, "apiVersion", Field::Text), (2, "kind", Field::Text)];
const ENVELOPE: Fields = &[
    (1, "typeMeta", Field::Message(TYPE_META)),
    (2, "raw", Field::Bytes),
];

/// A protobuf body as the document that it stands for.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, Failure> {
    let unreadable = || Failure::bad_request("the body is not Kubernetes protobuf");
    let body = bytes.strip_prefix(MAGIC).ok_or_else(unreadable)?;
    let envelope = message(body, ENVELOPE, 0).ok_or_else(unreadable)?;
    let text = |pointer: &str| {
        envelope
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = text("/typeMeta/kind");
    let known = KINDS.iter().find(|(name, _)| *name == kind);
    let (_, fields) =
        known.ok_or_else(|| Failure::unsupported(&["application/json", "application/yaml"]))?;
    let raw = BASE64_STANDARD
        .decode(text("/raw"))
        .map_err(|_| unreadable())?;
    let mut document = message(&raw, fields, 0).ok_or_else(unreadable)?;
    if let Some(members) = document.as_object_mut() {
        members.insert("apiVersion".into(), text("/typeMeta/apiVersion").into());
        members.insert("kind".into(), kind.into());
    }
    Ok(document)
}

fn message(mut rest: &[u8], fields: Fields, depth: usize) -> Option<Value> {
    if depth > DEPTH_MAX {
        return None;
    }
    let mut members = Map::new();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let wire = read(&mut rest, tag & 7)?;
        let found = fields.iter().find(|(number, _, _)| *number == tag >> 3);
        if let Some((_, name, field)) = found {
            add(&mut members, name, *field, &wire, depth)?;
        }
    }
    Some(Value::Object(members))
}

enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn add(
    members: &mut Map<String, Value>,
    name: &str,
    field: Field,
    wire: &Wire<'_>,
    depth: usize,
) -> Option<()> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    match (field, wire) {
        // An empty text is an absent one: generated code writes every field.
        (Field::Text, Wire::Bytes(b"")) => {}
        (Field::Text, Wire::Bytes(bytes)) => drop(members.insert(name.into(), text(bytes)?.into())),
        (Field::Bytes, Wire::Bytes(bytes)) => {
            members.insert(name.into(), BASE64_STANDARD.encode(bytes).into());
        }
        (Field::Bool, Wire::Number(number)) => {
            drop(members.insert(name.into(), json!(*number != 0)));
        }
        (Field::Integer, Wire::Number(number)) => {
            members.insert(name.into(), json!(number.cast_signed()));
        }
        (Field::Texts, Wire::Bytes(bytes)) => push(members, name, text(bytes)?.into()),
        (Field::Message(fields), Wire::Bytes(bytes)) => {
            members.insert(name.into(), message(bytes, fields, depth + 1)?);
        }
        (Field::Messages(fields), Wire::Bytes(bytes)) => {
            push(members, name, message(bytes, fields, depth + 1)?);
        }
        (Field::TextMap | Field::BytesMap, Wire::Bytes(bytes)) => {
            let (key, value) = entry(bytes)?;
            let value = match field {
                Field::BytesMap => BASE64_STANDARD.encode(value),
                _ => text(value)?,
            };
            let map = members.entry(name).or_insert_with(|| json!({}));
            map.as_object_mut()?.insert(text(key)?, value.into());
        }
        _ => return None,
    }
    Some(())
}

fn push(members: &mut Map<String, Value>, name: &str, value: Value) {
    let list = members.entry(name).or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.push(value);
    }
}

/// Key and value of one entry of a map.
fn entry(mut rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        match (tag >> 3, read(&mut rest, tag & 7)?) {
            (1, Wire::Bytes(bytes)) => key = bytes,
            (2, Wire::Bytes(bytes)) => value = bytes,
            _ => return None,
        }
    }
    Some((key, value))
}

fn read<'a>(rest: &mut &'a [u8], wire_type: u64) -> Option<Wire<'a>> {
    let mut skip = |count: usize| {
        let (head, tail) = rest.split_at_checked(count)?;
        *rest = tail;
        Some(head)
    };
    match wire_type {
        0 => varint(rest).map(Wire::Number),
        1 => skip(8).map(Wire::Bytes),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            let (head, tail) = rest.split_at_checked(length)?;
            *rest = tail;
            Some(Wire::Bytes(head))
        }
        5 => skip(4).map(Wire::Bytes),
        _ => None,
    }
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).expect("short")];
        out.extend_from_slice(bytes);
        out
    }

    fn config_map() -> Vec<u8> {
        let entry = [field(1, b"k"), field(2, b"v")].concat();
        let raw = [field(1, &field(1, b"a")), field(2, &entry)].concat();
        let meta = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, &raw)].concat()
    }

    #[test]
    fn a_config_map_reads_as_its_document() {
        let document = decode(&config_map()).expect("readable");
        let expected = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a"}, "data": {"k": "v"}});
        assert_eq!(document, expected);
    }

    #[test]
    fn no_cut_and_no_flipped_byte_panics() {
        let bytes = config_map();
        for length in 0..bytes.len() {
            drop(decode(&bytes[..length]));
        }
        for index in 0..bytes.len() {
            for value in 0..=255 {
                let mut damaged = bytes.clone();
                damaged[index] = value;
                drop(decode(&damaged));
            }
        }
    }
}
