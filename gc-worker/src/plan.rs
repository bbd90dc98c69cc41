//! The decision table of garbage collection, for one object on one state. Source: upstream's
//! `attemptToDeleteItem`, `processDeletingDependentsItem` and `attemptToOrphan`.

mod end;
mod memo;
mod order;
mod outlook;
#[cfg(test)]
mod tests;

use crate::content;
use crate::identity::Identity;
use crate::steps::{Step, cause_of_mark, deletion, target};
pub(crate) use end::ends_a_definition;
pub(crate) use memo::Memo;

use hindsight_core::classify::{
    Going, Verdict, classify, policy_of_collection, would_close_a_cycle,
};
use hindsight_core::command::{
    Collect, Deadlock, Delete, DropOwners, DropReason, Intent, Target, Unblock,
};
use hindsight_core::event::OwnerClass;
use hindsight_core::object::{Object, ServerFinalizer};
use hindsight_core::{Cause, OwnerReference, Rule, State, Uid};
use hindsight_projector::OwnershipGraph;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// The most steps of one look; the rest comes with the next one. Each loses an owner in an object that stays,
/// which takes longer to decide and to write than a removal, and others wait meanwhile.
const STEPS_MAX: usize = 256;
/// The bytes that a member takes besides its body.
const MEMBER_BYTES: usize = 1 << 10;

/// The single step that breaks a deadlock.
#[derive(Debug)]
pub(crate) struct Breaking {
    step: Step,
    /// The member that takes it.
    pub(crate) by: Uid,
}

/// The result of one look at an object.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// These steps; none if nothing is to be done.
    Steps(Vec<Step>),
    /// Nothing: a reference cannot be resolved. A new kind may change that.
    Unresolved,
    /// Nothing until this object has been decided, one of those that must be decided first.
    After(Uid),
    /// The object is in a deadlock, which another member breaks.
    Deadlocked(Rc<Breaking>),
}

impl Plan {
    const fn nothing() -> Self {
        Self::Steps(Vec::new())
    }

    /// These steps, unless another object must be decided first.
    fn after(prerequisite: Option<Uid>, steps: impl FnOnce() -> Vec<Step>) -> Self {
        prerequisite.map_or_else(|| Self::Steps(steps()), Self::After)
    }

    /// The steps that it calls for, even if another member of the deadlock takes them.
    fn all_steps(&self) -> impl Iterator<Item = &Step> {
        let steps = match self {
            Self::Steps(steps) => &**steps,
            Self::Deadlocked(breaking) => std::slice::from_ref(&breaking.step),
            Self::Unresolved | Self::After(_) => &[],
        };
        steps.iter()
    }

    /// The steps that the object itself takes.
    fn into_steps(self) -> Vec<Step> {
        match self {
            Self::Steps(steps) => steps,
            Self::Unresolved | Self::After(_) | Self::Deadlocked(_) => Vec::new(),
        }
    }
}

/// The inputs of a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// At the same revision as the state.
    pub(crate) graph: &'a OwnershipGraph,
    pub(crate) state: &'a State,
    /// Containers that are being emptied: everything in or below them waits for that.
    pub(crate) emptying: &'a BTreeSet<Uid>,
    /// What is known already of all this.
    pub(crate) memo: &'a Memo,
}

/// Every step of the garbage collector that this state calls for. All of them may be carried out, in any
/// order.
pub fn due(graph: &OwnershipGraph, state: &State) -> Vec<Step> {
    let emptying = content::emptying(graph, state);
    let view = View {
        graph,
        state,
        emptying: &emptying,
        memo: &Memo::default(),
    };
    let plans = graph.objects().map(|(uid, _)| plan(view, uid));
    plans.flat_map(Plan::into_steps).collect()
}

pub(crate) fn plan(view: View<'_>, uid: &Uid) -> Plan {
    let plan = whole_plan(view, uid);
    match &plan {
        Plan::Deadlocked(breaking) if breaking.by == *uid => {
            Plan::Steps(vec![breaking.step.clone()])
        }
        Plan::Steps(_) | Plan::Unresolved | Plan::After(_) | Plan::Deadlocked(_) => plan,
    }
}

/// The member that takes the single step of a deadlock, which all its members arrive at: a definition, if
/// there is one, because these end in an order of their own; otherwise the first.
fn representative(members: &[Target]) -> Option<Uid> {
    let definition = members.iter().find(|one| one.key.is_definition());
    definition.or_else(|| members.first())?.uid.clone()
}

/// The plan for an object, even if the step is for another member of its deadlock to take.
fn whole_plan(view: View<'_>, uid: &Uid) -> Plan {
    let Some(object) = view.graph.object(uid) else {
        return Plan::nothing();
    };
    if object.is_orphaning() {
        return view.orphan(object);
    }
    if object.is_waiting() {
        return view.wait(object);
    }
    if object.is_deleting() || object.owners().is_empty() {
        return Plan::nothing();
    }
    view.collect(object)
}

