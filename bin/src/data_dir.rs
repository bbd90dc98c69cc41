//! What a data directory contains, and under which names.

use hindsight_log::{Snapshots, layout};
use std::path::{Path, PathBuf};

/// A data directory, or one that is laid out like it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataDir<'a>(pub(crate) &'a Path);

impl DataDir<'_> {
    /// The database of the log.
    pub(crate) fn events(self) -> PathBuf {
        self.0.join(layout::EVENTS)
    }

    /// The file that witnesses how far the log was acknowledged.
    #[cfg(feature = "http")]
    pub(crate) fn tail(self) -> PathBuf {
        self.0.join(layout::TAIL)
    }

    /// The snapshots of the log.
    pub(crate) fn snapshots(self) -> Snapshots {
        Snapshots::at(self.0.join(layout::SNAPSHOTS))
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
