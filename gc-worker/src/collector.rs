//! All workers as one value without threads: it observes changes and returns the steps to take next. A
//! driver, a simulator or a test runs the loop.

mod origin;
#[cfg(test)]
mod tests;
mod waiting;

use crate::affected::affected;
use crate::content;
use crate::event_ttl::Events;
use crate::naming::Naming;
use crate::plan::{Findings, Plan, View, ends_a_definition, plan};
use crate::queue::Queue;
use crate::steps::Step;
use crate::ttl::FinishedJobs;
use crate::warnings::Warnings;
use hindsight_core::Intent;
use hindsight_core::object::Object;
use hindsight_core::{Change, Commit, ObjectKey, Rejection, State, Time, Uid, served_kind};
use hindsight_projector::OwnershipGraph;
use origin::{Batch, Origin};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use waiting::Waiting;

/// How many of those who wait are looked at again with each batch, even if nothing is known to have changed
/// for them.
const AGAIN_MAX: usize = 8;

/// Everything that must be known to decide which steps come next.
#[derive(Debug, Clone)]
pub struct Collector {
    graph: OwnershipGraph,
    queue: Queue<Uid>,
    unresolved: BTreeSet<Uid>,
    /// Objects whose turn comes when others have been decided.
    deferred: Waiting,
    /// Members of deadlocks that others break.
    deadlocked: Waiting,
    /// Containers to be looked at, which may be being deleted.
    containers: Queue<ObjectKey>,
    /// Objects that wait for a container to be emptied, by container.
    blocked: BTreeMap<Uid, BTreeSet<Uid>>,
    /// Definitions that are being deleted.
    ending: BTreeSet<ObjectKey>,
    naming: Naming,
    finished_jobs: FinishedJobs,
    events: Events,
    warnings: Warnings,
    /// The origins of the steps of the last batch, except those that have been answered.
    in_flight: VecDeque<Origin>,
    counters: Counters,
}

/// How much work it was.
#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    /// Objects that were looked at.
    looks: usize,
    /// Objects and references that were passed on the way.
    steps: usize,
}

/// What is the same for all objects that are looked at for one batch.
struct Round<'a> {
    state: &'a State,
    emptying: &'a BTreeSet<Uid>,
    findings: Findings,
    looked_at: BTreeSet<Uid>,
}

impl Collector {
    /// Looks at every object of the state once, which also finds what a stopped process left undone.
    pub fn new(state: &State) -> Self {
        let mut collector = Self {
            graph: OwnershipGraph::rebuild(state),
            queue: Queue::default(),
            unresolved: BTreeSet::new(),
            deferred: Waiting::default(),
            deadlocked: Waiting::default(),
            containers: Queue::default(),
            blocked: BTreeMap::new(),
            ending: BTreeSet::new(),
            naming: Naming::default(),
            finished_jobs: FinishedJobs::default(),
            events: Events::default(),
            warnings: Warnings::default(),
            in_flight: VecDeque::new(),
            counters: Counters::default(),
        };
        for object in state.objects() {
            collector.note(&object.key, Some(object));
            if object.key.is_definition() {
                collector.naming.note(&object.key, object.revision);
            }
            let Self {
                warnings, graph, ..
            } = &mut collector;
            warnings.begin(state, object, graph);
            if object.is_deleting() || !object.owners().is_empty() {
                collector.queue.push(object.meta.uid.clone());
            }
        }
        collector
    }

    /// Reads the log backward from the state that was passed to [`Self::new`]. Steps that were left
    /// undone then have the cause that they would have had (see [`OwnershipGraph::recall`]), and no
    /// warning is repeated. To be called before the first batch.
    pub fn recall<C: Borrow<Commit>, E>(
        &mut self,
        back: impl IntoIterator<Item = Result<C, E>>,
    ) -> Result<(), E> {
        let mut doubts = self.warnings.doubts();
        let mut back = back.into_iter();
        self.graph.recall(back.by_ref().inspect(|read| {
            if let Ok(commit) = read {
                doubts.read(commit.borrow());
            }
        }))?;
        while !doubts.is_empty()
            && let Some(commit) = back.next().transpose()?
        {
            doubts.read(commit.borrow());
        }
        self.warnings.forget(&doubts);
        Ok(())
    }

