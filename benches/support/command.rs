//! Commands of the benchmarks' only user.

use anyhow::Result;
use hindsight::ControlPlane;
use hindsight_core::command::Intent;
use hindsight_core::{Actor, Command};
use std::sync::Arc;

/// A command with this intent, at the current time.
pub fn command(plane: &ControlPlane, intent: Intent) -> Command {
    let actor = Arc::new(Actor::new("bench"));
    Command::new(actor, plane.now(), plane.seed(), intent)
}

/// Submits commands together and waits until they are durable; an error if one of them is refused, because
/// a refusal is no write that counts.
pub fn submit(plane: &ControlPlane, commands: Vec<Command>) -> Result<()> {
    for answer in plane.submit_blocking(commands)? {
        answer?;
    }
    Ok(())
}
