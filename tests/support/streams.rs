//! HTTP/2: many requests at once over few connections.

use crate::wire::Caller;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::future::Future;
use std::io::{Error, Result};

/// How many requests a server takes over one connection at once.
pub const STREAMS_MAX: usize = 200;

/// One connection.
#[derive(Debug)]
pub struct Streams(SendRequest<Full<Bytes>>);

impl Streams {
    /// Connects; the connection runs in a task of this runtime.
    pub async fn connect(caller: &Caller) -> Result<Self> {
        let stream = TokioIo::new(caller.dial(b"h2").await?);
        let connected = http2::handshake(TokioExecutor::new(), stream).await;
        let (sender, connection) = connected.map_err(Error::other)?;
        tokio::spawn(connection);
        Ok(Self(sender))
    }

    /// Sends a request; its answer can be awaited while others are sent.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: String,
    ) -> Result<impl Future<Output = Result<Response<String>>> + Send + use<>> {
        self.0.ready().await.map_err(Error::other)?;
        let request = Request::builder()
            .method(method)
            .uri(format!("https://localhost{path}"))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)));
        let answer = self.0.send_request(request.map_err(Error::other)?);
        Ok(async move {
            let (head, body) = answer.await.map_err(Error::other)?.into_parts();
            let body = body.collect().await.map_err(Error::other)?.to_bytes();
            let body = String::from_utf8(body.to_vec()).map_err(Error::other)?;
            Ok(Response::from_parts(head, body))
        })
    }
}
