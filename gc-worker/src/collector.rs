//! All the workers as one value without threads: told of changes, it says what to do next. A
//! driver, a simulator or a test turns the crank.

#[cfg(test)]
mod tests;

use crate::content::{self, Content};
use crate::plan::{Plan, Step, View, plan};
use crate::queue::{Queue, affected};
use crate::ttl::Deadlines;
use crate::warnings::Warnings;
use hindsight_core::Intent;
use hindsight_core::object::Object;
use hindsight_core::{Change, ObjectKey, Rejection, State, Time, Uid};
use hindsight_projector::OwnershipGraph;
use std::collections::{BTreeMap, BTreeSet};

/// Which of the server's own identities a step is carried out as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// `generic-garbage-collector`.
    GarbageCollector,
    /// `namespace-controller`.
    NamespaceController,
    /// `customresourcedefinition-controller`, upstream part of the API server.
    DefinitionController,
    /// `ttl-after-finished-controller`.
    TtlController,
}

/// Everything that must be known to say what goes next.
#[derive(Debug)]
pub struct Collector {
    graph: OwnershipGraph,
    queue: Queue,
    unresolved: BTreeSet<Uid>,
    /// Those whose turn comes when others have been decided.
    deferred: BTreeSet<Uid>,
    containers: BTreeSet<ObjectKey>,
    /// Definitions that are let go, and who asks for it.
    last: BTreeMap<ObjectKey, Uid>,
    deadlines: Deadlines,
    warnings: Warnings,
    in_flight: Vec<(Worker, Option<Uid>, Option<ObjectKey>)>,
}

impl Collector {
    /// Looks at everything once: what a stopped process left undone is found here.
    pub fn new(state: &State) -> Self {
        let mut collector = Self {
            graph: OwnershipGraph::rebuild(state),
            queue: Queue::default(),
            unresolved: BTreeSet::new(),
            deferred: BTreeSet::new(),
            containers: BTreeSet::new(),
            last: BTreeMap::new(),
            deadlines: Deadlines::default(),
            warnings: Warnings::default(),
            in_flight: Vec::new(),
        };
        for object in state.objects() {
            collector.note(&object.key, Some(object));
            if object.is_deleting() || !object.meta.owner_references.is_empty() {
                collector.queue.push(object.meta.uid.clone());
            }
        }
        collector
    }

    /// The ownership graph as of the last change.
    pub const fn graph(&self) -> &OwnershipGraph {
        &self.graph
    }

    /// Takes a durable change in.
    pub fn observe(&mut self, change: &Change) {
        self.graph.apply(change);
        self.warnings.note(change, &self.graph);
        let key = &change.commit.key;
        self.note(key, change.commit.object().map(|object| &**object));
        for uid in affected(change, &self.graph) {
            self.queue.push(uid);
        }
        self.note_container_of(change);
        if &*key.resource.group == "apiextensions.k8s.io" {
            for uid in std::mem::take(&mut self.unresolved) {
                self.queue.push(uid);
            }
        }
    }

