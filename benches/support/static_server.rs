//! The ceiling for all figures: the server's TLS and HTTP stack with a fixed answer and nothing
//! behind it.

use anyhow::Result;
use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::io::Write;
use std::sync::Arc;

use tokio::net::TcpListener;

/// Serves the answer until the process ends; the first line of output has the address and the
/// certificate to trust.
pub async fn announce(answer: Bytes) -> Result<()> {
    let (address, pem) = start(answer).await?;
    let line = format!("{address} {}\n", pem.replace('\n', "\\n"));
    std::io::stdout().write_all(line.as_bytes())?;
    std::future::pending().await
}

/// Starts the server on a free port, within this runtime; returns its address and the certificate to
/// trust.
pub async fn start(answer: Bytes) -> Result<(String, String)> {
    let key = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()));
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)?;
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, answer) = (acceptor.clone(), answer.clone());
            tokio::spawn(async move {
                stream.set_nodelay(true).ok();
                let stream = acceptor.accept(stream).await?;
                let service = service_fn(move |_| {
                    let answer = answer.clone();
                    async move { Ok::<_, hyper::Error>(Response::new(Full::new(answer))) }
                });
                let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                let served = builder
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
                served.map_err(|error| anyhow::anyhow!(error))
            });
        }
    });
    Ok((address, key.cert.pem()))
}
