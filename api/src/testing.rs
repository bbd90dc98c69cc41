//! The API over an engine that does nothing by itself, for tests.

use crate::admission::Admission;
use crate::api::Api;
use crate::backend::fake::{Fake, beside};
use crate::body::ApiBody;
use bytes::Bytes;
use futures_util::FutureExt;
use hindsight_core::Actor;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// A runtime on this thread, in which time passes.
pub(crate) fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime")
}

/// An API, and the runtime that drives it.
pub(crate) struct Served {
    api: Api,
    runtime: Runtime,
}

impl Served {
    pub(crate) fn new() -> Self {
        Self {
            api: Api::new(Arc::new(Fake::new()), Arc::new(Admission::default())),
            runtime: runtime(),
        }
    }

    pub(crate) const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Answers a request of an administrator. The body may still be streaming.
    pub(crate) fn answer(&self, request: Request<Full<Bytes>>) -> Response<ApiBody> {
        let known = Some(Arc::new(Actor::new("admin")));
        self.runtime.block_on(self.api.handle(request, known))
    }

    /// The same, and how often others had their turn before the answer began.
    pub(crate) fn answer_beside(&self, request: Request<Full<Bytes>>) -> (Response<ApiBody>, u32) {
        let known = Some(Arc::new(Actor::new("admin")));
        self.runtime
            .block_on(beside(self.api.handle(request, known)))
    }

    /// The code of the answer, if nothing has to be waited for.
    pub(crate) fn code_at_once(&self, request: Request<Full<Bytes>>) -> Option<u16> {
        let known = Some(Arc::new(Actor::new("admin")));
        let _entered = self.runtime.enter();
        let answer = self.api.handle(request, known).now_or_never();
        answer.map(|answer| answer.status().as_u16())
    }

    /// The next part of a body, if nothing has to be waited for.
    pub(crate) fn part_at_once(&self, body: &mut ApiBody) -> Option<Bytes> {
        let _entered = self.runtime.enter();
        let frame = body.frame().now_or_never()?;
        frame?.ok()?.into_data().ok()
    }

    /// The answer with its whole body.
    pub(crate) fn whole(&self, request: Request<Full<Bytes>>) -> Response<Bytes> {
        let (parts, body) = self.answer(request).into_parts();
        let body = self.runtime.block_on(body.collect());
        Response::from_parts(parts, body.expect("a body").to_bytes())
    }
}
