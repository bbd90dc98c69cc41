//! The room that a write waits for before it is read as one.

use crate::accept::{TIMES_AS_YAML, View};
use crate::admission;
use crate::api::Api;
use crate::body::{ApiBody, Bodies, Received, Syntax};
use crate::offload::LONG_BYTES;
use crate::request::ResourceRequest;
use crate::status::Failure;
use http::{Method, Response};
use http_body::Body;

impl Api {
    /// Answers once there is room for what webhooks are asked and for the version that it makes, and keeps the
    /// latter until the answer is sent. Both are taken at once: writes that have a part never wait for each other.
    pub(super) async fn in_room(
        &self,
        method: &Method,
        request: &mut ResourceRequest,
        body: Received,
    ) -> Result<Response<ApiBody>, Failure> {
        let Some(bodies) = &self.bodies else {
            return self.with_body(method, request, body).await;
        };
        let kept = Bodies::version_bytes(written_bytes(request));
        let waiting = admission::waiting_bytes(request, request.body_bytes);
        let mut room = bodies.room_for_write(kept, waiting).await?;
        let answer = self.with_body(method, request, body).await?;
        // What is answered may be short, as where something was deleted.
        let sent = answer.body().size_hint().exact().unwrap_or_default();
        let sent = usize::try_from(sent).unwrap_or(usize::MAX);
        let kept = kept.min(Bodies::version_bytes(sent));
        if let Some(room) = &mut room {
            drop(room.split(room.num_permits().saturating_sub(kept)));
        }
        Ok(match room.filter(|_| kept > 0) {
            Some(room) => answer.map(|body| body.holding(room)),
            None => answer,
        })
    }
}

/// About how long what is made for a request is: the version that it puts in the place of another one, and the
/// answer. A new object stays in memory anyway: it counts where it is shown in another form, and where it is not
/// stored, as in a dry run. As YAML, whose length nobody knows, a long one counts as the longest.
fn written_bytes(request: &ResourceRequest) -> usize {
    let (body, accept) = (request.body_bytes, &request.accept);
    let stored = request.stored_bytes();
    let is_as_stored = accept.syntax != Syntax::Yaml && accept.view == View::Object;
    let bytes = match request.method {
        Method::PATCH => body + stored,
        Method::POST if is_as_stored && is_kept(request) => 0,
        _ => body.max(stored),
    };
    if accept.syntax == Syntax::Yaml && bytes.saturating_mul(TIMES_AS_YAML) > LONG_BYTES {
        return usize::MAX;
    }
    bytes
}

/// Whether what is created stays in memory.
fn is_kept(request: &ResourceRequest) -> bool {
    let options = request.params.create_options();
    !request.kind.strategy.review && options.is_ok_and(|options| !options.dry_run)
}
