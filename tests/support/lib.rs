//! Support for the tests: the source tree, a running server, scenarios and the naive model.

pub mod reference;
pub mod server;
pub mod tree;
pub mod world;
