//! The collector's rules, on many worlds at once. Written from docs/semantics.md and decision 5 for
//! objects in one namespace that stays; the real rules are in `gc-worker/src/plan.rs`.

use super::{Lanes, Matrix, NOBODY, OBJECTS, Packed, Set, Step};

/// What is due in each world, and everything that the effect of a step depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Which dependents lose a reference to which owner that orphans them.
    pub drops: Matrix,
    /// Who is collected.
    pub collected: Set,
    /// The owners that hold those who are collected.
    pub solid: Matrix,
    /// Who of those stops blocking its owners.
    pub unblocked: Set,
    /// Who of those comes to wait for its dependents.
    pub waits: Set,
    /// Who loses the collector's finalizer, by itself.
    pub released: Set,
    /// Who is in a deadlock that is broken, with whom; each member is with itself too.
    pub together: Matrix,
}

fn set(of: impl FnMut(usize) -> Lanes) -> Set {
    std::array::from_fn(of)
}

#[inline]
fn matrix(of: impl Fn(usize, usize) -> Lanes) -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| of(row, column)))
}

#[inline]
pub(super) fn any(of: impl Fn(usize) -> Lanes) -> Lanes {
    (0..OBJECTS).fold(Lanes::NONE, |any, one| any | of(one))
}

/// The same for everybody but this one.
#[inline]
pub(super) fn any_other(one: usize, of: impl Fn(usize) -> Lanes) -> Lanes {
    let others = (0..OBJECTS).filter(|other| *other != one);
    others.fold(Lanes::NONE, |any, other| any | of(other))
}

/// Adds whom each reaches by any number of steps.
#[inline]
pub(super) fn close(cells: &mut Matrix) {
    for by in 0..OBJECTS {
        let further = cells[by];
        for row in cells.iter_mut() {
            let over = row[by];
            for (cell, more) in row.iter_mut().zip(further) {
                *cell |= over & more;
            }
        }
    }
}

/// What each object sees of its owners and dependents.
struct Seen {
    live: Set,
    waiting: Set,
    orphaning: Set,
    /// Owners that hold the object.
    solid: Matrix,
    /// Owners that wait for it.
    waits: Matrix,
    /// Owners that orphan it, whatever else is said of them.
    orphans: Matrix,
    /// Who has dependents besides itself.
    owning: Set,
    /// Live objects whose owners do not all hold them, and are all known.
    changes: Set,
    /// On whom, or on whose dependents, the collector has yet to act.
    undecided: Set,
}

impl Seen {
    fn of(worlds: &Packed) -> Self {
        let Packed { here, owners, .. } = worlds;
        let live = set(|one| here[one].without(worlds.deleting[one]));
        let waiting = set(|one| worlds.deleting[one] & worlds.foreground[one]);
        let orphaning = set(|one| worlds.deleting[one] & worlds.orphan[one]);
        let resolved = |one: usize, owner: usize| {
            owners[one][owner] & Lanes::all(!worlds.is_misplaced(one, owner))
        };
        let waits = matrix(|one, owner| resolved(one, owner) & waiting[owner]);
        let orphans = matrix(|one, owner| owners[one][owner] & orphaning[owner]);
        let owning = set(|one| any_other(one, |other| owners[other][one]));
        let changes = set(|one| {
            let absent = any(|owner| resolved(one, owner).without(here[owner]));
            let going = absent | worlds.absent[one] | any(|owner| waits[one][owner]);
            (live[one] & going).without(worlds.unresolved(one))
        });
        let undecided = set(|one| {
            let is_orphaned = live[one] & any(|owner| orphans[one][owner]);
            changes[one] | is_orphaned | (orphaning[one] & owning[one])
        });
        Self {
            solid: matrix(|one, owner| resolved(one, owner) & here[owner].without(waiting[owner])),
            live,
            waiting,
            orphaning,
            waits,
            orphans,
            owning,
            changes,
            undecided,
        }
    }

    /// Where no owner holds the object, and one waits for it.
    fn goes_under_waiting(&self, one: usize) -> Lanes {
        let waits = any(|owner| self.waits[one][owner]);
        waits.without(any(|owner| self.solid[one][owner]))
    }
}

/// Who is above whom.
struct Above {
    /// From each object up, its own owners included even if it is deleted.
    of: Matrix,
    /// The same, but a deleted object hides its owners.
    seen_from_below: Matrix,
}

impl Above {
    fn of(worlds: &Packed, live: &Set) -> Self {
        let owners = matrix(|one, owner| worlds.owners[one][owner] & worlds.here[owner]);
        let mut seen_from_below = matrix(|one, owner| owners[one][owner] & live[one]);
        close(&mut seen_from_below);
        let of = matrix(|one, other| {
            owners[one][other] | any(|by| owners[one][by] & seen_from_below[by][other])
        });
        Self {
            of,
            seen_from_below,
        }
    }
}

