//! Asks the server that holds a data directory.

#[cfg(test)]
mod tests;

use crate::data_dir::DataDir;
use crate::hint::hint;
use crate::server::kubeconfig::{own_cluster, own_user};
use anyhow::{Context, Result, anyhow, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::{Bytes, BytesMut};
use hindsight_log::regular;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How often a question is asked, at most, while the answer is to try again.
const ATTEMPTS_MAX: usize = 10;
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How long a server may take to shake hands before it counts as there, though perhaps suspended.
const PROBE: Duration = Duration::from_secs(1);
/// The most bytes of a kubeconfig that the server wrote, which takes a few KiB.
const KUBECONFIG_BYTES_MAX: u64 = 1 << 20;

/// How long to wait for a server.
#[derive(Debug, Clone, Copy)]
struct Timeouts {
    /// Until the handshake is complete.
    connect: Duration,
    /// Without a byte. Then the server is asked whether it is alive, for an answer may take its time.
    silence: Duration,
}

const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    silence: Duration::from_mins(1),
};

/// A connection has ended in the middle. How it ended does not tell why.
#[derive(Debug, thiserror::Error)]
enum Ended {
    /// Of an answer that was read at once.
    #[error("the server ended before the answer was complete; ask again")]
    AtOnce,
    /// Of an answer that was read as fast as somebody took it. A server also cuts off what is not read.
    #[error(
        "the connection ended before the answer was complete: the server ended, or cut it off because it was not read \
         fast enough; try again, and if what reads it is slow, write it to a file first"
    )]
    AtItsPace,
}

impl Ended {
    fn logged(self, error: &hyper::Error) -> Self {
        tracing::debug!(%error, "a connection ended");
        self
    }
}

/// Asks the server that holds a data directory, over a new connection each time.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    data_dir: PathBuf,
    process: String,
    address: String,
    timeouts: Timeouts,
}

impl Client {
    /// Of the server with this process description, at this address.
    pub(crate) fn new(data_dir: &Path, process: &str, address: &str) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            process: process.to_owned(),
            address: address.to_owned(),
            timeouts: TIMEOUTS,
        }
    }

    /// Whether a question failed because nobody was there to answer it, or to complete the answer.
    pub(crate) fn is_unreachable(error: &anyhow::Error) -> bool {
        error.chain().any(|cause| {
            let of_connection = cause.downcast_ref::<io::Error>();
            cause.is::<hyper::Error>()
                || cause.is::<Ended>()
                || of_connection.is_some_and(|one| is_connection_loss(one.kind()))
        })
    }

    /// Whether a question failed because there is no kubeconfig to ask it with.
    pub(crate) fn is_without_kubeconfig(error: &anyhow::Error) -> bool {
        let read = error.downcast_ref::<io::Error>();
        read.is_some_and(|one| one.kind() == ErrorKind::NotFound)
    }

    /// Whether nobody accepts connections at its address: it is ending, or has ended.
    pub(crate) fn is_gone(&self) -> bool {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
            return false;
        };
        let connected = runtime.block_on(async { timeout(PROBE, self.connect()).await });
        matches!(connected, Ok(Err(error)) if Self::is_unreachable(&error))
    }

    /// Asks one question, as the administrator.
    pub(crate) fn ask<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let body = self.fetch(path, "application/json")?;
        serde_json::from_slice(&body).context(
            "the server's answer cannot be read; use the same release of hindsight as the server",
        )
    }

    /// Fetches a whole answer in one of these media types.
    pub(crate) fn fetch(&self, path: &str, accept: &str) -> Result<Bytes> {
        self.answer(path, accept)?.whole()
    }

    /// An answer that is read as it arrives.
    pub(crate) fn download(&self, path: &str) -> Result<Download> {
        self.answer(path, "*/*")
    }

    fn answer(&self, path: &str, accept: &str) -> Result<Download> {
        let (mut status, mut answer) = self.once(path, accept)?;
        for _ in 1..ATTEMPTS_MAX {
            if status != StatusCode::TOO_MANY_REQUESTS {
                break;
            }
            std::thread::sleep(AGAIN_AFTER);
            (status, answer) = self.once(path, accept)?;
        }
        if status.is_success() {
            return Ok(answer);
        }
        let document: Value = serde_json::from_slice(&answer.whole()?).unwrap_or_default();
        match document.get("message").and_then(Value::as_str) {
            Some(message) => bail!("{message}"),
            None => bail!("the server refused the request without a reason ({status})"),
        }
    }

    fn once(&self, path: &str, accept: &str) -> Result<(StatusCode, Download)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (response, driver) = runtime.block_on(self.send(path, accept))?;
        let status = response.status();
        let answer = Download {
            client: self.clone(),
            runtime,
            body: response.into_body(),
            rest: Bytes::new(),
            _driver: driver,
        };
        Ok((status, answer))
    }

    async fn send(&self, path: &str, accept: &str) -> Result<(Response<Incoming>, Driver)> {
        let (mut sender, driver) = self.connected().await?;
        let answer = sender.send_request(self.request(path, accept)?);
        let answer = self.while_alive(answer).await?;
        let answer = answer.map_err(|error| Ended::AtOnce.logged(&error))?;
        Ok((answer, driver))
    }

    fn request(&self, path: &str, accept: &str) -> Result<Request<Empty<Bytes>>> {
        let request = Request::get(path)
            .header(header::HOST, &self.address)
            .header(header::ACCEPT, accept);
        Ok(request.body(Empty::new())?)
    }

    async fn connected(&self) -> Result<(SendRequest<Empty<Bytes>>, Driver)> {
        let connected = timeout(self.timeouts.connect, self.connect()).await;
        connected.unwrap_or_else(|_| Err(self.unresponsive()))
    }

    async fn connect(&self) -> Result<(SendRequest<Empty<Bytes>>, Driver)> {
        let tls = administrator(&DataDir(&self.data_dir).kubeconfig())?;
        let address = self.address.as_str();
        let stream = TcpStream::connect(address).await.with_context(|| {
            format!("the server at {address} cannot be reached; if it has just ended, ask again")
        })?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let stream = tokio_rustls::TlsConnector::from(Arc::new(tls))
            .connect(name, stream)
            .await
            .map_err(|error| self.refused(error))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        Ok((sender, tokio::spawn(connection)))
    }

    /// Waits for as long as the server is alive.
    async fn while_alive<T>(&self, answer: impl Future<Output = T>) -> Result<T> {
        let mut answer = pin!(answer);
        loop {
            if let Ok(answer) = timeout(self.timeouts.silence, &mut answer).await {
                return Ok(answer);
            }
            if !self.is_alive().await {
                return Err(self.unresponsive());
            }
            hint("the server is alive but has not answered yet; waiting");
        }
    }

    async fn is_alive(&self) -> bool {
        let ask = async {
            let (mut sender, driver) = self.connect().await?;
            let answered = sender.send_request(self.request("/livez", "*/*")?).await;
            driver.abort();
            answered.map_err(anyhow::Error::from)
        };
        matches!(timeout(self.timeouts.connect, ask).await, Ok(Ok(_)))
    }

    /// The error of a handshake.
    fn refused(&self, error: io::Error) -> anyhow::Error {
        let address = &self.address;
        let what = if is_connection_loss(error.kind()) {
            format!("the server at {address} ended the connection; if it is ending, ask again")
        } else {
            format!(
                "the server at {address} is not the one that {} is for; restart the server, which writes that file again",
                DataDir(&self.data_dir).kubeconfig().display()
            )
        };
        anyhow::Error::new(error).context(what)
    }

    fn unresponsive(&self) -> anyhow::Error {
        let Self {
            process, address, ..
        } = self;
        anyhow!(
            "the server ({process}, https://{address}) does not answer; if it was suspended, resume it with kill \
             -CONT; if not, kill it and start it again"
        )
    }
}

