//! The program under strain: a slow disk, watchers that do not read, clients that leave, a clock that
//! jumps, no descriptors, memory or disk space left; and which system calls it makes.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

#[path = "strain/bodies.rs"]
mod bodies;
#[path = "strain/calls.rs"]
mod calls;
#[path = "strain/clients.rs"]
mod clients;
#[path = "strain/clock.rs"]
mod clock;
#[path = "strain/crowd.rs"]
mod crowd;
#[path = "strain/elsewhere.rs"]
mod elsewhere;
#[path = "strain/expiries.rs"]
mod expiries;
#[path = "strain/guarantees.rs"]
mod guarantees;
#[path = "strain/informer.rs"]
mod informer;
#[path = "strain/limits.rs"]
mod limits;
#[path = "strain/slow.rs"]
mod slow;
#[path = "strain/watchers.rs"]
mod watchers;

use hindsight_tests::http::MAPS;
use hindsight_tests::wait::wait_until;
use hindsight_tests::wire::Wire;

const MAPS_IN_ALL_NAMESPACES: &str = "/api/v1/configmaps";

/// A ConfigMap with this many bytes of data.
fn map(name: &str, bytes: usize) -> String {
    let data = "v".repeat(bytes);
    format!(r#"{{"metadata": {{"name": "{name}"}}, "data": {{"k": "{data}"}}}}"#)
}

fn create(wire: &mut Wire, name: &str, bytes: usize) {
    let reply = wire
        .ask("POST", MAPS, &map(name, bytes))
        .expect("an answer");
    assert_eq!(reply.code, 201, "{}", reply.body);
}

/// The first string member of this name, anywhere in a document.
fn member<'a>(document: &'a str, name: &str) -> &'a str {
    let rest = document.split_once(&format!("\"{name}\":\""));
    let value = rest.and_then(|(_, rest)| rest.split('"').next());
    value.unwrap_or_else(|| panic!("no {name} in {document:.300}"))
}
