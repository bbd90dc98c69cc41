//! The Kubernetes REST surface over a small [`Backend`]: the only crate that knows HTTP.

mod accept;
mod admission;
mod apart;
mod authenticator;
mod authorizer;
mod backend;
mod body;
mod discovery;
mod documents;
mod etag;
mod handler;
mod health;
mod impersonation;
mod lease;
mod list;
mod offload;
mod openapi;
mod pace;
mod params;
mod patches;
mod path;
mod position;
mod pretty;
mod protobuf;
mod respond;
mod reviews;
mod schemas;
mod status;
mod table;
#[cfg(test)]
mod testing;
mod unpoisoned;
mod verbs;
mod wait;
mod watch;

pub use admission::{Admission, Call, WebhookCaller};
pub use authenticator::Authenticator;
pub use authorizer::{Access, Authorizer, Verdict};
pub use backend::{AsOf, AsOfError, Backend, LostByRestore, Past, Permit};
pub use body::{ApiBody, Bodies, Unfinished, bytes_holding};
pub use handler::Api;
pub use lease::BYTES_PER_SECOND;
pub use path::percent_decode;
pub use respond::is_of_events;
pub use schemas::builtin_kinds;
pub use status::Failure;
