//! The network as admission needs it: one request, one answer. Implemented where sockets are.

use bytes::Bytes;
use futures_util::future::BoxFuture;

/// One request to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Where it goes, with its query; `https` alone.
    pub url: String,
    /// `host:port` to connect to, where it is not the one in the URL. The certificate is checked
    /// against the URL.
    pub address: Option<String>,
    /// Authorities to trust, PEM; empty where the system's are.
    pub ca_bundle: Vec<u8>,
    /// JSON.
    pub body: Bytes,
}

/// Posts to webhooks. How long it may take is the asker's business: the future is dropped.
pub trait WebhookCaller: std::fmt::Debug + Send + Sync + 'static {
    /// The status and the body of the answer; the text says why there is none.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<(u16, Bytes), String>>;
}

/// Reaches nobody.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NoCaller;

impl WebhookCaller for NoCaller {
    fn call(&self, _: Call) -> BoxFuture<'_, Result<(u16, Bytes), String>> {
        Box::pin(async { Err("this server calls no webhooks".into()) })
    }
}
