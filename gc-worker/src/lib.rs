//! Garbage collection as deciders over projections: what must be deleted now, and why. They only submit
//! commands, each of which is decided again against the state on which it is carried out.
#![deny(clippy::wildcard_enum_match_arm)]

mod affected;
mod collector;
mod conditions;
mod content;
mod forecast;
mod left;
mod letting_go;
mod naming;
mod orders;
mod plan;
mod queue;
mod terminating;
#[cfg(test)]
mod testing;
mod trial;
mod ttl;
mod warnings;
mod worker;

pub use collector::Collector;
pub use conditions::{NAMESPACE_CONDITIONS, NamespaceCondition};
pub use forecast::{Baseline, Course, Forecast, forecast};
pub use left::steps_left;
pub use orders::{OrderDependence, Orders};
pub use plan::{Step, due};
pub use worker::Worker;
