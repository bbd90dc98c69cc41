//! Generates random operations, each for the current state of the world: few names, so that they
//! recur; namespaces and definitions that are deleted and created again; requests that are sent
//! twice.

use crate::dice::Dice;
use crate::history::{Comparison, Id, New, Operation, Owner, Who};
use crate::reference::{Kind, Policy};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The length of a history, and the number of names and objects in it.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    /// Number of operations.
    pub operations: u64,
    /// Number of names of each kind in each namespace.
    pub names: u64,
    /// The most objects at one time.
    pub objects: usize,
}

/// The length of most histories: short ones reach more corner cases in the same time.
pub const SHORT: Length = Length {
    operations: 60,
    names: 5,
    objects: 50,
};

/// The length of a long history.
pub const LONG: Length = Length {
    operations: 2000,
    names: 12,
    objects: 50,
};

const NAMESPACES: [&str; 4] = ["n1", "n2", "n3", "n4"];
/// The last two are the collector's own, which a client may set on a live object too.
const FINALIZERS: [&str; 5] = ["x/a", "x/b", "x/c", "orphan", "foregroundDeletion"];

/// The containers that a history begins with, so that creates are not refused for lack of one.
const GROUND: [(Kind, &str); 4] = [
    (Kind::Namespace, "n1"),
    (Kind::Namespace, "n2"),
    (Kind::Definition, "widgets.example.com"),
    (Kind::Definition, "gadgets.example.com"),
];
/// The definitions that a history about names begins with, in any order.
const NAMED: [(Kind, &str); 3] = [
    (Kind::Definition, "gadgets.example.com"),
    (Kind::Definition, "gizmos.example.com"),
    (Kind::Definition, "widgets.example.com"),
];

#[derive(Debug)]
struct Author {
    dice: Dice,
    length: Length,
    /// Whether requests come between planning and deciding.
    plans: bool,
    /// Whether most of them do.
    plans_often: bool,
    /// Whether definitions want a name that others have, and come and go more often.
    names: bool,
    ground: Vec<(Kind, &'static str)>,
    made: Vec<(Kind, String)>,
    /// What comes next.
    queued: VecDeque<Operation>,
    last: Option<Operation>,
}

impl Author {
    fn new(seed: u64, length: Length) -> Self {
        let mut dice = Dice(seed);
        let names = seed % 4 == 3;
        let mut ground = GROUND.to_vec();
        if names {
            ground.truncate(2);
            ground.extend(NAMED);
            let last = usize::try_from(dice.roll(3)).expect("a small number");
            ground[2..].rotate_left(last);
        }
        Self {
            dice,
            plans: seed.is_multiple_of(2),
            plans_often: seed % 8 >= 6,
            names,
            ground,
            length,
            made: Vec::new(),
            queued: VecDeque::new(),
            last: None,
        }
    }

    fn operation(&mut self, live: &[Id]) -> Operation {
        if let Some(next) = self.queued.pop_front() {
            return next;
        }
        let again = self.dice.roll(14) == 0;
        let next = match self.last.take().filter(|_| again) {
            Some(Operation::Create(_, new)) => self.create(new),
            Some(last) => last,
            None => self.another(live),
        };
        self.last = Some(next.clone());
        next
    }

    fn another(&mut self, live: &[Id]) -> Operation {
        if let Some((kind, name)) = self.ground.get(self.made.len()).copied() {
            let mut new = self.container(kind, name);
            new.owners.clear();
            return self.create(new);
        }
        if self.names && self.dice.roll(12) == 0 {
            return self.wait_for_a_kind(live);
        }
        if self.plans_often && self.dice.roll(2) == 0 {
            return Operation::Plan;
        }
        let choice = self.dice.roll(10);
        if live.is_empty() || (choice < 4 && live.len() < self.length.objects) {
            let new = self.new_object();
            return self.create(new);
        }
        let id = self.target(live);
        match choice {
            4..=6 => Operation::Delete(id, self.policy()),
            7 => Operation::SetFinalizers(id, self.finalizers()),
            8 => Operation::SetOwners(id, self.owners(self.made[id].0)),
            _ => match self.dice.roll(4) {
                0 if self.plans => Operation::Plan,
                0 | 1 => Operation::Turn(self.dice.pick(&[1, 2, 4])),
                _ => Operation::Settle,
            },
        }
    }

