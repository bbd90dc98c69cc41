//! Hindsight as a library: [`ControlPlane::open`] gives a Kubernetes-compatible control plane on a
//! directory or in memory. The only crate that reads the wall clock and makes randomness.

#[cfg(feature = "http")]
mod answer;
#[cfg(feature = "http")]
mod backend;
mod bootstrap;
mod collectors;
mod config;
mod control_plane;
mod effects;
mod history;
#[cfg(feature = "http")]
mod inspect;
#[cfg(feature = "http")]
mod named_file;
#[cfg(feature = "http")]
mod past;
mod pending;
mod published;
mod reply;
mod restoring;
#[cfg(feature = "http")]
mod service;
#[cfg(test)]
mod testing;
#[cfg(feature = "http")]
mod webhooks;

#[cfg(feature = "http")]
pub mod cli;
#[cfg(feature = "http")]
mod remote;
#[cfg(feature = "http")]
mod server;

pub use config::{Config, OpenError};
pub use control_plane::ControlPlane;
#[cfg(feature = "http")]
pub use hindsight_api::{Access, Authorizer, Verdict};
pub use hindsight_log::Retention;
pub use history::{HistoryIndex, LogHistory};
#[cfg(feature = "http")]
pub use service::Service;
