//! How a control plane is opened, and why it may not be.

use hindsight_log::{Error, Retention};
use std::path::PathBuf;
#[cfg(feature = "http")]
use std::sync::Arc;

/// A start reads some hundred thousand commits a second, and a snapshot is written in the time of
/// some ten thousand.
pub(crate) const SNAPSHOT_EVERY: u64 = 100_000;

/// How to open a control plane.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the log lives; without it everything is kept in memory and lost at the end.
    pub data_dir: Option<PathBuf>,
    /// Commits after which the state is written down beside the log, so that the next start need not
    /// read them; also at a clean end, after a tenth as many. Zero for never.
    pub snapshot_every: u64,
    /// How much of the history is kept; all of it without a policy.
    pub retention: Option<Retention>,
    /// Whether garbage, deleted namespaces and finished jobs are collected.
    pub collectors: bool,
    /// Who may do what: asked before owner references change. Without it, everybody may do
    /// everything.
    #[cfg(feature = "http")]
    pub authorizer: Option<Arc<dyn hindsight_api::Authorizer>>,
    /// Whether changing owner references needs `delete` on the object, and blocking an owner `update`
    /// on the owner's `finalizers`. Else they are taken from everybody who may write the object.
    #[cfg(feature = "http")]
    pub owner_reference_permissions: bool,
}

impl Default for Config {
    /// In memory, with collectors, everybody may do everything.
    fn default() -> Self {
        Self {
            data_dir: None,
            snapshot_every: SNAPSHOT_EVERY,
            retention: None,
            collectors: true,
            #[cfg(feature = "http")]
            authorizer: None,
            #[cfg(feature = "http")]
            owner_reference_permissions: true,
        }
    }
}

/// Why it could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The log.
    #[error(transparent)]
    Log(#[from] Error),
    /// There is no room for a new log.
    #[error(
        "the disk is full: a new log needs 40 MiB; free some room and start again, or name another --data-dir"
    )]
    NoRoom,
    /// The first objects could not be written.
    #[error("the first objects could not be written: {0}")]
    Bootstrap(#[source] Box<dyn std::error::Error + Send + Sync>),
}
