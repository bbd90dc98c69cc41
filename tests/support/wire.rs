//! HTTP/1.1 over TLS by hand: for connections that stop in the middle, are never read, or come all at
//! once.

use crate::server::Server;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{BufRead, BufReader, Error, Read, Result, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long an answer may take: it bounds a failing run and measures nothing.
const PATIENCE: Duration = Duration::from_mins(2);

/// A server's address, and the administrator's credentials.
#[derive(Debug, Clone)]
pub struct Caller {
    address: String,
    config: Arc<ClientConfig>,
}

/// One connection.
#[derive(Debug)]
pub struct Wire {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    /// What was received of a stream of events and not taken yet.
    events: Vec<u8>,
    date: String,
}

/// A whole answer.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status.
    pub code: u16,
    /// Body.
    pub body: String,
}

impl Caller {
    /// A caller with the certificates in the server's directory.
    pub fn of(server: &Server) -> Self {
        let mut words = server.ready.split_whitespace();
        let address = words.find_map(|word| word.strip_prefix("https://"));
        let address = address.expect("where it listens").trim_end_matches(';');
        Self {
            address: address.to_owned(),
            config: Arc::new(config(&server.directory().join("pki"))),
        }
    }

    /// The address that the server listens on.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Connects and does the TLS handshake, for an asynchronous client of this protocol.
    pub async fn dial(&self, protocol: &[u8]) -> Result<TlsStream<tokio::net::TcpStream>> {
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = tokio::net::TcpStream::connect(&self.address).await?;
        let connector = TlsConnector::from(self.speaking(protocol));
        connector.connect(name, stream).await
    }

    /// Connects; the TLS handshake is done with the first request.
    pub fn connect(&self) -> Result<Wire> {
        self.connect_with(Arc::clone(&self.config))
    }

    /// As [`Self::connect`], for a client of this protocol.
    pub fn connect_as(&self, protocol: &[u8]) -> Result<Wire> {
        self.connect_with(self.speaking(protocol))
    }

    fn speaking(&self, protocol: &[u8]) -> Arc<ClientConfig> {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![protocol.to_vec()];
        Arc::new(config)
    }

    fn connect_with(&self, config: Arc<ClientConfig>) -> Result<Wire> {
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(config, name);
        let stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let client = client.map_err(Error::other)?;
        Ok(Wire {
            stream: BufReader::new(StreamOwned::new(client, stream)),
            events: Vec::new(),
            date: String::new(),
        })
    }
}

fn config(pki: &Path) -> ClientConfig {
    let certificate =
        |name: &str| CertificateDer::from_pem_file(pki.join(name)).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca.crt")).expect("an authority");
    let key = PrivateKeyDer::from_pem_file(pki.join("admin.key")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate("admin.crt")], key)
        .expect("a certificate and its key")
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

impl Wire {
    /// Sends some bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes)?;
        self.stream.get_mut().flush()
    }

    /// Reads as many bytes as there is room for.
    pub fn receive(&mut self, into: &mut [u8]) -> Result<()> {
        self.stream.read_exact(into)
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Reply> {
        self.send(request(method, path, body).as_bytes())?;
        self.answer()
    }

    /// Waits for the answer to what was sent.
    pub fn answer(&mut self) -> Result<Reply> {
        let (code, length) = self.head()?;
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.stream.read_exact(&mut body)?;
            }
            None => while self.chunk(&mut body)? {},
        }
        let body = String::from_utf8(body).map_err(Error::other)?;
        Ok(Reply { code, body })
    }

    /// The next event of a watch whose request was sent; `None` at its end.
    pub fn event(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(at) = self.events.iter().position(|byte| *byte == b'\n') {
                let line = self.events.drain(..=at).collect();
                return Ok(Some(String::from_utf8(line).map_err(Error::other)?));
            }
            let mut events = std::mem::take(&mut self.events);
            let is_open = self.chunk(&mut events);
            self.events = events;
            if !is_open? {
                return Ok(None);
            }
        }
    }

    /// Reads the head of an answer: its code, and the length of its body if that is known.
    pub fn head(&mut self) -> Result<(u16, Option<usize>)> {
        let status = self.line()?;
        let code = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let code = code.ok_or_else(|| Error::other(format!("no answer: {status:?}")))?;
        let mut length = None;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.trim().is_empty() {
                return Ok((code, length));
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok();
            }
            if let Some(value) = line.strip_prefix("date:") {
                value.trim().clone_into(&mut self.date);
            }
        }
    }

    /// The `Date` of the last answer, in lower case.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// Reads one chunk of a body; false at the last, empty one.
    fn chunk(&mut self, into: &mut Vec<u8>) -> Result<bool> {
        let size = self.line()?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(Error::other)?;
        let start = into.len();
        into.resize(start + size + 2, 0);
        self.stream.read_exact(&mut into[start..])?;
        into.truncate(start + size);
        Ok(size > 0)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
    }
}