impl View<'_> {
    /// Every dependent loses the reference; the owner is released when none is left.
    fn orphan(&self, owner: &Object) -> Plan {
        let uid = &owner.meta.uid;
        if let Some(first) = self.undecided_around(owner) {
            return Plan::After(first);
        }
        let release = || {
            let basis = self.basis([uid]);
            vec![Identity::GarbageCollector.release(owner, ServerFinalizer::Orphan, basis)]
        };
        if self.orphans_latecomers_only(owner) && self.undecided_above(uid).is_none() {
            return Plan::Steps(release());
        }
        let cause = cause_of_mark(owner);
        let mut steps: Vec<Step> = Vec::new();
        for (_, dependent) in self.graph.dependents(uid).take(STEPS_MAX) {
            let owners: Vec<OwnerReference> = dependent
                .owners()
                .iter()
                .filter(|one| one.uid == *uid)
                .cloned()
                .collect();
            let intent = Intent::Collect(Collect::DropOwners(DropOwners {
                dependent: target(&dependent.key, &dependent.meta.uid),
                owners,
                reason: DropReason::Orphaning(owner.key.clone()),
                basis: self.basis_of_orphaning(owner, dependent),
            }));
            steps.push(Identity::GarbageCollector.step(intent, cause.clone()));
        }
        if !steps.is_empty() {
            return Plan::Steps(steps);
        }
        Plan::after(self.undecided_above(uid), release)
    }

    /// Whether all that still refers to an owner came while it orphaned, and is orphaned with its release, however
    /// many more come until then. Definitions end in an order of their own, after all that refers to them is orphaned.
    fn orphans_latecomers_only(&self, owner: &Object) -> bool {
        let known = self.state.latecomers(owner);
        known.is_some_and(|known| {
            let refer = self.graph.dependents(&owner.meta.uid);
            !owner.key.is_definition() && refer.take(STEPS_MAX + 1).count() == known.len()
        })
    }

    /// An owner in foreground deletion is released once every dependent is decided and none blocks it.
    /// Owners that only wait for each other are released together, in one step, so that a crash cannot
    /// leave half of them.
    fn wait(&self, owner: &Object) -> Plan {
        let uid = &owner.meta.uid;
        // Asked first: dependents that block and end one after the other would otherwise be passed each time.
        if self.graph.blockers(uid).next().is_some() {
            let deadlock = self.memo.deadlocks.borrow_mut().of(self.graph, uid);
            return deadlock.map_or_else(Plan::nothing, |deadlock| self.of_deadlock(&deadlock));
        }
        Plan::after(self.before_release(uid), || {
            let basis = self.basis([uid]);
            vec![Identity::GarbageCollector.release(owner, ServerFinalizer::Foreground, basis)]
        })
    }

    /// The plan for all members of a deadlock.
    fn of_deadlock(&self, deadlock: &BTreeSet<Uid>) -> Plan {
        let Some(first) = deadlock.first() else {
            return Plan::nothing();
        };
        if let Some(plan) = self.memo.breakings.borrow().get(first) {
            return plan.clone();
        }
        let prerequisite = deadlock
            .iter()
            .find_map(|member| self.before_release(member));
        let breaking = || {
            let breaking = self.break_deadlock(deadlock).map(Rc::new);
            breaking.map_or_else(Plan::nothing, Plan::Deadlocked)
        };
        let plan = prerequisite.map_or_else(breaking, Plan::After);
        let mut breakings = self.memo.breakings.borrow_mut();
        breakings.insert(first.clone(), plan.clone());
        plan
    }

    fn break_deadlock(&self, deadlock: &BTreeSet<Uid>) -> Option<Breaking> {
        let members = deadlock.iter().filter_map(|one| self.graph.object(one));
        let mut members: Vec<&Arc<Object>> = members.collect();
        members.sort_by(|one, other| one.key.cmp(&other.key));
        let closed_by = members
            .iter()
            .filter_map(|one| one.mark)
            .max_by_key(|mark| mark.revision);
        let cause = closed_by.map_or_else(
            || members.first().map(|one| one.revision),
            |mark| Some(mark.revision),
        )?;
        let members = fitting(&members, Deadlock::BYTES_MAX);
        let by = representative(&members)?;
        let uids = members.iter().filter_map(|one| one.uid.as_ref());
        let basis = self.basis(uids);
        let intent = Intent::Collect(Collect::BreakDeadlock(Deadlock { members, basis }));
        let step = Identity::GarbageCollector.step(intent, Cause::Commit(cause));
        Some(Breaking { step, by })
    }

    /// An object whose decision could change when a waiting owner is released.
    fn before_release(&self, owner: &Uid) -> Option<Uid> {
        let above = self.undecided_above(owner);
        let mut others = self.graph.dependents(owner).filter(|one| one.0 != owner);
        above.or_else(|| others.find_map(|(dependent, _)| self.undecided_at(dependent, owner)))
    }

    fn collect(&self, object: &Object) -> Plan {
        let classes = self.classes(object);
        let going = match Verdict::of(classes.iter().copied()) {
            Verdict::Undecidable => return Plan::Unresolved,
            Verdict::Stays => return Plan::nothing(),
            Verdict::LosesOwners => None,
            Verdict::Goes(_) if object.key.is_immortal() => return Plan::nothing(),
            Verdict::Goes(going) => Some(going),
        };
        if self.state.is_orphaned(object) {
            return Plan::nothing();
        }
        let references = object.owners().iter().zip(&classes);
        let gone = references.filter(|(_, class)| **class != OwnerClass::Solid);
        let gone: Vec<_> = gone.map(|(reference, _)| reference.clone()).collect();
        Plan::after(self.undecided_before(&object.meta.uid), || match going {
            Some(going) => self.delete(object, &gone, going),
            None => self.prune(object, gone),
        })
    }

    /// A solid owner remains: the object stays and loses the other references.
    fn prune(&self, object: &Object, gone: Vec<OwnerReference>) -> Vec<Step> {
        let cause = self.cause(object, &gone);
        let intent = Intent::Collect(Collect::DropOwners(DropOwners {
            dependent: target(&object.key, &object.meta.uid),
            owners: gone,
            reason: DropReason::SolidOwnerRemains,
            basis: self.basis_of(object),
        }));
        vec![Identity::GarbageCollector.step(intent, cause)]
    }

    /// No owner holds the object: it is deleted. If an owner waits for it and it has dependents of its
    /// own, it is deleted in the foreground; if that would close a cycle, it first stops blocking its
    /// owners.
    fn delete(&self, object: &Object, gone: &[OwnerReference], going: Going) -> Vec<Step> {
        let cause = self.cause(object, gone);
        let basis = self.basis_of(object);
        let target = target(&object.key, &object.meta.uid);
        if going == Going::UnderWaitingOwner && would_close_a_cycle(self.state, object) {
            let dependent = target;
            let intent = Intent::Collect(Collect::Unblock(Unblock { dependent, basis }));
            return vec![Identity::GarbageCollector.step(intent, cause)];
        }
        let policy = policy_of_collection(self.state, object, going);
        let rule = match going {
            Going::UnderWaitingOwner => Rule::OwnerForeground,
            Going::Unowned => self.absence_rule(object, gone),
        };
        let intent = Intent::Delete(Delete {
            propagation: Some(policy),
            basis: Some(basis),
            ..deletion(self.state, target, rule)
        });
        vec![Identity::GarbageCollector.step(intent, cause)]
    }

    /// The rule that fits the way in which the owners are absent.
    fn absence_rule(&self, object: &Object, gone: &[OwnerReference]) -> Rule {
        let elsewhere = |one: &OwnerReference| {
            let owner = self.graph.object(&one.uid);
            owner.is_some_and(|owner| !object.key.reaches(&owner.key.namespace))
        };
        if gone.iter().any(elsewhere) {
            Rule::OwnerInOtherNamespace
        } else if !gone.iter().any(|one| self.has_existed(object, &one.uid)) {
            Rule::NoSuchOwner
        } else {
            Rule::OwnersAbsent
        }
    }

    /// Whether the owner with this uid exists, or existed when the reference was made.
    fn has_existed(&self, object: &Object, owner: &Uid) -> bool {
        let removed = self.graph.removed_at(owner, &object.meta.uid);
        self.graph.object(owner).is_some() || removed.is_some()
    }

    /// The newest removal or mark among these owners, or what made the kind of an owner known after that;
    /// if there is nothing of this, the object's own last write.
    fn cause(&self, object: &Object, gone: &[OwnerReference]) -> Cause {
        let when = |one: &OwnerReference| {
            let waits = classify(self.state, object, one) == OwnerClass::Waiting;
            let owner = || self.graph.object(&one.uid).filter(|_| waits);
            let mark = || owner().and_then(|owner| owner.mark);
            self.graph
                .removed_near_at(&one.uid, &object.key, &object.meta.uid)
                .or_else(|| mark().map(|mark| mark.revision))
        };
        let arrived = |one: &OwnerReference| self.graph.arrived_at(one, &object.meta.uid);
        let newest = gone.iter().filter_map(when).max();
        let known = object.owners().iter().filter_map(arrived).max();
        Cause::Commit(newest.max(known).unwrap_or(object.revision))
    }

    fn classes(&self, object: &Object) -> Vec<OwnerClass> {
        let references = object.owners().iter();
        self.memo.visit(references.len());
        references
            .map(|reference| classify(self.state, object, reference))
            .collect()
    }
}

/// As many members as fit, and at least one. The rest of a larger deadlock then waits for these.
fn fitting(members: &[&Arc<Object>], bytes_max: usize) -> Vec<Target> {
    let mut bytes = 0;
    let fits = members.iter().take_while(|one| {
        let is_first = bytes == 0;
        bytes += one.body.len() + MEMBER_BYTES;
        is_first || bytes <= bytes_max
    });
    fits.map(|one| target(&one.key, &one.meta.uid)).collect()
}
