//! Requests to a control plane in this process, through the handler that the server has.

use hindsight::{ControlPlane, Service};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower_service::Service as _;

/// Sends requests as the administrator.
#[derive(Debug)]
pub struct Client {
    plane: ControlPlane,
    service: Service,
    runtime: tokio::runtime::Runtime,
}

/// An answer, whole.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub code: u16,
    /// Body.
    pub text: String,
}

impl Answer {
    /// The body as JSON; `Null` where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

impl Client {
    /// Talks to this control plane.
    pub fn new(plane: &ControlPlane) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        Self {
            plane: plane.clone(),
            service: plane.service(),
            runtime,
        }
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.plane.state().revision.0
    }

    /// One request and its answer; an empty media type sends none.
    pub fn send(&self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !media.is_empty() {
            request = request.header("content-type", media);
        }
        let request = request
            .body(Full::new(body.to_owned().into()))
            .expect("a request");
        let mut service = self.service.clone();
        self.runtime.block_on(async move {
            let response = service.call(request).await.expect("an answer");
            let code = response.status().as_u16();
            let bytes = response
                .into_body()
                .collect()
                .await
                .expect("a body")
                .to_bytes();
            Answer {
                code,
                text: String::from_utf8_lossy(&bytes).into_owned(),
            }
        })
    }
}
