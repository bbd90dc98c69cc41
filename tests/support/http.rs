//! A client for a control plane in this process, through the same handler as the server's.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hindsight::{Config, ControlPlane, Service};
use hindsight_core::Actor;
use http::Request;
use http_body_util::{BodyExt, BodyStream, Full};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use tower_service::Service as _;

/// Media type of a document.
pub const JSON: &str = "application/json";
/// Media type of a merge patch.
pub const MERGE: &str = "application/merge-patch+json";
/// The path of ConfigMaps.
pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// The path of definitions of custom kinds.
pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How long to wait for an event that must come: it bounds a failing run and measures nothing.
const PATIENCE: Duration = Duration::from_mins(2);

type Reply = <Service as tower_service::Service<Request<Full<Bytes>>>>::Response;

/// Sends requests, as the administrator unless another user is named.
#[derive(Debug)]
pub struct Client {
    plane: ControlPlane,
    service: Service,
    runtime: tokio::runtime::Runtime,
}

/// A whole answer.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// HTTP status.
    pub code: u16,
    /// Body.
    pub text: String,
    /// `Warning` headers.
    pub warnings: Vec<String>,
}

impl Answer {
    /// The body as JSON; `Null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

/// An open watch.
pub struct Events {
    frames: BoxStream<'static, Vec<u8>>,
    bytes: Vec<u8>,
    ready: VecDeque<Value>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of a new control plane in memory.
    pub fn in_memory() -> Self {
        Self::new(&ControlPlane::open(Config::default()).expect("it opens"))
    }

    /// A client of this control plane.
    pub fn new(plane: &ControlPlane) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        Self {
            plane: plane.clone(),
            service: plane.service(),
            runtime,
        }
    }

    /// A client with this user name.
    pub fn new_as(plane: &ControlPlane, user: &str) -> Self {
        let actor = Actor {
            user: user.into(),
            uid: "".into(),
            groups: vec!["system:authenticated".into()],
        };
        Self {
            service: plane.service_as(actor),
            ..Self::new(plane)
        }
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.plane.state().revision.0
    }

    /// Sends one request and returns its answer; an empty media type is not sent.
    pub fn send(&self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        self.send_with(method, path, &[("content-type", media)], body)
    }

    /// Sends one request with those of these headers that are not empty.
    pub fn send_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let response = self.call(method, path, headers, body);
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.map(|text| text.to_str().expect("ASCII").to_owned());
        let warnings = warnings.collect();
        let bytes = self.runtime.block_on(response.into_body().collect());
        let bytes = bytes.expect("a body").to_bytes();
        Answer {
            code,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            warnings,
        }
    }

    /// Opens a watch.
    pub fn watch(&self, path: &str, accept: &str) -> Events {
        let response = self.call("GET", path, &[("accept", accept)], "");
        let frames = BodyStream::new(response.into_body()).filter_map(async |frame| {
            let bytes = frame.ok()?.into_data().ok()?;
            Some(bytes.to_vec())
        });
        Events {
            frames: frames.boxed(),
            bytes: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    /// The next event of a watch; `None` at its end.
    pub fn next(&self, events: &mut Events) -> Option<Value> {
        while events.ready.is_empty() {
            let frame = async { tokio::time::timeout(PATIENCE, events.frames.next()).await };
            let frame = self
                .runtime
                .block_on(frame)
                .expect("an event, or the end")?;
            events.take(&frame);
        }
        events.ready.pop_front()
    }

    fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(body.to_owned().into()))
            .expect("a request");
        let mut service = self.service.clone();
        self.runtime
            .block_on(async move { service.call(request).await.expect("an answer") })
    }
}

impl Events {
    fn take(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        while let Some(at) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=at).collect();
            self.ready
                .push_back(serde_json::from_slice(&line).expect("an event is JSON"));
        }
    }
}
