//! Runs a history of requests against the real world and the naive one, side by side. Objects are
//! named by the number of their creation, so that a history can be run again without some of its
//! steps.

mod script;

use crate::naive;
use crate::reference::{
    CLEANUP, Kind, Policy, Reference, Short, Thing, World as Naive, deduplicated,
};
use crate::rules::{self, Judge};
use crate::shrink::{shrink, simplify};
use crate::world::World;
use hindsight_core::{Decision, ObjectKey, Rejection};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The number of the creation that made an object.
pub type Id = usize;

/// One request, or a run of the collector.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Creates an object, unless the name is taken.
    Create(Id, New),
    /// Requests its deletion.
    Delete(Id, Option<Policy>),
    /// Replaces its finalizers.
    SetFinalizers(Id, Vec<String>),
    /// Replaces its references.
    SetOwners(Id, Vec<Owner>),
    /// Plans a batch of the collector. It is decided when the collector runs next, after the requests that
    /// come before that.
    Plan,
    /// Runs the collector for this many turns, without letting it finish. Wherever it gets, the rest
    /// is the same.
    Turn(usize),
    /// Runs the collector until nothing is due, and compares.
    Settle,
}

/// An object to be created.
#[derive(Debug, Clone)]
pub struct New {
    /// Kind.
    pub kind: Kind,
    /// Namespace; empty for a cluster-scoped kind.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Finalizers.
    pub finalizers: Vec<String>,
    /// Owner references.
    pub owners: Vec<Owner>,
    /// Whether it is a definition that wants a short name, which others may have.
    pub wants_name: bool,
}

impl New {
    fn spec(&self) -> Option<Value> {
        let mut spec = naive::spec(self.kind, &self.name)?;
        if self.wants_name {
            spec["names"]["shortNames"] = json!(["x"]);
        }
        Some(spec)
    }
}

/// An owner reference, as it is spelled.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The object whose UID it has.
    pub who: Who,
    /// Kind.
    pub kind: Kind,
    /// Name.
    pub name: String,
    /// `blockOwnerDeletion`.
    pub blocks: bool,
}

/// The object that a reference is to: one that was created, or one that never existed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The object of the creation with this number.
    Made(Id),
    /// A UID that is made up.
    Nobody(u64),
}

/// Derives from the naive world what should be left.
pub type Oracle = fn(&Naive) -> Vec<Thing>;

/// Both worlds, and the requests that were made to them.
pub struct Comparison {
    /// The naive one.
    pub naive: Naive,
    /// The real one.
    pub real: World,
    oracle: Oracle,
    limit: usize,
    uids: BTreeMap<Id, String>,
    /// The objects that existed at the last call of `live`, or were created since.
    alive: Vec<Id>,
    places: Vec<Place>,
    script: Vec<String>,
    judge: Judge,
    rest_states: Vec<Vec<Thing>>,
    /// Whether anything was planned, perhaps before a request, since both worlds were last the same.
    has_planned: bool,
    stops: Stops,
}

/// When the collector begins anew while it collects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stops {
    /// It does not.
    Never,
    /// As if the process was stopped after each batch.
    BeforeEachBatch,
}

/// Kind, namespace and name.
type Place = (Kind, String, String);

impl std::fmt::Debug for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comparison").finish_non_exhaustive()
    }
}

/// A failing history, shrunk to what it takes to fail.
#[derive(Debug)]
pub struct Shrunk {
    /// The operations that are left.
    pub operations: Vec<Operation>,
    /// The same as a scenario that expects what the oracle says.
    pub scenario: String,
}

impl Comparison {
    /// Two empty worlds; the collector takes `limit` steps at a time.
    pub fn new(limit: usize, oracle: Oracle) -> Self {
        Self::with_uids(0, limit, oracle)
    }

