//! `/hindsight/v1/backup`: the log as a stream, for administrators alone, since it holds every Secret. Writes
//! go on meanwhile.

use super::queries::{self, refuse_any};
use crate::ControlPlane;
use crate::answer::BACKUP_PATH;
use crate::users::ADMINISTRATORS;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use hindsight_api::{ApiBody, Failure, Restricted, Unfinished, reading};
use hindsight_core::Actor;
use hindsight_log::Error;
use http::{Response, header};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::{Semaphore, mpsc};

/// How many backups are made at the same time.
const BACKUPS_MAX: usize = 2;
const CHUNK_BYTES: usize = 256 << 10;
/// The most chunks that wait for a slow reader.
const CHUNKS_MAX: usize = 4;

/// How slow a reader may be before it loses its seat.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// How long it may take no chunk.
    stalled: Duration,
    /// How long it may read at any pace.
    grace: Duration,
}

const LIMITS: Limits = Limits {
    stalled: reading::STALLED,
    grace: reading::GRACE,
};

/// The seats for backups: each reads the whole log.
pub(super) fn seats() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(BACKUPS_MAX))
}

/// Who may make one, for requests and for reviews of access.
pub(super) fn restricted() -> Restricted {
    Restricted {
        path: BACKUP_PATH.into(),
        group: ADMINISTRATORS.into(),
        why: format!("a backup contains every Secret: only {ADMINISTRATORS} may make one"),
        others: queries::paths().collect(),
    }
}

/// Answers with a backup. Readers refuse one without its end, so a failure needs no other sign. If the reader is too
/// slow, the answer is cut off.
pub(super) fn answer(
    plane: &ControlPlane,
    seats: &Arc<Semaphore>,
    actor: &Actor,
    query: &str,
) -> Response<ApiBody> {
    if let Some(why) = restricted().refusal(actor, BACKUP_PATH) {
        return Failure::forbidden(why).respond();
    }
    if let Err(why) = refuse_any("backup", query) {
        return Failure::bad_request(why).respond();
    }
    let Ok(seat) = Arc::clone(seats).try_acquire_owned() else {
        let message = "other backups are in progress; try again when they are done";
        return Failure::too_many(message).respond();
    };
    let (sender, chunks) = mpsc::channel(CHUNKS_MAX);
    let lost = Arc::new(OnceLock::new());
    let chunks_to = Chunks::new(sender, LIMITS, Arc::clone(&lost));
    let (plane, client) = (plane.clone(), Arc::clone(&lost));
    tokio::task::spawn_blocking(move || {
        let to = BufWriter::with_capacity(CHUNK_BYTES, chunks_to);
        let made = plane.reader().backup(plane.now(), to, |_, _| {});
        if let Err(error) = made {
            log_failure(&error, client.get());
        }
        drop(seat);
    });
    let body = ApiBody::pieces(pieces(chunks, lost).boxed());
    let mut response = Response::new(body);
    let bytes = header::HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, bytes);
    response
}

/// Why a backup has lost its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    TooSlow,
    Gone,
}

/// A failure is the client's if the client was lost; otherwise it is one of this server, whatever its kind.
fn log_failure(error: &Error, client: Option<&Lost>) {
    let why = match client {
        Some(Lost::TooSlow) => "its client read nothing for a minute, or less than 16 KiB a second",
        Some(Lost::Gone) => "its client went away",
        None => return tracing::error!(%error, "a backup failed"),
    };
    tracing::warn!("a backup was cut off: {why}");
}

/// The chunks, and an error after those of a reader that was too slow.
fn pieces(
    chunks: mpsc::Receiver<Bytes>,
    lost: Arc<OnceLock<Lost>>,
) -> impl Stream<Item = Result<Bytes, Unfinished>> {
    stream::unfold(Some((chunks, lost)), async |reading| {
        let (mut chunks, lost) = reading?;
        match chunks.recv().await {
            Some(chunk) => Some((Ok(chunk), Some((chunks, lost)))),
            None if lost.get() == Some(&Lost::TooSlow) => Some((Err(Unfinished::Stalled), None)),
            None => None,
        }
    })
}

/// Sends chunks: waits while the reader is behind, and fails once it is gone or too slow.
struct Chunks {
    /// `None` after a failure: what the backup still has to say then waits for nobody.
    sender: Option<mpsc::Sender<Bytes>>,
    limits: Limits,
    /// How long the reader was waited for.
    waited: Duration,
    sent: u64,
    lost: Arc<OnceLock<Lost>>,
    runtime: Handle,
}

impl Chunks {
    /// Must be called inside a runtime. Chunks must be written on a thread that may wait.
    fn new(sender: mpsc::Sender<Bytes>, limits: Limits, lost: Arc<OnceLock<Lost>>) -> Self {
        Self {
            sender: Some(sender),
            limits,
            waited: Duration::ZERO,
            sent: 0,
            lost,
            runtime: Handle::current(),
        }
    }

