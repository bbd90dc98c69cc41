//! Support for the tests: the source tree, a running server, scenarios and the naive model.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test stops where its ground is not what it expects"
)]

pub mod admission;
pub mod dice;
<<<<<<< HEAD
pub mod history;
=======
pub mod disk;
>>>>>>> ee022b6 (log: large frames are stored in pieces, for what sled keeps in blobs is never synced; tests: the program under kills, power cuts, failing calls and a full disk)
pub mod http;
pub mod naive;
pub mod recorder;
pub mod reference;
pub mod scenario;
pub mod server;
pub mod shrink;
pub mod sim;
pub mod stage;
pub mod tree;
pub mod webhook;
pub mod world;
