//! What the measuring programs share: a keep-alive client, a static ceiling, and percentiles.

pub mod client;
pub mod percentiles;
pub mod static_server;
