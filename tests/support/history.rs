//! A history of requests against the real world and the naive one, side by side. Objects are named
//! by the number of their creation, so that a history can be run again without some of its steps.

use crate::naive;
use crate::reference::{Kind, Policy, Reference, Thing, World as Naive};
use crate::shrink::{shrink, simplify};
use crate::world::World;
use hindsight_core::ObjectKey;
use serde_json::json;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Where the histories take place.
pub const NAMESPACES: [&str; 2] = ["n1", "n2"];

/// Which creation made an object.
pub type Id = usize;

/// One request, or a rest.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Makes an object, unless the name is taken.
    Create(Id, New),
    /// Asks for its deletion.
    Delete(Id, Option<Policy>),
    /// Replaces its finalizers.
    SetFinalizers(Id, Vec<String>),
    /// Replaces its references.
    SetOwners(Id, Vec<Owner>),
    /// Collects until nothing moves, and compares.
    Settle,
}

/// An object that is about to be made.
#[derive(Debug, Clone)]
pub struct New {
    /// Kind.
    pub kind: Kind,
    /// Namespace, empty where the kind has none.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Finalizers.
    pub finalizers: Vec<String>,
    /// References.
    pub owners: Vec<Owner>,
}

/// A reference, as it is spelled.
#[derive(Debug, Clone)]
pub struct Owner {
    /// Whose uid it has.
    pub who: Who,
    /// Kind.
    pub kind: Kind,
    /// Name.
    pub name: String,
    /// Whether it blocks.
    pub blocks: bool,
}

/// Somebody who was made, or whom nobody ever made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The object of a creation.
    Made(Id),
    /// A uid that is made up.
    Nobody(u64),
}

/// What the naive world says should be left.
pub type Oracle = fn(&Naive) -> Vec<Thing>;

/// Both worlds, and what was done to them.
pub struct Both {
    /// The naive one.
    pub naive: Naive,
    /// The real one.
    pub real: World,
    oracle: Oracle,
    limit: usize,
    uids: BTreeMap<Id, String>,
    keys: Vec<ObjectKey>,
    script: Vec<String>,
}

impl std::fmt::Debug for Both {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Both").finish_non_exhaustive()
    }
}

/// What it takes to fail.
#[derive(Debug)]
pub struct Shrunk {
    /// The operations that are left.
    pub operations: Vec<Operation>,
    /// The same as a scenario, which expects what the oracle says.
    pub scenario: String,
}

impl Both {
    /// Two empty worlds; the collector takes so many steps at a time.
    pub fn new(limit: usize, oracle: Oracle) -> Self {
        let mut real = World::new();
        for namespace in NAMESPACES {
            let made = real.run(naive::create_namespace(namespace));
            made.expect("a namespace");
        }
        Self {
            naive: Naive::default(),
            real,
            oracle,
            limit,
            uids: BTreeMap::new(),
            keys: Vec::new(),
            script: NAMESPACES
                .map(|name| format!("create  Namespace {name}"))
                .into(),
        }
    }

    /// Who is there, oldest first.
    pub fn live(&self) -> Vec<Id> {
        let is_live = |id: &&Id| self.thing(**id).is_some();
        self.uids.keys().filter(is_live).copied().collect()
    }

