//! How long a connection may be of no use: until its first request, between two of them, and until a
//! body has come. While one is answered there is no limit, for a watch may be silent for long.

use bytes::Bytes;
use hindsight_api::ApiBody;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// What is waited for, and how long. Source: `ReadHeaderTimeout`, `IdleTimeout` and the handshake's
/// limit of upstream's secure serving.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) handshake: Duration,
    /// A first request, with its headers.
    pub(super) first: Duration,
    /// The next one.
    pub(super) idle: Duration,
    /// The whole body of one. Upstream's `--request-timeout`, a minute, is for the answer as well.
    pub(super) body: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            first: Duration::from_secs(32),
            idle: Duration::from_secs(90),
            body: Duration::from_secs(30),
        }
    }
}

/// The requests of one connection.
#[derive(Debug, Clone)]
pub(super) struct Requests(Arc<watch::Sender<Count>>);

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    open: usize,
    ever: bool,
}

impl Requests {
    pub(super) fn none() -> Self {
        Self(Arc::new(watch::Sender::new(Count::default())))
    }

    /// One more, until what this is given is dropped.
    pub(super) fn begin(&self) -> Open {
        self.0.send_modify(|count| {
            count.open += 1;
            count.ever = true;
        });
        Open(self.clone())
    }

    /// Resolves once none has been open for too long.
    pub(super) async fn missing(&self, patience: Patience) {
        let mut counts = self.0.subscribe();
        loop {
            let count = *counts.borrow_and_update();
            let limit = match (count.open, count.ever) {
                (0, false) => patience.first,
                (0, true) => patience.idle,
                _ => Duration::MAX,
            };
            match timeout(limit, counts.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }
}

/// A request that was not answered to its end yet.
#[derive(Debug)]
pub(super) struct Open(Requests);

impl Drop for Open {
    fn drop(&mut self) {
        let count = &self.0.0;
        count.send_modify(|count| count.open = count.open.saturating_sub(1));
    }
}

/// An answer, open for as long as somebody reads it.
#[derive(Debug)]
pub(super) struct Answer {
    body: ApiBody,
    _open: Open,
}

impl Answer {
    pub(super) const fn new(body: ApiBody, open: Open) -> Self {
        Self { body, _open: open }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    /// Time passes only where everybody waits.
    fn paused<T>(test: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(test)
    }

    #[test]
    fn a_connection_may_wait_for_its_first_request_and_longer_for_the_next() {
        paused(async {
            let (patience, requests) = (Patience::default(), Requests::none());
            let begun = Instant::now();
            requests.missing(patience).await;
            assert_eq!(begun.elapsed().as_secs(), patience.first.as_secs());
            drop(requests.begin());
            let begun = Instant::now();
            requests.missing(patience).await;
            assert_eq!(begun.elapsed().as_secs(), patience.idle.as_secs());
        });
    }

    #[test]
    fn while_a_request_is_answered_there_is_no_limit() {
        paused(async {
            let (patience, requests) = (Patience::default(), Requests::none());
            let first = requests.begin();
            let watch = Answer::new(ApiBody::full("x"), requests.begin());
            drop(first);
            let day = timeout(Duration::from_hours(24), requests.missing(patience));
            assert!(day.await.is_err(), "one is open");
            drop(watch);
            requests.missing(patience).await;
        });
    }
}
