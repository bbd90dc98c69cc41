//! The memory that the versions which writes make may occupy until their clients have read them.
//!
//! A patch of a few bytes makes a whole new version of a large object, which its answer holds. Room for it is
//! taken before it is made. Small objects need none: there are not so many requests at one time.

use super::{ApiBody, Bodies, Inner, REQUEST_BYTES_MAX};
use crate::offload::LONG_BYTES;
use crate::status::Failure;
use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

/// Bytes, and what is kept until they were handed to the connection's socket.
struct Holding<T> {
    bytes: Bytes,
    _held: T,
}

impl<T> AsRef<[u8]> for Holding<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes, which keep a value until they were handed to the connection's socket: over HTTP/2 they wait for the
/// client, and nothing else of the answer is left.
pub fn bytes_holding<T: Send + 'static>(bytes: Bytes, held: T) -> Bytes {
    Bytes::from_owner(Holding { bytes, _held: held })
}

impl Bodies {
    /// The room that a version of about so many bytes needs. A version is hardly longer than the bound; whatever
    /// it is made of, it must find room at some time.
    pub(crate) const fn version_bytes(bytes: usize) -> usize {
        if bytes <= LONG_BYTES {
            0
        } else if bytes < REQUEST_BYTES_MAX {
            bytes
        } else {
            REQUEST_BYTES_MAX
        }
    }

    /// Room for a write, in turn, whose version takes as much as [`Self::version_bytes`] says, and which holds so
    /// many bytes while webhooks are asked; `None` if it needs none.
    pub(crate) async fn room_for_write(
        &self,
        version: usize,
        waiting: usize,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let waiting = Some(waiting).filter(|bytes| *bytes > LONG_BYTES);
        let bytes = version.max(waiting.map_or(0, |bytes| bytes.min(self.room_max)));
        if bytes == 0 {
            return Ok(None);
        }
        Self::room_in(&self.versions, bytes).await.map(Some)
    }
}

impl ApiBody {
    /// The body, which occupies this room until all of it was sent or given up.
    pub(crate) fn holding<R: Send + 'static>(self, room: R) -> Self {
        match self.0 {
            Inner::Full(bytes) => Self::full(bytes_holding(bytes, room)),
            // It is made while it is read.
            stream @ Inner::Stream { .. } => Self(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use std::time::Duration;

    #[test]
    fn a_version_keeps_its_room_until_its_client_has_it() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let bodies = Bodies::bounded(0, Duration::MAX);
            let all = bodies.versions.available_permits();
            let room_for = async |bytes| {
                let version = Bodies::version_bytes(bytes);
                bodies.room_for_write(version, 0).await
            };
            let small = room_for(LONG_BYTES).await;
            assert!(small.expect("it needs none").is_none());
            let huge = room_for(usize::MAX).await.expect("room");
            assert_eq!(bodies.versions.available_permits(), 0);
            let mut body = ApiBody::full("v").holding(huge.expect("some"));
            let refused = room_for(LONG_BYTES + 1).await;
            assert_eq!(refused.expect_err("refused").code, 429);
            let frame = body.frame().await.expect("a frame").expect("data");
            drop(body);
            assert_eq!(bodies.versions.available_permits(), 0, "it is not sent yet");
            let data = frame.into_data().expect("data");
            assert_eq!(data, "v");
            drop(data);
            assert_eq!(bodies.versions.available_permits(), all);
        });
    }
}
