//! A connection that ends does not take its last answer along. A socket that is closed while bytes lie
//! unread in it, or before they arrive, resets the connection, and whoever was still sending never
//! reads why it was refused. So what comes is read on for a while, and forgotten.
//!
//! Source: RFC 9112 section 9.6; `rstAvoidanceDelay` of Go's HTTP server.

use std::io::{IoSlice, Result};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};
use tokio_rustls::server::TlsStream;

/// How long it goes on after the answer.
const TIME_MAX: Duration = Duration::from_secs(1);
/// What is read of it: more than the largest body.
const BYTES_MAX: usize = 4 << 20;
/// Bytes of one read, on the stack.
const PIECE_BYTES: usize = 4 << 10;

/// A stream that lingers when it is shut down, unless the server itself is ending.
pub(super) struct Lingering {
    stream: TlsStream<TcpStream>,
    stopping: watch::Receiver<()>,
    last: Option<Last>,
}

/// What is still read once nothing is written any more.
struct Last {
    until: Pin<Box<Sleep>>,
    bytes: usize,
}

impl Lingering {
    pub(super) fn new(stream: TlsStream<TcpStream>, stopping: watch::Receiver<()>) -> Self {
        Self {
            stream,
            stopping,
            last: None,
        }
    }

    /// Until the other side has ended, too, or has had its time.
    fn poll_last(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let last = self.last.get_or_insert_with(|| Last {
            until: Box::pin(sleep(TIME_MAX)),
            bytes: 0,
        });
        let mut piece = [0; PIECE_BYTES];
        while matches!(self.stopping.has_changed(), Ok(false)) && last.bytes < BYTES_MAX {
            let mut piece = ReadBuf::new(&mut piece);
            // What it says is not asked for, so nothing of it is deciphered.
            let socket = pin!(self.stream.get_mut().0);
            match socket.poll_read(context, &mut piece) {
                Poll::Ready(Ok(())) if !piece.filled().is_empty() => {
                    last.bytes += piece.filled().len();
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return last.until.as_mut().poll(context),
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

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        pin!(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.last.is_none() {
            ready!(pin!(&mut self.stream).poll_shutdown(context))?;
        }
        self.poll_last(context).map(Ok)
    }
}
