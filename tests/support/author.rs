//! Generates random operations, each for the current state of the world: few names, so that they
//! recur; namespaces and definitions that are deleted and created again; requests that are sent
//! twice.

use crate::dice::Dice;
use crate::history::{Comparison, Id, New, Operation, Owner, Who};
use crate::reference::{Kind, Policy};
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

#[derive(Debug)]
struct Author {
    dice: Dice,
    length: Length,
    /// Whether requests come between planning and deciding.
    plans: bool,
    made: Vec<(Kind, String)>,
    last: Option<Operation>,
}

impl Author {
    fn new(seed: u64, length: Length) -> Self {
        Self {
            dice: Dice(seed),
            plans: seed.is_multiple_of(2),
            length,
            made: Vec::new(),
            last: None,
        }
    }

    fn operation(&mut self, live: &[Id]) -> Operation {
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
        if let Some((kind, name)) = GROUND.get(self.made.len()) {
            let mut new = self.container(*kind, name);
            new.owners.clear();
            return self.create(new);
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

    fn create(&mut self, new: New) -> Operation {
        self.made.push((new.kind, new.name.clone()));
        Operation::Create(self.made.len() - 1, new)
    }

    /// An object to act on. Containers are chosen more seldom, because much is deleted with them.
    fn target(&mut self, live: &[Id]) -> Id {
        let id = self.dice.pick(live);
        if self.made[id].0.is_container() && self.dice.roll(3) > 0 {
            return self.dice.pick(live);
        }
        id
    }

    fn policy(&mut self) -> Option<Policy> {
        self.dice.pick(&[
            None,
            Some(Policy::Background),
            Some(Policy::Foreground),
            Some(Policy::Orphan),
        ])
    }

    fn new_object(&mut self) -> New {
        let kind = match self.dice.roll(20) {
            0 => return self.another_container(),
            1 => Kind::Pod,
            2..=4 => Kind::Widget,
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
        owners
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
