//! A TLS stream whose end need not be announced: many servers just close the connection. A body that is cut short is
//! noticed by its length, or is no JSON. Source: Go's `crypto/tls`, which takes such an end between two records for the
//! end.

use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that ends where the other side closed the connection without a word.
pub(super) struct Abrupt<S>(pub(super) S);

impl<S: AsyncRead + Unpin> AsyncRead for Abrupt<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        match Pin::new(&mut self.0).poll_read(context, buffer) {
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                Poll::Ready(Ok(()))
            }
            read => read,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Abrupt<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    /// Sends one text, and fails in this way instead of ending.
    struct Cut(&'static [u8], ErrorKind);

    impl AsyncRead for Cut {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<Result<()>> {
            let text = std::mem::take(&mut self.0);
            buffer.put_slice(text);
            let end = || Err(self.1.into());
            Poll::Ready(if text.is_empty() { end() } else { Ok(()) })
        }
    }

    #[tokio::test]
    async fn a_connection_that_is_closed_without_a_word_is_at_its_end() {
        for (end, read) in [
            (ErrorKind::UnexpectedEof, Some("answer")),
            (ErrorKind::ConnectionReset, None),
        ] {
            let mut text = String::new();
            let ended = Abrupt(Cut(b"answer", end)).read_to_string(&mut text).await;
            assert_eq!(ended.ok().map(|_| &*text), read, "{end}");
        }
    }
}
