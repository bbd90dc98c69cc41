//! Bodies in and out: bounded and decoded on the way in, whole or streamed on the way out.

mod answer;
mod document;
mod room;
mod version;
mod warnings;
mod weight;

pub use room::Bodies;
pub(crate) use room::{Received, read};
pub use version::bytes_holding;
pub(crate) use warnings::BodyWarnings;
pub(crate) use weight::Census;

use crate::offload::offload;
use crate::protobuf;
use crate::status::Failure;
use bytes::{Bytes, BytesMut};
use document::{Decoded, Unread};
use futures_util::stream::{self, BoxStream, StreamExt};
use hindsight_core::{Rejection, strict_decoding_error};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use serde_json::{Map, Value};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Largest request body. Source: upstream's `MaxRequestBodyBytes`.
const REQUEST_BYTES_MAX: usize = 3 * 1024 * 1024;

/// The most that is sent in one frame, so that a client which reads even the longest object slowly is seen to
/// read it.
const FRAME_BYTES: usize = 128 << 10;

/// The size of a piece of a streamed answer: it ends with the object that reaches this.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// How much of an answer is rewritten at once: its indentation may take some 130 times as much.
const REWRITTEN_BYTES: usize = 16 << 10;

/// The next frame of what is ready to be sent.
pub(crate) fn frame(ready: &mut Bytes) -> Bytes {
    ready.split_to(ready.len().min(FRAME_BYTES))
}

/// An answer that ends before all of it was sent. It ends with this error, so that its beginning is not taken
/// for the whole.
#[derive(Debug)]
pub enum Unfinished {
    /// The client did not read in time.
    Stalled,
    /// What comes next cannot be written: it is too long as YAML, or found no room.
    Unwritable(Box<Failure>),
}

impl std::fmt::Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stalled => f.write_str("the client did not read the answer in time"),
            Self::Unwritable(failure) => f.write_str(failure.message()),
        }
    }
}

impl std::error::Error for Unfinished {}

/// What a body consists of, if it comes in parts.
type Pieces = BoxStream<'static, Result<Bytes, Unfinished>>;

/// An answer's body.
pub struct ApiBody(Inner);

enum Inner {
    Full(Bytes),
    Stream {
        pieces: Pieces,
        /// How long it was if it was complete and is only rewritten in parts.
        whole: Option<u64>,
    },
}

impl std::fmt::Debug for ApiBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiBody")
    }
}

impl ApiBody {
    /// A body that is complete already.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Full(bytes.into()))
    }

    /// A body that comes in parts, and may have to end in the middle.
    pub fn pieces(pieces: Pieces) -> Self {
        let whole = None;
        Self(Inner::Stream { pieces, whole })
    }

    /// How much memory the body occupies until its client has read it, if it was complete at once: its length,
    /// before it was indented. `None` if it is made while it is read.
    pub fn whole_bytes(&self) -> Option<u64> {
        match &self.0 {
            Inner::Full(rest) => Some(rest.len() as u64),
            Inner::Stream { whole, .. } => *whole,
        }
    }

    /// The body with each part of it replaced, in order; what is not short is sent part by part.
    pub(crate) fn rewritten(
        self,
        mut rewrite: impl FnMut(&[u8]) -> Vec<u8> + Send + 'static,
    ) -> Self {
        if let Inner::Full(whole) = &self.0
            && whole.len() <= REWRITTEN_BYTES
        {
            return Self::full(rewrite(whole));
        }
        let whole = self.whole_bytes();
        let pieces = self.into_data_stream();
        let parts = pieces.flat_map(|piece| stream::iter(in_parts(piece)));
        let rewritten = parts.map(move |part| part.map(|part| rewrite(&part).into()));
        let pieces = rewritten.boxed();
        Self(Inner::Stream { pieces, whole })
    }
}

