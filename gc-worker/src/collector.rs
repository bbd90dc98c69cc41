//! All collectors as one value without threads: it observes changes and returns the steps to take next. A
//! driver, a simulator or a test runs the loop.

mod batch;
mod containers;
mod deferred;
mod origin;
mod reports;
#[cfg(test)]
mod tests;
mod turns;

use crate::affected::affected;
use crate::event_ttl::EventDeadlines;
use crate::finished_jobs::FinishedJobs;
use crate::freed_names::FreedNames;
use crate::plan::{Memo, Plan, View, ends_a_definition, plan};
use crate::queue::Queue;
use crate::steps::Step;
use crate::warnings::Warnings;
use batch::Batch;
use deferred::Deferred;
use hindsight_core::object::Object;
use hindsight_core::{Change, Commit, ObjectKey, Rejection, State, Time, Uid, served_kind};
use hindsight_projector::OwnershipGraph;
use origin::{Entry, Origin};
use reports::Reports;
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use turns::Turns;

/// How many of those who wait are looked at again with each batch, even if nothing is known to have changed
/// for them.
const AGAIN_MAX: usize = 8;

/// Everything that must be known to decide which steps come next.
#[derive(Debug, Clone)]
pub struct Collector {
    graph: OwnershipGraph,
    queue: Queue<Entry>,
    unresolved: BTreeSet<Uid>,
    /// Objects whose turn comes when others have been decided.
    deferred: Deferred,
    /// Members of deadlocks that others break.
    deadlocked: Deferred,
    /// Containers to be looked at, which may be being deleted.
    containers: Queue<ObjectKey>,
    /// Objects that wait for a container to be emptied, by container.
    behind_containers: BTreeMap<Uid, BTreeSet<Uid>>,
    /// Definitions that are being deleted.
    ending: BTreeSet<ObjectKey>,
    freed_names: FreedNames,
    finished_jobs: FinishedJobs,
    event_deadlines: EventDeadlines,
    warnings: Warnings,
    reports: Reports,
    /// The origins of the steps of the last batch, except those that have been answered.
    in_flight: VecDeque<Origin>,
    turns: Turns,
    counters: Counters,
}

/// How much work it was.
#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    /// Objects that were looked at.
    looks: usize,
    /// Objects and references that were visited on the way.
    visited: usize,
}

/// What is the same for all objects that are looked at for one batch.
struct Round<'a> {
    state: &'a State,
    emptying: &'a BTreeSet<Uid>,
    memo: Memo,
    looked_at: BTreeSet<Uid>,
}

