//! Commands of the only user.

use hindsight::ControlPlane;
use hindsight_core::command::Intent;
use hindsight_core::{Actor, Cause, Command, Request};
use std::sync::Arc;

/// A wish, at this time.
pub fn command(plane: &ControlPlane, intent: Intent) -> Command {
    Command {
        actor: Arc::new(Actor {
            user: "bench".into(),
            uid: "".into(),
            groups: Vec::new(),
        }),
        request: Arc::new(Request::default()),
        time: plane.now(),
        seed: plane.seed(),
        cause: Cause::Request,
        intent,
    }
}
