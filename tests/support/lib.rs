//! Support for the tests: the source tree, a running server, scenarios, the naive model and the
//! simulator.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::print_stdout,
    reason = "a test stops where its ground is not what it expects"
)]

pub mod admission;
pub mod author;
pub mod beside;
pub mod causes;
pub mod cuts;
pub mod dice;
pub mod disk;
pub mod evidence;
pub mod gate;
pub mod graphs;
pub mod histories;
pub mod history;
pub mod http;
pub mod manifests;
pub mod naive;
pub mod packed;
pub mod point;
pub mod preload;
pub mod recorder;
pub mod reference;
pub mod requests;
pub mod rules;
pub mod scenario;
pub mod schedules;
pub mod seeds;
pub mod server;
pub mod shape;
pub mod shrink;
pub mod sim;
pub mod stage;
pub mod states;
pub mod strace;
pub mod streams;
pub mod tree;
pub mod uncollected;
pub mod vitals;
pub mod wait;
pub mod webhook;
pub mod wire;
pub mod world;
