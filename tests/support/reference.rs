//! The naive evaluator, a second opinion on the rules of deletion and garbage collection: they run over a plain list
//! of objects, with no log, no queue and no graph; slow on purpose. Written from the rules, not from the collector.

mod containers;

pub use containers::{CLEANUP, Refusal, Short};
use std::collections::BTreeSet;

/// One object of the naive world.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thing {
    /// UID.
    pub uid: String,
    /// Resource; `Unknown` can be referred to but never created.
    pub kind: Kind,
    /// Empty for a cluster-scoped kind.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// In order.
    pub finalizers: Vec<String>,
    /// In order.
    pub owners: Vec<Reference>,
    /// Whether its deletion was requested.
    pub deleting: bool,
    /// Whether it is a namespace that is removed only after its contents.
    pub token: bool,
    /// The short name, of a definition.
    pub short: Short,
}

/// The kinds that the naive world knows, in the order of their group and resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Namespaced.
    ConfigMap,
    /// A container of namespaced objects.
    Namespace,
    /// Namespaced, and the first to be removed with its namespace.
    Pod,
    /// A definition, which makes a kind served.
    Definition,
    /// Cluster-scoped, served while its definition exists.
    Gadget,
    /// Namespaced, served while its definition exists.
    Gizmo,
    /// Namespaced, served while its definition exists.
    Widget,
    /// Cluster-scoped.
    PriorityClass,
    /// Not served.
    Unknown,
}

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Kind of the owner.
    pub kind: Kind,
    /// Name of the owner.
    pub name: String,
    /// UID of the owner.
    pub uid: String,
    /// `blockOwnerDeletion`.
    pub blocks: bool,
}

/// The propagation policy of a delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Dependents are deleted later.
    Background,
    /// The object waits for its dependents.
    Foreground,
    /// Dependents stay.
    Orphan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Solid,
    Dangling,
    Waiting,
    Unresolvable,
}

/// A plain list of objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct World {
    /// In no particular order.
    pub things: Vec<Thing>,
}

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

impl Thing {
    pub(crate) fn holds(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|one| one == finalizer)
    }

    /// Removes the collector's finalizers and adds the policy's; if only the order would change, the order stays.
    fn set_policy(&mut self, policy: Policy) {
        let collectors = |one: &String| one == ORPHAN || one == FOREGROUND;
        let (before, mut after) = (self.finalizers.clone(), self.finalizers.clone());
        after.retain(|one| !collectors(one));
        match policy {
            Policy::Background => {}
            Policy::Foreground => after.push(FOREGROUND.into()),
            Policy::Orphan => after.push(ORPHAN.into()),
        }
        let set = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
        if set(&after) != set(&before) {
            self.finalizers = after;
        }
    }

    fn is_waiting(&self) -> bool {
        self.deleting && self.holds(FOREGROUND)
    }

    /// Whether nothing holds it any more.
    fn is_free(&self) -> bool {
        self.deleting && self.finalizers.is_empty() && !self.token
    }

    fn is_orphaning(&self) -> bool {
        self.deleting && self.holds(ORPHAN)
    }

    fn blocks(&self, owner: &str) -> bool {
        self.uid != owner && self.owners.iter().any(|one| one.uid == owner && one.blocks)
    }
}

impl World {
    /// The object under this name, if there is one.
    pub fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Thing> {
        let same =
            |one: &&Thing| one.kind == kind && one.namespace == namespace && one.name == name;
        self.things.iter().find(same)
    }

    /// Everything, sorted.
    pub fn visible(&self) -> Vec<Thing> {
        let mut things = self.things.clone();
        things.sort();
        things
    }

    /// Adds an object.
    pub fn create(&mut self, thing: Thing) -> Result<(), Refusal> {
        self.admits(&thing)?;
        if self
            .find(thing.kind, &thing.namespace, &thing.name)
            .is_some()
        {
            return Err(Refusal::Taken);
        }
        self.things.push(thing);
        self.give_name();
        Ok(())
    }

    /// A client's delete.
    pub fn delete(&mut self, uid: &str, policy: Option<Policy>) {
        let Some(thing) = self.get_mut(uid) else {
            return;
        };
        if thing.token {
            return Self::begin_namespace(thing, policy);
        }
        if thing.kind == Kind::Definition && !thing.deleting {
            return Self::begin_definition(thing);
        }
        let inherited = thing.finalizers.iter().find_map(|one| match one.as_str() {
            ORPHAN => Some(Policy::Orphan),
            FOREGROUND => Some(Policy::Foreground),
            _ => None,
        });
        thing.set_policy(policy.or(inherited).unwrap_or(Policy::Background));
        thing.deleting = true;
        self.remove_if_free(uid);
    }

    /// A client's update of the finalizers; false if it is refused.
    pub fn set_finalizers(&mut self, uid: &str, finalizers: &[String]) -> bool {
        let Some(thing) = self.get_mut(uid) else {
            return false;
        };
        let added = finalizers.iter().any(|one| !thing.holds(one));
        if thing.deleting && added {
            return false;
        }
        thing.finalizers = finalizers.to_vec();
        self.remove_if_free(uid);
        true
    }

