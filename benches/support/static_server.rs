//! The ceiling for all figures: the server's TLS and HTTP stack with nothing behind it. A watch gets
//! whatever others PUT from then on; every other request gets a fixed answer.

use anyhow::Result;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

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
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let service = Service {
        answer,
        watches: Arc::default(),
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, service) = (acceptor.clone(), service.clone());
            tokio::spawn(async move {
                stream.set_nodelay(true).ok();
                let stream = acceptor.accept(stream).await?;
                let answer = service_fn(move |request| service.clone().answer(request));
                let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                let served = builder.serve_connection(TokioIo::new(stream), answer).await;
                served.map_err(|error| anyhow::anyhow!(error))
            });
        }
    });
    Ok((address, key.cert.pem()))
}

#[derive(Debug, Clone)]
struct Service {
    answer: Bytes,
    /// The open watches; each is sent what is PUT.
    watches: Arc<Mutex<Vec<UnboundedSender<Bytes>>>>,
}

impl Service {
    async fn answer(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<Either<Full<Bytes>, Events>>> {
        let query = request.uri().query().unwrap_or_default();
        if query.contains("watch=true") {
            let (sender, receiver) = unbounded_channel();
            self.watches().push(sender);
            return Ok(Response::new(Either::Right(Events(receiver))));
        }
        if request.method() == Method::PUT {
            let object = request.into_body().collect().await?.to_bytes();
            let event = [br#"{"type":"MODIFIED","object":"#, &*object, b"}\n"].concat();
            let event = Bytes::from(event);
            self.watches()
                .retain(|watch| watch.send(event.clone()).is_ok());
        }
        Ok(Response::new(Either::Left(Full::new(self.answer))))
    }

    fn watches(&self) -> MutexGuard<'_, Vec<UnboundedSender<Bytes>>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a watch.
struct Events(UnboundedReceiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.poll_recv(context);
        next.map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
