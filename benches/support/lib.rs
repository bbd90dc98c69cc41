//! What the measuring programs share: clients, a static ceiling, percentiles, and a control plane
//! that does one thing at a time.

pub mod client;
pub mod command;
pub mod kubeconfig;
pub mod percentiles;
pub mod process;
pub mod static_server;
pub mod stepped;
pub mod world;
