//! Whether the steps that are due in a world can be taken in any order.

use super::due::{Due, any};
use super::{Lanes, Step};

impl Due {
    /// Where a step that was due is due no longer, or would do something else, now that another was
    /// taken.
    pub fn disturbed(&self, taken: Step, after: &Self) -> Lanes {
        any(|one| {
            let drops = any(|owner| {
                let is_other = taken
                    != Step::Drop {
                        dependent: one,
                        owner,
                    };
                let missing = self.drops[one][owner].without(after.drops[one][owner]);
                missing & Lanes::all(is_other)
            });
            let collected =
                self.collected_otherwise(one, after) & Lanes::all(taken != Step::Collect(one));
            let released = self.released[one].without(after.released[one])
                & Lanes::all(taken != Step::Release(one));
            drops | collected | released | self.broken_otherwise(one, taken, after)
        })
    }

    fn collected_otherwise(&self, one: usize, after: &Self) -> Lanes {
        let solid = any(|owner| self.solid[one][owner].differs(after.solid[one][owner]));
        let changed = solid
            | self.unblocked[one].differs(after.unblocked[one])
            | self.waits[one].differs(after.waits[one]);
        self.collected[one].without(after.collected[one].without(changed))
    }

    fn broken_otherwise(&self, one: usize, taken: Step, after: &Self) -> Lanes {
        let taken = match taken {
            Step::Break(first) => self.together[first][one],
            Step::Drop { .. } | Step::Collect(_) | Step::Release(_) => Lanes::NONE,
        };
        let changed = any(|other| self.together[one][other].differs(after.together[one][other]));
        (self.together[one][one] & changed).without(taken)
    }

    /// Where two steps that are due write the same object, unless both are references that it loses. All
    /// others commute if neither changes what the other does.
    pub fn collisions(&self) -> Lanes {
        any(|one| {
            let drops = any(|owner| self.drops[one][owner]);
            let (collected, released) = (self.collected[one], self.released[one]);
            let broken = self.together[one][one];
            let several = (collected & released) | ((collected | released) & broken);
            several | (drops & (collected | released | broken))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::{OBJECTS, Packed};

    /// The first waits for the third, which also refers to the second, which goes.
    fn family() -> Packed {
        let mut worlds = Packed::empty([false; OBJECTS]);
        let (yes, no) = (Lanes::ALL, Lanes::NONE);
        worlds.here = [yes, yes, yes, no];
        worlds.deleting[0] = yes;
        worlds.foreground[0] = yes;
        worlds.absent[1] = yes;
        worlds.owners[2] = [yes, yes, no, no];
        worlds.blocked[2][0] = yes;
        worlds
    }

    fn after(worlds: &Packed, step: Step, due: &Due) -> Due {
        let mut next = worlds.clone();
        next.take(step, due);
        next.due()
    }

    #[test]
    fn a_dependent_that_did_not_wait_for_its_owners_would_be_noticed() {
        let worlds = family();
        let mut due = worlds.due();
        assert_eq!(due.collected[2], Lanes::NONE, "its owner comes first");
        let goes = Step::Collect(1);
        let next = after(&worlds, goes, &due);
        assert_eq!(due.disturbed(goes, &next), Lanes::NONE);
        due.collected[2] = Lanes::ALL;
        due.solid[2][1] = Lanes::ALL;
        assert_eq!(due.disturbed(goes, &next), Lanes::ALL);
    }

    #[test]
    fn two_steps_on_one_object_would_be_noticed() {
        let worlds = family();
        let mut due = worlds.due();
        assert_eq!(due.collisions(), Lanes::NONE);
        due.drops[1][0] = Lanes::of([7]);
        assert_eq!(due.collisions().worlds().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn an_owner_that_waits_for_nobody_is_not_at_rest() {
        let mut worlds = family();
        assert_eq!(worlds.unrest(), Lanes::ALL, "one refers to nothing");
        worlds.absent[1] = Lanes::NONE;
        assert_eq!(
            worlds.unrest(),
            Lanes::ALL,
            "one refers to an owner that waits"
        );
        worlds.held[2] = Lanes::ALL;
        worlds.deleting[2] = Lanes::ALL;
        assert_eq!(worlds.unrest(), Lanes::NONE, "a finalizer holds who blocks");
        worlds.blocked[2][0] = Lanes::of([3]);
        assert_eq!(worlds.unrest(), !Lanes::of([3]));
    }
}
