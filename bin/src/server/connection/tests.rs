//! Connections that are of no use are closed, and those that are used stay.

mod departure;
mod ending;
mod figures;
mod keepalive;
mod keys;
mod protocols;

use super::*;
use crate::Config;
use crate::server::pki::Pki;
use http::Request;
use http_body_util::Full;
use rustls::client::WantsClientCert;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

const SHORT: Duration = Duration::from_millis(50);
/// The longest wait, for a run that fails.
const PATIENCE: Duration = Duration::from_mins(1);
const WATCH: &str = "GET /api/v1/namespaces?watch=1 HTTP/1.1\r\nhost: a\r\n\r\n";
const PROBE: &str = "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";

const HALF_A_BODY: &str = "POST /api/v1/namespaces HTTP/1.1\r\nhost: a\r\n\
    content-type: application/json\r\ncontent-length: 40\r\n\r\n{\"metadata\": {";
/// The length of this body is not announced.
const HALF_A_CHUNK: &str = "PUT /api/v1/namespaces/default HTTP/1.1\r\nhost: a\r\n\
    content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n28\r\n{\"metadata\": {";

/// A body longer than allowed, whose sender waits for `100 Continue`.
const TOO_LONG: &str = "POST /api/v1/namespaces HTTP/1.1\r\nhost: a\r\n\
    content-type: application/json\r\ncontent-length: 9999999\r\nexpect: 100-continue\r\n\r\n";

/// A protocol, what is sent, and what must come before the connection is closed.
const OF_NO_USE: &[(&str, &str, &str)] = &[
    ("http/1.1", "", ""),
    ("http/1.1", "GET /livez HTTP/1.1\r\nhost: a\r\nx-half", ""),
    ("http/1.1", PROBE, "200 OK"),
    ("h2", "", ""),
    (
        "h2",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        "",
    ),
];

/// HTTP/2, a window of zero, and `GET /version`: this client takes no byte of the answer.
const WINDOW_OF_NOTHING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0\
    \0\0\x0f\x01\x05\0\0\0\x01\x82\x87\x41\x01a\x04\x08/version";

struct Peer {
    address: SocketAddr,
    pki: Pki,
    /// Where the files of the authority are.
    directory: PathBuf,
}

impl Peer {
    async fn connect(&self, protocol: &str) -> TlsStream<TcpStream> {
        let chain = vec![certificate(&self.pki.admin.0)];
        let key = PrivateKeyDer::from_pem_slice(self.pki.admin.1.as_bytes()).expect("a key");
        let config = self.trusting().with_client_auth_cert(chain, key);
        self.connect_with(config.expect("a client"), protocol).await
    }

    /// Connects without a certificate.
    async fn connect_unauthenticated(&self, protocol: &str) -> TlsStream<TcpStream> {
        let config = self.trusting().with_no_client_auth();
        self.connect_with(config, protocol).await
    }

    fn trusting(&self) -> rustls::ConfigBuilder<rustls::ClientConfig, WantsClientCert> {
        self.trusting_over(rustls::DEFAULT_VERSIONS)
    }

    /// The same, over these versions of TLS.
    fn trusting_over(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> rustls::ConfigBuilder<rustls::ClientConfig, WantsClientCert> {
        let mut roots = rustls::RootCertStore::empty();
        let authority = certificate(&self.pki.authority);
        roots.add(authority).expect("a root");
        let builder = rustls::ClientConfig::builder_with_protocol_versions(versions);
        builder.with_root_certificates(roots)
    }

    async fn connect_with(
        &self,
        config: rustls::ClientConfig,
        protocol: &str,
    ) -> TlsStream<TcpStream> {
        let connected = self.try_connect_with(config, protocol).await;
        connected.expect("a handshake")
    }

    /// Connects if the server lets this client in.
    async fn try_connect_with(
        &self,
        mut config: rustls::ClientConfig,
        protocol: &str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.address).await.expect("connected");
        let name = ServerName::from(self.address.ip());
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await
    }
}

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate")
}

/// Reads until this text has come, or the other side closes.
async fn read(stream: &mut (impl AsyncRead + Unpin), until: &str) -> String {
    let mut read = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = async {
        while let Ok(length @ 1..) = stream.read_buf(&mut read).await {
            if length > 0 && text(&read).contains(until) && !until.is_empty() {
                break;
            }
        }
    };
    timeout(PATIENCE, all).await.expect("in time");
    text(&read)
}