    /// When the clock alone makes something due.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadlines.next()
    }

    /// At most about `limit` steps that this state calls for; none when it is at rest. Tell
    /// [`Self::settle`] what became of them before asking again.
    pub fn next_batch(&mut self, state: &State, now: Time, limit: usize) -> Vec<(Worker, Step)> {
        let mut batch = Vec::new();
        self.in_flight.clear();
        for uid in std::mem::take(&mut self.deferred) {
            self.queue.push(uid);
        }
        for step in self.warnings.take(state, now, limit) {
            self.add(&mut batch, (Worker::GarbageCollector, None, None), step);
        }
        for step in self.deadlines.due(state, now, limit) {
            self.add(&mut batch, (Worker::TtlController, None, None), step);
        }
        // A container decides about all that is in it before owners do: one outcome, whatever is
        // looked at first.
        if self.empty_containers(state, now, limit, &mut batch) {
            return batch;
        }
        while batch.len() < limit {
            let Some(uid) = self.queue.pop() else { break };
            self.look(state, &uid, &mut batch);
        }
        if batch.is_empty() {
            self.release_definition(state, &mut batch);
        }
        batch
    }

    /// What the containers that are going call for; whether that removes anything.
    fn empty_containers(
        &mut self,
        state: &State,
        now: Time,
        limit: usize,
        batch: &mut Vec<(Worker, Step)>,
    ) -> bool {
        let mut removes = false;
        for key in std::mem::take(&mut self.containers) {
            let room = limit.saturating_sub(batch.len());
            if room == 0 {
                self.containers.insert(key);
                continue;
            }
            let Some(object) = state.get(&key).filter(|object| object.is_deleting()) else {
                continue;
            };
            let (worker, content) = contents(state, object, now, room);
            if content.waits || content.steps.len() >= room {
                self.containers.insert(key.clone());
            }
            for step in content.steps {
                removes |= !matches!(step.intent, Intent::Patch(_));
                self.add(batch, (worker, None, Some(key.clone())), step);
            }
        }
        removes || batch.len() >= limit
    }

    /// With nothing else left to do, and one at a time: the end of a kind changes what references to
    /// it mean.
    fn release_definition(&mut self, state: &State, batch: &mut Vec<(Worker, Step)>) {
        while batch.is_empty() {
            let first = self.containers.first().into_iter().chain(self.last.keys());
            let Some(key) = first.min().cloned() else {
                return;
            };
            if let Some(uid) = self.last.remove(&key) {
                let plan = self.plan(state, &uid);
                let early = !plan.first.is_empty();
                self.deferred.extend(early.then(|| uid.clone()));
                for step in plan.steps {
                    self.add(
                        batch,
                        (Worker::GarbageCollector, Some(uid.clone()), None),
                        step,
                    );
                }
                continue;
            }
            self.containers.remove(&key);
            if let Some(definition) = state.get(&key) {
                let step = content::release_of(state, definition);
                let origin = (Worker::DefinitionController, None, Some(key));
                self.add(batch, origin, step);
            }
        }
    }

    fn plan(&self, state: &State, uid: &Uid) -> Plan {
        let graph = &self.graph;
        plan(View { graph, state }, uid)
    }

    fn look(&mut self, state: &State, uid: &Uid, batch: &mut Vec<(Worker, Step)>) {
        let plan = self.plan(state, uid);
        if plan.unresolved {
            self.unresolved.insert(uid.clone());
        }
        if !plan.first.is_empty() {
            self.deferred.insert(uid.clone());
        }
        // Who waits for others waits in this state whoever asks: nobody is looked at twice.
        for first in plan.first {
            if !self.deferred.contains(&first) {
                self.queue.push(first);
            }
        }
        for step in plan.steps {
            if let Some(definition) = released_definition(&step) {
                self.last.insert(definition.clone(), uid.clone());
                continue;
            }
            self.add(
                batch,
                (Worker::GarbageCollector, Some(uid.clone()), None),
                step,
            );
        }
    }

    fn add(
        &mut self,
        batch: &mut Vec<(Worker, Step)>,
        origin: (Worker, Option<Uid>, Option<ObjectKey>),
        step: Step,
    ) {
        batch.push((origin.0, step));
        self.in_flight.push(origin);
    }

    /// Answers to the last batch, in its order. What was out of date is looked at again, and so is
    /// what was carried out: one look may take several steps.
    pub fn settle<'a>(&mut self, answers: impl Iterator<Item = Result<(), &'a Rejection>>) {
        let in_flight = std::mem::take(&mut self.in_flight);
        for ((_, uid, container), answer) in in_flight.into_iter().zip(answers) {
            let again = match answer {
                Ok(()) => uid.is_some(),
                Err(Rejection::Stale { .. } | Rejection::Conflict { .. }) => true,
                Err(_) => false,
            };
            if let Some(uid) = uid.filter(|_| again) {
                self.queue.push(uid);
            }
            if let Some(key) = container.filter(|_| again) {
                self.containers.insert(key);
            }
        }
    }

    fn note(&mut self, key: &ObjectKey, object: Option<&Object>) {
        self.deadlines.note(key, object);
        let is_container = matches!(
            &*key.resource.resource,
            "namespaces" | "customresourcedefinitions"
        );
        if is_container && object.is_some_and(Object::is_deleting) {
            self.containers.insert(key.clone());
        }
    }

    /// A removal may have emptied its namespace, or its definition; what is going changes what they
    /// say of themselves.
    fn note_container_of(&mut self, change: &Change) {
        let key = &change.commit.key;
        let object = change.commit.object();
        if change.previous.is_some() && object.is_some_and(|object| !object.is_deleting()) {
            return;
        }
        if !key.namespace.is_empty() {
            let namespaces = hindsight_core::GroupResource::new("", "namespaces");
            self.containers
                .insert(ObjectKey::new(namespaces, "", &key.namespace));
        }
        if key.resource.group.contains('.') {
            let definitions = hindsight_core::GroupResource::new(
                "apiextensions.k8s.io",
                "customresourcedefinitions",
            );
            self.containers
                .insert(ObjectKey::new(definitions, "", &key.resource.to_string()));
        }
    }
}

fn released_definition(step: &Step) -> Option<&ObjectKey> {
    let Intent::Release(release) = &step.intent else {
        return None;
    };
    let key = &release.owner.key;
    (&*key.resource.resource == "customresourcedefinitions").then_some(key)
}

fn contents(state: &State, container: &Object, now: Time, limit: usize) -> (Worker, Content) {
    if &*container.key.resource.resource == "namespaces" {
        (
            Worker::NamespaceController,
            content::of_namespace(state, container, now, limit).into(),
        )
    } else {
        (
            Worker::DefinitionController,
            content::of_definition(state, container, limit),
        )
    }
}
