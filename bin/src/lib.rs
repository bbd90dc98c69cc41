//! Hindsight as a library: [`ControlPlane::open`] gives a Kubernetes-compatible control plane on a directory or
//! in memory. This crate has the only wall clock, and the only randomness that the rules see.
//!
//! The types that its methods take and return are in the crates that it is made of, each a module here:
//!
//! - [`core`]: commands, objects, changes, states and refusals;
//! - [`log`]: [`log::Reader`] reads what was written, and says why it cannot;
//! - [`projector`]: what an explanation contains;
//! - [`gc`]: what a forecast contains, and who the collectors are ([`gc::Identity`]);
//! - `api`, with the feature `http`: the Kubernetes API of [`ControlPlane`] as a service.
//!
//! Documents of objects are `serde_json::Value` ([`core::Object::document`] reads one).

/// Has the examples on the page compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/time-travel.md")]
struct TimeTravel;

#[cfg(feature = "http")]
mod answer;
#[cfg(feature = "http")]
mod backend;
#[cfg(feature = "http")]
mod backfill;
mod bootstrap;
mod collectors;
mod config;
mod control_characters;
mod control_plane;
mod data_dir;
#[cfg(feature = "http")]
mod disk;
mod effects;
#[cfg(feature = "http")]
mod hangup;
#[cfg(feature = "http")]
mod hint;
mod history;
#[cfg(feature = "http")]
mod inspect;
#[cfg(feature = "http")]
mod lock_wait;
#[cfg(feature = "http")]
mod named_file;
mod open_reader;
mod opening;
#[cfg(feature = "http")]
mod past;
mod pending;
mod published;
mod questions;
mod reasons;
mod reply;
mod restore;
mod restoring;
mod revisions;
#[cfg(feature = "http")]
mod service;
mod shell;
#[cfg(test)]
mod testing;
mod unpoisoned;
#[cfg(feature = "http")]
mod users;
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
pub use effects::now as system_clock;
#[cfg(feature = "http")]
pub use hindsight_api as api;
#[cfg(feature = "http")]
pub use hindsight_api::{Access, Authorizer, Verdict};
pub use hindsight_core as core;
pub use hindsight_gc as gc;
pub use hindsight_log as log;
pub use hindsight_log::{Clock, Retention};
pub use hindsight_projector as projector;
pub use open_reader::{OpenedReader, open_reader};
pub use questions::Why;
pub use restore::{RestoreError, restore};
pub use revisions::Revisions;
#[cfg(feature = "http")]
pub use service::Service;