    /// Deletes each event this long after its last write, from the next batch on. `written` tells when an
    /// event of the state that was passed to [`Self::new`] was last written.
    pub fn expire_events(
        &mut self,
        state: &State,
        ttl: Duration,
        written: impl FnMut(&Object) -> Time,
    ) {
        self.events = Events::of(state, ttl, written);
    }

    /// When this event was last written, if that is known.
    pub fn event_written(&self, key: &ObjectKey) -> Option<Time> {
        self.events.written(key)
    }

    /// The ownership graph as of the last change.
    pub const fn graph(&self) -> &OwnershipGraph {
        &self.graph
    }

    /// Observes a durable change.
    pub fn observe(&mut self, change: &Change) {
        self.graph.apply(change);
        self.warnings.note(change, &self.graph);
        let key = &change.commit.key;
        let object = change.commit.object().map(|object| &**object);
        self.note(key, object);
        self.events.note(key, object, change.commit.time);
        self.queue.extend(affected(change, &self.graph));
        self.queue_definition_of(change);
        self.queue_namespace_of(change);
        // A new definition gives up no name.
        if key.is_definition() && change.previous.is_some() {
            self.naming.note(key, change.commit.revision);
        }
        if change.commit.object().is_none() {
            self.unresolved.remove(&change.commit.uid);
        }
        for waiting in [&self.deferred, &self.deadlocked] {
            self.queue
                .extend(waiting.under(&change.commit.uid).cloned());
        }
        self.queue_resolved(&change.commit);
    }

    /// Queues the objects whose owners may be known since this definition serves its kind.
    fn queue_resolved(&mut self, commit: &Commit) {
        let definition = commit.object().filter(|_| commit.key.is_definition());
        let Some(kind) = definition.and_then(|object| served_kind(object)) else {
            return;
        };
        for uid in self.graph.dependents_of_kind(&kind) {
            if self.unresolved.remove(uid) {
                self.queue.push(uid.clone());
            }
        }
    }

    /// At most about `limit` steps that this state calls for, deletions first and reports last; empty
    /// when there is nothing to do. Report their outcome with [`Self::settle`] and [`Self::requeue`]
    /// before the next call; steps without an outcome are returned again.
    pub fn next_batch(&mut self, state: &State, now: Time, limit: usize) -> Vec<Step> {
        self.requeue(self.in_flight.len());
        let mut batch = Batch::default();
        self.end_definitions(state, limit, &mut batch);
        for step in self.finished_jobs.due(state, now, limit) {
            batch.push((Origin::Deadline, step));
        }
        let emptying = self.empty_containers(state, now, limit, &mut batch);
        self.requeue_unblocked(&emptying);
        self.decide_queued(state, &emptying, limit, &mut batch);
        let room = limit.saturating_sub(batch.len());
        for (freed, step) in self.naming.take(state, room) {
            batch.push((Origin::Name(freed), step));
        }
        let room = limit.saturating_sub(batch.len());
        for step in self.events.due(state, now, room) {
            batch.push((Origin::Deadline, step));
        }
        // Warnings come last: if they cannot be written they return again and again, and must not be in
        // the way.
        let room = limit.saturating_sub(batch.len());
        for (warning, step) in self.warnings.take(state, now, room) {
            batch.push((Origin::Warning(warning), step));
        }
        self.dispatch(batch)
    }

    fn dispatch(&mut self, mut batch: Batch) -> Vec<Step> {
        batch.sort_by_key(|(_, step)| !step.intent.advances_deletion());
        let steps = batch.into_iter().map(|(origin, step)| {
            self.in_flight.push_back(origin);
            step
        });
        steps.collect()
    }

