//! Request bodies in Kubernetes' protobuf, which typed Go clients prefer for built-in kinds; kubectl
//! uses it in its own `create` commands. Answers are always JSON.

mod message;
mod special;
mod table;
mod wire;

use crate::status::Failure;
use serde_json::Value;
use table::TABLE;
use wire::Wire;

/// What stands before every such body.
const MAGIC: &[u8] = b"k8s\0";

/// A protobuf body as the document that it stands for. What is not known is refused, by number.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, Failure> {
    let unreadable = |error: &str| {
        Failure::bad_request(format!("the body is not readable as protobuf: {error}"))
    };
    let body = bytes.strip_prefix(MAGIC);
    let body = body.ok_or_else(|| unreadable("it does not begin with k8s"))?;
    let envelope = Envelope::read(body).ok_or_else(|| unreadable("its envelope is damaged"))?;
    let (api_version, kind) = (&envelope.api_version, &envelope.kind);
    let name = TABLE.kind(api_version, kind).ok_or_else(|| {
        let message = format!(
            "a {kind} of {api_version} is not read as protobuf; accepted media types include: \
             application/json, application/yaml"
        );
        Failure::new(415, "UnsupportedMediaType", message)
    })?;
    let mut members = message::read(name, envelope.raw).map_err(|error| unreadable(&error))?;
    members.insert("apiVersion".into(), envelope.api_version.into());
    members.insert("kind".into(), envelope.kind.into());
    Ok(Value::Object(members))
}

/// `runtime.Unknown`: a message, and what it is.
#[derive(Debug, Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut envelope = Self::default();
        for field in wire::fields(bytes)? {
            match field {
                (1, Wire::Bytes(bytes)) => envelope.type_meta(bytes)?,
                (2, Wire::Bytes(bytes)) => envelope.raw = bytes,
                // Content encoding and type, which nobody fills in.
                (3 | 4, Wire::Bytes(b"")) => {}
                _ => return None,
            }
        }
        Some(envelope)
    }

    fn type_meta(&mut self, bytes: &[u8]) -> Option<()> {
        for field in wire::fields(bytes)? {
            match field {
                (1, Wire::Bytes(bytes)) => self.api_version = message::text(bytes).ok()?,
                (2, Wire::Bytes(bytes)) => self.kind = message::text(bytes).ok()?,
                _ => return None,
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