impl Collector {
    /// Looks at every object of the state once, which also finds what a stopped process left undone.
    pub fn new(state: &State) -> Self {
        let mut collector = Self {
            graph: OwnershipGraph::rebuild(state),
            queue: Queue::default(),
            unresolved: BTreeSet::new(),
            deferred: Deferred::default(),
            deadlocked: Deferred::default(),
            containers: Queue::default(),
            behind_containers: BTreeMap::new(),
            ending: BTreeSet::new(),
            freed_names: FreedNames::default(),
            finished_jobs: FinishedJobs::default(),
            event_deadlines: EventDeadlines::default(),
            warnings: Warnings::default(),
            reports: Reports::default(),
            in_flight: VecDeque::new(),
            turns: Turns::at(state.revision),
            counters: Counters::default(),
        };
        for object in state.objects() {
            collector.finished_jobs.note(&object.key, Some(object));
            collector.queue_container(&object.key, Some(object));
            if object.key.is_definition() {
                collector.freed_names.note(&object.key, object.revision);
            }
            let Self {
                warnings, graph, ..
            } = &mut collector;
            warnings.begin(state, object, graph);
            if object.is_deleting() || !object.owners().is_empty() {
                collector.look_at([&object.meta.uid]);
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
        let turns = &mut self.turns;
        self.graph.recall(back.by_ref().inspect(|read| {
            if let Ok(commit) = read {
                doubts.read(commit.borrow());
                turns.recall(commit.borrow());
            }
        }))?;
        while (!doubts.is_empty() || turns.may_be_older())
            && let Some(commit) = back.next().transpose()?
        {
            doubts.read(commit.borrow());
            turns.recall(commit.borrow());
        }
        self.warnings.forget(&doubts);
        Ok(())
    }

    /// Deletes each event this long after its last write, from the next batch on. `written` tells when an
    /// event of the state that was passed to [`Self::new`] was last written.
    pub fn set_event_ttl(
        &mut self,
        state: &State,
        ttl: Duration,
        written: impl FnMut(&Object) -> Time,
    ) {
        self.event_deadlines = EventDeadlines::of(state, ttl, written);
    }

    /// Has namespaces wait so long after a report of what remains in them before they report again. A batch may then be
    /// empty though a report is due later. Otherwise nothing waits.
    pub const fn set_report_pause(&mut self, seconds: i64) {
        self.reports.set_pause(seconds);
    }

    /// When this event was last written, if that is known.
    pub fn event_written(&self, key: &ObjectKey) -> Option<Time> {
        self.event_deadlines.written(key)
    }

    /// The ownership graph as of the last change.
    pub const fn graph(&self) -> &OwnershipGraph {
        &self.graph
    }

    /// Observes a durable change.
    pub fn observe(&mut self, change: &Change) {
        self.graph.apply(change);
        self.turns.note(&change.commit);
        self.warnings.note(change, &self.graph);
        let key = &change.commit.key;
        let object = change.commit.object().map(|object| &**object);
        self.finished_jobs.note(key, object);
        self.queue_container(key, object);
        self.event_deadlines.note(key, object, change.commit.time);
        self.look_at(&affected(change, &self.graph));
        self.queue_definition_of(change);
        self.queue_namespace_of(change);
        // A new definition gives up no name.
        if key.is_definition() && change.previous.is_some() {
            self.freed_names.note(key, change.commit.revision);
        }
        let uid = &change.commit.uid;
        self.look_at(&self.deferred.under(uid));
        self.look_at(&self.deadlocked.under(uid));
        if change.commit.object().is_none() {
            self.unresolved.remove(uid);
            self.deferred.forget(uid);
            self.deadlocked.forget(uid);
        }
        self.queue_resolved(&change.commit);
    }

    /// Queues those of these objects that exist.
    fn look_at<'a>(&mut self, uids: impl IntoIterator<Item = &'a Uid>) {
        for uid in uids {
            if let Some(object) = self.graph.object(uid) {
                self.queue.push((object.key.clone(), uid.clone()));
            }
        }
    }

    /// Queues the objects whose owners may be known since this definition serves its kind.
    fn queue_resolved(&mut self, commit: &Commit) {
        let definition = commit.object().filter(|_| commit.key.is_definition());
        let Some(kind) = definition.and_then(|object| served_kind(object)) else {
            return;
        };
        let known = self.graph.dependents_of_kind(&kind);
        let resolved: Vec<Uid> = known
            .filter(|uid| self.unresolved.remove(*uid))
            .cloned()
            .collect();
        self.look_at(&resolved);
    }

    /// At most about `limit` steps that this state calls for, those that advance deletions first; empty
    /// when there is nothing to do. Report their outcome with [`Self::settle`], [`Self::postpone`]
    /// and [`Self::requeue`] before the next call; steps without an outcome are returned again.
    pub fn next_batch(&mut self, state: &State, now: Time, limit: usize) -> Vec<Step> {
        self.requeue(self.in_flight.len());
        let mut batch = Batch::new(limit);
        self.end_definitions(state, &mut batch);
        // They are due until they are gone, and if they are refused they come again: others need room beside them.
        let mut jobs = self.finished_jobs.due(state, now, limit);
        let later = jobs.split_off(jobs.len().min(limit.div_ceil(2)));
        for step in jobs {
            batch.push(Origin::Deadline, step);
        }
        self.collect(state, now, &mut batch);
        for (freed, step) in self.freed_names.take(state, batch.room()) {
            batch.push(Origin::Name(freed), step);
        }
        let room = batch.room();
        let events = self.event_deadlines.due(state, now, room);
        for step in events.into_iter().chain(later).take(room) {
            batch.push(Origin::Deadline, step);
        }
        // Warnings come last: if they cannot be written they return again and again, and must not be in
        // the way.
        for (warning, step) in self.warnings.take(state, now, batch.room()) {
            batch.push(Origin::Warning(warning), step);
        }
        let (origins, steps) = batch.in_order();
        self.in_flight = origins;
        steps
    }

    /// Adds the steps of containers and of objects. A part of the room is left for objects that wait for no container.
    fn collect(&mut self, state: &State, now: Time, batch: &mut Batch) {
        let room = batch.room();
        let mut contents = Batch::new(room);
        let emptying = self.empty_containers(state, now, &mut contents);
        self.requeue_behind_containers(&emptying);
        let contents_max = room - room / 4;
        let mut objects = Batch::new(room - contents.len().min(contents_max));
        self.plan_queued(state, &emptying, &mut objects);
        for origin in contents.cut(room.saturating_sub(objects.len())) {
            self.give_back(origin);
        }
        batch.append(contents);
        batch.append(objects);
    }

    /// How much work it was so far: objects that were looked at, and those and references that were visited on the way.
    pub(crate) const fn work(&self) -> usize {
        self.counters.looks + self.counters.visited
    }

    /// Looks at the objects in the queue, at each once: the state stays the same. If none of them can be
    /// acted on, looks at all who wait, so that nothing is left undone whatever happened to those that they
    /// wait for.
    fn plan_queued(&mut self, state: &State, emptying: &BTreeSet<Uid>, batch: &mut Batch) {
        let mut round = Round {
            state,
            emptying,
            memo: Memo::default(),
            looked_at: BTreeSet::new(),
        };
        self.queue.go_on_after(self.turns.object());
        let mut again = self.deferred.in_turn(AGAIN_MAX);
        again.append(&mut self.deadlocked.in_turn(AGAIN_MAX));
        self.look_at(&again);
        loop {
            while batch.room() > 0
                && let Some(entry) = self.queue.pop()
            {
                if round.looked_at.insert(entry.1.clone()) {
                    self.examine(&round, entry, batch);
                }
            }
            if !batch.is_empty() || batch.room() == 0 {
                break;
            }
            let is_new =
                |uid: &&Uid| self.graph.object(uid).is_some() && !round.looked_at.contains(*uid);
            let deferred = self.deferred.iter().chain(self.deadlocked.iter());
            let rest: Vec<Uid> = deferred.filter(is_new).cloned().collect();
            if rest.is_empty() {
                break;
            }
            self.look_at(&rest);
        }
        self.counters.looks += round.looked_at.len();
        self.counters.visited += round.memo.visited();
    }

    fn examine(&mut self, round: &Round<'_>, (key, uid): Entry, batch: &mut Batch) {
        let view = View {
            graph: &self.graph,
            state: round.state,
            emptying: round.emptying,
            memo: &round.memo,
        };
        let plan = plan(view, &uid);
        self.deferred.forget(&uid);
        self.deadlocked.forget(&uid);
        // Those who wait for a container that is being emptied wait elsewhere.
        let is_undecided = || view.is_pending(&uid) && !round.emptying.contains(&uid);
        if self.deferred.is_above(&uid) && !is_undecided() {
            self.look_at(&self.deferred.under(&uid));
        }
        match plan {
            Plan::Steps(steps) if steps.is_empty() => self.look_at(&self.deadlocked.under(&uid)),
            Plan::Steps(steps) => {
                let steps = steps.into_iter();
                for step in steps.filter(|step| !ends_a_definition(step)) {
                    let entry = (key.clone(), uid.clone());
                    batch.push(Origin::Object(entry), step);
                }
            }
            Plan::Unresolved => {
                self.look_at(&self.deadlocked.under(&uid));
                self.unresolved.insert(uid);
            }
            Plan::After(first) => self.defer(round, uid, first),
            Plan::Deadlocked(breaking) => {
                self.look_at(&self.deadlocked.under(&uid));
                if !round.looked_at.contains(&breaking.by) {
                    self.look_at([&breaking.by]);
                }
                self.deadlocked.put(uid, breaking.by.clone());
            }
        }
    }

    fn defer(&mut self, round: &Round<'_>, uid: Uid, first: Uid) {
        if round.emptying.contains(&first) {
            self.behind_containers.entry(first).or_default().insert(uid);
            return;
        }
        if !round.looked_at.contains(&first) && !self.deferred.contains(&first) {
            self.look_at([&first]);
        }
        self.deferred.put(uid, first);
    }

    /// Reports that the first `count` unanswered steps of the last batch were not submitted. They come again in
    /// their turn.
    pub fn requeue(&mut self, count: usize) {
        let count = count.min(self.in_flight.len());
        for origin in self.in_flight.drain(..count).collect::<Vec<_>>() {
            self.give_back(origin);
        }
    }

    /// Reports that the first `count` unanswered steps of the last batch were not decided, because too much was
    /// waiting or the disk was full. They come again when all others have had their turns: there may be room for
    /// those.
    pub fn postpone(&mut self, count: usize) {
        for origin in self.in_flight.iter().take(count) {
            self.turns.pass_over(origin);
        }
        self.requeue(count);
    }

    fn give_back(&mut self, origin: Origin) {
        match origin {
            Origin::Object(entry) => self.queue.push(entry),
            Origin::Container(key) => self.containers.push(key),
            Origin::Warning(warning) => self.warnings.push(warning),
            Origin::Name(freed) => self.freed_names.add(freed),
            // These are considered in every batch, until they are done.
            Origin::Deadline | Origin::Definition(_) => {}
        }
    }

    /// Reports the answers to the last batch in its order, from the first unanswered step on. An object
    /// is looked at again if its step was out of date. If it was carried out, [`Self::observe`] tells who
    /// has to be looked at.
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
                Origin::Object(entry) if is_stale => self.queue.push(entry),
                Origin::Container(key) if is_stale => {
                    self.containers.push(key);
                }
                Origin::Name(freed) if is_stale => self.freed_names.add(freed),
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

    /// Queues a container that is being deleted. If it is a definition, its end is considered in every batch from now
    /// on.
    fn queue_container(&mut self, key: &ObjectKey, object: Option<&Object>) {
        let is_deleting = object.is_some_and(Object::is_deleting);
        if is_deleting && key.is_container() {
            self.containers.push(key.clone());
        }
        if is_deleting && key.is_definition() {
            self.ending.insert(key.clone());
        } else {
            self.ending.remove(key);
        }
    }
}
