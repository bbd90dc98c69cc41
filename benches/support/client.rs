//! A client that behaves like one busy controller: one connection, either HTTP/1.1 with one request
//! at a time or HTTP/2 with as many streams as are asked for.

use crate::kubeconfig::Access;
use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::sync::Arc;
use tokio::net::{TcpSocket, lookup_host};

/// The server's address, our credentials and the TLS setup.
#[derive(Debug, Clone)]
pub struct Target {
    /// Host and port, such as `127.0.0.1:6443`.
    pub address: String,
    token: Option<Arc<str>>,
    tls: Arc<rustls::ClientConfig>,
}

/// How a connection is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConnectOptions {
    /// HTTP/2 instead of HTTP/1.1.
    pub http2: bool,
    /// Bytes that the kernel may keep for a reader that does not read.
    pub receive_buffer: Option<u32>,
}

/// One HTTP/1.1 connection, or one stream of an HTTP/2 connection.
#[derive(Debug)]
pub struct Connection {
    sender: Sender,
    authority: String,
    token: Option<Arc<str>>,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Target {
    /// The target that `access` describes; its port is 443 unless the address names one.
    pub fn new(access: &Access) -> Result<Self> {
        let trusting =
            rustls::ClientConfig::builder().with_root_certificates(roots(&access.authority)?);
        let tls = match &access.certificate {
            None => trusting.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = CertificateDer::pem_slice_iter(certificate);
                let chain = chain.collect::<Result<Vec<_>, _>>()?;
                trusting.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key)?)?
            }
        };
        let address = access.server.trim_start_matches("https://");
        let address = address.trim_end_matches('/');
        let port = if address.contains(':') { "" } else { ":443" };
        Ok(Self {
            address: format!("{address}{port}"),
            token: access.token.as_deref().map(Arc::from),
            tls: Arc::new(tls),
        })
    }

    /// Opens an HTTP/1.1 connection.
    pub async fn connect(&self) -> Result<Connection> {
        self.dial(ConnectOptions::default()).await
    }

    /// Opens a connection of this kind.
    pub async fn dial(&self, options: ConnectOptions) -> Result<Connection> {
        let mut tls = rustls::ClientConfig::clone(&self.tls);
        let protocol: &[u8] = if options.http2 { b"h2" } else { b"http/1.1" };
        tls.alpn_protocols = vec![protocol.to_vec()];
        let address = lookup_host(&self.address).await?.next();
        let address = address.context("the server has no address")?;
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        if let Some(bytes) = options.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        let stream = socket.connect(address).await.context("no connection")?;
        stream.set_nodelay(true)?;
        let host = self.address.rsplit_once(':');
        let host = host.map_or(&*self.address, |(host, _)| host);
        let name = ServerName::try_from(host.to_owned())?;
        let connector = tokio_rustls::TlsConnector::from(Arc::new(tls));
        let stream = connector.connect(name, stream).await;
        let stream = TokioIo::new(stream.context("no TLS session")?);
        let sender = if options.http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
            tokio::spawn(connection);
            Sender::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(stream).await?;
            tokio::spawn(connection);
            Sender::Http1(sender)
        };
        Ok(Connection {
            sender,
            authority: self.address.clone(),
            token: self.token.clone(),
        })
    }
}

impl Connection {
    /// Another stream of the same connection; `None` for HTTP/1.1, which has only one.
    pub fn stream(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => Some(Self {
                sender: Sender::Http2(sender.clone()),
                authority: self.authority.clone(),
                token: self.token.clone(),
            }),
        }
    }

    /// Sends one request and leaves the body of the answer to be read.
    pub async fn open(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .header("content-type", "application/json")
            .header("accept", "application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                let request = request.header("host", &self.authority).uri(path);
                sender.ready().await?;
                sender.send_request(request.body(Full::new(body))?).await
            }
            Sender::Http2(sender) => {
                let request = request.uri(format!("https://{}{path}", self.authority));
                sender.ready().await?;
                sender.send_request(request.body(Full::new(body))?).await
            }
        };
        Ok(response?)
    }

    /// Sends one request and reads the whole answer.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let response = self.open(method, path, body).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }

    /// Sends one request that must succeed, and returns the body of the answer.
    pub async fn send_ok(&mut self, method: Method, path: &str, body: Bytes) -> Result<Bytes> {
        let (status, answer) = self.send(method.clone(), path, body).await?;
        if status.is_success() {
            return Ok(answer);
        }
        Err(anyhow!(
            "{method} {path}: {status}: {}",
            String::from_utf8_lossy(&answer)
        ))
    }
}

fn roots(pem: &[u8]) -> Result<rustls::RootCertStore> {
    let mut store = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        store.add(certificate?)?;
    }
    Ok(store)
}
