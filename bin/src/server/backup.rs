//! `/hindsight/v1/backup`: the log as a stream, for the administrator alone, since it holds every
//! Secret. Writes go on meanwhile.

use super::admin::failure;
use crate::ControlPlane;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use hindsight_api::ApiBody;
use hindsight_core::Actor;
use http::{Response, StatusCode, header};
use std::io::{self, BufWriter, Write};
use tokio::sync::{Semaphore, mpsc};

pub(super) const PATH: &str = "/hindsight/v1/backup";
const ADMINISTRATORS: &str = "system:masters";
/// Backups at one time; each reads the whole log.
static FREE: Semaphore = Semaphore::const_new(2);
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that wait for a slow reader.
const CHUNKS_MAX: usize = 4;

/// A backup without its end is refused by whoever reads it, so a failure needs no other sign.
pub(super) fn answer(plane: &ControlPlane, actor: &Actor) -> Response<ApiBody> {
    if !actor.groups.iter().any(|group| **group == *ADMINISTRATORS) {
        let message = format!("a backup holds every Secret: only {ADMINISTRATORS} may make one");
        return failure(StatusCode::FORBIDDEN, &message);
    }
    let Ok(place) = FREE.try_acquire() else {
        let message = "other backups are being made; try again when they are done";
        return failure(StatusCode::TOO_MANY_REQUESTS, message);
    };
    let (sender, chunks) = mpsc::channel(CHUNKS_MAX);
    let plane = plane.clone();
    tokio::task::spawn_blocking(move || {
        let to = BufWriter::with_capacity(CHUNK_BYTES, Chunks(sender));
        let made = plane.reader().backup(plane.now(), to, |_, _| {});
        if let Err(error) = made {
            tracing::error!(%error, "a backup was not finished");
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

/// Waits while the reader is behind, and fails once it is gone.
struct Chunks(mpsc::Sender<Bytes>);

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(bytes));
        sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
