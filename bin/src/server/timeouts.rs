//! How long a connection may be of no use: until its first request, between two requests, until a body has
//! arrived, and until an answer that was complete at once has been read. A stream may stay open without a
//! limit, for a watch may be silent for long; but only for an authenticated client.

use bytes::Bytes;
use hindsight_api::{ApiBody, Unfinished, bytes_holding, reading};
use http_body::{Body, Frame, SizeHint};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// The limits on waiting for a client. Source: `ReadHeaderTimeout`, `IdleTimeout` and the handshake's limit of
/// upstream's secure serving.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    pub(super) handshake: Duration,
    /// Until the first request, with its headers.
    pub(super) first: Duration,
    /// Until the next request.
    pub(super) idle: Duration,
    /// Until the whole body of a request has arrived. Upstream's `--request-timeout`, a minute, includes the
    /// answer.
    pub(super) body: Duration,
    /// Until what an answer leaves unread of the request's body has arrived.
    pub(super) rest: Duration,
    /// Until the client has read an answer that was complete at once; longer if that is long.
    pub(super) taking: Duration,
    /// The whole time of a connection whose client is not authenticated.
    pub(super) unauthenticated: Duration,
    /// Until requests in progress are cut off, once the server stops, or once an idle connection ends: they may have
    /// been sent before the client knew. Upstream waits as long as its `--request-timeout`, or without a limit.
    pub(super) ending: Duration,
    /// Until the client has closed a connection on which nothing is written any more.
    pub(super) lingering: Duration,
}

/// How long a connection that is to end may stay open with nothing in progress, or because of what is not taken:
/// until its client knows.
pub(super) const CLOSING: Duration = Duration::from_secs(1);

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            first: Duration::from_secs(32),
            idle: Duration::from_secs(90),
            body: Duration::from_secs(30),
            rest: Duration::from_secs(1),
            taking: Duration::from_secs(30),
            unauthenticated: Duration::from_mins(1),
            ending: Duration::from_secs(10),
            lingering: Duration::from_secs(1),
        }
    }
}

/// The requests of one connection.
#[derive(Debug, Clone)]
pub(super) struct Requests(Arc<watch::Sender<Count>>);

#[derive(Debug, Clone, Default)]
struct Count {
    open: usize,
    /// How many of these are watches.
    watches: usize,
    ever: u64,
    is_authenticated: bool,
    /// The deadlines of answers that were complete at once and have not been read, by the numbers of their
    /// requests.
    due: BTreeMap<u64, Instant>,
}

impl Requests {
    pub(super) fn none() -> Self {
        Self(Arc::new(watch::Sender::new(Count::default())))
    }

    /// Notes that the client is authenticated from now on.
    pub(super) fn mark_authenticated(&self) {
        self.0.send_if_modified(|count| {
            let was_authenticated = std::mem::replace(&mut count.is_authenticated, true);
            !was_authenticated
        });
    }

    /// Counts a request as open until what this returns is dropped.
    pub(super) fn begin(&self) -> OpenRequest {
        let mut number = 0;
        self.0.send_modify(|count| {
            count.open += 1;
            count.ever += 1;
            number = count.ever;
        });
        OpenRequest {
            requests: self.clone(),
            number,
            is_watch: false,
        }
    }

    /// Whether a watch is open.
    pub(super) fn has_watch(&self) -> bool {
        self.0.borrow().watches > 0
    }

    /// Resolves once nothing has been in progress for a moment. Watches do not count: they end by themselves, unless
    /// their clients do not read.
    pub(super) async fn done(&self) {
        let mut counts = self.0.subscribe();
        loop {
            counts.wait_for(|count| !count.is_busy()).await.ok();
            let begun = counts.wait_for(Count::is_busy);
            if !matches!(timeout(CLOSING, begun).await, Ok(Ok(_))) {
                return;
            }
        }
    }

