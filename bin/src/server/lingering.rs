//! A connection that ends without losing its last answer. If a socket is closed while bytes lie unread in it,
//! or before they arrive, the connection is reset, and a client that was still sending never reads why it was
//! refused. So what comes is read and discarded for a while.
//!
//! Source: RFC 9112 section 9.6; `rstAvoidanceDelay` of Go's HTTP server.

use super::departure::Departure;
use std::io::{ErrorKind, IoSlice, Result};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};
use tokio_rustls::server::TlsStream;

/// The most bytes that are read then: more than the largest body.
const BYTES_MAX: usize = 4 << 20;
/// Bytes of one read, on the stack.
const PIECE_BYTES: usize = 4 << 10;

/// A stream that lingers when it is shut down, unless the server itself is ending. It fails once the client of a watch
/// is gone.
pub(super) struct Lingering {
    stream: TlsStream<TcpStream>,
    departure: Option<Departure>,
    stopping: watch::Receiver<()>,
    /// How long reading goes on after the answer.
    patience: Duration,
    last: Option<Last>,
}

/// The state of reading on, once nothing is written any more.
struct Last {
    until: Pin<Box<Sleep>>,
    bytes: usize,
}

impl Lingering {
    pub(super) fn new(
        stream: TlsStream<TcpStream>,
        departure: Option<Departure>,
        stopping: watch::Receiver<()>,
        patience: Duration,
    ) -> Self {
        Self {
            stream,
            departure,
            stopping,
            patience,
            last: None,
        }
    }

    /// Reads until the other side has closed, too, or its time is over.
    fn poll_last(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !matches!(self.stopping.has_changed(), Ok(false)) {
            return Poll::Ready(());
        }
        let patience = self.patience;
        let last = self.last.get_or_insert_with(|| Last::new(patience));
        // The content is not needed, so it is read below TLS and not decrypted.
        last.poll(pin!(self.stream.get_mut().0), context)
    }
}

impl Last {
    fn new(patience: Duration) -> Self {
        Self {
            until: Box::pin(sleep(patience)),
            bytes: 0,
        }
    }

    fn poll(
        &mut self,
        mut socket: Pin<&mut impl AsyncRead>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut piece = [0; PIECE_BYTES];
        while self.bytes < BYTES_MAX {
            let mut piece = ReadBuf::new(&mut piece);
            match socket.as_mut().poll_read(context, &mut piece) {
                Poll::Ready(Ok(())) if !piece.filled().is_empty() => {
                    self.bytes += piece.filled().len();
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.until.as_mut().poll(context),
            }
        }
        Poll::Ready(())
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        pin!(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        pin!(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        pin!(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // hyper flushes whenever its connection is polled and nothing is left to write.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = &mut *self;
        if let Some(departure) = &mut this.departure
            && departure.poll(this.stream.get_ref().0, context).is_ready()
        {
            return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
        }
        pin!(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.last.is_none() {
            ready!(pin!(&mut self.stream).poll_shutdown(context))?;
        }
        self.poll_last(context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::time::timeout;

    /// Longer than any test runs.
    const FOR_EVER: Duration = Duration::from_hours(1);

    /// Sends without end.
    struct Flood {
        sent: usize,
    }

    impl AsyncRead for Flood {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<Result<()>> {
            let bytes = buffer.remaining();
            self.sent += bytes;
            assert!(self.sent < 2 * BYTES_MAX, "it is read without end");
            buffer.put_slice(&vec![b'x'; bytes]);
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn an_endless_sender_is_disconnected_after_so_many_bytes() {
        let (mut last, mut flood) = (Last::new(FOR_EVER), Flood { sent: 0 });
        poll_fn(|context| last.poll(pin!(&mut flood), context)).await;
        assert!(flood.sent >= BYTES_MAX);
    }

    #[tokio::test]
    async fn a_silent_client_is_disconnected_after_a_while() {
        let (mut here, _there) = tokio::io::duplex(1);
        let mut last = Last::new(Duration::from_millis(1));
        let left = poll_fn(|context| last.poll(pin!(&mut here), context));
        timeout(Duration::from_mins(1), left)
            .await
            .expect("it is left");
    }

    #[tokio::test]
    async fn a_client_that_has_closed_is_disconnected_at_once() {
        let (mut here, there) = tokio::io::duplex(1);
        drop(there);
        let mut last = Last::new(FOR_EVER);
        let left = poll_fn(|context| Poll::Ready(last.poll(pin!(&mut here), context)));
        assert!(left.await.is_ready());
    }
}
