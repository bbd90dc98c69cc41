//! From one request to one answer: who asks, which resource the path names, and which verb is meant.

mod by_kind;
mod deprecated;
mod refusals;
mod room;

use crate::accept::{Accept, NotAcceptable, accept, accept_of_review};
use crate::api::Api;
use crate::backend::{StateAt, present};
use crate::body::{self, ApiBody, Received, Syntax};
use crate::documents::Documents;
use crate::media_type::MediaType;
use crate::params::Params;
use crate::path::{self, Route, route, split_time};
use crate::request::origin::Origin;
use crate::request::{ResourceRequest, resolve};
use crate::status::Failure;
use crate::{
    discovery, health, impersonation, list, openapi, position, pretty, respond, reviews, table,
    verbs, watch,
};
use by_kind::{KindRequest, head_as_get};
use bytes::Bytes;
use deprecated::Deprecated;
use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::{Actor, Form, State, Time};
use http::request::Parts;
use http::{Method, Request, Response, header};
use http_body::Body;
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::time::Instant;

/// The body of upstream's answer where no handler is responsible for a path.
const NOT_FOUND: &str = "404 page not found\n";
/// The `Cache-Control` of every answer, as in upstream's `WithCacheControl`. Without it a client whose clock is
/// behind takes a cached answer for the newest, above all in discovery. Documents with an `ETag` are
/// revalidated too, where upstream says `public`.
const NOT_CACHED: &str = "no-cache, private";

