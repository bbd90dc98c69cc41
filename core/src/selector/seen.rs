//! What a change means to a watcher that sees only a selection of objects.

use crate::event::Change;
use crate::object::Object;
use std::sync::Arc;

/// An event of a watch, before it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchEvent<'a> {
    /// The object is selected now, and was not before.
    Added(&'a Arc<Object>),
    /// The object is selected, as before.
    Modified(&'a Arc<Object>),
    /// The object is gone, or not selected any more; this is its last selected version.
    Deleted(&'a Arc<Object>),
}

impl<'a> WatchEvent<'a> {
    /// The type of the event, as watchers are told.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Added(_) => "ADDED",
            Self::Modified(_) => "MODIFIED",
            Self::Deleted(_) => "DELETED",
        }
    }

    /// The version that watchers are shown.
    pub const fn object(&self) -> &'a Arc<Object> {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object,
        }
    }
}

impl Change {
    /// What it means to a watcher that selected the previous version (`before`), and selects the new one (`after`),
    /// where there is one. A change into the selection is an addition, one out of it a deletion. Changes outside are
    /// not seen.
    pub fn watch_event(&self, before: bool, after: bool) -> Option<WatchEvent<'_>> {
        let before = self.previous.as_ref().filter(|_| before);
        let after = self.commit.object().filter(|_| after);
        match (before, after) {
            (None, None) => None,
            (None, Some(object)) => Some(WatchEvent::Added(object)),
            (Some(_), Some(object)) => Some(WatchEvent::Modified(object)),
            (Some(object), None) => Some(WatchEvent::Deleted(object)),
        }
    }
}
