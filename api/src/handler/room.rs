//! The room that a write waits for before it is read as one.

use super::{Api, ResourceRequest};
use crate::admission;
use crate::body::{ApiBody, Bodies, Received};
use crate::status::Failure;
use http::{Method, Response};

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
        let kept = Bodies::version_bytes(written_bytes(method, request));
        let waiting = admission::waiting_bytes(request, request.body_bytes);
        let mut room = bodies.room_for_write(kept, waiting).await?;
        let answer = self.with_body(method, request, body).await?;
        if let Some(room) = &mut room {
            drop(room.split(room.num_permits().saturating_sub(kept)));
        }
        Ok(match room.filter(|_| kept > 0) {
            Some(room) => answer.map(|body| body.holding(room)),
            None => answer,
        })
    }
}

/// About how long a version is that a request puts in the place of another one. A new object stays in memory
/// anyway, and a deletion waits only where a webhook is asked about it.
fn written_bytes(method: &Method, request: &ResourceRequest) -> usize {
    let bytes = request.body_bytes;
    match *method {
        Method::PUT => bytes,
        Method::PATCH => {
            let stored = request.state.get(&request.key());
            bytes + stored.map_or(0, |stored| stored.body.len())
        }
        _ => 0,
    }
}
