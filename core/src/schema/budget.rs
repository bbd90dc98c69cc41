//! What the validation of an object may take, or that of all defaults of a definition together.

use super::{PATTERNS_MAX, Pattern};
use crate::cel::{Allowance, Meter};

/// The most work of matching the texts of an object with the regular expressions of its schema and its rules, in steps
/// of [`Pattern::work`]. A step takes up to 25 nanoseconds, so this takes seven seconds at most, if the texts keep all
/// states busy.
pub(crate) const WORK_MAX: u64 = 1 << 28;
/// Cost limit of all rules of one object together. Source: upstream's `RuntimeCELCostBudget`.
const OBJECT_MAX: u64 = 10_000_000;
/// The same within a turn of the writer, in which nobody else writes: about a millisecond of each.
const TURN_STEPS: u64 = 4_000;
const TURN_WORK: u64 = 1 << 16;

/// How much work may still be done to match texts. Once that is not enough, nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Work(u64);

impl Default for Work {
    fn default() -> Self {
        Self(WORK_MAX)
    }
}

impl Work {
    /// Allows so many steps.
    pub(crate) const fn new(steps: u64) -> Self {
        Self(steps)
    }

    /// How many steps are left.
    pub(crate) const fn left(self) -> u64 {
        self.0
    }

    /// Takes the most steps that a search for a pattern in a text of this length needs. Returns whether enough were
    /// left.
    pub(crate) fn take(&mut self, pattern: &Pattern, length: usize) -> bool {
        let steps = pattern.work(length);
        self.spend(steps)
    }

    /// Takes so many steps, and says whether there were so many.
    pub(crate) const fn spend(&mut self, steps: u64) -> bool {
        let is_enough = steps < self.0;
        self.0 = self.0.saturating_sub(steps);
        is_enough
    }

    /// Whether there was not enough.
    pub(crate) const fn is_over(self) -> bool {
        self.0 == 0
    }
}

/// What may still be used.
#[derive(Debug)]
pub(crate) struct Budget {
    /// How many regular expressions the rules may still have that are not compiled yet.
    pub(crate) literals: Allowance,
    /// The steps of the rules, and the work of matching for schema and rules.
    pub(crate) meter: Meter,
}

impl Default for Budget {
    fn default() -> Self {
        Self::with(Meter::new(OBJECT_MAX, Work::default()))
    }
}

impl Budget {
    /// What a turn of the writer may take.
    pub(super) fn of_a_turn() -> Self {
        Self::with(Meter::new(TURN_STEPS, Work::new(TURN_WORK)))
    }

    fn with(meter: Meter) -> Self {
        let literals = Allowance::new(PATTERNS_MAX);
        Self { literals, meter }
    }
}
