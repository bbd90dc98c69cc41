//! Calls webhooks over TLS, with a new connection for each call, so that after a webhook was replaced the old
//! one is not asked over its old connection.

mod abrupt;
mod handshake;
mod lookup;
#[cfg(test)]
mod tests;
mod trust;

use abrupt::Abrupt;
use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use handshake::Noted;
use hindsight_api::{Call, WebhookCaller};
use http::{Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use lookup::Lookup;
use rustls::ClientConfig;
use rustls_native_certs::load_native_certs;
use rustls_pki_types::ServerName;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio_rustls::client::TlsStream;
use trust::Verifier;

/// The most bytes of an answer: as many as a request may have.
const ANSWER_BYTES_MAX: usize = 3 * 1024 * 1024;
const HTTPS_PORT: u16 = 443;

/// Calls webhooks over the network.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network {
    lookup: Lookup,
    /// What this machine trusts, once it was read.
    machine: Arc<OnceCell<Verifier>>,
}

impl WebhookCaller for Network {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<(u16, Bytes), String>> {
        Box::pin(async move {
            let url = call.url.clone();
            let answer = self.post(call).await;
            answer.map_err(|error| {
                tracing::warn!(url, "a webhook could not be called: {error:#}");
                format!("{error:#}")
            })
        })
    }
}

impl Network {
    /// Who is trusted: the authorities of the bundle, or those of this machine if there is none.
    async fn verifier(&self, ca_bundle: &[u8]) -> Result<Verifier> {
        if !ca_bundle.is_empty() {
            return trust::of_bundle(ca_bundle);
        }
        let read = || async { spawn_blocking(|| trust::of_machine(load_native_certs())).await? };
        self.machine.get_or_try_init(read).await.cloned()
    }

    async fn post(&self, call: Call) -> Result<(u16, Bytes)> {
        let url: Uri = call.url.parse().context("the URL cannot be read")?;
        if url.scheme_str() != Some("https") {
            bail!("the URL is not an https URL");
        }
        let host = url.host().ok_or_else(|| anyhow!("the URL has no host"))?;
        let port = url.port_u16().unwrap_or(HTTPS_PORT);
        let mut addresses = call.addresses;
        if addresses.is_empty() {
            addresses.push(format!("{host}:{port}"));
        }
        let stream = self.lookup.connect_any(&addresses, call.limit).await?;
        let verifier = self.verifier(&call.ca_bundle).await?;
        let stream = Abrupt(secured(stream, host, verifier).await?);
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let _driver = Driver(tokio::spawn(connection));
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        let request = Request::post(path)
            .header("host", format!("{host}:{port}"))
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .header(
                "user-agent",
                concat!("hindsight/", env!("CARGO_PKG_VERSION")),
            )
            .body(Full::new(call.body))?;
        let answer = sender.send_request(request).await?;
        let code = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX)
            .collect()
            .await;
        let body = body.map_err(|error| anyhow!("the answer cannot be read: {error}"))?;
        Ok((code, body.to_bytes()))
    }
}

/// Drives the connection of one call, and ends it with the call, even if nobody waits for the answer any more.
struct Driver(tokio::task::JoinHandle<hyper::Result<()>>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn secured(
    stream: TcpStream,
    host: &str,
    verifier: Verifier,
) -> Result<TlsStream<Noted<TcpStream>>> {
    let tls = client(verifier)?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
    handshake::secure(tls, name, stream).await
}

fn client(verifier: Verifier) -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(trust::provider());
    let builder = builder.with_safe_default_protocol_versions()?;
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(builder.with_no_client_auth())
}