/// A piece of an answer in parts of at most [`REWRITTEN_BYTES`].
fn in_parts(piece: Result<Bytes, Unfinished>) -> Vec<Result<Bytes, Unfinished>> {
    let Ok(mut rest) = piece else {
        return vec![piece];
    };
    let mut parts = Vec::with_capacity(rest.len().div_ceil(REWRITTEN_BYTES));
    while !rest.is_empty() {
        parts.push(Ok(rest.split_to(rest.len().min(REWRITTEN_BYTES))));
    }
    parts
}

impl Body for ApiBody {
    type Data = Bytes;
    type Error = Unfinished;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Unfinished>>> {
        match &mut self.0 {
            Inner::Full(bytes) => {
                let whole = std::mem::take(bytes);
                Poll::Ready((!whole.is_empty()).then(|| Ok(Frame::data(whole))))
            }
            Inner::Stream { pieces, .. } => {
                let next = pieces.poll_next_unpin(context);
                next.map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Full(rest) if rest.is_empty())
    }

    // A complete body is sent with its length, not in chunks.
    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(rest) => SizeHint::with_exact(rest.len() as u64),
            Inner::Stream { .. } => SizeHint::default(),
        }
    }
}

/// Reads the whole body; 413 if it is too large. Frames are copied into one buffer, since a frame of one byte
/// may keep a much larger one alive.
async fn whole<B>(body: B) -> Result<Bytes, Failure>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = pin!(Limited::new(body, REQUEST_BYTES_MAX));
    let expected = body.size_hint().exact().unwrap_or_default();
    let mut whole = BytesMut::with_capacity(usize::try_from(expected).unwrap_or_default());
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| unread(&*error))?.into_data() {
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole.freeze())
}

fn unread(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Failure {
    if error.is::<http_body_util::LengthLimitError>() {
        return too_large();
    }
    Failure::bad_request(format!("the body could not be read: {error}"))
}

fn too_large() -> Failure {
    let message = format!("Request entity too large: limit is {REQUEST_BYTES_MAX}");
    Failure::new(413, "RequestEntityTooLarge", message)
}

/// What a body of YAML counts as, however short it is: aliases may make any length of it.
const YAML_BYTES: usize = usize::MAX;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    Yaml,
    Protobuf,
}

/// How a body is read: its syntax, and the kind that it is assumed to be of if it does not say so. Only
/// protobuf cannot be read without that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    syntax: Syntax,
    api_version: &'a str,
    kind: &'a str,
}

impl<'a> Reading<'a> {
    pub(crate) const fn new(syntax: Syntax, api_version: &'a str, kind: &'a str) -> Self {
        Self {
            syntax,
            api_version,
            kind,
        }
    }
}

/// Decodes a body into a document. All decoders bound the depth.
pub(crate) async fn decode(body: &Received, reading: Reading<'_>) -> Result<Value, Failure> {
    let decoded = read_as(body, reading).await?;
    Ok(decoded.document)
}

/// Decodes the object of a write. Repeated members are refused or noted, as the client asked; a refusal also
/// lists the unknown members.
pub(crate) async fn decode_object(
    body: &Received,
    reading: Reading<'_>,
    body_warnings: &mut BodyWarnings,
    unknown: impl FnOnce(&Value) -> Vec<String> + Send + 'static,
) -> Result<Value, Failure> {
    let decoded = read_as(body, reading).await?;
    if body_warnings.refuses(&decoded) {
        let bytes = body.decoded_bytes(reading.syntax);
        let (body, syntax) = (body.clone(), reading.syntax);
        let complain = move || {
            let unknown = unknown(&decoded.document);
            warnings::complaint(&body.bytes, &decoded, syntax, &unknown)
        };
        let why = offload(bytes, complain).await?;
        let version = reading.api_version.rsplit('/').next();
        let version = version.unwrap_or(reading.api_version);
        return Err(Rejection::unreadable(reading.kind, version, &why).into());
    }
    Ok(body_warnings.take(decoded))
}

/// What is known of a patch before it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatchReading {
    /// Whether it consists of the operations of a JSON patch. They have members of their own, which no schema
    /// describes.
    pub(crate) of_operations: bool,
    /// How long the object is to which it is applied.
    pub(crate) patched_bytes: usize,
}