    /// Does it to both; the message says where they differ. What is about nobody is left out.
    pub fn run(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Create(id, new) => self.create(*id, new),
            Operation::Settle => self.settle(),
            Operation::Delete(id, policy) => self.delete(*id, *policy),
            Operation::SetFinalizers(id, finalizers) => self.set_finalizers(*id, finalizers),
            Operation::SetOwners(id, owners) => self.set_owners(*id, owners),
        }
    }

    fn thing(&self, id: Id) -> Option<&Thing> {
        let uid = self.uids.get(&id)?;
        self.naive.things.iter().find(|one| one.uid == *uid)
    }

    fn create(&mut self, id: Id, new: &New) -> Result<(), String> {
        let owners = self.references(&new.owners);
        let object = json!({"metadata": {"name": new.name, "finalizers": naive::list(&new.finalizers),
            "ownerReferences": naive::references(&owners)}});
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
            owners,
            deleting: false,
        };
        let key = naive::key(new.kind, &new.namespace, &new.name);
        let step = format!(
            "create  {} as=c{id} finalizers={} with {}",
            place(&key),
            new.finalizers.join(","),
            self.spelled(&new.owners)
        );
        self.tell(step, uid.is_some(), "already exists");
        self.keys.push(key);
        let accepted = self.naive.create(thing);
        if let Some(uid) = uid {
            self.uids.insert(id, uid);
            return agree(accepted, true);
        }
        agree(accepted, false)
    }

    fn delete(&mut self, id: Id, policy: Option<Policy>) -> Result<(), String> {
        let Some((key, uid)) = self.target(id) else {
            return Ok(());
        };
        let word = match policy {
            None => "",
            Some(Policy::Background) => " policy=background",
            Some(Policy::Foreground) => " policy=foreground",
            Some(Policy::Orphan) => " policy=orphan",
        };
        self.script.push(format!("delete  {}{word}", place(&key)));
        let deleted = self.real.run(naive::delete(key, policy));
        self.naive.delete(&uid, policy);
        deleted.map(drop).map_err(|why| why.to_string())
    }

    fn set_finalizers(&mut self, id: Id, finalizers: &[String]) -> Result<(), String> {
        let Some((key, uid)) = self.target(id) else {
            return Ok(());
        };
        let step = format!(
            "set     {} finalizers={}",
            place(&key),
            finalizers.join(",")
        );
        let change = json!({"metadata": {"finalizers": naive::list(finalizers)}});
        let real = self.real.run(naive::patch(key, change)).is_ok();
        self.tell(step, real, "no new finalizers");
        agree(self.naive.set_finalizers(&uid, finalizers), real)
    }

    fn set_owners(&mut self, id: Id, owners: &[Owner]) -> Result<(), String> {
        let Some((key, uid)) = self.target(id) else {
            return Ok(());
        };
        self.script.push(format!(
            "set     {} with {}",
            place(&key),
            self.spelled(owners)
        ));
        let owners = self.references(owners);
        let change = json!({"metadata": {"ownerReferences": naive::references(&owners)}});
        let real = self.real.run(naive::patch(key, change));
        self.naive.set_owners(&uid, &owners);
        real.map(drop).map_err(|why| why.to_string())
    }

    fn settle(&mut self) -> Result<(), String> {
        self.script
            .push(format!("gc      until-idle steps={}", self.limit));
        self.real.settle(self.limit);
        if !self.naive.settle() {
            return Err("the naive evaluator does not come to rest".into());
        }
        let (real, naive) = (
            naive::world(&self.real.state).visible(),
            (self.oracle)(&self.naive),
        );
        if real == naive {
            return Ok(());
        }
        Err(format!(
            "{real:#?}\nshould be\n{naive:#?}\n{}",
            self.real.history()
        ))
    }

    fn target(&self, id: Id) -> Option<(ObjectKey, String)> {
        let thing = self.thing(id)?;
        let key = naive::key(thing.kind, &thing.namespace, &thing.name);
        Some((key, thing.uid.clone()))
    }

    fn tell(&mut self, step: String, accepted: bool, refusal: &str) {
        self.script.push(if accepted {
            step
        } else {
            format!("refuse  {step} \"{refusal}\"")
        });
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

    /// References as a scenario has them: uids by the name of the creation.
    fn spelled(&self, owners: &[Owner]) -> String {
        let mut list = naive::references(&self.references(owners));
        for (index, owner) in owners.iter().enumerate() {
            if let Who::Made(id) = owner.who
                && self.uids.contains_key(&id)
            {
                list[index]["uid"] = format!("$c{id}").into();
            }
        }
        let list = if list.is_null() { json!([]) } else { list };
        json!({"metadata": {"ownerReferences": list}}).to_string()
    }

    /// What was done, and what the oracle expects of it.
    pub fn scenario(mut self) -> String {
        let expected = (self.oracle)(&self.naive);
        self.keys.sort();
        self.keys.dedup();
        for key in &self.keys {
            let at = |one: &&Thing| naive::key(one.kind, &one.namespace, &one.name) == *key;
            let state = expected
                .iter()
                .find(at)
                .map_or("absent".into(), expectation);
            self.script.push(format!("expect  {} {state}", place(key)));
        }
        self.script.join("\n") + "\n"
    }
}

fn expectation(thing: &Thing) -> String {
    let finalizers = thing.finalizers.join(",");
    if thing.deleting {
        return format!("deleting finalizers={finalizers}");
    }
    let owners: Vec<&str> = thing.owners.iter().map(|one| one.name.as_str()).collect();
    format!("live finalizers={finalizers} owner={}", owners.join(","))
}

fn place(key: &ObjectKey) -> String {
    let kind = match &*key.resource.resource {
        "priorityclasses" => "PriorityClass",
        _ => "ConfigMap",
    };
    if key.namespace.is_empty() {
        return format!("{kind} {}", key.name);
    }
    format!("{kind} {} in={}", key.name, key.namespace)
}

fn agree(naive: bool, real: bool) -> Result<(), String> {
    if naive == real {
        return Ok(());
    }
    Err(format!("accepted: {real}, should be {naive}"))
}

/// Whether these operations, and a last rest, end as the oracle says; a panic is a failure.
fn replay(operations: &[Operation], limit: usize, oracle: Oracle) -> (Both, Result<(), String>) {
    let mut both = Both::new(limit, oracle);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut all = operations.iter().chain([&Operation::Settle]);
        all.try_for_each(|operation| both.run(operation))
    }));
    let outcome = ran.unwrap_or_else(|_| Err("a panic".into()));
    (both, outcome)
}

/// The least of a failing history that still fails.
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

/// The same with one thing less in it.
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
        Operation::Delete(..) | Operation::Settle => Vec::new(),
    }
}

/// The list without each of its items.
fn without<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    let one = |index: usize| [&list[..index], &list[index + 1..]].concat();
    (0..list.len()).map(one).collect()
}
