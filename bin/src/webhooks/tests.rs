//! A call over a real connection, to a webhook whose answer is long.

use super::*;
use rustls_pki_types::PrivateKeyDer;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A certificate that signed itself, in this name.
fn certificate(name: &str, is_authority: bool) -> (rcgen::KeyPair, rcgen::Certificate) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]);
    let mut params = params.expect("parameters");
    let common = rcgen::DnType::CommonName;
    params.distinguished_name.push(common, name);
    if is_authority {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    }
    let certificate = params.self_signed(&key).expect("a certificate");
    (key, certificate)
}

/// A webhook that gives one answer of this length; returns where it is, and its certificate.
async fn answering(length: usize) -> (SocketAddr, String) {
    presenting(certificate("hook", false), length).await
}

/// The same with this certificate.
async fn presenting(
    (key, certificate): (rcgen::KeyPair, rcgen::Certificate),
    length: usize,
) -> (SocketAddr, String) {
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider);
    let server = server.with_safe_default_protocol_versions();
    let server = server.expect("a server").with_no_client_auth();
    let server = server.with_single_cert(vec![certificate.der().clone()], key);
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server.expect("a server")));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("accepted");
        let Ok(mut stream) = acceptor.accept(stream).await else {
            return;
        };
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n{}") {
            let length = stream.read_buf(&mut read).await.expect("a request");
            assert!(length > 0, "it ends");
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("sent");
        // Whoever does not want all of it hangs up.
        stream.write_all(&vec![b' '; length]).await.ok();
        stream.shutdown().await.ok();
    });
    (address, certificate.pem())
}

#[tokio::test]
async fn an_answer_of_a_webhook_may_be_as_long_as_a_request() {
    const MAX: usize = 3 << 20;
    for (length, is_read) in [(MAX, true), (MAX + 1, false)] {
        let (address, bundle) = answering(length).await;
        let call = Call {
            url: format!("https://localhost:{}/", address.port()),
            addresses: vec![address.to_string()],
            ca_bundle: bundle.into_bytes(),
            body: Bytes::from_static(b"{}"),
            limit: Duration::from_secs(30),
        };
        match Network::default().call(call).await {
            Ok((code, body)) => assert_eq!((code, body.len(), is_read), (200, length, true)),
            Err(why) => assert!(!is_read && why.contains("cannot be read"), "{why}"),
        }
    }
}

/// A server without TLS that greets with this line, once it is spoken to.
async fn plain(greeting: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepted");
        let mut read = [0; 1024];
        assert!(stream.read(&mut read).await.expect("a hello") > 0);
        stream.write_all(greeting.as_bytes()).await.expect("sent");
        // A reset could overtake it.
        while stream.read(&mut read).await.is_ok_and(|length| length > 0) {}
    });
    address
}

/// Source: Go's `crypto/tls` and `net/http`, and client-go's `createErrorParsingCAData`.
#[tokio::test]
async fn a_webhook_that_is_not_trusted_or_speaks_no_tls_is_told_of_as_by_go() {
    let other = certificate("other", false).1.pem();
    let key = certificate("hook", false).0.serialize_pem();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority; put the certificate";
    let unloaded = "unable to load root certificates: ";
    let http = "http: server gave HTTP response to HTTPS client; let the webhook serve TLS";
    for (at, bundle, told) in [
        (
            presenting(certificate("hook", true), 0).await.0,
            &*other,
            unknown,
        ),
        (
            presenting(certificate("hook", false), 0).await.0,
            &other,
            unknown,
        ),
        // Of an authority that was made anew.
        (
            presenting(certificate("other", false), 0).await.0,
            &other,
            unknown,
        ),
        (
            answering(0).await.0,
            "certificate",
            &format!("{unloaded}unable to parse bytes as PEM block; the caBundle must be"),
        ),
        (
            answering(0).await.0,
            &key,
            &format!("{unloaded}no valid certificate authority data seen; the caBundle must be"),
        ),
        (
            answering(0).await.0,
            broken,
            &format!("{unloaded}failed to parse certificate: "),
        ),
        (
            plain("HTTP/1.1 400 Bad Request\r\n\r\n").await,
            &other,
            http,
        ),
        (
            plain("SSH-2.0-OpenSSH\r\n").await,
            &other,
            "tls: first record does not look like a TLS handshake; check the port",
        ),
    ] {
        let call = Call {
            url: format!("https://localhost:{}/", at.port()),
            addresses: vec![at.to_string()],
            ca_bundle: bundle.as_bytes().to_vec(),
            body: Bytes::from_static(b"{}"),
            limit: Duration::from_secs(30),
        };
        let why = Network::default().call(call).await.expect_err(told);
        assert!(why.starts_with(told), "{why}");
    }
}
