//! Asks the server that holds a data directory.

use anyhow::{Context, Result, anyhow, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// One question to the server of this directory, as the administrator.
pub(crate) async fn ask(data_dir: &Path, path: &str) -> Result<Value> {
    let (response, driver) = send(data_dir, path).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    driver.abort();
    let document: Value =
        serde_json::from_slice(&body).context("the server did not answer in JSON")?;
    if !status.is_success() {
        let message = document
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or("no message");
        bail!("{message}");
    }
    Ok(document)
}

/// An answer that is not JSON, read as it comes.
pub(crate) fn download(data_dir: &Path, path: &str) -> Result<Download> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (response, driver) = runtime.block_on(send(data_dir, path))?;
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

/// The connection is served while somebody reads.
pub(crate) struct Download {
    runtime: tokio::runtime::Runtime,
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

async fn send(data_dir: &Path, path: &str) -> Result<(Response<Incoming>, Driver)> {
    let file = data_dir.join("admin.kubeconfig");
    let text = std::fs::read_to_string(&file).with_context(|| {
        format!(
            "a server holds the directory, but {} cannot be read",
            file.display()
        )
    })?;
    let config: Value = serde_saphyr::from_str(&text).context("the kubeconfig is not YAML")?;
    let field = |pointer: &str| {
        let found = config.pointer(pointer).and_then(Value::as_str);
        found.ok_or_else(|| anyhow!("the kubeconfig has no {pointer}"))
    };
    let data = |pointer: &str| Ok::<_, anyhow::Error>(BASE64_STANDARD.decode(field(pointer)?)?);
    let address = field("/clusters/0/cluster/server")?
        .trim_start_matches("https://")
        .to_owned();
    let mut roots = rustls::RootCertStore::empty();
    let authority = data("/clusters/0/cluster/certificate-authority-data")?;
    roots.add(CertificateDer::from_pem_slice(&authority)?)?;
    let certificate = data("/users/0/user/client-certificate-data")?;
    let key = PrivateKeyDer::from_pem_slice(&data("/users/0/user/client-key-data")?)?;
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let tls = rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![CertificateDer::from_pem_slice(&certificate)?], key)?;
    get(&address, path, tls).await
}

async fn get(
    address: &str,
    path: &str,
    tls: rustls::ClientConfig,
) -> Result<(Response<Incoming>, Driver)> {
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
        .header("host", address)
        .body(Empty::<Bytes>::new())?;
    Ok((sender.send_request(request).await?, driver))
}
