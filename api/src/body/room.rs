//! The memory that request bodies may occupy together, and the time within which one must arrive.
//!
//! Room for a whole body is reserved before its first byte is read: a body that has begun waits for its client
//! alone, so that half-read bodies never wait for each other.

use super::weight::document_bytes;
use super::{REQUEST_BYTES_MAX, too_large, whole};
use crate::offload::offload;
use crate::protobuf::is_enveloped;
use crate::status::Failure;
use bytes::Bytes;
use http_body::Body;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a body waits for room, in its turn, before the client is told to try again.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// The head of a request, or the selectors of a watch, that need no room. Of most, some 100 bytes are held.
const HEAD_BYTES: usize = 1 << 10;

/// How many times as much as their text a watch keeps of its selectors.
const SELECTOR_TIMES: usize = 4;

/// How many times as much room as bodies have there is for what is decoded from them.
const DOCUMENTS_ROOM: usize = 4;

/// How many long answers may be made at one time.
const MAKERS_MAX: usize = 4;

/// The room that request bodies share, and long answers. Clones share it too.
#[derive(Debug, Clone)]
pub struct Bodies {
    room: Arc<Semaphore>,
    /// For what the bodies say: see `weight`.
    documents: Arc<Semaphore>,
    /// For what the writes make: see `version`.
    pub(super) versions: Arc<Semaphore>,
    /// For the selectors of watches, which may last for an hour.
    selectors: Arc<Semaphore>,
    /// How much each of these is when none of it is taken.
    pub(super) room_max: usize,
    /// For answers that are made for one client: see `answer`.
    pub(super) answers: Arc<Semaphore>,
    /// The seats of those that are being made and have no room yet.
    pub(super) makers: Arc<Semaphore>,
    arrival: Duration,
}

impl Bodies {
    /// Room for `bytes` bytes at one time, but never less than the largest body may have, and four times as much for
    /// what is decoded from them; as much room for the large objects that writes make, as much for other long answers
    /// that are not streamed, until they are sent, and as much for long selectors of watches. Each body must arrive in
    /// whole within `arrival` of its turn.
    pub fn bounded(bytes: usize, arrival: Duration) -> Self {
        let bytes = bytes.clamp(REQUEST_BYTES_MAX, u32::MAX as usize);
        Self {
            room: Arc::new(Semaphore::new(bytes)),
            documents: Arc::new(Semaphore::new(DOCUMENTS_ROOM * bytes)),
            versions: Arc::new(Semaphore::new(bytes)),
            selectors: Arc::new(Semaphore::new(bytes)),
            room_max: bytes,
            answers: Arc::new(Semaphore::new(bytes)),
            makers: Arc::new(Semaphore::new(MAKERS_MAX)),
            arrival,
        }
    }

    /// About how much is decoded from a text in JSON.
    pub(crate) fn document_bytes(text: &[u8]) -> usize {
        document_bytes(text, false)
    }

    /// Room for so much of documents, in turn. Whatever it is, it finds room at some time.
    pub(crate) async fn room_for_document(
        &self,
        bytes: usize,
    ) -> Result<OwnedSemaphorePermit, Failure> {
        let bytes = bytes.min(DOCUMENTS_ROOM * self.room_max);
        Self::room_in(&self.documents, bytes).await
    }

    /// Room for what a watch keeps of selectors of so many bytes, in turn. Short ones need none.
    pub(crate) async fn room_for_selectors(
        &self,
        bytes: usize,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if bytes <= HEAD_BYTES {
            return Ok(None);
        }
        let bytes = bytes.saturating_mul(SELECTOR_TIMES).min(self.room_max);
        Self::room_in(&self.selectors, bytes).await.map(Some)
    }

    /// So much of this room, or one of these seats, in turn; 429 if it takes too long.
    pub(super) async fn room_in(
        room: &Arc<Semaphore>,
        bytes: usize,
    ) -> Result<OwnedSemaphorePermit, Failure> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let room = Arc::clone(room).acquire_many_owned(bytes);
        match timeout(WAIT_MAX, room).await {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_)) | Err(_) => Err(Failure::no_room()),
        }
    }
}

/// A body, and the room that it occupies until its request is answered. Clones share the room.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    pub(crate) room: Option<Arc<Room>>,
}

/// What a body occupies, with the head of its request, and what is decoded from it.
#[derive(Debug)]
pub(crate) struct Room {
    _body: OwnedSemaphorePermit,
    _document: OwnedSemaphorePermit,
}

/// Reads the whole body, within these bounds if there are any. What the request holds of its head, so many bytes, takes
/// room too, unless it is short.
pub(crate) async fn read<B>(
    body: B,
    is_yaml: bool,
    head: usize,
    bounds: Option<&Bodies>,
) -> Result<Received, Failure>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Checked before the body is polled: a client that sent `Expect: 100-continue` then gets no `100 Continue`.
    if body.size_hint().lower() > REQUEST_BYTES_MAX as u64 {
        return Err(too_large());
    }
    let Some(bounds) = bounds else {
        let bytes = whole(body).await?;
        return Ok(Received { bytes, room: None });
    };
    let head = Some(head).filter(|head| *head > HEAD_BYTES);
    let head = head.unwrap_or_default();
    let wanted = (most(&body) + head).min(bounds.room_max);
    let mut room = match wanted {
        0 => None,
        _ => Some(Bodies::room_in(&bounds.room, wanted).await?),
    };
    // Also where no room is needed: the end of an empty body may fail to come.
    let read = timeout(bounds.arrival, whole(body)).await;
    let bytes = read.map_err(|_| Failure::body_timed_out())??;
    let surplus = wanted.saturating_sub(bytes.len() + head);
    drop(room.as_mut().and_then(|room| room.split(surplus)));
    let Some(room) = room else {
        return Ok(Received { bytes, room: None });
    };
    let weight = weigh(&bytes, is_yaml).await?;
    let room = Room {
        _body: room,
        _document: bounds.room_for_document(weight).await?,
    };
    let room = Some(Arc::new(room));
    Ok(Received { bytes, room })
}

/// About how much is decoded from a body. To walk over a long one in protobuf takes almost as long as to decode it.
async fn weigh(body: &Bytes, is_yaml: bool) -> Result<usize, Failure> {
    if is_enveloped(body) {
        let walked = body.clone();
        return offload(body.len(), move || document_bytes(&walked, is_yaml)).await;
    }
    Ok(document_bytes(body, is_yaml))
}

/// The most that is read of a body: what its client announces, but not more than the limit.
fn most(body: &impl Body) -> usize {
    let upper = body.size_hint().upper();
    let upper = upper.and_then(|upper| usize::try_from(upper).ok());
    upper.map_or(REQUEST_BYTES_MAX, |upper| upper.min(REQUEST_BYTES_MAX))
}

#[cfg(test)]
mod tests;
