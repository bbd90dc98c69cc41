//! Control planes for tests.

use crate::{Config, ControlPlane};

/// A control plane in memory, without collectors.
pub(crate) fn plane() -> ControlPlane {
    let config = Config {
        collectors: false,
        ..Config::default()
    };
    ControlPlane::open(config).expect("it opens")
}

/// What the first check says that fails.
pub(crate) fn failure(plane: &ControlPlane) -> Option<String> {
    plane.checks().into_iter().find_map(|check| check.failure)
}
