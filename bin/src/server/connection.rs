//! Connections: accepted, identified, served, and drained at the end.

mod date;
mod failures;
mod host;
mod plain;
#[cfg(test)]
mod tests;

use super::auth::{InvalidCredentials, Tokens, User};
use super::client_certificate::KnownClient;
use super::departure::Departure;
use super::gathered::{Gathered, Polls};
use super::lingering::Lingering;
use super::pki::Tls;
use super::slots::{Limits, Slot, Slots};
use super::timeouts::{Answer, CLOSING, Requests, Timeouts};
use super::unread::{self, ReturnedBody};
use super::{backup, queries};
use crate::answer::{BACKUP_PATH, PATHS};
use crate::{ControlPlane, effects};
use bytes::Bytes;
use failures::Failures;
use hindsight_api::{Api, ApiBody, Bodies, Failure, is_of_events};
use hindsight_core::Actor;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, Method, Response, Uri, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls_pki_types::UnixTime;
use socket2::{SockRef, TcpKeepalive};
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The most bytes of request bodies that are read or whose requests are not answered yet: twenty of the
/// largest.
const BODIES_BYTES_MAX: usize = 64 << 20;
/// How much a client may send ahead of what is read, on one connection. Source: `resourceBody99Percentile` of
/// upstream's secure serving, there for each stream.
const WINDOW_BYTES: u32 = 256 << 10;
/// The longest head of a request: a selector may be long, or a token.
const HEAD_BYTES_MAX: u32 = 128 << 10;
/// For HTTP/1: the longest head of a request too; and, with one piece, the most of an answer that waits for the
/// client to read it.
const BUFFER_BYTES: usize = HEAD_BYTES_MAX as usize;
/// A client on whose connection nothing comes or goes for so long is asked whether it is still there. Source:
/// `defaultKeepAlivePeriod` of upstream's secure serving.
const KEEPALIVE_AFTER: Duration = Duration::from_mins(3);
/// The time between two such questions.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);
/// How many of them may be unanswered before the connection is closed.
const KEEPALIVE_QUESTIONS: u32 = 9;
/// What the handshake agrees on for HTTP/2.
const HTTP2: Option<&[u8]> = Some(b"h2");

/// What all connections and requests of the server share.
pub(super) struct ServerContext {
    tls: Tls,
    api: Api,
    plane: ControlPlane,
    tokens: Arc<Tokens>,
    timeouts: Timeouts,
    limits: Limits,
    questions: queries::Bounds,
    /// The seats for backups.
    backups: Arc<Semaphore>,
}

impl ServerContext {
    pub(super) fn new(
        plane: ControlPlane,
        tls: Tls,
        tokens: Arc<Tokens>,
        timeouts: Timeouts,
    ) -> Self {
        let bodies = Bodies::bounded(BODIES_BYTES_MAX, timeouts.body);
        let api = plane.api().with_bodies(bodies.clone());
        let api = api.with_restricted(backup::restricted());
        Self {
            tls,
            api: api.with_authenticator(Arc::<Tokens>::clone(&tokens)),
            plane,
            tokens,
            timeouts,
            limits: Limits::default(),
            questions: queries::Bounds::new(bodies),
            backups: backup::seats(),
        }
    }
}

/// Accepts until `shutdown`, then lets open requests end.
pub(super) async fn accept(
    listener: TcpListener,
    context: ServerContext,
    shutdown: impl Future<Output = ()>,
) {
    let context = Arc::new(context);
    let (stop, stopping) = watch::channel(());
    let slots = Slots::new(context.limits);
    tokio::pin!(shutdown);
    let mut failures = Failures::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tokio::time::sleep(failures.pause(&error, &slots)).await;
                continue;
            }
        };
        // Without a free slot the connection is closed at once.
        let Some(slot) = slots.enter() else {
            continue;
        };
        let (context, stopping) = (Arc::clone(&context), stopping.clone());
        tokio::spawn(async move {
            let slot = Arc::new(slot);
            let served = serve(stream, context, Arc::clone(&slot), stopping);
            tokio::select! {
                ended = served => if let Err(error) = ended {
                    tracing::debug!(error = %error, "a connection ended");
                },
                () = slot.displaced() => {
                    tracing::debug!("a connection was closed to make room for a newer one");
                }
            }
        });
    }
    drop(listener);
    drop(stopping);
    context.api.end_watches();
    stop.send_replace(());
    let patience = context.timeouts.ending + CLOSING;
    tokio::time::timeout(patience, stop.closed()).await.ok();
}

/// Sets what holds for every connection. A client may be gone without a word, and a watch has nothing to send for
/// hours.
fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_EVERY)
        .with_retries(KEEPALIVE_QUESTIONS);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

async fn secured(stream: TcpStream, tls: &Tls) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = plain::refuse_http(stream).await?;
    let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
    acceptor.accept(stream).await
}

/// Who is at the other end of a connection, and what is counted of it.
struct Client {
    context: Arc<ServerContext>,
    certificate: KnownClient,
    requests: Requests,
    slot: Arc<Slot>,
}

