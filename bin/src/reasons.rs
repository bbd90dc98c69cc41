//! Why an object exists, according to the state: what an object in deletion waits for; who owns any other, and
//! what will take it along. Also what was wrong with the owners of an object that was deleted.

mod owners;
#[cfg(test)]
mod tests;

use hindsight_core::object::{DEFINITION_FINALIZER, FOREGROUND_FINALIZER, NAMESPACE_TOKEN};
use hindsight_core::{Hold, Object, ObjectKey, State, Uid, holds};
use hindsight_gc::contents_remaining;
pub(crate) use owners::Mismatches;
use owners::{is_unresolvable, owner_line, owners};
use std::cell::{LazyCell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tells why the objects of one state exist.
#[derive(Debug)]
pub(crate) struct Reasons<'a> {
    state: &'a State,
    /// For each owner that an object blocks and stays, the first such object. Found in one pass over all objects,
    /// once it is asked for.
    staying: OnceCell<BTreeMap<&'a Uid, &'a Arc<Object>>>,
    /// What each object waits for that was told of for another that waits for it. Many may wait for one namespace or
    /// definition, whose contents are counted for that.
    numbers: RefCell<BTreeMap<Uid, String>>,
}

/// What is said of other objects that an object waits for. These may wait for it in turn, so that what they wait
/// for is told of the first alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// How many there are, and what the first waits for.
    Whole,
    /// How many there are.
    Number,
}

impl<'a> Reasons<'a> {
    pub(crate) const fn new(state: &'a State) -> Self {
        Self {
            state,
            staying: OnceCell::new(),
            numbers: RefCell::new(BTreeMap::new()),
        }
    }

    /// For an object that is being deleted, what it waits for; for another, what its owners are, and what takes it
    /// along.
    pub(crate) fn of(&self, object: &Object) -> Vec<String> {
        if object.is_deleting() {
            let held = self.held(object).into_iter();
            return held.map(|by| format!("waits for {by}")).collect();
        }
        let mut reasons = owners(self.state, object);
        reasons.extend(containers(self.state, object));
        reasons
    }

    /// What an object that is being deleted waits for.
    pub(crate) fn held(&self, object: &Object) -> Vec<String> {
        self.held_and_why(object, Detail::Whole)
    }

    fn held_and_why(&self, object: &Object, detail: Detail) -> Vec<String> {
        let contents = LazyCell::new(|| contents(self.state, object));
        let mut held: Vec<String> = Vec::new();
        for hold in holds(self.state, object) {
            held.push(match hold {
                Hold::Finalizer(DEFINITION_FINALIZER) if object.key.is_definition() => {
                    self.instances(&object.key, detail)
                }
                Hold::Finalizer(FOREGROUND_FINALIZER) if object.is_waiting() => {
                    self.blockers(object, detail)
                }
                Hold::Finalizer(other) => other.to_owned(),
                Hold::Token(token) if token == NAMESPACE_TOKEN => contents.clone(),
                Hold::Token(other) => other.into_owned(),
                // Told already: with the finalizer of a definition, or with the token that stands for them.
                Hold::Contents if object.key.is_definition() || held.contains(&*contents) => {
                    continue;
                }
                Hold::Contents => contents.clone(),
                Hold::Seconds(seconds) => format!("its node, which has {seconds} s to stop it"),
            });
        }
        held
    }

    /// What this object waits for, in numbers, for another one that waits for it.
    fn held_in_numbers(&self, object: &Object) -> String {
        let uid = &object.meta.uid;
        let known = self.numbers.borrow().get(uid).cloned();
        if let Some(known) = known {
            return known;
        }
        let told = self.held_and_why(object, Detail::Number).join("; ");
        let mut numbers = self.numbers.borrow_mut();
        numbers.insert(uid.clone(), told.clone());
        told
    }

