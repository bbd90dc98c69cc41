//! What a data directory contains, and under which names.

use hindsight_log::Snapshots;
use std::path::{Path, PathBuf};

/// The name of the database of the log.
pub(crate) const EVENTS: &str = "events";
const SNAPSHOTS: &str = "snapshots";
#[cfg(feature = "http")]
const TAIL: &str = "events.tail";

/// The parts of a log, in the order in which a restore moves them to their place: the log itself comes last.
#[cfg(feature = "http")]
pub(crate) const PARTS: [&str; 4] = [SNAPSHOTS, "events.reserve", TAIL, EVENTS];

/// A data directory, or one that is laid out like it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataDir<'a>(pub(crate) &'a Path);

impl DataDir<'_> {
    /// The database of the log.
    pub(crate) fn events(self) -> PathBuf {
        self.0.join(EVENTS)
    }

    /// The file that witnesses how far the log was acknowledged.
    #[cfg(feature = "http")]
    pub(crate) fn tail(self) -> PathBuf {
        self.0.join(TAIL)
    }

    /// The snapshots of the log.
    pub(crate) fn snapshots(self) -> Snapshots {
        Snapshots::at(self.0.join(SNAPSHOTS))
    }

    /// Where a restore works until it is complete.
    pub(crate) fn restoring(self) -> PathBuf {
        self.0.join("restoring")
    }

    /// The copy that a verification reads, which stays behind if it is killed. The copy holds every Secret.
    pub(crate) fn verifying(self) -> PathBuf {
        self.0.join("verifying")
    }

    /// The keys and certificates of the server.
    #[cfg(feature = "http")]
    pub(crate) fn pki(self) -> PathBuf {
        self.0.join("pki")
    }

    /// The administrator's kubeconfig.
    #[cfg(feature = "http")]
    pub(crate) fn kubeconfig(self) -> PathBuf {
        self.0.join("admin.kubeconfig")
    }
}