    /// Resolves once the connection has been of no use for too long, to how long what is in progress may then go on.
    pub(super) async fn timed_out(&self, timeouts: Timeouts) -> Duration {
        let begun = Instant::now();
        let mut counts = self.0.subscribe();
        loop {
            let limit = counts.borrow_and_update().limit(timeouts, begun);
            let changed = counts.changed();
            let over = match limit {
                Some((limit, _)) => timeout_at(limit, changed).await.ok(),
                None => Some(changed.await),
            };
            if !matches!(over, Some(Ok(()))) {
                return limit.map_or(CLOSING, |(_, patience)| patience);
            }
        }
    }
}

impl Count {
    const fn is_busy(&self) -> bool {
        self.open > self.watches
    }

    /// When the connection will have been of no use for too long, if nothing happens, and how long requests that come
    /// then may go on.
    fn limit(&self, timeouts: Timeouts, begun: Instant) -> Option<(Instant, Duration)> {
        let now = Instant::now();
        let idle = match (self.open, self.ever) {
            (0, 0) => Some(now + timeouts.first),
            (0, _) => Some(now + timeouts.idle),
            _ => None,
        };
        let unauthenticated = (!self.is_authenticated).then(|| begun + timeouts.unauthenticated);
        let due = self.due.values().min().copied();
        let idle = idle.map(|limit| (limit, timeouts.ending));
        let others = [unauthenticated, due].map(|limit| limit.map(|limit| (limit, CLOSING)));
        idle.into_iter().chain(others.into_iter().flatten()).min()
    }
}

/// A request whose answer has not ended yet.
#[derive(Debug)]
pub(super) struct OpenRequest {
    requests: Requests,
    number: u64,
    is_watch: bool,
}

impl OpenRequest {
    /// Notes that the answer is the events of a watch.
    pub(super) fn mark_watch(&mut self) {
        self.is_watch = true;
        self.requests.0.send_modify(|count| count.watches += 1);
    }

    fn set_deadline(&self, due: Instant) {
        let count = &self.requests.0;
        count.send_modify(|count| {
            count.due.insert(self.number, due);
        });
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.requests.0.send_modify(|count| {
            count.open = count.open.saturating_sub(1);
            let watches = usize::from(self.is_watch);
            count.watches = count.watches.saturating_sub(watches);
            count.due.remove(&self.number);
        });
    }
}

/// An answer, whose request is open for as long as it is being read.
#[derive(Debug)]
pub(super) struct Answer {
    body: ApiBody,
    open: Arc<OpenRequest>,
    /// `None` for a stream.
    pace: Option<Pace>,
}

/// How fast an answer that was complete at once must be read.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Until when, if it had no length.
    due: Instant,
    /// The length for which there is time.
    timed: u64,
    sent: u64,
}

impl Pace {
    fn deadline(&self) -> Instant {
        self.due + reading::earned(self.timed)
    }

    /// The new deadline after so many more bytes, if they are more than there is time for: indented, an answer is
    /// longer than it was.
    fn later(&mut self, bytes: usize) -> Option<Instant> {
        self.sent += bytes as u64;
        if self.sent <= self.timed {
            return None;
        }
        self.timed = self.sent;
        Some(self.deadline())
    }
}

impl Answer {
    pub(super) fn new(body: ApiBody, open: OpenRequest, timeouts: Timeouts) -> Self {
        let pace = body.whole_bytes().map(|timed| Pace {
            due: Instant::now() + timeouts.taking,
            timed,
            sent: 0,
        });
        if let Some(pace) = pace {
            open.set_deadline(pace.deadline());
        }
        Self {
            body,
            open: Arc::new(open),
            pace,
        }
    }

    /// The bytes, which keep the request open until they are sent.
    fn in_flight(&mut self, bytes: Bytes) -> Bytes {
        let Some(pace) = &mut self.pace else {
            return bytes;
        };
        if let Some(later) = pace.later(bytes.len()) {
            self.open.set_deadline(later);
        }
        bytes_holding(bytes, Arc::clone(&self.open))
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Unfinished;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Unfinished>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Err(Unfinished::Unwritable(why)))) = &polled {
            tracing::warn!("an answer was cut off in the middle: {}", why.message());
        }
        let held = |frame: Frame<Bytes>| frame.map_data(|bytes| self.in_flight(bytes));
        polled.map(|frame| frame.map(|frame| frame.map(held)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