async fn create(plane: &ControlPlane, name: &str) {
    let body = format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
    let request = Request::post("/api/v1/namespaces").header("content-type", "application/json");
    let request = request.body(Full::<Bytes>::from(body)).expect("a request");
    let answer = plane.service().call(request).await.expect("an answer");
    assert_eq!(answer.status(), 201);
}

/// Runs a server with this patience, and a client that talks to it.
fn served<F: Future<Output = ()>>(timeouts: Timeouts, talk: impl FnOnce(Peer, ControlPlane) -> F) {
    served_within(Limits::default(), timeouts, talk);
}

/// The same with these limits.
fn served_within<F: Future<Output = ()>>(
    limits: Limits,
    timeouts: Timeouts,
    talk: impl FnOnce(Peer, ControlPlane) -> F,
) {
    served_until(std::future::pending(), limits, timeouts, talk);
}

/// The same until it is to stop.
fn served_until<F: Future<Output = ()>>(
    shutdown: impl Future<Output = ()> + Send + 'static,
    limits: Limits,
    timeouts: Timeouts,
    talk: impl FnOnce(Peer, ControlPlane) -> F,
) {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let temporary = tempfile::tempdir().expect("a directory");
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let pki = Pki::open(temporary.path(), address.ip()).expect("certificates");
        let tls = pki.tls().expect("a configuration");
        let tokens = Arc::new(Tokens::parse("t1,alice,u1\n").expect("tokens"));
        let context = ServerContext::new(plane.clone(), tls, tokens, timeouts);
        let context = ServerContext { limits, ..context };
        let server = tokio::spawn(accept(listener, context, shutdown));
        let directory = temporary.path().to_owned();
        let peer = Peer {
            address,
            pki,
            directory,
        };
        talk(peer, plane).await;
        server.abort();
    });
}

/// A connection on which this was sent, and answered with what is expected; a new one if that was closed before it came.
async fn sent_in_time(
    peer: &Peer,
    (protocol, sent): (&str, &str),
    expected: &str,
) -> TlsStream<TcpStream> {
    let mut said = String::new();
    for _ in 0..20 {
        let mut stream = peer.connect(protocol).await;
        if stream.write_all(sent.as_bytes()).await.is_ok() {
            said = read(&mut stream, expected).await;
            if said.contains(expected) {
                return stream;
            }
        }
    }
    panic!("{protocol} {sent:?}: {said}");
}

#[test]
fn connections_of_no_use_are_closed_and_a_silent_watch_stays() {
    let timeouts = Timeouts {
        first: SHORT,
        idle: SHORT,
        // Nobody waits for this long, for nothing is in progress.
        ending: PATIENCE * 2,
        ..Timeouts::default()
    };
    served(timeouts, async |peer, plane| {
        let mut watch = sent_in_time(&peer, ("http/1.1", WATCH), "kube-system").await;
        for (protocol, sent, expected) in OF_NO_USE {
            let mut stream = sent_in_time(&peer, (protocol, sent), expected).await;
            read(&mut stream, "").await;
        }
        create(&plane, "late").await;
        let said = read(&mut watch, "late").await;
        assert!(said.contains("late"), "{said}");
    });
}

#[test]
fn a_connection_without_a_handshake_is_closed() {
    let timeouts = Timeouts {
        handshake: SHORT,
        ..Timeouts::default()
    };
    served(timeouts, async |peer, _| {
        let mut silent = TcpStream::connect(peer.address).await.expect("connected");
        assert_eq!(read(&mut silent, "").await, "");
    });
}

