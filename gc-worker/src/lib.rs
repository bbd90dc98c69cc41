//! Garbage collection as deciders over projections: what must be deleted now, and why. They only submit
//! commands, each of which is decided again against the state on which it is carried out.
//!
//! The collectors are those of garbage (`plan`), of containers in deletion (`content`, `plan::end`), of finished jobs,
//! of old events, of names that became free, and of warnings about owners in other namespaces.
#![deny(clippy::wildcard_enum_match_arm)]

mod affected;
mod backlog;
mod clients_part;
mod collector;
mod content;
mod deadlines;
mod event_ttl;
mod finished_jobs;
mod forecast;
mod freed_names;
mod identity;
mod orders;
mod plan;
mod queue;
mod steps;
#[cfg(test)]
mod testing;
mod trial;
mod warnings;

pub use affected::is_urgent;
pub use backlog::steps_left;
pub use collector::Collector;
pub use content::contents_remaining;
pub use forecast::{Baseline, Course, Forecast, forecast};
pub use identity::Identity;
pub use orders::{OrderDependence, Orders};
pub use plan::due;
pub use steps::{BATCH_STEPS_MAX, Step, in_parts, split_advancing};