/// Decodes a patch in the same way; its faults are faults of the field `patch`. What was received is freed.
pub(crate) async fn decode_patch(
    body: Received,
    reading: PatchReading,
    body_warnings: &mut BodyWarnings,
    unknown: impl FnOnce(&Value) -> Vec<String> + Send + 'static,
) -> Result<Value, Failure> {
    let mut decoded = read_as(&body, Reading::new(Syntax::Json, "", "")).await?;
    if reading.of_operations {
        decoded.in_operations();
    }
    if body_warnings.refuses(&decoded) {
        let text = Value::from(String::from_utf8_lossy(&body.bytes));
        let bytes = body.bytes.len() + reading.patched_bytes;
        let complain = move || {
            let unknown = unknown(&decoded.document);
            let unknown = unknown.iter().map(|path| warnings::unknown_field(path));
            let findings: Vec<String> = decoded.repeats.into_iter().chain(unknown).collect();
            strict_decoding_error(&findings)
        };
        let why = offload(bytes, complain).await?;
        return Err(Rejection::invalid_patch(&text, &why).into());
    }
    Ok(body_warnings.take(decoded))
}

/// Decodes an applied configuration, which is YAML, of which JSON is a part. Also returns what a strict client
/// must be told about it. What was received is freed.
pub(crate) async fn decode_config(
    body: Received,
    body_warnings: &mut BodyWarnings,
) -> Result<(Value, Option<String>), Failure> {
    let as_json = body.read_offloaded(body.bytes.len(), |bytes| {
        document::json_as_yaml(bytes).map_err(Failure::bad_request)
    });
    let as_json = as_json.await.ok();
    let decoded = if let Some(decoded) = as_json.filter(|decoded| decoded.repeats.is_empty()) {
        decoded
    } else {
        let as_yaml = body.read_offloaded(YAML_BYTES, |bytes| {
            document::yaml(bytes).map_err(|unread| unread.refused("error decoding YAML"))
        });
        as_yaml.await?
    };
    let (document, complaint) = body_warnings.take_config(decoded);
    let found = match &document {
        Value::Null => return Ok((Value::Object(Map::new()), complaint)),
        Value::Object(_) => return Ok((document, complaint)),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    Err(Failure::bad_request(format!(
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal \
         {found} into Go value of type map[string]interface {{}}"
    )))
}

impl Received {
    /// What the body counts as where it is decoded, and what was decoded where it is looked through.
    pub(crate) const fn decoded_bytes(&self, syntax: Syntax) -> usize {
        match syntax {
            Syntax::Yaml => YAML_BYTES,
            Syntax::Json | Syntax::Protobuf => self.bytes.len(),
        }
    }

    /// Decodes the body, on another thread if so many bytes are long.
    async fn read_offloaded(
        &self,
        bytes: usize,
        read: impl FnOnce(&[u8]) -> Result<Decoded, Failure> + Send + 'static,
    ) -> Result<Decoded, Failure> {
        let body = self.clone();
        offload(bytes, move || read(&body.bytes)).await?
    }
}

async fn read_as(body: &Received, reading: Reading<'_>) -> Result<Decoded, Failure> {
    let bytes = body.decoded_bytes(reading.syntax);
    let decode: fn(&[u8]) -> Result<Decoded, Unread> = match reading.syntax {
        Syntax::Json => |bytes| document::json(bytes).map_err(Unread::Malformed),
        Syntax::Yaml => document::yaml,
        Syntax::Protobuf => {
            let (version, kind) = (reading.api_version.to_owned(), reading.kind.to_owned());
            let read = move |bytes: &[u8]| {
                let document = protobuf::decode(bytes, &version, &kind)?;
                let repeats = Vec::new();
                Ok(Decoded { document, repeats })
            };
            return body.read_offloaded(bytes, read).await;
        }
    };
    let read = move |bytes: &[u8]| {
        let unable = "couldn't get version/kind; json parse error";
        decode(bytes).map_err(|unread| unread.refused(unable))
    };
    body.read_offloaded(bytes, read).await
}