    /// How many dependents block an owner in foreground deletion, what the first of them that is being deleted
    /// waits for, and why one that is not being deleted stays: owners of a kind that is not served protect it.
    fn blockers(&self, owner: &Object, detail: Detail) -> String {
        let state = self.state;
        let mut told = blocker_count(state, owner);
        if detail == Detail::Number {
            return told;
        }
        let uid = &owner.meta.uid;
        if let Some(first) = state.deleting_blockers(uid).next() {
            let by = self.held_in_numbers(first);
            told = format!("{told}; {} waits for {by}", first.key);
        }
        let going = state.deleting_blockers(uid).count() as u64;
        if state.blocker_count(uid) > going
            && let Some(kept) = self.staying().get(uid)
        {
            let unknown = kept.owners().iter();
            let unknown = unknown.filter(|one| is_unresolvable(state, kept, one));
            let why: Vec<String> = unknown.map(|one| owner_line(state, kept, one)).collect();
            told = format!("{told}; {} stays: {}", kept.key, why.join(", "));
        }
        told
    }

    /// By owner, the first object that blocks it and is not deleted, because it is not known whether another of
    /// the object's owners exists.
    fn staying(&self) -> &BTreeMap<&'a Uid, &'a Arc<Object>> {
        self.staying.get_or_init(|| {
            let state = self.state;
            let stays = |object: &&Arc<Object>| {
                let mut owners = object.owners().iter();
                !object.is_deleting() && owners.any(|one| is_unresolvable(state, object, one))
            };
            let mut first = BTreeMap::new();
            for object in state.objects().filter(stays) {
                let blocked = object.owners().iter().filter(|one| one.blocks());
                for owner in blocked.filter(|one| one.uid != object.meta.uid) {
                    first.entry(&owner.uid).or_insert(object);
                }
            }
            first
        })
    }

    /// How many instances hold a definition, and what the first of them that is being deleted waits for.
    fn instances(&self, definition: &ObjectKey, detail: Detail) -> String {
        let left: Vec<&Arc<Object>> = self.state.instances(definition).collect();
        let mut told = left.iter().filter(|_| detail == Detail::Whole);
        let waiting = told.find(|instance| instance.is_deleting());
        let waiting = waiting.map_or_else(String::new, |instance| {
            let by = self.held_in_numbers(instance);
            format!("; {} waits for {by}", instance.key)
        });
        let instances = if left.len() == 1 {
            "1 instance".to_owned()
        } else {
            format!("{} instances", left.len())
        };
        format!("{DEFINITION_FINALIZER}: {instances} left{waiting}")
    }
}

/// How many dependents block an owner.
fn blocker_count(state: &State, owner: &Object) -> String {
    let blocking = match state.blocker_count(&owner.meta.uid) {
        // The collectors have not released it yet.
        0 => return FOREGROUND_FINALIZER.to_owned(),
        1 => "1 dependent blocks it".to_owned(),
        more => format!("{more} dependents block it"),
    };
    format!("{FOREGROUND_FINALIZER}: {blocking}")
}

/// The namespace or definition of an object that is not being deleted, if that is in deletion and takes the
/// object along.
fn containers(state: &State, object: &Object) -> Vec<String> {
    let found = [
        ("namespace", state.namespace(&object.key.namespace)),
        ("definition", state.definition_of(&object.key.resource)),
    ];
    let going = found.into_iter().filter_map(|(what, container)| {
        let container = container?;
        let (name, since) = (&container.key.name, container.meta.deletion_timestamp?);
        let since = since.to_rfc3339();
        Some(format!(
            "its {what} {name} has been terminating since {since}, and takes it along"
        ))
    });
    going.collect()
}

/// How the contents of a namespace hold it.
fn contents(state: &State, namespace: &Object) -> String {
    let messages = contents_remaining(state, &namespace.key.name);
    if messages.is_empty() {
        "its contents".to_owned()
    } else {
        format!("its contents: {}", messages.join("; "))
    }
}