#[test]
fn a_body_that_does_not_come_to_its_end_is_a_timeout_and_ends_the_connection() {
    let timeouts = Timeouts {
        body: SHORT,
        ..Timeouts::default()
    };
    served(timeouts, async |peer, _| {
        for sent in [HALF_A_BODY, HALF_A_CHUNK] {
            let mut stream = peer.connect("http/1.1").await;
            stream.write_all(sent.as_bytes()).await.expect("sent");
            let said = read(&mut stream, "").await;
            assert!(said.starts_with("HTTP/1.1 504"), "{said}");
            assert!(said.contains(r#""reason":"Timeout""#), "{said}");
        }
    });
}

#[test]
fn an_answer_that_nobody_takes_and_an_unauthenticated_client_that_stays_are_let_go() {
    // Nobody waits for an answer that is not taken until it would be cut off.
    let patient = Timeouts {
        ending: PATIENCE * 2,
        ..Timeouts::default()
    };
    let timeouts = [
        Timeouts {
            taking: SHORT,
            ..patient
        },
        Timeouts {
            unauthenticated: SHORT,
            ..patient
        },
    ];
    let [taking, unauthenticated] = timeouts;
    served(taking, async |peer, _| {
        let mut known = peer.connect("h2").await;
        known.write_all(WINDOW_OF_NOTHING).await.expect("sent");
        let said = read(&mut known, "").await;
        assert!(!said.contains("gitVersion"), "{said}");
    });
    served(unauthenticated, async |peer, _| {
        for sent in [WINDOW_OF_NOTHING, b""] {
            let mut stream = peer.connect_unauthenticated("h2").await;
            stream.write_all(sent).await.expect("sent");
            read(&mut stream, "").await;
        }
    });
}

/// However many unauthenticated clients there are, and whatever they have asked: nobody waits for their time to
/// be over.
#[test]
fn unauthenticated_clients_make_room_for_each_other_and_authenticated_ones_are_always_let_in() {
    let limits = Limits {
        connections: 12,
        unauthenticated: 4,
    };
    let token = PROBE.replace("/livez", "/api/v1/namespaces");
    let token = token.replace("\r\n\r\n", "\r\nauthorization: Bearer t1\r\n\r\n");
    served_within(limits, Timeouts::default(), async |peer, plane| {
        let mut by_token = peer.connect_unauthenticated("http/1.1").await;
        by_token.write_all(token.as_bytes()).await.expect("sent");
        read(&mut by_token, "kube-system").await;
        let mut watch = peer.connect("http/1.1").await;
        watch.write_all(WATCH.as_bytes()).await.expect("sent");
        read(&mut watch, "kube-system").await;
        let mut others = Vec::new();
        for _ in 0..10 {
            let mut other = peer.connect_unauthenticated("h2").await;
            other.write_all(WINDOW_OF_NOTHING).await.expect("sent");
            others.push(other);
            // As soon as it is let in.
            let mut known = peer.connect("http/1.1").await;
            known.write_all(PROBE.as_bytes()).await.expect("sent");
            assert!(read(&mut known, "200 OK").await.contains("200 OK"));
        }
        for other in others.iter_mut().take(6) {
            read(other, "").await;
        }
        by_token.write_all(token.as_bytes()).await.expect("sent");
        let said = read(&mut by_token, "kube-system").await;
        assert!(said.contains("200 OK"), "{said}");
        create(&plane, "late").await;
        let said = read(&mut watch, "late").await;
        assert!(said.contains("late"), "{said}");
    });
}

#[test]
fn a_body_that_is_announced_as_too_long_is_refused_at_once() {
    served(Timeouts::default(), async |peer, _| {
        let mut stream = peer.connect("http/1.1").await;
        stream.write_all(TOO_LONG.as_bytes()).await.expect("sent");
        let said = read(&mut stream, "").await;
        assert!(said.starts_with("HTTP/1.1 413"), "{said}");
    });
}

#[test]
fn a_client_that_is_refused_while_sending_reads_why() {
    let timeouts = Timeouts {
        lingering: PATIENCE,
        ..Timeouts::default()
    };
    served(timeouts, async |peer, _| {
        let mut stream = peer.connect("http/1.1").await;
        let head = format!("GET /livez HTTP/1.1\r\nlong: {}", "x".repeat(BUFFER_BYTES));
        stream.write_all(head.as_bytes()).await.expect("sent");
        let said = read(&mut stream, "\r\n\r\n").await;
        assert!(said.starts_with("HTTP/1.1 431"), "{said}");
        let more = [b'x'; 4 << 10];
        for _ in 0..64 {
            stream.write_all(&more).await.expect("nobody hung up");
            stream.flush().await.expect("nobody hung up");
        }
        let (socket, _) = stream.get_mut();
        socket.shutdown().await.expect("nobody hung up");
        let mut rest = Vec::new();
        let ended = timeout(PATIENCE, socket.read_to_end(&mut rest)).await;
        ended.expect("in time").expect("no reset");
    });
}

const BAD_TOKEN: &str = "authorization: Bearer t3\r\n";
const GOOD_TOKEN: &str = "authorization: Bearer t1\r\n";

/// Sends a GET with these headers, and checks the status code of the answer.
async fn expect_code(mut stream: TlsStream<TcpStream>, path: &str, headers: &str, code: &str) {
    let head = format!("GET {path} HTTP/1.1\r\nhost: a\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await.expect("sent");
    let said = read(&mut stream, "\r\n\r\n").await;
    let expected = format!("HTTP/1.1 {code}");
    assert!(said.starts_with(&expected), "{head}{said}");
}

/// Source: upstream's `WithAuthentication`, which asks before anybody looks at the path.
#[test]
fn invalid_credentials_are_refused_where_none_are_needed_too() {
    let other = tempfile::tempdir().expect("a directory");
    served(Timeouts::default(), async |mut peer, _| {
        let foreign = Pki::open(other.path(), peer.address.ip()).expect("certificates");
        let own = std::mem::replace(&mut peer.pki.admin, foreign.admin.clone());
        for (path, with_none, known) in [
            ("/livez", "200", "200"),
            ("/readyz", "200", "200"),
            ("/healthz", "200", "200"),
            ("/version", "200", "200"),
            ("/api", "401", "200"),
            ("/nowhere", "401", "404"),
            ("/hindsight/v1/log", "401", "200"),
        ] {
            for (headers, code) in [("", with_none), (BAD_TOKEN, "401"), (GOOD_TOKEN, known)] {
                let stream = peer.connect_unauthenticated("http/1.1").await;
                expect_code(stream, path, headers, code).await;
            }
            for (headers, code) in [("", "401"), (BAD_TOKEN, "401"), (GOOD_TOKEN, known)] {
                expect_code(peer.connect("http/1.1").await, path, headers, code).await;
            }
        }
        peer.pki.admin = own;
        for headers in ["", BAD_TOKEN, GOOD_TOKEN] {
            expect_code(peer.connect("http/1.1").await, "/api", headers, "200").await;
        }
    });
}

#[test]
fn nobody_gets_a_tunnel() {
    served(Timeouts::default(), async |peer, _| {
        let mut stream = peer.connect("http/1.1").await;
        let head = "CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("sent");
        let said = read(&mut stream, "\r\n\r\n").await;
        assert!(said.starts_with("HTTP/1.1 405"), "{said}");
    });
}

/// Whether the client is authenticated, and a request that is refused before its body is read.
const REFUSED: &[(bool, &str, &str)] = &[
    (true, "POST /api/v1/nothings", "404"),
    (true, "POST /apis/none.io/v1/things", "404"),
    (true, "POST /nowhere", "404"),
    (true, "PATCH /api/v1/namespaces/default/scale", "404"),
    (true, "DELETE /api/v1/configmaps", "405"),
    (true, "GET /api/v1/namespaces?timeout=abc", "400"),
    (true, "POST /hindsight/v1/log", "405"),
    (false, "POST /api/v1/namespaces", "401"),
];

#[test]
fn what_comes_after_a_refusal_is_answered_too() {
    let timeouts = Timeouts {
        rest: PATIENCE,
        ..Timeouts::default()
    };
    served(timeouts, async |peer, _| {
        for (is_authenticated, request, code) in REFUSED {
            let mut stream = match is_authenticated {
                true => peer.connect("http/1.1").await,
                false => peer.connect_unauthenticated("http/1.1").await,
            };
            let head = format!("{request} HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n");
            stream.write_all(head.as_bytes()).await.expect("sent");
            stream.flush().await.expect("sent");
            // The refusal would be there before the body.
            tokio::time::sleep(SHORT).await;
            let rest = format!("{{}}{PROBE}");
            stream.write_all(rest.as_bytes()).await.expect("sent");
            let said = read(&mut stream, "200 OK").await;
            assert!(said.starts_with(&format!("HTTP/1.1 {code}")), "{said}");
            assert!(said.contains("200 OK"), "{request}: {said}");
        }
    });
}

/// Bodies that are not read to their end: they are too long, were announced and not asked for, or do not come.
const NOT_READ: &[(&str, &str)] = &[
    ("/api/v1/nothings", "content-length: 999999"),
    (
        "/api/v1/nothings",
        "content-length: 2\r\nexpect: 100-continue",
    ),
    ("/api/v1/nothings", "content-length: 2"),
    ("/api/v1/namespaces", "content-length: 9999999"),
];

#[test]
fn an_answer_after_which_nothing_is_read_says_so() {
    served(Timeouts::default(), async |peer, _| {
        for (path, headers) in NOT_READ {
            let mut stream = peer.connect("http/1.1").await;
            let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\n{headers}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.expect("sent");
            let said = read(&mut stream, "").await;
            assert!(said.starts_with("HTTP/1.1 4"), "{headers}: {said}");
            assert!(said.contains("\r\nconnection: close\r\n"), "{said}");
        }
    });
}