impl Client {
    /// Who sends a request with this head. One without any tells who the client is by its certificate.
    fn identify(&self, headers: &HeaderMap) -> Result<User, InvalidCredentials> {
        let certified = self.certificate.at(UnixTime::now());
        let user = self.context.tokens.identify(headers, certified);
        if matches!(user, Ok(Some(_))) {
            self.requests.mark_authenticated();
            self.slot.mark_authenticated();
        }
        user
    }

    /// Answers a request, which counts as open from now on.
    fn answer(
        &self,
        request: http::Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Answer>, Infallible>> + use<> {
        let mut open = self.requests.begin();
        let actor = self.identify(request.headers());
        let context = Arc::clone(&self.context);
        let is_bare = request.method() == Method::HEAD && request.version() == Version::HTTP_2;
        async move {
            let rest = context.timeouts.rest;
            let answer = |request| answer(&context, actor, request);
            let mut response = unread::answer_and_drain(request, rest, answer).await;
            if is_bare {
                response = without_body_for_hyper(response);
            }
            date::stamp(response.headers_mut(), effects::now());
            if is_of_events(&response) {
                open.mark_watch();
            }
            Ok(response.map(|body| Answer::new(body, open, context.timeouts)))
        }
    }
}

async fn serve(
    stream: TcpStream,
    context: Arc<ServerContext>,
    slot: Arc<Slot>,
    mut stopping: watch::Receiver<()>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    prepare(&stream)?;
    let timeouts = context.timeouts;
    let secured = secured(stream, &context.tls);
    let stream = tokio::select! {
        done = tokio::time::timeout(timeouts.handshake, secured) => done??,
        _ = stopping.changed() => return Ok(()),
    };
    let session = stream.get_ref().1;
    let chain = session.peer_certificates().unwrap_or_default();
    let certificate = context.tls.certificates.identify(chain, UnixTime::now());
    let is_http2 = session.alpn_protocol() == HTTP2;
    let requests = Requests::none();
    let client = Client {
        context,
        certificate,
        requests: requests.clone(),
        slot,
    };
    // Whoever has a valid certificate need not send a request to be known.
    client.identify(&HeaderMap::new()).ok();
    let polls = Polls::of(requests.clone());
    let departure = (!is_http2).then(|| Departure::of(requests.clone()));
    let stream = Lingering::new(stream, departure, stopping.clone(), timeouts.lingering);
    let stream = Gathered::new(stream, is_http2.then(|| polls.clone()));
    let service = service_fn(move |request| client.answer(request));
    let builder = builder(is_http2);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let patience = tokio::select! {
        ended = polls.poll(connection.as_mut()) => return ended,
        _ = stopping.changed() => timeouts.ending,
        patience = requests.timed_out(timeouts) => patience,
    };
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = tokio::time::timeout(patience, polls.poll(connection)) => {}
        () = requests.done() => {}
    }
    Ok(())
}

/// Serves the protocol that the handshake agreed on, without waiting for the first byte to guess it.
fn builder(is_http2: bool) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let mut http2 = builder.http2();
    http2.initial_connection_window_size(WINDOW_BYTES);
    http2.initial_stream_window_size(WINDOW_BYTES);
    http2.max_header_list_size(HEAD_BYTES_MAX);
    builder.http1().max_buf_size(BUFFER_BYTES);
    if is_http2 {
        builder.http2_only()
    } else {
        builder.http1_only()
    }
}

/// hyper sends the body of an answer to `HEAD` over HTTP/2, which clients take for an error of the protocol.
fn without_body_for_hyper(mut response: Response<ApiBody>) -> Response<ApiBody> {
    let length = response.body().size_hint().exact().map(HeaderValue::from);
    if let Some(length) = length {
        let length_header = response.headers_mut().entry(CONTENT_LENGTH);
        length_header.or_insert(length);
    }
    response.map(|_| ApiBody::full(Bytes::new()))
}

async fn answer(
    context: &ServerContext,
    actor: Result<User, InvalidCredentials>,
    request: http::Request<ReturnedBody<Incoming>>,
) -> Response<ApiBody> {
    if let Some(refused) = host::refuse(&request) {
        return refused;
    }
    let Ok(actor) = actor else {
        return Api::unauthorized(request.headers());
    };
    match &actor {
        // Any success would tell the client that it has a tunnel now.
        _ if request.method() == Method::CONNECT => Failure::only_get().respond(),
        Some(actor) if request.uri().path().starts_with(PATHS) => {
            let (method, uri, headers) = (request.method(), request.uri(), request.headers());
            answer_own(context, actor, method, uri, headers).await
        }
        _ => context.api.handle(request, actor).await,
    }
}

/// Answers on a path of the program, beside the API.
async fn answer_own(
    context: &ServerContext,
    actor: &Arc<Actor>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Response<ApiBody> {
    if let Some(refused) = Api::refuse_impersonation(headers, actor) {
        return refused;
    }
    if method != Method::GET {
        return Failure::only_get().respond();
    }
    if uri.path() == BACKUP_PATH {
        let query = uri.query().unwrap_or_default();
        return backup::answer(&context.plane, &context.backups, actor, query);
    }
    queries::answer(&context.plane, &context.questions, uri).await
}
