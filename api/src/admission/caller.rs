//! The network as admission needs it: one request, one answer. Implemented where sockets are.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// One request to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Where it goes, with its query; `https` alone.
    pub url: String,
    /// Each `host:port` to connect to, in turn until one accepts, where it is not the one in the URL. The certificate
    /// is checked against the URL.
    pub addresses: Vec<String>,
    /// Authorities to trust, in PEM; empty to trust the system's.
    pub ca_bundle: Vec<u8>,
    /// JSON.
    pub body: Bytes,
    /// How long it may take: an address that does not answer takes its share of that.
    pub limit: Duration,
}

/// Posts to webhooks. The caller of `call` limits how long it may take, and drops the future at the end of that
/// time.
pub trait WebhookCaller: std::fmt::Debug + Send + Sync + 'static {
    /// Returns the status and the body of the answer, or a text that says why there is none.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<(u16, Bytes), String>>;
}

/// Calls no webhook.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NoCaller;

impl WebhookCaller for NoCaller {
    fn call(&self, _: Call) -> BoxFuture<'_, Result<(u16, Bytes), String>> {
        Box::pin(async { Err("this server calls no webhooks".into()) })
    }
}
