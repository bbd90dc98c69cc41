//! Decides owners before their dependents, so that the result does not depend on which object is looked
//! at first. Upstream has no such order. See `docs/decisions/0005-owners-first.md`.

use super::View;
use hindsight_core::classify::{Influence, influence_on, is_undecided};
use hindsight_core::command::{Basis, Seen};
use hindsight_core::event::OwnerClass;
use hindsight_core::state::{ABOVE_MAX, REFERENCES_ABOVE_MAX};
use hindsight_core::{Object, ObjectKey, OwnerReference, Uid};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;
use std::sync::Arc;

/// The undecided objects in a strongly connected component (a cycle, or one object in none) and above it.
#[derive(Debug)]
pub(super) struct Above {
    /// The undecided members, in the order in which they are decided.
    own: Vec<Uid>,
    /// The first two undecided objects above the members that are no members.
    beyond: Vec<Uid>,
    /// The first two undecided objects of all. Two, because one may be the one that asks.
    all: Vec<Uid>,
    /// How much a walk up from here passes, at most.
    passed: Passed,
}

/// How much a walk up passes, as far as it may go. What is reached on several ways counts for each.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    objects: usize,
    /// Those that the objects have beside one each.
    references: usize,
}

impl Passed {
    /// This object. References that have no influence on it are not looked at.
    fn by(object: &Object) -> Self {
        let has_influence = influence_on(object) == Influence::All;
        let owners = object.owners().iter().filter(|_| has_influence);
        Self {
            objects: 1,
            references: owners.skip(1).count(),
        }
    }

    const fn total(self) -> usize {
        self.objects + self.references
    }
}

impl Sum for Passed {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            objects: (sum.objects + one.objects).min(ABOVE_MAX),
            references: (sum.references + one.references).min(REFERENCES_ABOVE_MAX),
        })
    }
}

/// What is above some containers.
#[derive(Debug)]
pub(super) struct Around {
    /// The undecided among it.
    undecided: Vec<Uid>,
    /// For each object two steps or more above an undecided one: the objects one step below it on the way there.
    below: BTreeMap<Uid, Vec<Uid>>,
}

impl Around {
    /// The object, and all those below it that are above one of the undecided.
    fn on_the_way_to<'a>(&'a self, uid: &'a Uid) -> BTreeSet<&'a Uid> {
        let mut found = BTreeSet::new();
        let mut open = vec![uid];
        while let Some(at) = open.pop() {
            if found.insert(at) {
                open.extend(self.below.get(at).into_iter().flatten());
            }
        }
        found
    }
}

