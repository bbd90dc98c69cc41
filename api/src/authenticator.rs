//! Whose a token is: asked by token reviews, answered by whoever identifies the clients of a connection.

use hindsight_core::Actor;
use std::sync::Arc;

/// Knows the users of tokens. It is asked on the caller's side of the writer, and must not block.
pub trait Authenticator: std::fmt::Debug + Send + Sync + 'static {
    /// The user that a request with this bearer token would have; `None` if the token is not valid.
    fn authenticate(&self, token: &str) -> Option<Arc<Actor>>;
}
