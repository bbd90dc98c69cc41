//! The Kubernetes REST surface over a small [`Backend`]: the only crate that knows HTTP.

mod backend;

pub use backend::{AsOf, AsOfError, Backend, Expired, Unavailable};
