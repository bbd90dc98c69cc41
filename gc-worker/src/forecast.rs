//! What would come of a command: decided and collected on a copy of the state until it rests. Nothing
//! is written, and no webhook is asked.

use crate::{Collector, Step, Worker};
use hindsight_core::{Change, Command, Decision, Rejection, State, Time, apply, decide};
use std::sync::Arc;

/// Steps of the collector between two looks at the state.
const BATCH_STEPS: usize = 256;

/// What would come of a command.
#[derive(Debug)]
pub struct Forecast {
    /// What the asker would be told.
    pub answer: Result<Decision, Rejection>,
    /// What would be written, in this order or in another that comes to the same.
    pub changes: Vec<Change>,
    /// The state after all that.
    pub end: State,
    /// Whether nothing is left to do; otherwise more changes would follow than were asked for.
    pub is_whole: bool,
}

/// Looks ahead from a state for about `changes_max` changes, with the clock standing still. What is due
/// already, without the command, comes with it. `command_of` says in whose name a step is taken.
pub fn forecast(
    state: &State,
    command: Command,
    changes_max: usize,
    mut command_of: impl FnMut(Worker, Step) -> Command,
) -> Forecast {
    let now = command.time;
    let mut fork = Fork {
        state: state.clone(),
        collector: Collector::new(state),
        changes: Vec::new(),
    };
    let answer = fork.run(command);
    let is_whole = fork.collect(now, changes_max, &mut command_of);
    Forecast {
        answer,
        changes: fork.changes,
        end: fork.state,
        is_whole,
    }
}

struct Fork {
    state: State,
    collector: Collector,
    changes: Vec<Change>,
}

impl Fork {
    fn collect(
        &mut self,
        now: Time,
        changes_max: usize,
        command_of: &mut impl FnMut(Worker, Step) -> Command,
    ) -> bool {
        while self.changes.len() < changes_max {
            let batch = self.collector.next_batch(&self.state, now, BATCH_STEPS);
            if batch.is_empty() {
                return true;
            }
            let steps = batch.into_iter();
            let commands = steps.map(|(worker, step)| command_of(worker, step));
            let commands: Vec<Command> = commands.collect();
            let answers: Vec<_> = commands.into_iter().map(|one| self.run(one)).collect();
            let outcomes = answers.iter().map(|answer| answer.as_ref().map(|_| ()));
            self.collector.settle(outcomes);
        }
        false
    }

    fn run(&mut self, command: Command) -> Result<Decision, Rejection> {
        let decision = decide(&self.state, command)?;
        for commit in &decision.commits {
            let previous = apply(&mut self.state, commit);
            let commit = Arc::clone(commit);
            let change = Change { commit, previous };
            self.collector.observe(&change);
            self.changes.push(change);
        }
        Ok(decision)
    }
}