    /// An owner that waits for a dependent, and another dependent that is protected by a kind which may be
    /// unknown, until a definition goes.
    fn wait_for_a_kind(&mut self, live: &[Id]) -> Operation {
        let object = |kind: Kind, name: String, owners| New {
            kind,
            namespace: if kind.is_namespaced() { "n1" } else { "" }.into(),
            name,
            finalizers: Vec::new(),
            owners,
            wants_name: false,
        };
        let name = |author: &mut Self| format!("o{}", author.dice.roll(author.length.names));
        let owner_name = name(self);
        let owner = object(
            Kind::PriorityClass,
            owner_name,
            self.owners(Kind::PriorityClass),
        );
        let first = self.create(owner);
        let waits = self.made.len() - 1;
        let by = |author: &mut Self, id: Id| {
            let (kind, name) = author.made[id].clone();
            Owner {
                who: Who::Made(id),
                kind,
                name,
                blocks: author.dice.roll(4) > 0,
            }
        };
        let mut owners = vec![by(self, waits)];
        owners.extend(self.owners(Kind::ConfigMap));
        let blocks = object(Kind::ConfigMap, name(self), owners);
        let owners = vec![
            by(self, waits),
            self.nobody_of_a_custom_kind(Kind::ConfigMap),
        ];
        let protected = object(Kind::ConfigMap, name(self), owners);
        let mut rest = vec![self.create(blocks), self.create(protected)];
        let owners = vec![by(self, self.made.len() - 1)];
        let mut below = object(Kind::Pod, name(self), owners);
        below.finalizers.push("x/a".into());
        rest.push(self.create(below));
        rest.push(Operation::Delete(waits, Some(Policy::Foreground)));
        let definition = |id: &&Id| self.made[**id].0 == Kind::Definition;
        let definitions: Vec<Id> = live.iter().filter(definition).copied().collect();
        if !definitions.is_empty() {
            rest.push(Operation::Delete(self.dice.pick(&definitions), None));
        }
        self.queued.extend(rest);
        first
    }

    fn create(&mut self, new: New) -> Operation {
        self.made.push((new.kind, new.name.clone()));
        Operation::Create(self.made.len() - 1, new)
    }

    /// An object to act on. Containers are chosen more seldom, because much is deleted with them.
    fn target(&mut self, live: &[Id]) -> Id {
        let id = self.dice.pick(live);
        let kind = self.made[id].0;
        let often = self.names && kind == Kind::Definition;
        if kind.is_container() && !often && self.dice.roll(3) > 0 {
            return self.dice.pick(live);
        }
        id
    }

    fn policy(&mut self) -> Option<Policy> {
        if self.names && self.dice.roll(2) == 0 {
            return Some(Policy::Foreground);
        }
        self.dice.pick(&[
            None,
            Some(Policy::Background),
            Some(Policy::Foreground),
            Some(Policy::Orphan),
        ])
    }

    fn new_object(&mut self) -> New {
        if self.names && self.dice.roll(8) == 0 {
            let (_, name) = self.dice.pick(&NAMED);
            return self.container(Kind::Definition, name);
        }
        let kind = match self.dice.roll(20) {
            0 => return self.another_container(),
            1 => Kind::Pod,
            2..=4 => Kind::Widget,
            5 if self.names => Kind::Gizmo,
            5 | 6 => Kind::Gadget,
            7..=9 => Kind::PriorityClass,
            _ => Kind::ConfigMap,
        };
        let namespace = if kind.is_namespaced() {
            let usual = if self.dice.roll(4) > 0 { 2 } else { 4 };
            self.dice.pick(&NAMESPACES[..usual])
        } else {
            ""
        };
        New {
            kind,
            namespace: namespace.into(),
            name: format!("o{}", self.dice.roll(self.length.names)),
            finalizers: self.finalizers(),
            owners: self.owners(kind),
            wants_name: false,
        }
    }

    fn another_container(&mut self) -> New {
        if self.dice.roll(2) == 0 {
            let (_, name) = self.dice.pick(&GROUND[2..]);
            return self.container(Kind::Definition, name);
        }
        let name = self.dice.pick(&NAMESPACES);
        self.container(Kind::Namespace, name)
    }