    /// Adds the steps that containers in deletion call for; returns those that are not empty yet. A part
    /// of the batch is left for objects that wait for no container.
    fn empty_containers(
        &mut self,
        state: &State,
        now: Time,
        limit: usize,
        batch: &mut Batch,
    ) -> BTreeSet<Uid> {
        let others = if self.queue.is_empty() { 0 } else { limit / 4 };
        let mut emptying = BTreeSet::new();
        for _ in 0..self.containers.len() {
            let room = limit.saturating_sub(batch.len() + others);
            let Some(key) = (room > 0).then(|| self.containers.pop()).flatten() else {
                break;
            };
            let Some(object) = deleting_container(state, &key) else {
                continue;
            };
            let steps = content::steps(state, object, now, room);
            if steps.len() >= room {
                self.containers.push(key.clone());
            }
            for step in steps {
                if !matches!(step.intent, Intent::Patch(_)) {
                    emptying.insert(object.meta.uid.clone());
                }
                batch.push((Origin::Container(key.clone()), step));
            }
        }
        let unseen = self
            .containers
            .iter()
            .filter_map(|key| deleting_container(state, key));
        emptying.extend(unseen.map(|object| object.meta.uid.clone()));
        emptying
    }

    /// Queues the objects that waited for a container that is empty now.
    fn requeue_unblocked(&mut self, emptying: &BTreeSet<Uid>) {
        let is_empty = |container: &Uid, _: &mut BTreeSet<Uid>| !emptying.contains(container);
        for (_, waiting) in self.blocked.extract_if(.., is_empty) {
            self.queue.extend(waiting);
        }
    }

    /// How much work it was so far: objects that were looked at, and those and references that were passed on the way.
    pub(crate) const fn work(&self) -> usize {
        self.counters.looks + self.counters.steps
    }

    /// Adds the steps that release definitions whose end changes the outcome for no undecided object.
    /// This comes first, so that no other work delays it.
    fn end_definitions(&mut self, state: &State, limit: usize, batch: &mut Batch) {
        let findings = Findings::default();
        let view = View {
            graph: &self.graph,
            state,
            // `View::ends` finds out by itself which containers around a definition are being emptied.
            emptying: &BTreeSet::new(),
            findings: &findings,
        };
        let room = limit.saturating_sub(batch.len());
        for (key, step) in view.ends(&self.ending, room) {
            batch.push((Origin::Definition(key), step));
        }
        self.counters.steps += findings.steps();
    }

    /// Looks at the objects in the queue, at each once: the state stays the same. If none of them can be
    /// acted on, looks at all who wait, so that nothing is left undone whatever happened to those that they
    /// wait for.
    fn decide_queued(
        &mut self,
        state: &State,
        emptying: &BTreeSet<Uid>,
        limit: usize,
        batch: &mut Batch,
    ) {
        let before = batch.len();
        let mut round = Round {
            state,
            emptying,
            findings: Findings::default(),
            looked_at: BTreeSet::new(),
        };
        for waiting in [&mut self.deferred, &mut self.deadlocked] {
            self.queue.extend(waiting.in_turn(AGAIN_MAX));
        }
        loop {
            while batch.len() < limit
                && let Some(uid) = self.queue.pop()
            {
                if round.looked_at.insert(uid.clone()) {
                    self.examine(&round, &uid, batch);
                }
            }
            if batch.len() > before || batch.len() >= limit {
                break;
            }
            let is_new = |uid: &&Uid| !round.looked_at.contains(*uid);
            let waiting = self.deferred.iter().chain(self.deadlocked.iter());
            let rest: Vec<Uid> = waiting.filter(is_new).cloned().collect();
            if rest.is_empty() {
                break;
            }
            self.queue.extend(rest);
        }
        self.counters.looks += round.looked_at.len();
        self.counters.steps += round.findings.steps();
    }

    fn examine(&mut self, round: &Round<'_>, uid: &Uid, batch: &mut Batch) {
        let view = View {
            graph: &self.graph,
            state: round.state,
            emptying: round.emptying,
            findings: &round.findings,
        };
        let plan = plan(view, uid);
        self.deferred.forget(uid);
        self.deadlocked.forget(uid);
        // Those who wait for a container that is being emptied wait elsewhere.
        let is_undecided = || view.is_pending(uid) && !round.emptying.contains(uid);
        if self.deferred.is_above(uid) && !is_undecided() {
            self.queue.extend(self.deferred.under(uid).cloned());
        }
        match plan {
            Plan::Steps(steps) if steps.is_empty() => self.queue_deadlocked_under(uid),
            Plan::Steps(steps) => {
                let steps = steps.into_iter();
                for step in steps.filter(|step| !ends_a_definition(step)) {
                    batch.push((Origin::Object(uid.clone()), step));
                }
            }
            Plan::Unresolved => {
                self.queue_deadlocked_under(uid);
                self.unresolved.insert(uid.clone());
            }
            Plan::After(first) => self.defer(round, uid, first),
            Plan::Deadlocked(breaking) => {
                self.queue_deadlocked_under(uid);
                if !round.looked_at.contains(&breaking.by) {
                    self.queue.push(breaking.by.clone());
                }
                self.deadlocked.put(uid.clone(), breaking.by.clone());
            }
        }
    }