    /// How long to wait for the reader.
    fn patience(&self) -> Duration {
        let earned = self.limits.grace + reading::earned(self.sent);
        let left = earned.saturating_sub(self.waited);
        self.limits.stalled.min(left)
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sender = self.sender.take().ok_or(ErrorKind::BrokenPipe)?;
        // The reader has as long for each, however long the record is.
        let chunk = Bytes::copy_from_slice(bytes.get(..CHUNK_BYTES).unwrap_or(bytes));
        let (length, since) = (chunk.len(), Instant::now());
        let sent = sender.send_timeout(chunk, self.patience());
        let sent = self.runtime.block_on(sent);
        self.waited += since.elapsed();
        sent.map_err(|error| {
            let (lost, kind) = match error {
                SendTimeoutError::Closed(_) => (Lost::Gone, ErrorKind::BrokenPipe),
                SendTimeoutError::Timeout(_) => (Lost::TooSlow, ErrorKind::TimedOut),
            };
            self.lost.get_or_init(|| lost);
            kind
        })?;
        self.sender = Some(sender);
        self.sent += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, plane};
    use http::StatusCode;

    #[tokio::test]
    async fn a_third_backup_at_one_time_is_told_to_come_again() {
        let (plane, seats) = (plane(), seats());
        let administrator = Actor {
            groups: vec![ADMINISTRATORS.into()],
            ..Actor::new("t")
        };
        let one = seats.acquire().await.expect("free");
        // Its client is gone, so the backup ends.
        let second = answer(&plane, &seats, &administrator, "");
        assert_eq!(second.status(), StatusCode::OK);
        drop(second);
        let both = seats.acquire().await.expect("it is done");
        let third = answer(&plane, &seats, &administrator, "");
        assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
        drop((one, both));
    }

    #[tokio::test]
    async fn a_backup_takes_no_parameters() {
        let administrator = Actor {
            groups: vec![ADMINISTRATORS.into()],
            ..Actor::new("t")
        };
        for query in ["x=1", "asOf=3", "x"] {
            let refused = answer(&plane(), &seats(), &administrator, query);
            assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{query}");
        }
    }

    #[tokio::test]
    async fn a_reader_that_stands_still_or_reads_too_little_is_cut_off_at_once() {
        let (short, long) = (Duration::from_millis(1), Duration::from_hours(1));
        for (stalled, grace) in [(short, long), (long, short)] {
            let limits = Limits { stalled, grace };
            let (sender, reader) = mpsc::channel(1);
            let lost = Arc::new(OnceLock::new());
            let mut chunks = Chunks::new(sender, limits, Arc::clone(&lost));
            let written = tokio::task::spawn_blocking(move || {
                [&b"taken"[..], b"not taken", b"nor what comes after"]
                    .map(|bytes| chunks.write(bytes).map_err(|error| error.kind()))
            });
            let expected = [Ok(5), Err(ErrorKind::TimedOut), Err(ErrorKind::BrokenPipe)];
            assert_eq!(written.await.expect("it ends"), expected);
            let read: Vec<_> = pieces(reader, lost).collect().await;
            assert!(
                matches!(&read[..], [Ok(taken), Err(Unfinished::Stalled)] if taken == "taken"),
                "{read:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_long_record_comes_in_chunks_and_only_the_reader_uses_up_its_time() {
        let (sender, mut reader) = mpsc::channel(1);
        let mut chunks = Chunks::new(sender, LIMITS, Arc::default());
        let record = vec![7; 2 * CHUNK_BYTES + 1];
        let written = tokio::task::spawn_blocking(move || {
            // As the disk may take its time.
            std::thread::sleep(Duration::from_millis(50));
            let since = Instant::now();
            let is_written = chunks.write_all(&record).is_ok();
            is_written && chunks.waited <= since.elapsed()
        });
        let mut lengths = Vec::new();
        while let Some(chunk) = reader.recv().await {
            lengths.push(chunk.len());
        }
        assert_eq!(lengths, [CHUNK_BYTES, CHUNK_BYTES, 1]);
        assert!(written.await.expect("it ends"));
    }

    #[tokio::test]
    async fn the_backup_of_a_reader_that_is_gone_ends_and_one_that_reads_has_time() {
        let (sender, mut reader) = mpsc::channel(1);
        let lost = Arc::new(OnceLock::new());
        let mut chunks = Chunks::new(sender, LIMITS, Arc::clone(&lost));
        let hour = 60 * 60;
        chunks.sent = reading::BYTES_PER_SECOND * hour;
        assert_eq!(chunks.patience(), LIMITS.stalled);
        let written = tokio::task::spawn_blocking(move || (chunks.write(b"x").is_ok(), chunks));
        let (is_written, mut chunks) = written.await.expect("it ends");
        assert!(is_written && reader.recv().await.is_some());
        drop(reader);
        let written = tokio::task::spawn_blocking(move || chunks.write(b"x"));
        let error = written.await.expect("it ends").expect_err("nobody reads");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert_eq!(lost.get(), Some(&Lost::Gone));
    }

    /// What is logged of a backup that failed with this kind of error.
    fn logged(kind: ErrorKind, client: Option<Lost>) -> String {
        let error = Error::io("reading the log")(kind.into());
        testing::logged(|| log_failure(&error, client.as_ref()))
    }

    #[test]
    fn a_backup_that_the_disk_fails_is_not_blamed_on_its_client() {
        for kind in [ErrorKind::TimedOut, ErrorKind::BrokenPipe] {
            let said = logged(kind, None);
            assert!(
                said.contains("ERROR") && said.contains("reading the log"),
                "{said}"
            );
            for (client, why) in [(Lost::TooSlow, "read nothing"), (Lost::Gone, "went away")] {
                let said = logged(kind, Some(client));
                assert!(said.contains("WARN") && said.contains(why), "{said}");
            }
        }
    }
}
