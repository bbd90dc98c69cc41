//! Makes a batch durable, then publishes it, then answers it.

use super::appender::Appender;
use super::{Batch, Publish};
use crate::Poison;
use crate::snapshot::Snapshotter;
use hindsight_core::Unavailable;

pub(super) struct Syncer {
    pub(super) appender: Appender,
    pub(super) publish: Box<dyn Publish>,
    pub(super) poison: Poison,
    pub(super) snapshotter: Option<Snapshotter>,
}

impl Syncer {
    pub(super) fn complete(&mut self, batch: Batch) {
        if let Some(reason) = self.poison.reason() {
            return refuse(batch, reason);
        }
        if let Err(error) = self.appender.store(&batch.changes, &batch.joined) {
            let reason = error.to_string();
            self.poison.set(reason.clone());
            return refuse(batch, &reason);
        }
        drop(batch.unstored);
        let has_changes = !batch.changes.is_empty();
        if has_changes {
            if let Some(snapshotter) = &mut self.snapshotter {
                let tail = self.appender.tail(batch.state.revision);
                snapshotter.note(&batch.state, tail, &batch.changes);
            }
            self.publish.publish(batch.state, batch.changes);
        }
        for answer in batch.answers {
            answer.send();
        }
        if has_changes {
            self.publish.answered();
        }
    }
}

fn refuse(batch: Batch, reason: &str) {
    for answer in batch.answers {
        (answer.reply)(Err(Unavailable::Poisoned(reason.to_owned())));
    }
}
