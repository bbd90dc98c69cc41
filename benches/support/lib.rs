//! What the benchmarks share: clients, the static server that marks the ceiling, percentiles, and a
//! control plane that does one step at a time.

pub mod client;
pub mod command;
pub mod kubeconfig;
pub mod percentiles;
pub mod process;
pub mod static_server;
pub mod stepped;
pub mod world;
