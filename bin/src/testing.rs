//! Control planes for tests.

use crate::{Config, ControlPlane};

/// In memory; nobody collects in it.
pub(crate) fn plane() -> ControlPlane {
    let config = Config {
        collectors: false,
        ..Config::default()
    };
    ControlPlane::open(config).expect("it opens")
}