    /// A client's update of the owners.
    pub fn set_owners(&mut self, uid: &str, owners: &[Reference]) {
        if let Some(thing) = self.get_mut(uid) {
            thing.owners = owners.to_vec();
        }
        self.remove_if_free(uid);
    }

    /// Collects until nothing changes; false if it did not come to rest.
    pub fn settle(&mut self) -> bool {
        for _ in 0..10_000 {
            if !self.step() {
                return true;
            }
        }
        false
    }

    /// One step. Containers first remove what is in them, then owners decide; dependents are decided before an owner
    /// is let go, which happens only when nothing else can be done.
    pub(crate) fn step(&mut self) -> bool {
        if self.empty() {
            return true;
        }
        let uids: Vec<String> = self.things.iter().map(|one| one.uid.clone()).collect();
        self.decide_one(&uids)
            || uids
                .iter()
                .any(|uid| !self.is_definition(uid) && self.release(uid))
            || uids.iter().any(|uid| self.break_deadlock_of_objects(uid))
            || self.undefine()
    }

    /// Breaks a deadlock, a cycle of objects that wait for each other. One that contains a definition comes later: it
    /// ends when nothing else can be done.
    fn break_deadlock_of_objects(&mut self, uid: &str) -> bool {
        let deadlock = self.deadlock(uid);
        !deadlock.iter().any(|one| self.is_definition(one)) && self.break_deadlock(uid)
    }

    fn is_definition(&self, uid: &str) -> bool {
        self.get(uid)
            .is_some_and(|one| one.kind == Kind::Definition)
    }

    /// Removes the references to an orphaning owner from its dependents.
    fn orphan(&mut self, uid: &str) -> bool {
        if !self.get(uid).is_some_and(Thing::is_orphaning) {
            return false;
        }
        let refers = |one: &Reference| one.uid == uid;
        let mut any = false;
        for thing in &mut self.things {
            any |= thing.owners.iter().any(refers);
            thing.owners.retain(|one| !refers(one));
        }
        any
    }

    /// Decides one object that is due. Owners come before their dependents, and containers before what they contain;
    /// in a cycle those that orphan come first, then the order is by kind, namespace and name.
    fn decide_one(&mut self, uids: &[String]) -> bool {
        let orphans = |uid: &str| self.get(uid).is_some_and(Thing::is_orphaning);
        let moves =
            |uid: &&String| self.is_due(uid) || (orphans(uid) && !self.dependents(uid).is_empty());
        let due: Vec<&String> = uids.iter().filter(moves).collect();
        let comes_later = |one: &str| {
            due.iter().any(|other| {
                let before =
                    (!orphans(other), self.place(other)) < (!orphans(one), self.place(one));
                self.above(one).contains(*other) && (!self.above(other).contains(one) || before)
            })
        };
        let first = due.iter().find(|uid| !comes_later(uid));
        first.is_some_and(|uid| self.orphan(uid) || self.collect(uid))
    }

    fn place(&self, uid: &str) -> Option<(Kind, &str, &str)> {
        let thing = self.get(uid)?;
        Some((thing.kind, &thing.namespace, &thing.name))
    }

    fn is_due(&self, uid: &str) -> bool {
        let Some(thing) = self.get(uid).filter(|one| !one.deleting) else {
            return false;
        };
        let class = |one| self.class(thing, one);
        let classes: Vec<Class> = thing.owners.iter().map(class).collect();
        !classes.contains(&Class::Unresolvable) && classes.iter().any(|one| *one != Class::Solid)
    }

