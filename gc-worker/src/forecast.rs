//! What would come of a command: decided and collected on a copy of the state until it rests. Nothing
//! is written, and no webhook is asked.

use crate::trial::carry_out;
use crate::{Collector, Step, Worker};
use hindsight_core::{Change, Command, Commit, Decision, Rejection, State, Time};
use std::borrow::Borrow;

/// Steps of the collector between two looks at the state.
const BATCH_STEPS: usize = 256;
/// What is due already is followed so many times as far as what comes of the command.
const DUE_TIMES: usize = 10;

/// What would come of a command.
#[derive(Debug)]
pub struct Forecast {
    /// What the asker would be told.
    pub answer: Result<Decision, Rejection>,
    /// What would be written, and what is due already with it.
    pub course: Course,
    /// What would be written without the command, where something is due already.
    pub due: Option<Course>,
}

/// What is written from a state on.
#[derive(Debug)]
pub struct Course {
    /// In this order, or in another that comes to the same.
    pub changes: Vec<Change>,
    /// The state after all that.
    pub end: State,
    /// Whether nothing is left to do; otherwise more changes would follow than were asked for.
    pub is_whole: bool,
}

/// Where a look ahead begins.
#[derive(Debug, Clone)]
pub struct Ground {
    state: State,
    collector: Collector,
}

impl Ground {
    /// A state, and the log read back from it: who was there before decides by which rule others go.
    pub fn new<C: Borrow<Commit>, E>(
        state: &State,
        back: impl IntoIterator<Item = Result<C, E>>,
    ) -> Result<Self, E> {
        let mut collector = Collector::new(state);
        collector.recall(back)?;
        Ok(Self {
            state: state.clone(),
            collector,
        })
    }

    fn rests(&mut self, now: Time) -> bool {
        let batch = self.collector.next_batch(&self.state, now, BATCH_STEPS);
        batch.is_empty()
    }
}

/// Looks ahead for so many changes, with the clock standing still; where something is due already, for so
/// many more than that. What is refused is not followed, nor what cannot be told apart from what is due.
/// `command_of` says in whose name a step is taken: [`Worker::command`], at the command's time, and with a seed that
/// no other has.
pub fn forecast(
    mut ground: Ground,
    command: Command,
    changes_max: usize,
    mut command_of: impl FnMut(Worker, Step) -> Command,
) -> Forecast {
    let now = command.time;
    let mut fork = Fork::of(ground.clone());
    let answer = fork.run(command);
    let unfollowed = |answer, fork: Fork, due| Forecast {
        answer,
        course: fork.course(false),
        due,
    };
    if answer.is_err() {
        return unfollowed(answer, fork, None);
    }
    let due = (!ground.rests(now)).then(|| {
        let mut fork = Fork::of(ground);
        let is_whole = fork.collect(now, changes_max.saturating_mul(DUE_TIMES), &mut command_of);
        fork.course(is_whole)
    });
    if due.as_ref().is_some_and(|due| !due.is_whole) {
        return unfollowed(answer, fork, due);
    }
    let already = due.as_ref().map_or(0, |due| due.changes.len());
    let is_whole = fork.collect(now, changes_max.saturating_add(already), &mut command_of);
    Forecast {
        answer,
        course: fork.course(is_whole),
        due,
    }
}

struct Fork {
    ground: Ground,
    changes: Vec<Change>,
}

impl Fork {
    const fn of(ground: Ground) -> Self {
        Self {
            ground,
            changes: Vec::new(),
        }
    }

    /// Until it rests, or has come to so many changes.
    fn collect(
        &mut self,
        now: Time,
        changes_max: usize,
        command_of: &mut impl FnMut(Worker, Step) -> Command,
    ) -> bool {
        loop {
            let Ground { state, collector } = &mut self.ground;
            let batch = collector.next_batch(state, now, BATCH_STEPS);
            if batch.is_empty() {
                return true;
            }
            let mut answers = Vec::new();
            for (worker, step) in batch {
                if self.changes.len() >= changes_max {
                    return false;
                }
                answers.push(self.run(command_of(worker, step)));
            }
            let outcomes = answers.iter().map(|answer| answer.as_ref().map(|_| ()));
            self.ground.collector.settle(outcomes);
        }
    }

    fn run(&mut self, command: Command) -> Result<Decision, Rejection> {
        let (decision, changes) = carry_out(&mut self.ground.state, command)?;
        let collector = &mut self.ground.collector;
        changes.iter().for_each(|change| collector.observe(change));
        self.changes.extend(changes);
        Ok(decision)
    }

    fn course(self, is_whole: bool) -> Course {
        Course {
            changes: self.changes,
            end: self.ground.state,
            is_whole,
        }
    }
}
