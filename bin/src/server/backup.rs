//! `/hindsight/v1/backup`: the log as a stream, for administrators alone, since it holds every Secret. Writes
//! go on meanwhile.

use super::pki::ADMINISTRATORS;
use crate::ControlPlane;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use hindsight_api::{ApiBody, Failure};
use hindsight_core::Actor;
use http::{Response, header};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::{Semaphore, mpsc};

pub(super) const PATH: &str = "/hindsight/v1/backup";
/// How many backups are made at the same time.
const BACKUPS_MAX: usize = 2;
const CHUNK_BYTES: usize = 256 << 10;
/// The most chunks that wait for a slow reader.
const CHUNKS_MAX: usize = 4;
/// A reader that takes no chunk for this long loses its place.
const STALLED: Duration = Duration::from_mins(1);

/// The places for backups: each reads the whole log.
pub(super) fn places() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(BACKUPS_MAX))
}

/// Answers with a backup. Readers refuse one without its end, so a failure needs no other sign.
pub(super) fn answer(
    plane: &ControlPlane,
    places: &Arc<Semaphore>,
    actor: &Actor,
) -> Response<ApiBody> {
    if !actor.groups.iter().any(|group| **group == *ADMINISTRATORS) {
        let message = format!("a backup contains every Secret: only {ADMINISTRATORS} may make one");
        return Failure::forbidden(message).respond();
    }
    let Ok(place) = Arc::clone(places).try_acquire_owned() else {
        let message = "other backups are in progress; try again when they are done";
        return Failure::too_many(message).respond();
    };
    let (sender, chunks) = mpsc::channel(CHUNKS_MAX);
    let plane = plane.clone();
    tokio::task::spawn_blocking(move || {
        let to = BufWriter::with_capacity(CHUNK_BYTES, Chunks::new(sender, STALLED));
        let made = plane.reader().backup(plane.now(), to, |_, _| {});
        if let Err(error) = made {
            tracing::error!(%error, "a backup failed");
        }
        drop(place);
    });
    let chunks = stream::unfold(chunks, |mut chunks| async move {
        let chunk = chunks.recv().await?;
        Some((chunk, chunks))
    });
    let mut response = Response::new(ApiBody::stream(chunks.boxed()));
    let bytes = header::HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, bytes);
    response
}

/// Sends chunks: waits while the reader is behind, and fails once it is gone or stalls.
struct Chunks {
    sender: mpsc::Sender<Bytes>,
    stalled: Duration,
    runtime: Handle,
}

impl Chunks {
    /// Must be called inside a runtime, on a thread that may wait.
    fn new(sender: mpsc::Sender<Bytes>, stalled: Duration) -> Self {
        Self {
            sender,
            stalled,
            runtime: Handle::current(),
        }
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = Bytes::copy_from_slice(bytes);
        let sent = self.sender.send_timeout(chunk, self.stalled);
        self.runtime.block_on(sent).map_err(|error| match error {
            SendTimeoutError::Closed(_) => io::ErrorKind::BrokenPipe,
            SendTimeoutError::Timeout(_) => io::ErrorKind::TimedOut,
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plane;
    use http::StatusCode;

    #[tokio::test]
    async fn a_third_backup_at_one_time_is_told_to_come_again() {
        let (plane, places) = (plane(), places());
        let administrator = Actor {
            groups: vec![ADMINISTRATORS.into()],
            ..Actor::new("t")
        };
        let one = places.acquire().await.expect("free");
        // Its client is gone, so the backup ends.
        let second = answer(&plane, &places, &administrator);
        assert_eq!(second.status(), StatusCode::OK);
        drop(second);
        let both = places.acquire().await.expect("it is done");
        let third = answer(&plane, &places, &administrator);
        assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
        drop((one, both));
    }

    #[tokio::test]
    async fn a_reader_that_stands_still_or_is_gone_ends_the_backup() {
        let (sender, mut reader) = mpsc::channel(1);
        let written = tokio::task::spawn_blocking(|| {
            let mut chunks = Chunks::new(sender, Duration::from_millis(1));
            let first = chunks.write(b"taken").map_err(|error| error.kind());
            let second = chunks.write(b"not taken").map_err(|error| error.kind());
            (chunks, first, second)
        });
        let (mut chunks, first, second) = written.await.expect("it ends");
        assert_eq!((first, second), (Ok(5), Err(io::ErrorKind::TimedOut)));
        assert_eq!(reader.recv().await.as_deref(), Some(&b"taken"[..]));
        drop(reader);
        let written = tokio::task::spawn_blocking(move || chunks.write(b"x"));
        let error = written.await.expect("it ends").expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