    /// The same with other UIDs.
    pub fn with_uids(uids: u64, limit: usize, oracle: Oracle) -> Self {
        Self {
            naive: Naive::default(),
            real: World::with_uids(uids),
            oracle,
            limit,
            uids: BTreeMap::new(),
            alive: Vec::new(),
            places: Vec::new(),
            script: Vec::new(),
            judge: Judge::default(),
            rest_states: Vec::new(),
            has_planned: false,
            stops: Stops::Never,
        }
    }

    /// Has the collector begin anew at these moments.
    #[must_use]
    pub fn with_stops(self, stops: Stops) -> Self {
        Self { stops, ..self }
    }

    /// The objects that exist, oldest first.
    pub fn live(&mut self) -> &[Id] {
        let (uids, naive) = (&self.uids, &self.naive);
        self.alive.retain(|id| naive.get(&uids[id]).is_some());
        &self.alive
    }

    /// Carries an operation out in both worlds; an error says where they differ. An operation on an
    /// object that does not exist is skipped.
    pub fn run(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Create(id, new) => self.create(*id, new),
            Operation::Settle => self.settle(),
            Operation::Turn(turns) => self.turn(*turns),
            Operation::Plan => {
                self.plan();
                Ok(())
            }
            Operation::Delete(id, policy) => self.delete(*id, *policy),
            Operation::SetFinalizers(id, finalizers) => self.set_finalizers(*id, finalizers),
            Operation::SetOwners(id, owners) => self.set_owners(*id, owners),
        }
    }

    fn thing(&self, id: Id) -> Option<&Thing> {
        self.naive.get(self.uids.get(&id)?)
    }

    fn create(&mut self, id: Id, new: &New) -> Result<(), String> {
        let owners = self.references(&new.owners);
        let mut object = json!({"metadata": {"name": new.name, "finalizers": naive::list(&new.finalizers),
            "ownerReferences": naive::references(&owners)}});
        if let Some(spec) = new.spec() {
            object["spec"] = spec;
        }
        let made = self
            .real
            .run(naive::create(new.kind, &new.namespace, object));
        let uid = made
            .as_ref()
            .ok()
            .map(|made| made.outcome.object().meta.uid.to_string());
        let thing = Thing {
            uid: uid.clone().unwrap_or_default(),
            kind: new.kind,
            namespace: new.namespace.clone(),
            name: new.name.clone(),
            finalizers: new.finalizers.clone(),
            owners: deduplicated(owners),
            deleting: false,
            token: new.kind == Kind::Namespace,
            short: if new.wants_name {
                Short::Wanted
            } else {
                Short::Unwanted
            },
        };
        let accepted = self.naive.create(thing);
        self.script_creation(id, new, accepted);
        if let Some(uid) = uid {
            self.uids.insert(id, uid);
            self.alive.push(id);
        }
        agree(accepted.is_ok(), made)
    }

    fn delete(&mut self, id: Id, policy: Option<Policy>) -> Result<(), String> {
        let Some((place, key, uid)) = self.target(id) else {
            return Ok(());
        };
        let word = match policy {
            None => "",
            Some(Policy::Background) => " policy=background",
            Some(Policy::Foreground) => " policy=foreground",
            Some(Policy::Orphan) => " policy=orphan",
        };
        self.script
            .push(format!("delete  {}{word}", script::place(&place)));
        let deleted = self.real.run(naive::delete(key, policy));
        self.naive.delete(&uid, policy);
        deleted.map(drop).map_err(|why| why.to_string())
    }

    /// A definition that is being deleted keeps its cleanup finalizer.
    fn set_finalizers(&mut self, id: Id, finalizers: &[String]) -> Result<(), String> {
        let Some((place, key, uid)) = self.target(id) else {
            return Ok(());
        };
        let mut finalizers = finalizers.to_vec();
        let held = self.thing(id).is_some_and(|one| one.holds(CLEANUP));
        finalizers.extend(held.then(|| CLEANUP.to_owned()));
        let step = format!(
            "set     {} finalizers={}",
            script::place(&place),
            finalizers.join(",")
        );
        let change = json!({"metadata": {"finalizers": naive::list(&finalizers)}});
        let real = self.real.run(naive::patch(key, change));
        let accepted = self.naive.set_finalizers(&uid, &finalizers);
        let refusal = (!accepted).then_some("no new finalizers");
        self.script_step(step, refusal);
        agree(accepted, real)
    }

    fn set_owners(&mut self, id: Id, owners: &[Owner]) -> Result<(), String> {
        let Some((place, key, uid)) = self.target(id) else {
            return Ok(());
        };
        self.script.push(format!(
            "set     {} with {}",
            script::place(&place),
            json!({"metadata": {"ownerReferences": self.scenario_references(owners)}})
        ));
        let owners = self.references(owners);
        let change = json!({"metadata": {"ownerReferences": naive::references(&owners)}});
        let real = self.real.run(naive::patch(key, change));
        self.naive.set_owners(&uid, &deduplicated(owners));
        real.map(drop).map_err(|why| why.to_string())
    }

    fn settle(&mut self) -> Result<(), String> {
        self.script
            .push(format!("gc      until-idle steps={}", self.limit));
        match self.stops {
            Stops::Never => self.real.settle(self.limit),
            Stops::BeforeEachBatch => self.real.settle_with_restarts(self.limit),
        }
        if !self.naive.settle() {
            return Err("the naive evaluator does not come to rest".into());
        }
        let real = naive::world(&self.real.state);
        self.same(real.visible(), (self.oracle)(&self.naive))?;
        if std::mem::take(&mut self.has_planned) {
            self.naive = real.clone();
        }
        self.rest_states.push(self.renamed(&real));
        let lawful = self.judge.read_changes(&self.real.changes);
        lawful
            .and_then(|()| rules::check_at_rest(&real))
            .map_err(|why| format!("{why}\n{}", self.real.history()))
    }

    fn plan(&mut self) {
        self.script
            .push(format!("gc      plan steps={}", self.limit));
        self.real.plan(self.limit);
        self.has_planned = true;
    }

    /// Runs part of a collection. Afterwards the naive world is set to the real one's state, so that
    /// later requests meet both in the middle of a cascade.
    fn turn(&mut self, turns: usize) -> Result<(), String> {
        self.script
            .push(format!("gc      part turns={turns} steps={}", self.limit));
        for _ in 0..turns {
            if self.stops == Stops::BeforeEachBatch {
                self.real.restart();
            }
            self.real.turn(self.limit);
        }
        let reached = naive::world(&self.real.state);
        let mut whole = std::mem::replace(&mut self.naive, reached.clone());
        let mut rest = reached;
        if !whole.settle() || !rest.settle() {
            return Err("the naive evaluator does not come to rest".into());
        }
        self.same(rest.visible(), whole.visible())?;
        // The first of these turns decided what was planned.
        self.has_planned &= turns == 0;
        Ok(())
    }

    /// Whether these are the same. An object in deletion may have lost references to what is gone before a
    /// request that came in between, or not.
    fn same(&self, mut found: Vec<Thing>, mut expected: Vec<Thing>) -> Result<(), String> {
        let things = found.iter_mut().chain(&mut expected);
        for thing in things.filter(|thing| self.has_planned && thing.deleting) {
            thing.owners.clear();
        }
        if found == expected {
            return Ok(());
        }
        let history = self.real.history();
        Err(format!("{found:#?}\nshould be\n{expected:#?}\n{history}"))
    }

    /// Every state of rest so far, with each UID replaced by the number of its creation.
    pub fn rest_states(&self) -> &[Vec<Thing>] {
        &self.rest_states
    }

    fn renamed(&self, world: &Naive) -> Vec<Thing> {
        let names: BTreeMap<&str, String> = self
            .uids
            .iter()
            .map(|(id, uid)| (uid.as_str(), format!("c{id}")))
            .collect();
        let rename = |uid: &mut String| {
            if let Some(name) = names.get(uid.as_str()) {
                uid.clone_from(name);
            }
        };
        let mut things = world.things.clone();
        for thing in &mut things {
            rename(&mut thing.uid);
            thing.owners.iter_mut().for_each(|one| rename(&mut one.uid));
        }
        things.sort();
        things
    }

    fn target(&self, id: Id) -> Option<(Place, ObjectKey, String)> {
        let thing = self.thing(id)?;
        let key = naive::key(thing.kind, &thing.namespace, &thing.name);
        let place = (thing.kind, thing.namespace.clone(), thing.name.clone());
        Some((place, key, thing.uid.clone()))
    }

    fn references(&self, owners: &[Owner]) -> Vec<Reference> {
        let uid = |who| match who {
            Who::Made(id) => self
                .uids
                .get(&id)
                .cloned()
                .unwrap_or(format!("missing-{id}")),
            Who::Nobody(number) => format!("made-up-{number}"),
        };
        let one = |owner: &Owner| Reference {
            kind: owner.kind,
            name: owner.name.clone(),
            uid: uid(owner.who),
            blocks: owner.blocks,
        };
        owners.iter().map(one).collect()
    }
}

