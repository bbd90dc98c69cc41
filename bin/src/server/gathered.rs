//! Sends what many streams of one connection have to say in few pieces. One event wakes every watch of it, each
//! watch wakes the connection, and that would run next: each event would be a record of TLS and a system call of
//! its own. So while a connection has watches, what it writes in one turn waits until its next turn, which comes
//! after those of all tasks that are due already.

use super::timeouts::Requests;
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, IoSlice, Result};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most bytes that wait, unless one write has more. Four records of TLS.
const WAITING_BYTES_MAX: usize = 64 << 10;

/// The polls of a connection, of which each is a turn.
#[derive(Debug, Clone)]
pub(super) struct Polls {
    requests: Requests,
    begun: Arc<AtomicU64>,
}

impl Polls {
    pub(super) fn of(requests: Requests) -> Self {
        let begun = Arc::default();
        Self { requests, begun }
    }

    /// Polls the connection until it ends.
    pub(super) async fn poll<C: Future>(&self, mut connection: Pin<&mut C>) -> C::Output {
        poll_fn(|context| {
            self.begun.fetch_add(1, Ordering::Relaxed);
            connection.as_mut().poll(context)
        })
        .await
    }

    fn current(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }
}

/// A stream to which the writes of one turn come together.
pub(super) struct Gathered<S> {
    stream: S,
    /// `None` if nothing waits.
    polls: Option<Polls>,
    waiting: Vec<u8>,
    /// How much of this has been taken.
    taken: usize,
    /// The turn in which it began to wait.
    since: u64,
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    pub(super) fn new(stream: S, polls: Option<Polls>) -> Self {
        Self {
            stream,
            polls,
            waiting: Vec::new(),
            taken: 0,
            since: 0,
        }
    }

    /// Whether so many bytes are to wait.
    fn gathers(&self, bytes: usize) -> bool {
        let has_watch = |polls: &Polls| polls.requests.has_watch();
        bytes < WAITING_BYTES_MAX && self.polls.as_ref().is_some_and(has_watch)
    }

    fn turn(&self) -> u64 {
        self.polls.as_ref().map_or(0, Polls::current)
    }

    /// Makes room for so many bytes.
    fn poll_room(&mut self, bytes: usize, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.waiting.len() + bytes > WAITING_BYTES_MAX {
            ready!(self.poll_send(context))?;
        }
        if self.waiting.is_empty() {
            self.since = self.turn();
            self.waiting.reserve_exact(WAITING_BYTES_MAX);
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what waits.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while let Some(rest) = self
            .waiting
            .get(self.taken..)
            .filter(|rest| !rest.is_empty())
        {
            match ready!(pin!(&mut self.stream).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                taken => self.taken += taken,
            }
        }
        self.waiting = Vec::new();
        self.taken = 0;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        pin!(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let this = &mut *self;
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        if !this.gathers(bytes) {
            ready!(this.poll_send(context))?;
            return pin!(&mut this.stream).poll_write_vectored(context, pieces);
        }
        ready!(this.poll_room(bytes, context))?;
        for piece in pieces {
            this.waiting.extend_from_slice(piece);
        }
        Poll::Ready(Ok(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // The connection that writes takes this for a success, and is woken for the turn that sends.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = &mut *self;
        if !this.waiting.is_empty() && this.since == this.turn() {
            context.waker().wake_by_ref();
            return Poll::Ready(Ok(()));
        }
        ready!(this.poll_send(context))?;
        pin!(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_send(context))?;
        pin!(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::timeouts::OpenRequest;
    use futures_util::FutureExt;
    use futures_util::task::noop_waker_ref;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    /// A stream for a connection that has a watch, its polls, and its other end.
    fn watched(room: usize) -> (Gathered<DuplexStream>, Polls, DuplexStream, OpenRequest) {
        let (here, there) = duplex(room);
        let requests = Requests::none();
        let mut open = requests.begin();
        open.mark_watch();
        let polls = Polls::of(requests);
        (Gathered::new(here, Some(polls.clone())), polls, there, open)
    }

    /// What has arrived.
    fn arrived(there: &mut DuplexStream) -> String {
        let mut bytes = Vec::new();
        while let Some(Ok(1..)) = there.read_buf(&mut bytes).now_or_never() {}
        String::from_utf8(bytes).expect("text")
    }

    /// Writes and flushes as often as there are texts, in one turn.
    async fn turn(stream: &mut Gathered<DuplexStream>, polls: &Polls, texts: &[&str]) {
        let written = pin!(async {
            for text in texts {
                stream.write_all(text.as_bytes()).await.expect("it is open");
                stream.flush().await.expect("it is open");
            }
        });
        polls.poll(written).await;
    }

    #[tokio::test]
    async fn what_is_written_in_one_turn_is_sent_in_the_next_and_in_order() {
        let (mut stream, polls, mut there, _open) = watched(1_024);
        turn(&mut stream, &polls, &["one ", "two "]).await;
        assert_eq!(arrived(&mut there), "");
        turn(&mut stream, &polls, &["three "]).await;
        assert_eq!(arrived(&mut there), "one two three ");
        turn(&mut stream, &polls, &["four "]).await;
        assert_eq!(arrived(&mut there), "");
        stream.shutdown().await.expect("it is open");
        assert_eq!(arrived(&mut there), "four ");
    }

    #[tokio::test]
    async fn a_flush_that_waits_asks_for_the_next_turn() {
        let (stream, polls, mut there, _open) = watched(1_024);
        let written = pin!(async {
            let mut stream = stream;
            stream.write_all(b"event").await.expect("it is open");
            let mut polled = 0;
            poll_fn(|context| {
                polled += 1;
                ready!(pin!(&mut stream).poll_flush(context)).expect("it is open");
                if polled < 2 {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            })
            .await;
        });
        let sent = polls.poll(written);
        let soon = tokio::time::timeout(std::time::Duration::from_mins(1), sent);
        soon.await.expect("it was woken");
        assert_eq!(arrived(&mut there), "event");
    }

    #[tokio::test]
    async fn without_a_watch_nothing_waits() {
        let (mut stream, polls, mut there, open) = watched(1_024);
        turn(&mut stream, &polls, &["event "]).await;
        drop(open);
        turn(&mut stream, &polls, &["answer "]).await;
        assert_eq!(arrived(&mut there), "event answer ");
    }

    #[tokio::test]
    async fn no_more_waits_for_a_client_that_does_not_read_than_so_much() {
        let (mut stream, polls, mut there, _open) = watched(16);
        let mut context = Context::from_waker(noop_waker_ref());
        let piece = [b'x'; 1_000];
        let mut written = 0;
        while let Poll::Ready(taken) = pin!(&mut stream).poll_write(&mut context, &piece) {
            written += taken.expect("it is open");
            assert!(written <= WAITING_BYTES_MAX, "it grows without end");
        }
        assert!(written > WAITING_BYTES_MAX - piece.len());
        let mut read = 0;
        turn(&mut stream, &polls, &[]).await;
        while pin!(&mut stream).poll_flush(&mut context).is_pending() {
            read += arrived(&mut there).len();
            tokio::task::yield_now().await;
        }
        assert_eq!(read + arrived(&mut there).len(), written);
    }
}
