//! Request bodies in Kubernetes' protobuf, which typed Go clients prefer for built-in kinds; kubectl uses it in
//! its own `create` commands. Answers are never written in it.

mod census;
mod message;
mod special;
mod table;
mod wire;

pub(crate) use census::add_to;

use crate::status::Failure;
use serde_json::Value;
use std::collections::BTreeSet;
use table::TABLE;
use wire::Wire;

/// The prefix of every such body.
const MAGIC: &[u8] = b"k8s\0";

/// The fields of a type, by its name in OpenAPI, that Go does not write where they are `false`, 0 or empty.
pub(crate) fn omitted_if_zero(definition: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    if let Some(message) = TABLE.of_definition(definition) {
        TABLE.omitted_if_zero(message, &mut found);
    }
    found
}

/// Whether this begins as a body in protobuf does.
pub(crate) fn is_enveloped(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Decodes a protobuf body into the document that it encodes. A version or kind that it does not state is that
/// of the endpoint, as in upstream's `copyKindDefaults`.
pub(crate) fn decode(bytes: &[u8], api_version: &str, kind: &str) -> Result<Value, Failure> {
    if TABLE.kind(api_version, kind).is_none() {
        return Err(Failure::new(
            415,
            "UnsupportedMediaType",
            format!(
                "a {kind} of {api_version} is not supported as protobuf; accepted media types include: \
                 application/json, application/yaml"
            ),
        ));
    }
    let unreadable =
        |error: &str| Failure::bad_request(format!("the body is not valid protobuf: {error}"));
    let body = bytes.strip_prefix(MAGIC);
    let body = body.ok_or_else(|| unreadable("it does not begin with k8s"))?;
    if body.is_empty() {
        return Err(unreadable("nothing follows the k8s prefix"));
    }
    let envelope = Envelope::read(body).ok_or_else(|| unreadable("its envelope is damaged"))?;
    let or_default = |text: String, default: &str| {
        if text.is_empty() {
            default.into()
        } else {
            text
        }
    };
    let (sent_version, sent) = (
        or_default(envelope.api_version, api_version),
        or_default(envelope.kind, kind),
    );
    let name = TABLE.kind(&sent_version, &sent).ok_or_else(|| {
        let version = sent_version.rsplit('/').next().unwrap_or_default();
        Failure::bad_request(format!(
            "{sent} in version {version:?} cannot be handled as a {kind}"
        ))
    })?;
    let mut members = message::read(name, envelope.raw).map_err(|error| unreadable(&error))?;
    members.insert("apiVersion".into(), sent_version.into());
    members.insert("kind".into(), sent.into());
    Ok(Value::Object(members))
}

/// `runtime.Unknown`: a message with its version and kind. Its members about the encoding are ignored.
#[derive(Debug, Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut envelope = Self::default();
        for field in wire::fields(bytes) {
            match field? {
                (1, Wire::Bytes(bytes)) => envelope.type_meta(bytes)?,
                (2, Wire::Bytes(bytes)) => envelope.raw = bytes,
                (1..=4, Wire::Number(_) | Wire::Fixed) => return None,
                _ => {}
            }
        }
        Some(envelope)
    }

    fn type_meta(&mut self, bytes: &[u8]) -> Option<()> {
        for field in wire::fields(bytes) {
            match field? {
                (1, Wire::Bytes(bytes)) => self.api_version = message::text(bytes).ok()?,
                (2, Wire::Bytes(bytes)) => self.kind = message::text(bytes).ok()?,
                (1 | 2, _) => return None,
                _ => {}
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
