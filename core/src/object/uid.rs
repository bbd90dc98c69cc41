//! Object identity that is never used twice.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// `metadata.uid`. A reference may carry any text, so it is not checked to be a UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(pub Arc<str>);

impl Uid {
    /// The `n`th identity that follows from a command's seed: a version 4 UUID.
    pub fn from_seed(seed: [u8; 16], n: u32) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed);
        hasher.update(&n.to_le_bytes());
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        Self(
            uuid::Builder::from_random_bytes(bytes)
                .into_uuid()
                .to_string()
                .into(),
        )
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
