//! Commands of the benchmarks' only user.

use hindsight::ControlPlane;
use hindsight_core::command::Intent;
use hindsight_core::{Actor, Command};
use std::sync::Arc;

/// A command with this intent, at the current time.
pub fn command(plane: &ControlPlane, intent: Intent) -> Command {
    let actor = Arc::new(Actor::new("bench"));
    Command::new(actor, plane.now(), plane.seed(), intent)
}