impl Packed {
    /// What is due in each world.
    pub fn due(&self) -> Due {
        let seen = Seen::of(self);
        let above = Above::of(self, &seen.live);
        let collected = self.collected(&seen, &above);
        let under_others =
            set(|one| any_other(one, |other| above.of[one][other] & seen.undecided[other]));
        let ready = set(|one| {
            let watched = any_other(one, |other| {
                let is_busy = seen.undecided[other] | under_others[other];
                seen.waits[other][one] & seen.live[other] & is_busy
            });
            seen.waiting[one].without(seen.orphaning[one] | under_others[one] | watched)
        });
        let blocked = set(|one| any_other(one, |other| self.blocked[other][one]));
        let released = set(|one| {
            let referred = seen.owning[one] | self.owners[one][one];
            let orphaned_all = seen.orphaning[one].without(referred | under_others[one]);
            ready[one].without(blocked[one]) | orphaned_all
        });
        let stuck = set(|one| ready[one] & blocked[one]);
        let unblocked = self.unblocked(&seen, &collected);
        Due {
            waits: self.waits(&seen, &collected, &unblocked),
            unblocked,
            solid: matrix(|one, owner| seen.solid[one][owner] & collected[one]),
            drops: seen.orphans,
            collected,
            released,
            together: self.deadlocks(&seen.waiting, &stuck),
        }
    }

    /// Who stops blocking its owners before it is collected: a dependent waits, and may be one of them.
    fn unblocked(&self, seen: &Seen, collected: &Set) -> Set {
        set(|one| {
            let blocks = self.absent_blocked[one] | any(|owner| self.blocked[one][owner]);
            let cyclic = any_other(one, |other| self.owners[other][one] & seen.waiting[other]);
            collected[one] & seen.goes_under_waiting(one) & blocks & cyclic
        })
    }

    /// Who comes to wait for its dependents, as its owner waits for it.
    fn waits(&self, seen: &Seen, collected: &Set, unblocked: &Set) -> Set {
        set(|one| {
            let has_dependents = seen.owning[one] | self.owners[one][one];
            let goes = (collected[one] & seen.goes_under_waiting(one)).without(unblocked[one]);
            goes & has_dependents
        })
    }

    /// Whose turn it is: owners come before their dependents, and in a cycle the first by its key.
    fn collected(&self, seen: &Seen, above: &Above) -> Set {
        set(|one| {
            let too_early = any_other(one, |other| {
                let undecided = above.of[one][other] & seen.undecided[other];
                let comes_first = (self.cluster[other], other) < (self.cluster[one], one);
                let cyclic = above.seen_from_below[other][one];
                undecided.without(cyclic & Lanes::all(!comes_first))
            });
            let orphaned = any(|owner| seen.orphans[one][owner]);
            seen.changes[one].without(orphaned | too_early)
        })
    }

    /// Who waits, directly or through others, only for those that wait for it, if all of them are stuck.
    fn deadlocks(&self, waiting: &Set, stuck: &Set) -> Matrix {
        let several = any(|one| any_other(one, |other| stuck[one] & stuck[other]));
        if !several.is_any() {
            return [NOBODY; OBJECTS];
        }
        let blockers =
            |one: usize, other: usize| self.blocked[other][one] & Lanes::all(one != other);
        let hopeful = set(|one| {
            let others = any(|other| blockers(one, other).without(waiting[other]));
            waiting[one].without(others)
        });
        let mut reached = matrix(|one, other| blockers(one, other) & hopeful[one]);
        close(&mut reached);
        let broken = set(|one| {
            let apart = |other: usize| {
                let with = reached[other][one] & stuck[other];
                reached[one][other].without(with)
            };
            reached[one][one].without(any(apart))
        });
        matrix(|one, other| reached[one][other] & broken[one])
    }

    /// A cluster-scoped object cannot refer to a namespaced one.
    pub(super) const fn is_misplaced(&self, one: usize, owner: usize) -> bool {
        self.cluster[one] && !self.cluster[owner]
    }

    /// Where a reference of this object cannot be resolved.
    pub(super) fn unresolved(&self, one: usize) -> Lanes {
        let misplaced = |owner| self.owners[one][owner] & Lanes::all(self.is_misplaced(one, owner));
        self.unknown[one] | any(misplaced)
    }
}

impl Due {
    /// Where a step is due.
    pub fn of(&self, step: Step) -> Lanes {
        match step {
            Step::Drop { dependent, owner } => self.drops[dependent][owner],
            Step::Collect(one) => self.collected[one],
            Step::Release(one) => self.released[one],
            Step::Break(first) => {
                let members = &self.together[first];
                let before = (0..first).fold(Lanes::NONE, |any, one| any | members[one]);
                members[first].without(before)
            }
        }
    }

    /// Where one who is collected stays, because an owner holds it.
    pub(super) fn stays(&self, one: usize) -> Lanes {
        self.collected[one] & any(|owner| self.solid[one][owner])
    }
}
