//! Whose turn is next.

use super::origin::Origin;
use crate::Worker;
use hindsight_core::{Commit, Event, ObjectKey, Rule, Uid};

/// Whoever had the last turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    pub(super) object: Option<Uid>,
    pub(super) container: Option<ObjectKey>,
}

impl Turn {
    pub(super) fn observe(&mut self, commit: &Commit) {
        for event in &commit.events {
            let (Event::DeletionRequested { rule, .. } | Event::ObjectDeleted { rule, .. }) = event
            else {
                continue;
            };
            match rule {
                Rule::NamespaceDeleted => {
                    self.container = Some(ObjectKey::namespace(&commit.key.namespace));
                }
                Rule::CrdDeleted => {
                    self.container = Some(ObjectKey::defining(&commit.key.resource));
                }
                _ => {}
            }
        }
        let is_collected = Worker::of(&commit.actor) == Some(Worker::GarbageCollector);
        if is_collected && !commit.key.resource.is_event() {
            self.object = Some(commit.uid.clone());
        }
    }

    pub(super) fn pass(&mut self, origin: &Origin) {
        match origin {
            Origin::Object(uid) => self.object = Some(uid.clone()),
            Origin::Container(key) => self.container = Some(key.clone()),
            _ => {}
        }
    }
}