impl Api {
    /// Answers a request. Without an actor only health and version are answered.
    pub async fn handle<B>(
        &self,
        request: Request<B>,
        actor: Option<Arc<Actor>>,
    ) -> Response<ApiBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let accept = accept(&parts.headers);
        let syntax = syntax_of(&accept);
        let is_pretty = pretty::is_wanted(&parts.uri, &parts.headers, accept.as_ref().ok());
        let mut lost = None;
        let answer = match self.read_scene(&parts, actor).await {
            Ok(ControlFlow::Continue(scene)) => {
                lost = scene.shown.lost;
                self.answer(scene, parts, body, accept).await
            }
            Ok(ControlFlow::Break(answer)) => Ok(answer),
            Err(failure) => Err(failure),
        };
        let mut answer = answer.unwrap_or_else(|failure| respond::failure(&failure, syntax));
        if let Some(lost) = lost {
            respond::warn_first(&mut answer, &lost.to_string());
        }
        if is_pretty {
            answer = pretty::indented(answer);
        }
        finish(answer)
    }

    /// Finds out what a request is about, if its client may ask. Health is answered here.
    async fn read_scene(
        &self,
        parts: &Parts,
        actor: Option<Arc<Actor>>,
    ) -> Result<ControlFlow<Response<ApiBody>, Scene>, Failure> {
        let Parts {
            method,
            uri,
            headers,
            ..
        } = parts;
        let health = health::respond(method, uri, &*self.backend);
        let Some(actor) = actor else {
            let health = health.unwrap_or_else(|| Err(Failure::unauthorized()));
            return health.map(ControlFlow::Break);
        };
        impersonation::refuse(headers, &actor)?;
        if let Some(response) = health {
            return response.map(ControlFlow::Break);
        }
        let (point, path) = split_time(uri.path())?;
        let shown = match point {
            Some(point) => self.backend.as_of(point).await.map_err(Failure::of_past)?,
            None => StateAt::in_memory(self.backend.state()),
        };
        let now = present(&*self.backend, point, shown.state.revision).await;
        Ok(ControlFlow::Continue(Scene {
            actor,
            path: path.to_owned(),
            is_past: point.is_some(),
            now,
            shown,
        }))
    }

    /// Answers about what the path names in a state.
    async fn answer<B>(
        &self,
        scene: Scene,
        mut parts: Parts,
        body: B,
        accept: Result<Accept, NotAcceptable>,
    ) -> Result<Response<ApiBody>, Failure>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Scene {
            actor,
            path,
            is_past,
            now,
            shown: StateAt { state, seat, .. },
        } = scene;
        let route = match named_by(&self.documents, path, is_past, &parts, &state).await? {
            Named::Resource(route) => route,
            Named::Document(answer) => return Ok(answer),
        };
        let params = Params::parse(parts.uri.query())?;
        let watches = watches(&route, &params);
        let deadline = deadline(&parts.method, watches, &params)?;
        if let Some(answer) = verbs::kubelet::instead(&state, &parts.method, &route, &params)? {
            return Ok(answer);
        }
        let Some((kind, version)) = resolve(&state, &route) else {
            return unknown_resource(&state, &route.group);
        };
        let is_head = head_as_get(&kind, &mut parts);
        let asked = KindRequest::new(&kind, &parts.method, &route, is_head);
        if parts.method != Method::GET && kind.is_namespaced() && route.namespace.is_none() {
            return write_across_namespaces(&kind);
        }
        let syntax = syntax_of(&accept);
        let deprecated = Deprecated::of(&kind, &version, &route.subpath);
        let accept = accept.map_err(|refused| refused.of(&kind));
        let answer = match (route.subpath.served(&version), accept) {
            (Ok(subresource), Ok(accept)) => {
                let request = Box::new(ResourceRequest {
                    form: Form::of(&state.kinds, &kind, &version.name),
                    media: MediaType::of(&parts.headers),
                    now,
                    method: parts.method.clone(),
                    origin: Origin::of_write(&parts),
                    params,
                    route,
                    version,
                    subresource,
                    state,
                    actor,
                    accept,
                    accept_of_review: accept_of_review(&kind, accept, &parts.headers),
                    kind,
                    is_past,
                    seat,
                    body_bytes: 0,
                    watches,
                    deadline,
                });
                drop(parts);
                self.dispatch(request, body).await
            }
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
        };
        let answer = answer.map_err(|failure| asked.named(failure));
        Ok(asked.shown(deprecated.warn(answer, syntax)))
    }

    async fn dispatch<B>(
        &self,
        mut request: Box<ResourceRequest>,
        body: B,
    ) -> Result<Response<ApiBody>, Failure>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let method = request.method.clone();
        if request.is_past && method != Method::GET {
            let why = "this method is not allowed under /as-of/";
            return Err(position::past_does_not_change(why));
        }
        if !verbs::allows(request.subresource, &method)
            || (request.route.watch && method != Method::GET)
        {
            return Err(Failure::method_not_allowed());
        }
        if request.route.watch && request.subresource.is_some() {
            return Err(Failure::no_such_resource());
        }
        let named = request.route.name.is_some();
        if !request.kind.strategy.review {
            request.accept.check(request.answer(), &request.kind)?;
        }
        if method == Method::GET {
            table::check_include(&request)?;
        }
        if let Some(why) = request.kind.unconvertible(&request.version.name) {
            return Err(Failure::internal(why));
        }
        match (method, named) {
            (Method::GET, _) if request.kind.strategy.review => Err(Failure::method_not_allowed()),
            (Method::GET, _) if request.watches => watch::open(self, request).await,
            (Method::GET, true) => verbs::get(self, request).await,
            (Method::GET, false) => list::answer(self, request).await,
            (method, _) => {
                let (is_yaml, head) = (request.media.is_yaml(), request.head_bytes());
                let body = body::read(body, is_yaml, head, self.bodies.as_ref()).await?;
                let room = body.room.clone();
                request.body_bytes = body.bytes.len();
                // Its body may have taken long, and others have written since.
                request.refresh(self)?;
                // Boxed, so that the futures of reads and watches need no space for it.
                let answer = Box::pin(self.in_room(&method, &mut request, body)).await;
                match answer {
                    // It may repeat the body.
                    Err(failure) if failure.is_long() => {
                        let answer = respond::failure(&failure, request.accept.syntax);
                        Ok(answer.map(|answer| answer.holding(room)))
                    }
                    answer => answer,
                }
            }
        }
    }

    async fn with_body(
        &self,
        method: &Method,
        request: &mut ResourceRequest,
        body: Received,
    ) -> Result<Response<ApiBody>, Failure> {
        let named = request.route.name.is_some();
        if request.kind.strategy.review {
            if &*request.kind.kind == "Binding" && *method == Method::POST {
                return verbs::bind(self, request, body).await;
            }
            return reviews::answer(self, request, body).await;
        }
        match (method, named) {
            (&Method::POST, _) => verbs::create(self, request, body).await,
            (&Method::PUT, true) => verbs::update(self, request, body).await,
            (&Method::PATCH, true) => verbs::patch(self, request, body).await,
            (&Method::DELETE, true) => verbs::delete(self, request, body).await,
            (&Method::DELETE, false) if request.kind.strategy.collection_deletes => {
                verbs::delete_collection(self, request, body).await
            }
            _ => Err(Failure::method_not_allowed()),
        }
    }
}

