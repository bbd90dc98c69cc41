//! A call over a real connection, to a webhook whose answer is long.

use super::*;
use rustls_pki_types::PrivateKeyDer;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A webhook that gives one answer of this length; returns where it is, and its certificate.
async fn answering(length: usize) -> (SocketAddr, String) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]);
    let certificate = params.expect("parameters").self_signed(&key);
    let certificate = certificate.expect("a certificate");
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
        let mut stream = acceptor.accept(stream).await.expect("a handshake");
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
        };
        match Network::default().call(call).await {
            Ok((code, body)) => assert_eq!((code, body.len(), is_read), (200, length, true)),
            Err(why) => assert!(!is_read && why.contains("cannot be read"), "{why}"),
        }
    }
}
