//! Asks the server that holds a data directory.

use anyhow::{Context, Result, anyhow, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Whoever is told to come again does so, that often.
const ATTEMPTS_MAX: usize = 10;
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The server that holds a data directory.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    data_dir: PathBuf,
    address: String,
}

impl Server {
    /// The one that listens at this address.
    pub(crate) fn new(data_dir: &Path, address: &str) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            address: address.to_owned(),
        }
    }

    /// One question, as the administrator.
    pub(crate) fn ask(&self, path: &str) -> Result<Value> {
        let body = self.fetch(path, "application/json")?;
        serde_json::from_slice(&body).context("the server did not answer in JSON")
    }

    /// An answer of one of these media types, whole.
    pub(crate) fn fetch(&self, path: &str, accept: &str) -> Result<Bytes> {
        let runtime = runtime()?;
        let (mut status, mut body) = runtime.block_on(self.once(path, accept))?;
        for _ in 1..ATTEMPTS_MAX {
            if status != StatusCode::TOO_MANY_REQUESTS {
                break;
            }
            std::thread::sleep(AGAIN_AFTER);
            (status, body) = runtime.block_on(self.once(path, accept))?;
        }
        if status.is_success() {
            return Ok(body);
        }
        let document: Value = serde_json::from_slice(&body).unwrap_or_default();
        let message = document.get("message").and_then(Value::as_str);
        bail!(
            "{}",
            message.unwrap_or("the server refused without a reason")
        );
    }

    async fn once(&self, path: &str, accept: &str) -> Result<(StatusCode, Bytes)> {
        let (response, driver) = self.send(path, accept).await?;
        let status = response.status();
        let body = response.into_body().collect().await;
        driver.abort();
        Ok((status, body?.to_bytes()))
    }

    /// An answer that is read as it comes.
    pub(crate) fn download(&self, path: &str) -> Result<Download> {
        let runtime = runtime()?;
        let (response, driver) = runtime.block_on(self.send(path, "*/*"))?;
        let status = response.status();
        let mut download = Download {
            runtime,
            body: response.into_body(),
            rest: Bytes::new(),
            _driver: driver,
        };
        if status.is_success() {
            return Ok(download);
        }
        let mut text = String::new();
        download.read_to_string(&mut text)?;
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        let message = document.get("message").and_then(Value::as_str);
        bail!("the server refused: {}", message.unwrap_or(&text));
    }

    async fn send(&self, path: &str, accept: &str) -> Result<(Response<Incoming>, Driver)> {
        let tls = administrator(&self.data_dir.join("admin.kubeconfig"))?;
        let address = self.address.as_str();
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("the server at {address} cannot be reached"))?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let stream = tokio_rustls::TlsConnector::from(Arc::new(tls))
            .connect(name, stream)
            .await?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(connection);
        let request = Request::get(path)
            .header(header::HOST, address)
            .header(header::ACCEPT, accept)
            .body(Empty::<Bytes>::new())?;
        Ok((sender.send_request(request).await?, driver))
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// The connection is served while somebody reads.
pub(crate) struct Download {
    runtime: Runtime,
    body: Incoming,
    rest: Bytes,
    _driver: Driver,
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            let Some(frame) = self.runtime.block_on(self.body.frame()) else {
                return Ok(0);
            };
            let frame = frame.map_err(io::Error::other)?;
            self.rest = frame.into_data().unwrap_or_default();
        }
        let length = buffer.len().min(self.rest.len());
        let part = self.rest.split_to(length);
        (&*part).read(buffer)
    }
}

type Driver = JoinHandle<hyper::Result<()>>;

/// Who asks, and whom it believes, as the server wrote it down.
fn administrator(file: &Path) -> Result<rustls::ClientConfig> {
    let text = std::fs::read_to_string(file).with_context(|| {
        format!(
            "a server holds the directory, but {} cannot be read",
            file.display()
        )
    })?;
    let config: Value = serde_saphyr::from_str(&text).context("the kubeconfig is not YAML")?;
    let data = |pointer: &str| {
        let found = config.pointer(pointer).and_then(Value::as_str);
        let found = found.ok_or_else(|| anyhow!("the kubeconfig has no {pointer}"))?;
        Ok::<_, anyhow::Error>(BASE64_STANDARD.decode(found)?)
    };
    let mut roots = rustls::RootCertStore::empty();
    let authority = data("/clusters/0/cluster/certificate-authority-data")?;
    roots.add(CertificateDer::from_pem_slice(&authority)?)?;
    let certificate = data("/users/0/user/client-certificate-data")?;
    let key = PrivateKeyDer::from_pem_slice(&data("/users/0/user/client-key-data")?)?;
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    Ok(rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![CertificateDer::from_pem_slice(&certificate)?], key)?)
}
