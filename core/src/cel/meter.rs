//! Limits the cost of evaluations. A step costs one; copying and comparing cost by size. Steps are counted as upstream
//! counts them. They do not tell how long a regular expression takes, so that is limited separately.

use super::{BUDGET_EXHAUSTED, WORK_EXHAUSTED};
use crate::schema::{Pattern, Work};

/// The most that one evaluation may cost. Source: upstream's `PerCallLimit`.
const CALL_MAX: u64 = 1_000_000;

/// Why an evaluation has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The cost limit was reached.
    Exhausted,
    /// The evaluation failed; the text says why.
    Failed(String),
}

impl Fault {
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }

    /// A function was called with arguments of types that it does not accept.
    pub(super) fn no_overload() -> Self {
        Self::failed("no such overload")
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exhausted => {
                formatter.write_str("operation cancelled: actual cost limit exceeded")
            }
            Self::Failed(why) => formatter.write_str(why),
        }
    }
}

/// What may still be spent: by the current evaluation, and by all evaluations together.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    budget: u64,
    call: u64,
    /// How much work regular expressions may still be in all evaluations.
    pub(crate) work: Work,
}

impl Meter {
    /// Creates a meter with a budget for all evaluations together.
    pub(crate) const fn new(budget: u64, work: Work) -> Self {
        let call = 0;
        Self { budget, call, work }
    }

    /// Starts another evaluation.
    pub(crate) fn begin(&mut self) {
        self.call = CALL_MAX.min(self.budget);
    }

    /// Whether the budget for all evaluations is used up.
    pub(crate) const fn is_empty(&self) -> bool {
        self.budget == 0 || self.work.is_over()
    }

    /// What is said when it is used up.
    pub(crate) const fn exhausted(&self) -> &'static str {
        if self.work.is_over() {
            WORK_EXHAUSTED
        } else {
            BUDGET_EXHAUSTED
        }
    }

    /// What is left for all evaluations.
    pub(crate) const fn left(&self) -> u64 {
        self.budget
    }

    pub(super) fn spend(&mut self, cost: u64) -> Result<(), Fault> {
        self.budget = self.budget.saturating_sub(cost);
        match self.call.checked_sub(cost) {
            Some(left) => {
                self.call = left;
                Ok(())
            }
            None => Err(Fault::Exhausted),
        }
    }

    /// Charges for reading a text: a tenth of a step for each byte.
    pub(super) fn text(&mut self, length: usize) -> Result<(), Fault> {
        self.spend(1 + length as u64 / 10)
    }

    /// Takes the work of a search for a pattern through a text of this length.
    pub(super) fn search(&mut self, pattern: &Pattern, length: usize) -> Result<(), Fault> {
        let is_enough = self.work.take(pattern, length);
        is_enough.then_some(()).ok_or(Fault::Exhausted)
    }
}