fn agree(naive: bool, real: Result<Decision, Rejection>) -> Result<(), String> {
    match real {
        Ok(_) if !naive => Err("it was accepted, and should be refused".into()),
        Err(why) if naive => Err(format!("it was refused: {why:?}")),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Runs these operations and a last rest, and says whether they end as the oracle says; a panic is a
/// failure.
fn replay(
    operations: &[Operation],
    limit: usize,
    oracle: Oracle,
) -> (Comparison, Result<(), String>) {
    let mut comparison = Comparison::new(limit, oracle);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut all = operations.iter().chain([&Operation::Settle]);
        all.try_for_each(|operation| comparison.run(operation))
    }));
    let outcome = ran.unwrap_or_else(|_| Err("a panic".into()));
    (comparison, outcome)
}

/// Shrinks a failing history to a small one that still fails.
pub fn smallest(operations: Vec<Operation>, limit: usize, oracle: Oracle) -> Shrunk {
    let mut fails = |part: &[Operation]| replay(part, limit, oracle).1.is_err();
    let least = shrink(operations, &mut fails);
    let least = simplify(least, &simpler, &mut fails);
    let operations = shrink(least, &mut fails);
    let scenario = replay(&operations, limit, oracle).0.scenario();
    Shrunk {
        operations,
        scenario,
    }
}

/// Variants of the operation with one thing less in it.
fn simpler(operation: &Operation) -> Vec<Operation> {
    match operation {
        Operation::Create(id, new) => {
            let fewer = without(&new.finalizers).into_iter().map(|finalizers| New {
                finalizers,
                ..new.clone()
            });
            let freer = without(&new.owners).into_iter().map(|owners| New {
                owners,
                ..new.clone()
            });
            fewer
                .chain(freer)
                .map(|new| Operation::Create(*id, new))
                .collect()
        }
        Operation::SetFinalizers(id, list) => {
            let lists = without(list).into_iter();
            lists
                .map(|list| Operation::SetFinalizers(*id, list))
                .collect()
        }
        Operation::SetOwners(id, list) => {
            let lists = without(list).into_iter();
            lists.map(|list| Operation::SetOwners(*id, list)).collect()
        }
        Operation::Turn(turns) if *turns > 1 => vec![Operation::Turn(turns - 1)],
        Operation::Delete(..) | Operation::Plan | Operation::Turn(_) | Operation::Settle => {
            Vec::new()
        }
    }
}

/// The lists that lack one of the items.
fn without<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    let one = |index: usize| [&list[..index], &list[index + 1..]].concat();
    (0..list.len()).map(one).collect()
}