impl View<'_> {
    /// An object above this one on which the collector has yet to act: the nearest, which is decided last
    /// of all, unless there is a container that is being emptied.
    pub(super) fn undecided_above(&self, uid: &Uid) -> Option<Uid> {
        let object = self.graph.object(uid);
        let is_deleting = object.is_some_and(|object| object.is_deleting());
        let undecided = if is_deleting {
            self.undecided_from(&self.directly_above(uid))
        } else {
            self.undecided_from(std::slice::from_ref(uid))
        };
        undecided.into_iter().find(|one| one != uid)
    }

    /// An undecided object above this one that is decided before it. In a cycle, owners that orphan are decided first,
    /// then the others in the order of their keys: uids are random. A container that is being emptied is in no cycle,
    /// because nothing is above it.
    pub(super) fn undecided_before(&self, uid: &Uid) -> Option<Uid> {
        // So it is for most objects, and this keeps them out of the memo.
        if self.undecided_from(&self.next_above(uid)).is_empty() {
            return None;
        }
        let before = |above: &Above| {
            let earlier = above
                .own
                .partition_point(|one| self.turn(one) < self.turn(uid));
            let last = earlier.checked_sub(1).and_then(|at| above.own.get(at));
            let found = last.into_iter().chain(&above.beyond);
            found
                .min_by_key(|one| !self.emptying.contains(*one))
                .cloned()
        };
        self.above(uid, before).flatten()
    }

    /// The place of an object among the members of its cycle.
    fn turn(&self, uid: &Uid) -> Option<(bool, &ObjectKey)> {
        let object = self.graph.object(uid)?;
        Some((!object.is_orphaning(), &object.key))
    }

    /// An undecided object that may still delete an owner which orphans its dependents, so that it orphans
    /// none. Its own owners have no influence on it any more.
    pub(super) fn undecided_around(&self, owner: &Object) -> Option<Uid> {
        let uid = &owner.meta.uid;
        let containers: Vec<Uid> = self.containers(&owner.key).cloned().collect();
        let first = self.undecided_from(&containers);
        let first = first.into_iter().find(|one| one != uid)?;
        if self.emptying.contains(&first) {
            return Some(first);
        }
        let around = self.around(containers);
        let below = around.on_the_way_to(uid);
        let is_below = |one: &Uid| self.directly_above(one).iter().any(|at| below.contains(at));
        let mut others = around.undecided.iter().filter(|one| *one != uid);
        others.find(|one| !is_below(one)).cloned()
    }

    /// What is found out once for all owners in these containers.
    fn around(&self, containers: Vec<Uid>) -> Arc<Around> {
        let mut found = self.memo.around.borrow_mut();
        if let Some(around) = found.get(&containers) {
            return Arc::clone(around);
        }
        let mut undecided: Vec<Uid> = self
            .with_all_above(containers.clone())
            .into_iter()
            .collect();
        undecided.retain(|one| self.is_pending(one));
        let above = undecided.iter().flat_map(|one| self.directly_above(one));
        let mut below: BTreeMap<Uid, Vec<Uid>> = BTreeMap::new();
        for at in self.with_all_above(above.collect()) {
            for above in self.next_above(&at) {
                below.entry(above).or_default().push(at.clone());
            }
        }
        let around = Arc::new(Around { undecided, below });
        found.insert(containers, Arc::clone(&around));
        around
    }

    /// The first two undecided objects among these and above them.
    fn undecided_from(&self, uids: &[Uid]) -> Vec<Uid> {
        let found = uids
            .iter()
            .filter_map(|uid| self.above(uid, |above| above.all.clone()));
        self.first_two(found.flatten().collect())
    }

    fn first_two(&self, mut found: Vec<Uid>) -> Vec<Uid> {
        found.sort_by_key(|one| !self.emptying.contains(one));
        let first = found.first();
        let second = found.iter().find(|one| Some(*one) != first);
        first.into_iter().chain(second).cloned().collect()
    }

    fn above<T>(&self, uid: &Uid, read: impl FnOnce(&Above) -> T) -> Option<T> {
        self.graph.object(uid)?;
        let next = |at: &Uid| self.known_above(at);
        let summarize = |members: &[Uid], reached: &[&Above]| {
            let mut own: Vec<Uid> = members.to_vec();
            own.retain(|one| self.is_pending(one));
            own.sort_by_key(|one| self.turn(one));
            let beyond = reached.iter().flat_map(|above| above.all.iter().cloned());
            let beyond = self.first_two(beyond.collect());
            let nearest_first = own.iter().rev().chain(&beyond).cloned();
            let all = self.first_two(nearest_first.collect());
            let members = members.iter().filter_map(|one| self.graph.object(one));
            let beyond_these = reached.iter().map(|above| above.passed);
            let passed = members.map(|one| Passed::by(one)).chain(beyond_these).sum();
            Above {
                own,
                beyond,
                all,
                passed,
            }
        };
        let mut above = self.memo.above.borrow_mut();
        above.find(uid, next, summarize).map(read)
    }

    /// The next step of a walk upward, to objects that exist.
    pub(super) fn known_above(&self, uid: &Uid) -> Vec<Uid> {
        let mut next = self.next_above(uid);
        next.retain(|one| self.graph.object(one).is_some());
        next
    }

    /// These objects and all above them.
    fn with_all_above(&self, mut open: Vec<Uid>) -> BTreeSet<Uid> {
        let mut found = BTreeSet::new();
        while let Some(at) = open.pop() {
            if self.graph.object(&at).is_some() && !found.contains(&at) {
                open.append(&mut self.next_above(&at));
                found.insert(at);
            }
        }
        found
    }

    /// The next step of such a walk: to what still has influence on the object.
    fn next_above(&self, uid: &Uid) -> Vec<Uid> {
        let Some(object) = self.graph.object(uid) else {
            return Vec::new();
        };
        self.memo.visit(1);
        match influence_on(object) {
            Influence::All => self.directly_above(uid),
            Influence::Containers => self.containers(&object.key).cloned().collect(),
            Influence::Nothing => Vec::new(),
        }
    }

    /// The first step up. An object that is about to be deleted under a waiting owner is decided by
    /// whether it has dependents, and the containers of those may delete them.
    pub(super) fn directly_above(&self, uid: &Uid) -> Vec<Uid> {
        let Some(object) = self.graph.object(uid) else {
            return Vec::new();
        };
        let mut above = self.above_besides_containers(object);
        above.extend(self.containers(&object.key));
        self.memo.visit(above.len());
        above.into_iter().cloned().collect()
    }

    /// What is directly above an object, without its own containers.
    fn above_besides_containers<'a>(&'a self, object: &'a Object) -> BTreeSet<&'a Uid> {
        let owners = object.owners().iter().map(|owner| &owner.uid);
        let service = self.state.service_of(&object.key);
        let service = service.map(|service| &service.meta.uid);
        let mut above: BTreeSet<&Uid> = owners.chain(service).collect();
        if self.goes_under_a_waiting_owner(object) {
            let dependents = self.graph.dependents(&object.meta.uid);
            let counted = dependents.inspect(|_| self.memo.visit(1));
            above.extend(counted.flat_map(|(_, one)| self.containers(&one.key)));
        }
        above
    }

    /// This state, and what is decided in it before a step on each of these objects.
    pub(super) fn basis<'u>(&self, uids: impl IntoIterator<Item = &'u Uid>) -> Basis {
        let objects = uids.into_iter().filter_map(|uid| self.graph.object(uid));
        let (mut above, mut containers) = (Vec::new(), Vec::new());
        for object in objects {
            above.extend(self.above_besides_containers(object));
            containers.extend(self.containers(&object.key));
        }
        let passed = self.passed_from(above.iter().chain(&containers).copied());
        let above = above.into_iter().filter_map(|uid| self.graph.object(uid));
        Basis {
            revision: self.state.revision,
            passed,
            above: above.map(|object| object.key.clone()).collect(),
            seen: None,
        }
    }

    /// The same for a step that takes an owner, which orphans, from an object: for each of the two only its containers are
    /// decided before, and the `Service` of `Endpoints`.
    pub(super) fn basis_of_orphaning(&self, owner: &Object, dependent: &Object) -> Basis {
        let beside = [owner, dependent].into_iter().flat_map(|one| {
            let service = self.state.service_of(&one.key);
            let service = service.map(|service| &service.meta.uid);
            self.containers(&one.key).chain(service)
        });
        Basis {
            passed: self.passed_from(beside),
            ..Basis::at(self.state.revision)
        }
    }

    /// How much the walks up from these pass.
    fn passed_from<'u>(&self, uids: impl IntoIterator<Item = &'u Uid>) -> usize {
        let passed = uids.into_iter();
        let passed = passed.filter_map(|uid| self.above(uid, |above| above.passed));
        passed.sum::<Passed>().total()
    }

    /// The basis of a step about the owners of an object, which holds for these owners only.
    pub(super) fn basis_of(&self, object: &Object) -> Basis {
        Basis {
            seen: Some(Seen::of(object)),
            ..self.basis([&object.meta.uid])
        }
    }

    fn goes_under_a_waiting_owner(&self, object: &Object) -> bool {
        let waits = |reference: &OwnerReference| {
            let owner = self.graph.object(&reference.uid);
            owner.is_some_and(|owner| owner.is_waiting())
        };
        !object.is_deleting()
            && object.owners().iter().any(waits)
            && self.classes(object).contains(&OwnerClass::Waiting)
    }

    fn containers(&self, key: &ObjectKey) -> impl Iterator<Item = &Uid> {
        let containers = self.state.containers(key);
        containers.map(|container| &container.meta.uid)
    }

    /// Whether a look at this object, in its turn, would change it, its dependents or its contents.
    pub(crate) fn is_pending(&self, uid: &Uid) -> bool {
        if self.emptying.contains(uid) {
            return true;
        }
        self.graph.object(uid).is_some_and(|object| {
            self.memo.visit(object.owners().len());
            is_undecided(self.state, object)
        })
    }
}
