//! Many worlds of up to four objects at once: a truth value for each world takes the place of a state,
//! a graph and a queue, so that every graph of four objects can be looked at. Wherever a real graph is
//! explored state by state, the steps of the real collector are compared with those of a packed world.
//! See docs/decisions/0030-many-worlds-at-once.md.

mod commuting;
mod due;
mod families;
mod family;
mod lanes;
mod rest;
mod sweep;

pub use due::Due;
pub use families::{EVERY_KIND, FOUR_MORE, FOUR_OF_EITHER_SCOPE, of_everything};
pub use family::{Extra, Family, Traits};
pub use lanes::{LANES, Lanes};
pub use sweep::explore_all;

use crate::reference::{Kind, Thing, World};

/// The most objects of a world.
pub const OBJECTS: usize = 4;
/// A truth value for each object.
pub type Set = [Lanes; OBJECTS];
/// A truth value for each pair of objects, row by row.
pub type Matrix = [Set; OBJECTS];

const NOBODY: Set = [Lanes::NONE; OBJECTS];

/// Worlds that differ in anything but scopes. All that is said of an object that is gone is false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Who exists.
    pub here: Set,
    /// Whose deletion was requested.
    pub deleting: Set,
    /// Who has the finalizer `foregroundDeletion`.
    pub foreground: Set,
    /// Who has the finalizer `orphan`.
    pub orphan: Set,
    /// Who has a client's finalizer.
    pub held: Set,
    /// The owners of each object, gone ones too.
    pub owners: Matrix,
    /// Those of them that the object blocks.
    pub blocked: Matrix,
    /// Who refers to an object that never existed.
    pub absent: Set,
    /// Who blocks such an object.
    pub absent_blocked: Set,
    /// Who refers to an object of a kind that is not served.
    pub unknown: Set,
    /// Who is, or was, cluster-scoped.
    pub cluster: [bool; OBJECTS],
}

/// A step of the collector. What it does to the object follows from the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An object loses its reference to an owner that orphans it.
    Drop {
        /// Who loses it.
        dependent: usize,
        /// Who orphans it.
        owner: usize,
    },
    /// A live object loses other references, stops blocking its owners, or goes.
    Collect(usize),
    /// An owner loses the collector's finalizer.
    Release(usize),
    /// The deadlock of which this is the first member is broken.
    Break(usize),
}

impl Step {
    /// Every step that can be due.
    pub fn all() -> Vec<Self> {
        let steps = (0..OBJECTS).flat_map(|one| {
            let drops = (0..OBJECTS).map(move |owner| Self::Drop {
                dependent: one,
                owner,
            });
            drops.chain([Self::Collect(one), Self::Release(one), Self::Break(one)])
        });
        steps.collect()
    }
}

impl Packed {
    /// No objects, of these scopes.
    pub const fn empty(cluster: [bool; OBJECTS]) -> Self {
        Self {
            here: NOBODY,
            deleting: NOBODY,
            foreground: NOBODY,
            orphan: NOBODY,
            held: NOBODY,
            owners: [NOBODY; OBJECTS],
            blocked: [NOBODY; OBJECTS],
            absent: NOBODY,
            absent_blocked: NOBODY,
            unknown: NOBODY,
            cluster,
        }
    }

    /// The same world in every lane, of the objects that `Point` builds; `cluster` are the scopes of
    /// these, and of those that are gone.
    pub(crate) fn of(world: &World, cluster: [bool; OBJECTS]) -> Self {
        let mut packed = Self::empty(cluster);
        let numbered = |thing: &Thing| Some((number(&thing.name)?, thing.clone()));
        for (one, thing) in world.things.iter().filter_map(numbered) {
            packed.here[one] = Lanes::ALL;
            packed.deleting[one] = Lanes::all(thing.deleting);
            packed.foreground[one] = Lanes::all(thing.holds("foregroundDeletion"));
            packed.orphan[one] = Lanes::all(thing.holds("orphan"));
            packed.held[one] = Lanes::all(thing.holds(crate::point::HOLD));
            for owner in &thing.owners {
                let (refers, blocks) = match number(&owner.name) {
                    Some(other) => (
                        &mut packed.owners[one][other],
                        &mut packed.blocked[one][other],
                    ),
                    None if owner.kind == Kind::Unknown => {
                        packed.unknown[one] = Lanes::ALL;
                        continue;
                    }
                    None => (&mut packed.absent[one], &mut packed.absent_blocked[one]),
                };
                *refers = Lanes::ALL;
                *blocks = Lanes::all(owner.blocks);
            }
        }
        packed
    }

    /// One of the worlds, in one word.
    pub fn world(&self, lane: usize) -> u64 {
        let sets = [
            &self.here,
            &self.deleting,
            &self.foreground,
            &self.orphan,
            &self.held,
            &self.absent,
            &self.absent_blocked,
            &self.unknown,
        ];
        let all = sets.into_iter().chain(&self.owners).chain(&self.blocked);
        all.flatten()
            .fold(0, |word, value| word << 1 | u64::from(value.has(lane)))
    }

    /// Takes a step wherever it is due.
    pub fn take(&mut self, step: Step, due: &Due) {
        match step {
            Step::Drop { dependent, owner } => {
                self.lose(dependent, owner, due.drops[dependent][owner]);
            }
            Step::Collect(one) => self.collect(one, due),
            Step::Release(one) => self.release(one, due.released[one]),
            Step::Break(first) => {
                let at = due.of(step);
                for one in 0..OBJECTS {
                    self.release(one, at & due.together[first][one]);
                }
            }
        }
    }

    fn lose(&mut self, one: usize, owner: usize, at: Lanes) {
        for cells in [&mut self.owners, &mut self.blocked] {
            cells[one][owner] = cells[one][owner].without(at);
        }
    }

    fn collect(&mut self, one: usize, due: &Due) {
        let (stays, unblocked) = (due.stays(one), due.unblocked[one]);
        for owner in 0..OBJECTS {
            self.lose(one, owner, stays.without(due.solid[one][owner]));
            self.blocked[one][owner] = self.blocked[one][owner].without(unblocked);
        }
        self.absent[one] = self.absent[one].without(stays);
        self.absent_blocked[one] = self.absent_blocked[one].without(stays | unblocked);
        let goes = due.collected[one].without(stays | unblocked);
        self.foreground[one] |= due.waits[one];
        self.orphan[one] = self.orphan[one].without(due.waits[one]);
        self.deleting[one] |= goes;
        self.remove_if_free(one, goes);
    }

    /// Takes the collector's finalizer away.
    fn release(&mut self, one: usize, at: Lanes) {
        self.foreground[one] = self.foreground[one].without(at);
        self.orphan[one] = self.orphan[one].without(at);
        self.remove_if_free(one, at);
    }

    fn remove_if_free(&mut self, one: usize, at: Lanes) {
        let held = self.foreground[one] | self.orphan[one] | self.held[one];
        let gone = at.without(held);
        for owner in 0..OBJECTS {
            self.lose(one, owner, gone);
        }
        for fact in [
            &mut self.here,
            &mut self.deleting,
            &mut self.absent,
            &mut self.absent_blocked,
            &mut self.unknown,
        ] {
            fact[one] = fact[one].without(gone);
        }
    }
}

/// The number of an object that `Point` builds, from its name.
fn number(name: &str) -> Option<usize> {
    name.strip_prefix('o')?.parse().ok()
}
