//! When namespaces report what remains in them. Clients that let go of their contents one by one would have each removal
//! followed by a report, which counts all contents and is written to the log.

use crate::steps::Step;
use hindsight_core::{ObjectKey, Time};
use std::collections::BTreeSet;
use std::mem;

/// Reports, of which none follows another within so many seconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Reports {
    pause_seconds: i64,
    /// When the last batch with reports was made.
    last: Option<Time>,
    /// Namespaces with something to report.
    held_back: BTreeSet<ObjectKey>,
}

impl Reports {
    pub(super) const fn set_pause(&mut self, seconds: i64) {
        self.pause_seconds = seconds;
    }

    /// Those whose reports were held back, if they need not wait any longer.
    pub(super) fn due(&mut self, now: Time) -> BTreeSet<ObjectKey> {
        if self.has_to_wait(now) {
            return BTreeSet::new();
        }
        mem::take(&mut self.held_back)
    }

    /// Whether this namespace has to wait with its report.
    pub(super) fn hold_back(&mut self, namespace: &ObjectKey, now: Time) -> bool {
        let waits = self.has_to_wait(now);
        if waits {
            self.held_back.insert(namespace.clone());
        }
        waits
    }

    /// Notes a report that is made now. More in the same batch follow at the same time.
    pub(super) fn note(&mut self, report: Option<&Step>, now: Time) {
        if report.is_some() {
            self.last = Some(now);
        }
    }

    /// Not if the clock was set back.
    fn has_to_wait(&self, now: Time) -> bool {
        let last = self.last.filter(|last| *last < now);
        last.is_some_and(|last| now < last.plus_seconds(self.pause_seconds))
    }
}
