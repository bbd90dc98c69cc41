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
