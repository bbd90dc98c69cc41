//! The API as a tower service, without a socket: what an in-process client talks to.

use crate::control_plane::ControlPlane;
use crate::users::administrator;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hindsight_api::{Api, ApiBody, Bodies};
use hindsight_core::Actor;
use http::{Request, Response};
use http_body::Body;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Answers requests as one identity. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Service {
    api: Api,
    actor: Arc<Actor>,
}

impl ControlPlane {
    /// The Kubernetes API in process, as the administrator. What is reached over a network needs [`Service::bounded`].
    ///
    /// Its requests must be answered in a Tokio runtime with time and I/O enabled (webhooks are called over the
    /// network). With paused time, whatever waits for the disk is timed out. Clones belong to one runtime, that of their
    /// first watch: when it ends, their watches do, and while nobody drives it, they stand still. Another runtime needs
    /// a service of its own. Those who look at the past, and watches that come back after a restart, wait for each
    /// other in all runtimes: one in which they were begun must be driven until they are over, or be dropped.
    pub fn service(&self) -> Service {
        self.service_as(administrator())
    }

    /// The Kubernetes API in process, as another user. To answer many users, make one service and derive those of
    /// the others with [`Service::as_actor`].
    pub fn service_as(&self, actor: Actor) -> Service {
        Service {
            api: self.api(),
            actor: Arc::new(actor),
        }
    }

    pub(crate) fn api(&self) -> Api {
        Api::new(Arc::new(self.clone()), Arc::clone(self.admission()))
    }
}

impl Service {
    /// For a service that is reached over a network: bounds the memory for what clients send and do not read, and the
    /// time for a body to arrive. Without bounds a service waits for bodies for as long as they take, and for all at once.
    #[must_use]
    pub fn bounded(self, bodies: Bodies) -> Self {
        let api = self.api.with_bodies(bodies);
        Self { api, ..self }
    }

    /// The same API as another user. Both share the bounds on what is done at a time, those of [`Service::bounded`] if
    /// there are any, and the documents of discovery and OpenAPI that were built.
    #[must_use]
    pub fn as_actor(&self, actor: Actor) -> Self {
        Self {
            api: self.api.clone(),
            actor: Arc::new(actor),
        }
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<ApiBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { api, actor } = self.clone();
        Box::pin(async move { Ok(api.handle(request, Some(actor)).await) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use futures_util::stream::{once, pending};
    use futures_util::{StreamExt, future::ready};
    use http_body::Frame;
    use http_body_util::{BodyExt, Full, StreamBody};
    use std::time::Duration;
    use tokio::time::{Instant, timeout};
    use tower_service::Service as _;

    /// The status of the answer to a body whose end does not come, and after how long it came.
    async fn answer_to_half_a_body(mut service: Service) -> (u16, Duration) {
        let half = Frame::data(Bytes::from_static(b"{"));
        let body = StreamBody::new(once(ready(Ok::<_, Infallible>(half))).chain(pending()));
        let request = Request::post("/api/v1/namespaces/default/configmaps").body(body);
        let sent = Instant::now();
        let Ok(answer) = service.call(request.expect("a request")).await;
        (answer.status().as_u16(), sent.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_bounded_service_waits_for_bodies_as_long_and_has_room_for_as_many_as_it_was_given() {
        let plane = ControlPlane::open(Config::default()).expect("it opens");
        let arrival = Duration::from_secs(20);
        // Room for one body of unknown length.
        let admin = plane.service().bounded(Bodies::bounded(0, arrival));
        let bob = admin.as_actor(Actor::new("bob"));
        let both = async { tokio::join!(answer_to_half_a_body(admin), answer_to_half_a_body(bob)) };
        let (first, second) = timeout(2 * arrival, both).await.expect("they are answered");
        assert_eq!((first.0, first.1.as_secs()), (504, arrival.as_secs()));
        assert_eq!(second.0, 429, "it waited for {:?}", second.1);
    }

    #[tokio::test]
    async fn one_api_answers_each_of_its_users_as_that_user() {
        let plane = ControlPlane::open(Config::default()).expect("it opens");
        let admin = plane.service();
        let bob = admin.as_actor(Actor::new("bob"));
        for (mut service, user) in [(admin, "admin"), (bob, "bob")] {
            let review = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
            let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
                .header("Content-Type", "application/json")
                .body(Full::new(Bytes::from(review)))
                .expect("a request");
            let Ok(answer) = service.call(request).await;
            let body = answer.into_body().collect().await.expect("a body");
            let told: serde_json::Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
            assert_eq!(told["status"]["userInfo"]["username"], user, "{told}");
        }
    }

    #[tokio::test]
    async fn a_plane_that_was_closed_is_not_watched() {
        let plane = ControlPlane::open(Config::default()).expect("it opens");
        let mut service = plane.service();
        let mut watch = async || {
            let request = Request::get("/api/v1/configmaps?watch=1");
            let request = request.body(Full::new(Bytes::new())).expect("a request");
            let Ok(answer) = service.call(request).await;
            answer
        };
        let open = watch().await;
        assert_eq!(open.status(), 200);
        tokio::task::spawn_blocking(move || plane.close())
            .await
            .expect("closed");
        open.into_body().collect().await.expect("it ends");
        assert_eq!(watch().await.status(), 503);
    }
}
