//! What holds wherever the collector is at rest: the sentences of `rules::check_at_rest`, on many
//! worlds at once, without what is due or undecided.

use super::due::{any, any_other, close};
use super::{Lanes, Packed};

impl Packed {
    /// Where something does not hold that holds at rest.
    pub fn unrest(&self) -> Lanes {
        self.unneeded_waits() | any(|one| self.is_orphaning(one) | self.is_left_behind(one))
    }

    fn is_waiting(&self, one: usize) -> Lanes {
        self.deleting[one] & self.foreground[one]
    }

    fn is_orphaning(&self, one: usize) -> Lanes {
        self.deleting[one] & self.orphan[one]
    }

    /// Where somebody waits for nobody, or only for those that wait for him.
    fn unneeded_waits(&self) -> Lanes {
        let mut waited_for = std::array::from_fn(|one| {
            std::array::from_fn(|other| self.blocked[other][one] & Lanes::all(one != other))
        });
        close(&mut waited_for);
        any(|one| {
            let hopes = any_other(one, |other| {
                let back = self.is_waiting(other) & waited_for[other][one];
                waited_for[one][other].without(back)
            });
            self.is_waiting(one).without(hopes)
        })
    }

    /// Where a live object, all of whose owners are of known kinds, names one that does not hold it.
    fn is_left_behind(&self, one: usize) -> Lanes {
        let lost = any(|owner| {
            let holds = self.here[owner].without(self.is_waiting(owner));
            self.owners[one][owner].without(holds)
        });
        let live = self.here[one].without(self.deleting[one] | self.unresolved(one));
        live & (lost | self.absent[one])
    }
}