/// Whether nobody listens, or the peer has gone. A file that cannot be read or a certificate that is not
/// trusted is not among these, since it remains so.
const fn is_connection_loss(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::NotConnected
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
    )
}

/// An answer whose connection is driven while somebody reads it.
pub(crate) struct Download {
    client: Client,
    runtime: Runtime,
    body: Incoming,
    rest: Bytes,
    _driver: Driver,
}

impl Download {
    /// What is left of the answer.
    fn whole(&mut self) -> Result<Bytes> {
        let mut bytes = BytesMut::from(std::mem::take(&mut self.rest));
        while let Some(part) = self.part(Ended::AtOnce)? {
            bytes.extend(part);
        }
        Ok(bytes.freeze())
    }

    /// The next part of the answer; `None` at its end.
    fn part(&mut self, ended: Ended) -> Result<Option<Bytes>> {
        let frame = self.client.while_alive(self.body.frame());
        let frame = self.runtime.block_on(frame)?.transpose();
        let frame = frame.map_err(|error| ended.logged(&error))?;
        Ok(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            let Some(part) = self.part(Ended::AtItsPace).map_err(io::Error::other)? else {
                return Ok(0);
            };
            self.rest = part;
        }
        let length = buffer.len().min(self.rest.len());
        let part = self.rest.split_to(length);
        (&*part).read(buffer)
    }
}

type Driver = JoinHandle<hyper::Result<()>>;

/// The TLS identity of the administrator and the authority to trust, as the server wrote them to the
/// kubeconfig.
fn administrator(file: &Path) -> Result<rustls::ClientConfig> {
    let text = regular::text(file, KUBECONFIG_BYTES_MAX).map_err(|error| unread(file, error))?;
    identity(&text).with_context(|| {
        format!(
            "{} is not the kubeconfig that the server wrote; move it aside and restart the server, which writes it \
             again",
            file.display()
        )
    })
}

/// The error of a kubeconfig that cannot be read, with what to do about it.
fn unread(file: &Path, error: io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        ErrorKind::NotFound => "put it back, or restart the server, which writes it again",
        ErrorKind::PermissionDenied => "ask as the user that the server runs as",
        _ => "move it aside and restart the server, which writes it again",
    };
    let what = format!(
        "a server is using the directory, but {} cannot be read; {advice}",
        file.display()
    );
    anyhow::Error::new(error).context(what)
}

/// The identity and the authority in a kubeconfig, to which tools may have added others.
fn identity(text: &str) -> Result<rustls::ClientConfig> {
    let config: Value = serde_saphyr::from_str(text).context("the kubeconfig is not valid YAML")?;
    let data = |entry: Option<&Value>, pointer: &str| {
        let found = entry.and_then(|entry| entry.pointer(pointer)?.as_str());
        let found = found.ok_or_else(|| anyhow!("the kubeconfig has no {pointer}"))?;
        Ok::<_, anyhow::Error>(BASE64_STANDARD.decode(found)?)
    };
    let (cluster, user) = (own_cluster(&config), own_user(&config));
    let mut roots = rustls::RootCertStore::empty();
    let authority = data(cluster, "/cluster/certificate-authority-data")?;
    roots.add(CertificateDer::from_pem_slice(&authority)?)?;
    let certificate = data(user, "/user/client-certificate-data")?;
    let key = PrivateKeyDer::from_pem_slice(&data(user, "/user/client-key-data")?)?;
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    Ok(rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![CertificateDer::from_pem_slice(&certificate)?], key)?)
}
