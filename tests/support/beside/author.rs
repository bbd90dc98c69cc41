//! Generates random histories for two servers, with few names, so that they recur.

use crate::dice::Dice;
use serde_json::{Value, json};

pub(super) const NAMESPACES: [&str; 2] = ["a", "b"];
const NAMES: u64 = 5;
const STEPS: u64 = 25;
const FINALIZERS: [&str; 3] = ["x.example.com/a", "x.example.com/b", "x.example.com/c"];

/// The kind of an object, and the kind that a reference names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Namespaced.
    ConfigMap,
    /// Namespaced, and not assigned to a node: it is removed at once.
    Pod,
    /// A pod assigned to a node that nobody runs: it is removed only by a deletion without a grace
    /// period.
    Assigned,
    /// Cluster-scoped.
    PriorityClass,
    /// Of a group that is not served.
    Unknown,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Pod | Self::Assigned => "Pod",
            Self::PriorityClass => "PriorityClass",
            Self::Unknown => "Unknown",
        }
    }

    pub(super) const fn group_version(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Pod | Self::Assigned => "v1",
            Self::PriorityClass => "scheduling.k8s.io/v1",
            Self::Unknown => "nobody.example.com/v1",
        }
    }

    pub(super) const fn resource(self) -> &'static str {
        match self {
            Self::Pod | Self::Assigned => "pods",
            Self::ConfigMap | Self::PriorityClass | Self::Unknown => "configmaps",
        }
    }

    const fn is_removed_at_once(self) -> bool {
        matches!(self, Self::ConfigMap | Self::PriorityClass)
    }

    pub(super) fn spec(self) -> Value {
        let containers = json!([{"name": "c", "image": "i"}]);
        match self {
            Self::Pod => json!({"containers": containers}),
            Self::Assigned => json!({"containers": containers, "nodeName": "beside-nobody"}),
            Self::ConfigMap | Self::PriorityClass | Self::Unknown => Value::Null,
        }
    }
}

/// The identity of an object, without its UID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Kind.
    pub kind: Kind,
    /// One of two namespaces; `None` for cluster-scoped kinds.
    pub namespace: Option<&'static str>,
    /// Name.
    pub name: String,
}

/// The object that a reference is to: one that was created, or one that never existed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The object of the creation with this number.
    Made(usize),
    /// A UID that is made up for this reference alone.
    Nobody(u64),
}

/// An owner reference.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The object whose UID it has.
    pub who: Who,
    /// The kind and name that it names.
    pub target: Target,
    /// `blockOwnerDeletion`.
    pub blocks: bool,
}

/// What an object is created with.
#[derive(Debug, Clone)]
pub struct Metadata {
    /// Finalizers.
    pub finalizers: Vec<String>,
    /// Owner references.
    pub owners: Vec<Owner>,
}

/// One request.
#[derive(Debug, Clone)]
pub enum Step {
    /// Creates an object; the creation has a number.
    Create(usize, Target, Metadata),
    /// Deletes an object with these options, in which a UID is given as the number of a creation.
    Delete(Target, Value),
    /// Deletes all objects of this kind in this namespace.
    Clear(Target, Value),
    /// Replaces its finalizers.
    SetFinalizers(Target, Vec<String>),
    /// Replaces its references.
    SetOwners(Target, Vec<Owner>),
}

/// The steps of the history of a seed. It leaves out what Kubernetes leaves to chance, or never
/// finishes:
///
/// - whether a non-blocking reference is looked at before its owner is let go, if something holds that owner
///   afterwards: a history has either such references or such holds;
/// - an object that waits for itself;
/// - a reference that an update spells differently: Kubernetes does not look at it again;
/// - how long the pods of a deleted collection have to stop: until 1.21 the first pod decided it for the others;
/// - other dependents of an owner to which a cluster-scoped object refers although the owner is namespaced: that
///   reference cannot be resolved, and in Kubernetes it keeps others with the same UID from being looked at;
/// - an object that loses such a reference: Kubernetes does not look at it again.
pub fn history(seed: u64) -> Vec<Step> {
    let mut dice = Dice(seed);
    let has_held_objects = dice.roll(2) == 0;
    let mut author = Author {
        dice,
        has_held_objects,
        made: Vec::new(),
        references: Vec::new(),
    };
    (0..STEPS).map(|_| author.step()).collect()
}

struct Author {
    dice: Dice,
    /// Whether objects are held by finalizers and by their nodes; if so, every reference blocks.
    has_held_objects: bool,
    made: Vec<Target>,
    /// Every reference so far, with its dependent.
    references: Vec<(Target, Owner)>,
}