    /// The owners and containers of an object, and theirs, up to those that are being deleted. Of an object that is
    /// being deleted itself, or that waits above it, only the containers still matter.
    fn above(&self, uid: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        loop {
            let before = found.len();
            for thing in &self.things {
                let hides = thing.deleting && !thing.is_waiting();
                if thing.uid != uid && (!found.contains(&thing.uid) || hides) {
                    continue;
                }
                let owners = thing.owners.iter().filter(|_| !thing.deleting);
                let owners = owners.filter_map(|one| self.get(&one.uid));
                let over = owners.chain(self.containers(thing));
                found.extend(over.map(|one| one.uid.clone()));
                // Under a waiting owner it matters which dependents the object has, and which containers may remove
                // them.
                if !thing.deleting && self.sees_waiting(thing) {
                    let below = self.dependents(&thing.uid);
                    let around = below.iter().flat_map(|one| self.containers(one));
                    found.extend(around.map(|one| one.uid.clone()));
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    fn collect(&mut self, uid: &str) -> bool {
        let Some(thing) = self
            .get(uid)
            .filter(|one| !one.deleting && !one.owners.is_empty())
        else {
            return false;
        };
        let classes: Vec<Class> = thing
            .owners
            .iter()
            .map(|one| self.class(thing, one))
            .collect();
        if classes.contains(&Class::Unresolvable) {
            return false;
        }
        if classes.contains(&Class::Solid) {
            return self.strip(uid, &classes);
        }
        let waiting = classes.contains(&Class::Waiting);
        let dependents: Vec<&Thing> = self.dependents(uid);
        let cyclic = dependents.iter().any(|one| one.is_waiting());
        let foreground = waiting && !dependents.is_empty();
        if foreground && cyclic {
            let thing = self.get_mut(uid).expect("it was just read");
            thing.owners.iter_mut().for_each(|one| one.blocks = false);
            thing.owners = deduplicated(std::mem::take(&mut thing.owners));
        }
        let own = self.get(uid).map(own_policy);
        self.delete(
            uid,
            if foreground {
                Some(Policy::Foreground)
            } else {
                own
            },
        );
        true
    }

    fn strip(&mut self, uid: &str, classes: &[Class]) -> bool {
        let thing = self.get_mut(uid).expect("it was just read");
        let before = thing.owners.len();
        let mut class = classes.iter();
        thing.owners.retain(|_| class.next() == Some(&Class::Solid));
        thing.owners.len() != before
    }

    fn release(&mut self, uid: &str) -> bool {
        if self.get(uid).is_some_and(Thing::is_orphaning) {
            self.drop_finalizer(uid, ORPHAN);
            self.remove_if_free(uid);
            return true;
        }
        let blocked = self.things.iter().any(|one| one.blocks(uid));
        let free = !blocked && self.get(uid).is_some_and(Thing::is_waiting);
        if free {
            self.drop_finalizer(uid, FOREGROUND);
            self.remove_if_free(uid);
        }
        free
    }

    /// Lets waiting objects that only wait for each other go together.
    fn break_deadlock(&mut self, uid: &str) -> bool {
        let deadlock = self.deadlock(uid);
        for member in &deadlock {
            self.drop_finalizer(member, FOREGROUND);
            self.remove_if_free(member);
        }
        !deadlock.is_empty()
    }

    fn deadlock(&self, uid: &str) -> BTreeSet<String> {
        let reached = self.blockers_of(uid);
        let waits = |one: &String| self.get(one).is_some_and(Thing::is_waiting);
        let is_closed = reached.contains(uid)
            && reached.iter().all(waits)
            && reached.iter().all(|one| self.blockers_of(one) == reached);
        if is_closed { reached } else { BTreeSet::new() }
    }

    /// Everything that blocks it, directly or through others.
    fn blockers_of(&self, uid: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![uid.to_owned()];
        while let Some(owner) = open.pop() {
            for thing in self.things.iter().filter(|one| one.blocks(&owner)) {
                if reached.insert(thing.uid.clone()) {
                    open.push(thing.uid.clone());
                }
            }
        }
        reached
    }

    fn class(&self, dependent: &Thing, reference: &Reference) -> Class {
        if !self.is_served(reference.kind) {
            return Class::Unresolvable;
        }
        let namespace = match reference.kind.is_namespaced() {
            true if dependent.namespace.is_empty() => return Class::Unresolvable,
            true => dependent.namespace.as_str(),
            false => "",
        };
        match self.find(reference.kind, namespace, &reference.name) {
            Some(owner) if owner.uid != reference.uid => Class::Dangling,
            Some(owner) if owner.is_waiting() => Class::Waiting,
            Some(_) => Class::Solid,
            None => Class::Dangling,
        }
    }

    fn sees_waiting(&self, thing: &Thing) -> bool {
        let class = |one| self.class(thing, one);
        thing.owners.iter().any(|one| class(one) == Class::Waiting)
    }

    fn dependents(&self, uid: &str) -> Vec<&Thing> {
        let refers = |one: &&Thing| one.owners.iter().any(|owner| owner.uid == uid);
        self.things.iter().filter(refers).collect()
    }

    fn drop_finalizer(&mut self, uid: &str, finalizer: &str) {
        if let Some(thing) = self.get_mut(uid) {
            thing.finalizers.retain(|one| one != finalizer);
        }
    }

    /// The object with this UID.
    pub fn get(&self, uid: &str) -> Option<&Thing> {
        self.things.iter().find(|one| one.uid == uid)
    }

    fn get_mut(&mut self, uid: &str) -> Option<&mut Thing> {
        self.things.iter_mut().find(|one| one.uid == uid)
    }
}

/// Drops exact repetitions, as every write of references does.
pub fn deduplicated(owners: Vec<Reference>) -> Vec<Reference> {
    let mut kept: Vec<Reference> = Vec::new();
    for owner in owners {
        if !kept.contains(&owner) {
            kept.push(owner);
        }
    }
    kept
}

/// The policy that the object's own finalizers ask for, which the collector sends.
fn own_policy(thing: &Thing) -> Policy {
    if thing.holds(ORPHAN) {
        Policy::Orphan
    } else if thing.holds(FOREGROUND) {
        Policy::Foreground
    } else {
        Policy::Background
    }
}
