//! The steps that a batch consists of.

use super::origin::Origin;
use crate::steps::Step;
use std::collections::VecDeque;

/// Steps, each with its origin.
#[derive(Debug)]
pub(super) struct Batch {
    steps: Vec<(Origin, Step)>,
    /// How many steps it takes. It may come to be a few more: the steps of one plan are not divided.
    max: usize,
}

impl Batch {
    pub(super) const fn new(max: usize) -> Self {
        Self {
            steps: Vec::new(),
            max,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many more steps it takes.
    pub(super) const fn room(&self) -> usize {
        self.max.saturating_sub(self.steps.len())
    }

    pub(super) fn push(&mut self, origin: Origin, step: Step) {
        self.steps.push((origin, step));
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.steps.append(&mut other.steps);
    }

    /// Leaves so many steps in it; returns the origins of the others.
    pub(super) fn cut(&mut self, len: usize) -> impl Iterator<Item = Origin> {
        let rest = self.steps.drain(len.min(self.steps.len())..);
        rest.map(|(origin, _)| origin)
    }

    /// The steps, those that advance deletions first, and their origins in the same order.
    pub(super) fn in_order(mut self) -> (VecDeque<Origin>, Vec<Step>) {
        self.steps
            .sort_by_key(|(_, step)| !step.intent.advances_deletion());
        self.steps.into_iter().unzip()
    }
}
