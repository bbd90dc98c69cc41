//! How much an evaluation may cost. A step costs one; what is copied or compared costs by its size.

/// One evaluation may cost so much. Source: upstream's `PerCallLimit`.
const CALL_MAX: u64 = 1_000_000;

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It would have cost too much.
    Exhausted,
    /// The text says what went wrong.
    Failed(String),
}

impl Fault {
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }

    /// Arguments of types that a function does not take.
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

/// What may still be spent, by one evaluation and by all of them.
#[derive(Debug, Clone)]
pub struct Meter {
    budget: u64,
    call: u64,
}

impl Meter {
    /// So much for all evaluations together.
    pub const fn new(budget: u64) -> Self {
        Self { budget, call: 0 }
    }

    /// Another evaluation begins.
    pub(crate) fn begin(&mut self) {
        self.call = CALL_MAX.min(self.budget);
    }

    /// Whether nothing is left for any evaluation.
    pub const fn is_empty(&self) -> bool {
        self.budget == 0
    }

    /// What all evaluations have left.
    #[cfg(test)]
    pub(super) const fn left(&self) -> u64 {
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

    /// Pays for looking at a text, a tenth of a step for each byte.
    pub(super) fn text(&mut self, length: usize) -> Result<(), Fault> {
        self.spend(1 + length as u64 / 10)
    }
}