    /// Queues the members of a deadlock that this one was to break: it takes no step for them.
    fn queue_deadlocked_under(&mut self, uid: &Uid) {
        self.queue.extend(self.deadlocked.under(uid).cloned());
    }

    fn defer(&mut self, round: &Round<'_>, uid: &Uid, first: Uid) {
        if round.emptying.contains(&first) {
            self.blocked.entry(first).or_default().insert(uid.clone());
            return;
        }
        if !round.looked_at.contains(&first) && !self.deferred.contains(&first) {
            self.queue.push(first.clone());
        }
        self.deferred.put(uid.clone(), first);
    }

    /// Reports that nothing was decided for the first `count` unanswered steps of the last batch, because
    /// too much was waiting or the disk was full. Their origins are looked at again.
    pub fn requeue(&mut self, count: usize) {
        let count = count.min(self.in_flight.len());
        for origin in self.in_flight.drain(..count) {
            match origin {
                Origin::Object(uid) => self.queue.push(uid),
                Origin::Container(key) => self.containers.push(key),
                Origin::Warning(warning) => self.warnings.push(warning),
                Origin::Name(freed) => self.naming.add(freed),
                // These are considered in every batch, until they are done.
                Origin::Deadline | Origin::Definition(_) => {}
            }
        }
    }

    /// Reports the answers to the last batch in its order, from the first unanswered step on. An object
    /// is looked at again if its step was out of date, and also if it was carried out, because one object
    /// may take several steps.
    pub fn settle<'a>(&mut self, answers: impl Iterator<Item = Result<(), &'a Rejection>>) {
        for answer in answers {
            let Some(origin) = self.in_flight.pop_front() else {
                return;
            };
            let is_stale = matches!(
                answer.map_err(Rejection::plain),
                Err(Rejection::Stale { .. } | Rejection::Conflict { .. })
            );
            match origin {
                Origin::Object(uid) if is_stale || answer.is_ok() => self.queue.push(uid),
                Origin::Container(key) if is_stale => {
                    self.containers.push(key);
                }
                Origin::Name(freed) if is_stale => self.naming.add(freed),
                // Refused for good, until the definition changes: otherwise it would be tried for ever.
                Origin::Definition(key) if !is_stale && answer.is_err() => {
                    self.ending.remove(&key);
                }
                Origin::Deadline
                | Origin::Warning(_)
                | Origin::Object(_)
                | Origin::Container(_)
                | Origin::Definition(_)
                | Origin::Name(_) => {}
            }
        }
    }

    fn note(&mut self, key: &ObjectKey, object: Option<&Object>) {
        self.finished_jobs.note(key, object);
        let is_deleting = object.is_some_and(Object::is_deleting);
        if is_deleting && (key.is_namespace() || key.is_definition()) {
            self.containers.push(key.clone());
        }
        if is_deleting && key.is_definition() {
            self.ending.insert(key.clone());
        } else {
            self.ending.remove(key);
        }
    }

    /// Queues the definition of an instance that has begun to wait, in case the definition is being
    /// deleted already.
    fn queue_definition_of(&mut self, change: &Change) {
        let object = change.commit.object();
        if object.is_some_and(|object| object.is_waiting()) {
            let resource = &change.commit.key.resource;
            self.containers.push(ObjectKey::defining(resource));
        }
    }

    /// Queues the namespace of an object. A removal may have emptied it; and when the finalizers of an
    /// object in deletion change, the conditions of its namespace do too.
    fn queue_namespace_of(&mut self, change: &Change) {
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
