//! A webhook over TLS, with a certificate authority of its own, that answers as the test wants.

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};

/// What the webhook answers.
#[derive(Debug)]
pub enum Answer {
    /// A review with this response; the request's UID is added if it has none.
    Response(Value),
    /// This status code and body.
    Raw(u16, String),
    /// No answer, ever.
    Silence,
}

impl Answer {
    /// Admits the request.
    pub fn allow() -> Self {
        Self::Response(json!({"allowed": true}))
    }

    /// Admits the request, changed by these JSON patch operations.
    pub fn patch(operations: &Value) -> Self {
        let patch = BASE64_STANDARD.encode(operations.to_string());
        Self::Response(json!({"allowed": true, "patchType": "JSONPatch", "patch": patch}))
    }
}

type Handler = dyn Fn(&str, &Value) -> Answer + Send + Sync;

/// A running webhook; stopped when dropped.
pub struct Webhook {
    runtime: Option<tokio::runtime::Runtime>,
    port: u16,
    ca_bundle: String,
    seen: Arc<Mutex<Vec<(String, Value)>>>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Webhook({})", self.port)
    }
}

impl Webhook {
    /// Starts a webhook that answers by the path and the `request` of the review. Handlers may block.
    pub fn start(handler: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static) -> Self {
        let authority = authority();
        Self::serve(tls(&authority), &authority.pem(), handler)
    }

    /// The same, with a self-signed certificate that is its own authority.
    pub fn start_as_its_own_authority(
        handler: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self::serve(showing(&certificate, &key), &certificate.pem(), handler)
    }

    fn serve(
        tls: tokio_rustls::TlsAcceptor,
        ca_bundle: &str,
        handler: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            seen: Arc::clone(&seen),
        });
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, tls.clone(), Arc::clone(&shared)));
            }
        });
        Self {
            runtime: Some(runtime),
            port,
            ca_bundle: BASE64_STANDARD.encode(ca_bundle),
            seen,
        }
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `caBundle`.
    pub fn ca_bundle(&self) -> &str {
        &self.ca_bundle
    }

    /// `clientConfig` for a path.
    pub fn client_config(&self, path: &str) -> Value {
        json!({"url": format!("https://localhost:{}{path}", self.port), "caBundle": self.ca_bundle})
    }

    /// The paths and requests that came since the last call.
    pub fn take(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.seen.lock().expect("nobody panicked"))
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct Shared {
    handler: Box<Handler>,
    seen: Arc<Mutex<Vec<(String, Value)>>>,
}

async fn serve(stream: TcpStream, tls: tokio_rustls::TlsAcceptor, shared: Arc<Shared>) {
    let Ok(stream) = tls.accept(stream).await else {
        return;
    };
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(request, shared).await) }
    });
    let builder = Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    connection.await.ok();
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.expect("a body");
    let review: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
    let version = review["apiVersion"].clone();
    let asked = review["request"].clone();
    let note = (path.clone(), asked.clone());
    shared.seen.lock().expect("nobody panicked").push(note);
    let uid = asked["uid"].clone();
    let answer = tokio::task::spawn_blocking(move || (shared.handler)(&path, &asked)).await;
    let (code, text) = match answer.expect("the handler ends") {
        Answer::Raw(code, text) => (code, text),
        Answer::Silence => std::future::pending().await,
        Answer::Response(mut response) => {
            let members = response.as_object_mut().expect("an object");
            members.entry("uid").or_insert(uid);
            let review =
                json!({"apiVersion": version, "kind": "AdmissionReview", "response": response});
            (200, review.to_string())
        }
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a status");
    response
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("an authority")
}

/// A certificate for this host and for the service `hook` of the namespace `default`.
fn tls(authority: &CertifiedIssuer<'static, KeyPair>) -> tokio_rustls::TlsAcceptor {
    let names = ["localhost", "hook.default.svc"].map(str::to_owned);
    let params = CertificateParams::new(names.to_vec()).expect("parameters");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, authority).expect("a certificate");
    showing(&certificate, &key)
}

fn showing(certificate: &Certificate, key: &KeyPair) -> tokio_rustls::TlsAcceptor {
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a configuration");
    Arc::new(config).into()
}