/// What a request is about, and who asks.
struct Scene {
    actor: Arc<Actor>,
    /// The path without the point in time.
    path: String,
    /// Whether the path names a point in time.
    is_past: bool,
    /// That point, or when the request arrived.
    now: Time,
    /// The state at that point, or the newest.
    shown: StateAt,
}

/// What a path names.
enum Named {
    Resource(Route),
    /// Something else, or nothing: this is the answer.
    Document(Response<ApiBody>),
}

async fn named_by(
    documents: &Documents,
    path: String,
    is_past: bool,
    parts: &Parts,
    state: &Arc<State>,
) -> Result<Named, Failure> {
    let path = &*path;
    let mut document = discovery::respond(documents, path, is_past, parts, state).await?;
    if document.is_none() {
        document = openapi::respond(documents, path, &parts.headers, state).await?;
    }
    if let Some(document) = document {
        return Ok(Named::Document(document));
    }
    if let Some(route) = route(path)? {
        return Ok(Named::Resource(route));
    }
    let nothing = match path::group(path)? {
        Some(group) => unknown_resource(state, &group)?,
        None => respond::text(404, NOT_FOUND),
    };
    Ok(Named::Document(nothing))
}

fn syntax_of(accept: &Result<Accept, NotAcceptable>) -> Syntax {
    accept.as_ref().map_or(Syntax::Json, |accept| accept.syntax)
}

/// Adds what every answer carries.
fn finish(mut answer: Response<ApiBody>) -> Response<ApiBody> {
    respond::write_warnings(&mut answer);
    let cached = header::HeaderValue::from_static(NOT_CACHED);
    answer.headers_mut().insert(header::CACHE_CONTROL, cached);
    answer
}

/// The answer to a write across all namespaces, which can only be read. Source: upstream's `APIInstaller`,
/// which has no such method, and for custom kinds `crdHandler`, which has no such path.
fn write_across_namespaces(kind: &Kind) -> Result<Response<ApiBody>, Failure> {
    if kind.is_custom() {
        return Ok(respond::text(404, NOT_FOUND));
    }
    Err(Failure::method_not_allowed())
}

/// When the answer must have begun; never for a watch, which has a timeout of its own.
fn deadline(method: &Method, watches: bool, params: &Params) -> Result<Option<Instant>, Failure> {
    if *method == Method::GET && watches {
        return Ok(None);
    }
    let timeout = params.timeout()?;
    Ok(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
}

/// Whether a `GET` of this path watches a collection, or one object by the older path: such a request has no
/// end of its own.
fn watches(route: &Route, params: &Params) -> bool {
    route.watch || (route.name.is_none() && params.flag("watch") == Some(true))
}

/// The answer where nothing exists: a `Status` in a group of built-in kinds, and anywhere else the text of
/// upstream's last handler. Source: upstream's `crdHandler`, and the handler behind it.
fn unknown_resource(state: &State, group: &str) -> Result<Response<ApiBody>, Failure> {
    let is_built_in = |kind: &KindRef| !kind.is_custom() && &*kind.resource.group == group;
    if state.kinds.iter().any(is_built_in) {
        return Err(Failure::no_such_resource());
    }
    Ok(respond::text(404, NOT_FOUND))
}

#[cfg(test)]
mod tests;