impl Author {
    fn step(&mut self) -> Step {
        let choice = self.dice.roll(10);
        if self.made.len() < 3 || choice < 5 {
            return self.create();
        }
        let target = self.somebody().1;
        match choice {
            5..=7 => Step::Delete(target, self.options()),
            8 if target.kind.is_removed_at_once() && self.dice.roll(4) == 0 => {
                let options = json!({"propagationPolicy": self.policy()});
                Step::Clear(target, options)
            }
            8 => Step::SetFinalizers(target, self.finalizers()),
            _ if self.refers_into_a_namespace(&target) => {
                Step::SetFinalizers(target, self.finalizers())
            }
            _ => {
                let owners = self.owners(&target, false);
                Step::SetOwners(target, owners)
            }
        }
    }

    fn create(&mut self) -> Step {
        let kind = self.kind();
        let namespace = match kind {
            Kind::PriorityClass => None,
            _ => Some(
                self.dice
                    .pick(&[NAMESPACES[0], NAMESPACES[0], NAMESPACES[1]]),
            ),
        };
        let target = Target {
            kind,
            namespace,
            name: format!("o{}", self.dice.roll(NAMES)),
        };
        let metadata = Metadata {
            finalizers: self.finalizers(),
            owners: self.owners(&target, true),
        };
        self.made.push(target.clone());
        Step::Create(self.made.len() - 1, target, metadata)
    }

    fn kind(&mut self) -> Kind {
        match self.dice.roll(8) {
            0 | 1 => Kind::PriorityClass,
            2 => Kind::Pod,
            3 if self.has_held_objects => Kind::Assigned,
            _ => Kind::ConfigMap,
        }
    }

    /// An object that was created, recent ones with a higher probability.
    fn somebody(&mut self) -> (usize, Target) {
        let count = self.made.len() as u64;
        let back = self.dice.roll(count).min(self.dice.roll(count));
        let id = self.made.len() - 1 - usize::try_from(back).expect("a small number");
        (id, self.made[id].clone())
    }

    fn policy(&mut self) -> Value {
        self.dice.pick(&[
            Value::Null,
            "Background".into(),
            "Foreground".into(),
            "Orphan".into(),
        ])
    }

    fn options(&mut self) -> Value {
        match self.dice.roll(12) {
            0 => json!({"orphanDependents": self.dice.roll(2) == 0}),
            1 => json!({"preconditions": {"uid": self.somebody().0}}),
            2 => json!({"propagationPolicy": self.policy(), "dryRun": ["All"]}),
            3..=5 => {
                let seconds = self.dice.pick(&[0, 0, 1, 60]);
                json!({"propagationPolicy": self.policy(), "gracePeriodSeconds": seconds})
            }
            _ => json!({"propagationPolicy": self.policy()}),
        }
    }

    fn finalizers(&mut self) -> Vec<String> {
        if !self.has_held_objects {
            return Vec::new();
        }
        match self.dice.roll(8) {
            0 | 1 => vec![self.dice.pick(&FINALIZERS).into()],
            2 => FINALIZERS[..2].iter().map(|&one| one.into()).collect(),
            _ => Vec::new(),
        }
    }

    /// References of a dependent; none is to itself or to its own name.
    fn owners(&mut self, dependent: &Target, is_new: bool) -> Vec<Owner> {
        let count = self.dice.pick(&[0, 1, 1, 1, 2, 2, 3]);
        let mut owners: Vec<Owner> = Vec::new();
        for _ in 0..count.min(self.made.len()) {
            let owner = self.owner(dependent, is_new);
            let is_another = |one: &Owner| one.who != owner.who && one.target != owner.target;
            let is_usable = owner.target != *dependent && !self.respells(dependent, &owner);
            if is_usable && owners.iter().all(is_another) {
                self.references.push((dependent.clone(), owner.clone()));
                owners.push(owner);
            }
        }
        owners
    }

    /// Whether the dependent named this owner differently before.
    fn respells(&self, dependent: &Target, owner: &Owner) -> bool {
        let mut references = self.references.iter();
        references.any(|(who, one)| {
            who == dependent && one.who == owner.who && one.target != owner.target
        })
    }

    /// Whether a cluster-scoped object refers, or has referred, to a namespaced one.
    fn refers_into_a_namespace(&self, dependent: &Target) -> bool {
        let is_it =
            |(who, one): &(Target, Owner)| who == dependent && one.target.namespace.is_some();
        dependent.namespace.is_none() && self.references.iter().any(is_it)
    }

    /// A reference, mostly to an object that exists or existed, sometimes misspelt or made up.
    fn owner(&mut self, dependent: &Target, is_new: bool) -> Owner {
        let blocks = self.has_held_objects || self.dice.roll(2) == 0;
        let (id, mut target) = self.somebody();
        let is_resolvable = dependent.namespace.is_some() || target.namespace.is_none();
        let who = if is_resolvable && self.dice.roll(12) > 0 {
            Who::Made(id)
        } else {
            Who::Nobody(self.dice.roll(1_000_000_000_000))
        };
        match is_new.then(|| self.dice.roll(25)) {
            Some(0) => target.kind = Kind::Unknown,
            Some(1) => target.name = "misspelt".into(),
            Some(_) | None => {}
        }
        Owner {
            who,
            target,
            blocks,
        }
    }
}
