//! A keep-alive HTTPS client: one connection, one request at a time, like one busy controller.

use anyhow::{Context, Result, anyhow};
use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Where the server is, and who we are.
#[derive(Debug, Clone)]
pub struct Target {
    /// `127.0.0.1:6443`.
    pub address: String,
    tls: Arc<rustls::ClientConfig>,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Target {
    /// From a kubeconfig with embedded certificates, of any Kubernetes API server.
    pub fn from_kubeconfig(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).context("the kubeconfig cannot be read")?;
        let config: Value = serde_saphyr::from_str(&text).context("the kubeconfig is not YAML")?;
        let field = |pointer: &str| {
            let value = config.pointer(pointer).and_then(Value::as_str);
            value.ok_or_else(|| anyhow!("the kubeconfig has no {pointer}"))
        };
        let server = field("/clusters/0/cluster/server")?;
        let authority = decode(field("/clusters/0/cluster/certificate-authority-data")?)?;
        let certificate = decode(field("/users/0/user/client-certificate-data")?)?;
        let key = decode(field("/users/0/user/client-key-data")?)?;
        let address = server
            .trim_start_matches("https://")
            .trim_end_matches('/')
            .to_owned();
        let chain = CertificateDer::pem_slice_iter(&certificate).collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(&key)?;
        let tls = rustls::ClientConfig::builder()
            .with_root_certificates(roots(&authority)?)
            .with_client_auth_cert(chain, key)?;
        Ok(Self {
            address,
            tls: Arc::new(tls),
        })
    }

    /// A server that asks for no identity, trusted by its own certificate.
    pub fn anonymous(address: String, authority_pem: &[u8]) -> Result<Self> {
        let tls = rustls::ClientConfig::builder()
            .with_root_certificates(roots(authority_pem)?)
            .with_no_client_auth();
        Ok(Self {
            address,
            tls: Arc::new(tls),
        })
    }

    /// Opens a connection.
    pub async fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address)
            .await
            .context("no connection")?;
        stream.set_nodelay(true)?;
        let host = self
            .address
            .rsplit_once(':')
            .map_or(&*self.address, |(host, _)| host);
        let name = ServerName::try_from(host.to_owned())?;
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&self.tls));
        let stream = connector
            .connect(name, stream)
            .await
            .context("no TLS session")?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection {
            sender,
            host: self.address.clone(),
        })
    }
}

impl Connection {
    /// One request and its whole answer.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }

    /// One request that must succeed.
    pub async fn must(&mut self, method: Method, path: &str, body: Bytes) -> Result<Bytes> {
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

/// Standard base64, as kubeconfigs carry it.
fn decode(text: &str) -> Result<Vec<u8>> {
    BASE64_STANDARD
        .decode(text)
        .context("the kubeconfig holds bad base64")
}