    fn container(&mut self, kind: Kind, name: &str) -> New {
        New {
            kind,
            namespace: String::new(),
            name: name.into(),
            finalizers: self.finalizers(),
            owners: self.owners(kind),
            wants_name: self.names && kind == Kind::Definition && self.dice.roll(4) > 0,
        }
    }

    fn finalizers(&mut self) -> Vec<String> {
        match self.dice.roll(8) {
            0 | 1 => vec![self.dice.pick(&FINALIZERS).into()],
            2 => vec!["x/a".into(), self.dice.pick(&FINALIZERS[1..]).into()],
            _ => Vec::new(),
        }
    }

    /// References; sometimes one owner twice, spelled alike or not.
    fn owners(&mut self, dependent: Kind) -> Vec<Owner> {
        let count = self.dice.pick(&[0, 0, 1, 1, 1, 2, 2, 3]);
        let mut owners: Vec<Owner> = Vec::new();
        for _ in 0..count.min(self.made.len()) {
            let owner = self.owner(dependent);
            if owners.iter().all(|one| one.who != owner.who) || self.dice.roll(3) == 0 {
                owners.push(owner);
            }
        }
        if self.names && self.dice.roll(3) == 0 {
            owners.push(self.nobody_of_a_custom_kind(dependent));
        }
        owners
    }

    /// A reference to an owner that never existed, of a kind that may be unknown.
    fn nobody_of_a_custom_kind(&mut self, dependent: Kind) -> Owner {
        let kinds = [Kind::Gadget, Kind::Gizmo, Kind::Widget];
        let known = if dependent.is_namespaced() { 3 } else { 1 };
        Owner {
            who: Who::Nobody(self.dice.roll(3)),
            kind: self.dice.pick(&kinds[..known]),
            name: "o0".into(),
            blocks: self.dice.roll(2) == 0,
        }
    }

    /// A reference, mostly to an object that exists or existed, sometimes misspelt, unknown or made
    /// up.
    fn owner(&mut self, dependent: Kind) -> Owner {
        let blocks = self.dice.roll(2) == 0;
        if self.dice.roll(12) == 0 {
            return Owner {
                who: Who::Nobody(self.dice.roll(3)),
                kind: Kind::ConfigMap,
                name: "o0".into(),
                blocks,
            };
        }
        let id = self.somebody(dependent);
        let (mut kind, mut name) = self.made[id].clone();
        if self.dice.roll(25) == 0 {
            kind = Kind::Unknown;
        }
        if self.dice.roll(20) == 0 {
            name = "misspelt".into();
        }
        Owner {
            who: Who::Made(id),
            kind,
            name,
            blocks,
        }
    }

    /// An object that was created, recent ones with a higher probability. A cluster-scoped dependent
    /// mostly refers to cluster-scoped owners, since it cannot resolve others.
    fn somebody(&mut self, dependent: Kind) -> Id {
        let count = self.made.len() as u64;
        let mut id = 0;
        for _ in 0..3 {
            let back = self.dice.roll(count).min(self.dice.roll(count));
            id = self.made.len() - 1 - usize::try_from(back).expect("a small number");
            if dependent.is_namespaced() || !self.made[id].0.is_namespaced() {
                break;
            }
        }
        id
    }
}

/// Generates a history while it runs; returns the operations, and what went wrong.
pub fn live_through(
    seed: u64,
    length: Length,
    comparison: &mut Comparison,
    each: fn(&mut Comparison),
) -> (Vec<Operation>, Option<String>) {
    let mut author = Author::new(seed, length);
    let mut history = Vec::new();
    for turn in 0..=length.operations {
        let operation = if turn == length.operations {
            Operation::Settle
        } else {
            author.operation(comparison.live())
        };
        history.push(operation.clone());
        let ran = catch_unwind(AssertUnwindSafe(|| comparison.run(&operation)));
        if let Err(why) = ran.unwrap_or_else(|_| Err("a panic".into())) {
            return (history, Some(why));
        }
        each(comparison);
    }
    (history, None)
}

/// Steps in a batch of the collector: one, two or many.
pub const fn limit(seed: u64) -> usize {
    match seed % 3 {
        0 => 1,
        1 => 2,
        _ => 512,
    }
}
