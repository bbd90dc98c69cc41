//! Containers that are being deleted: they are emptied, and what waits for that goes on afterwards.

use super::Collector;
use super::batch::Batch;
use super::origin::Origin;
use crate::content;
use crate::plan::{Memo, View};
use hindsight_core::{Change, Intent, Object, ObjectKey, State, Time, Uid};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Collector {
    /// Adds the steps that containers in deletion call for; returns those that are not empty yet.
    pub(super) fn empty_containers(
        &mut self,
        state: &State,
        now: Time,
        batch: &mut Batch,
    ) -> BTreeSet<Uid> {
        for key in self.reports.due(now) {
            self.containers.push(key);
        }
        self.containers.go_on_after(self.turns.container());
        let mut emptying = BTreeSet::new();
        for _ in 0..self.containers.len() {
            let room = batch.room();
            let Some(key) = (room > 0).then(|| self.containers.pop()).flatten() else {
                break;
            };
            let Some(object) = deleting_container(state, &key) else {
                continue;
            };
            let mut steps = content::steps(state, object, now, room);
            if steps.is_empty() && key.is_namespace() && !self.reports.hold_back(&key, now) {
                let report = content::report_of(state, object, now);
                self.reports.note(report.as_ref(), now);
                steps.extend(report);
            }
            if steps.len() >= room {
                self.containers.push(key.clone());
            }
            for step in steps {
                if !matches!(step.intent, Intent::Patch(_)) {
                    emptying.insert(object.meta.uid.clone());
                }
                batch.push(Origin::Container(key.clone()), step);
            }
        }
        let unseen = self
            .containers
            .iter()
            .filter_map(|key| deleting_container(state, key))
            .filter(|container| content::is_busy(state, container));
        emptying.extend(unseen.map(|object| object.meta.uid.clone()));
        emptying
    }

    /// Queues the objects that waited for a container that is empty now.
    pub(super) fn requeue_behind_containers(&mut self, emptying: &BTreeSet<Uid>) {
        let is_empty = |container: &Uid, _: &mut BTreeSet<Uid>| !emptying.contains(container);
        let freed = self.behind_containers.extract_if(.., is_empty);
        let freed: Vec<Uid> = freed.flat_map(|(_, behind)| behind).collect();
        self.look_at(&freed);
    }

    /// Adds the steps that release definitions whose end changes the outcome for no undecided object.
    /// This comes first, so that no other work delays it.
    pub(super) fn end_definitions(&mut self, state: &State, batch: &mut Batch) {
        let memo = Memo::default();
        let view = View {
            graph: &self.graph,
            state,
            // `View::ends` finds out by itself which containers around a definition are being emptied.
            emptying: &BTreeSet::new(),
            memo: &memo,
        };
        for (key, step) in view.ends(&self.ending, batch.room()) {
            batch.push(Origin::Definition(key), step);
        }
        self.counters.visited += memo.visited();
    }

    /// Queues the definition of an instance that has begun to wait, in case the definition is being
    /// deleted already.
    pub(super) fn queue_definition_of(&mut self, change: &Change) {
        let object = change.commit.object();
        if object.is_some_and(|object| object.is_waiting()) {
            let resource = &change.commit.key.resource;
            self.containers.push(ObjectKey::defining(resource));
        }
    }

    /// Queues the namespace of an object. A removal may have emptied it; and when the finalizers of an
    /// object in deletion change, the conditions of its namespace do too.
    pub(super) fn queue_namespace_of(&mut self, change: &Change) {
        let namespace = &change.commit.key.namespace;
        let is_as_before = |object: &Arc<Object>| {
            let previous = change.previous.as_ref();
            let had_same_finalizers =
                |one: &Arc<Object>| one.meta.finalizers == object.meta.finalizers;
            !object.is_deleting() && previous.is_some_and(had_same_finalizers)
        };
        if change.commit.object().is_some_and(is_as_before) {
            return;
        }
        if !namespace.is_empty() {
            self.containers.push(ObjectKey::namespace(namespace));
        }
    }
}

/// The container with this key, if it is being deleted.
fn deleting_container<'a>(state: &'a State, key: &ObjectKey) -> Option<&'a Arc<Object>> {
    state.get(key).filter(|object| object.is_deleting())
}
