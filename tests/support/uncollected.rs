//! Logs that end where collectors would have something to do.

use hindsight::{Config, ControlPlane};
use hindsight_core::{Actor, Command, Intent};
use std::path::Path;
use std::sync::Arc;

/// A control plane on this directory without collectors.
pub fn without_collectors(directory: &Path) -> ControlPlane {
    let config = Config {
        data_dir: Some(directory.to_owned()),
        collectors: false,
        ..Config::default()
    };
    ControlPlane::open(config).expect("opened")
}

/// Carries an intent out and returns the UID of its object.
pub fn carried_out(plane: &ControlPlane, intent: Intent) -> String {
    let actor = Arc::new(Actor::new("tester"));
    let command = Command::new(actor, plane.now(), plane.seed(), intent);
    let answers = plane.submit_blocking(vec![command]).expect("submitted");
    let decision = answers[0].as_ref().expect("carried out");
    decision.commits[0].uid.to_string()
}
