//! Handshakes with webhooks, and what is told of those that fail: in the words of Go's `crypto/tls` and `net/http`, which
//! whoever runs webhooks knows, and what to do.

use anyhow::{Result, anyhow};
use rustls::{CertificateError, ClientConfig, Error, InvalidMessage};
use rustls_pki_types::ServerName;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How an answer of HTTP without TLS begins.
const HTTP: &[u8] = b"HTTP/";

/// Agrees on keys with a webhook that is trusted.
pub(super) async fn secure<S: AsyncRead + AsyncWrite + Unpin>(
    tls: ClientConfig,
    name: ServerName<'static>,
    stream: S,
) -> Result<TlsStream<Noted<S>>> {
    let begin = Vec::new();
    let connecting = TlsConnector::from(Arc::new(tls)).connect(name, Noted { stream, begin });
    let connected = connecting.into_fallible().await;
    connected.map_err(|(error, stream)| explained(error, &stream.begin))
}

/// Says what is wrong with a webhook that answered so.
fn explained(error: io::Error, begin: &[u8]) -> anyhow::Error {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    match cause {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => anyhow!(
            "tls: failed to verify certificate: x509: certificate signed by unknown authority; put the certificate \
             of that authority into the caBundle, or that of the webhook if it is self-signed"
        ),
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) if begin == HTTP => {
            anyhow!(
                "http: server gave HTTP response to HTTPS client; let the webhook serve TLS, with a certificate that \
                 the caBundle trusts"
            )
        }
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => anyhow!(
            "tls: first record does not look like a TLS handshake; check the port: webhooks must serve TLS"
        ),
        _ => anyhow::Error::new(error).context("tls"),
    }
}

/// A stream, and the first bytes that were read from it.
#[derive(Debug)]
pub(super) struct Noted<S> {
    stream: S,
    begin: Vec<u8>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let wanted = HTTP.len().saturating_sub(self.begin.len());
        let new = buffer.filled().iter().skip(before);
        self.begin.extend(new.take(wanted));
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
