//! What would come of a command: decided and collected on a copy of the state until it rests. Nothing
//! is written, and no webhook is asked.

use crate::trial::{asked_by_nobody, carry_out};
use crate::{Collector, Step, Worker, letting_go};
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
    /// What would be written without the command: nothing, where nothing is due already.
    pub due: Course,
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
    collector: Collector,
}

impl Course {
    /// What would follow from its end if all who hold what is being deleted let it go: finalizers that are not the
    /// collectors' are taken off, and nodes have stopped their pods. So many changes of it, with the clock standing
    /// still; of a course that is not whole, none.
    #[must_use]
    pub fn once_let_go(
        &self,
        now: Time,
        changes_max: usize,
        mut command_of: impl FnMut(Worker, Step) -> Command,
    ) -> Self {
        let mut fork = Fork::of(Ground {
            state: self.end.clone(),
            collector: self.collector.clone(),
        });
        let is_whole = self.is_whole && fork.let_go(now, changes_max, &mut command_of);
        fork.course(is_whole)
    }
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
}

/// Looks ahead for so many changes, with the clock standing still; where something is due already, for so
/// many more than that. What is refused is not followed, nor what cannot be told apart from what is due.
/// `command_of` says in whose name a step is taken: [`Worker::command`], at the command's time, and with a seed that
/// no other has.
pub fn forecast(
    ground: Ground,
    command: Command,
    changes_max: usize,
    mut command_of: impl FnMut(Worker, Step) -> Command,
) -> Forecast {
    let now = command.time;
    let mut fork = Fork::of(ground.clone());
    let mut without = Fork::of(ground);
    let answer = fork.run(command);
    let is_followed = answer.is_ok();
    let due_max = changes_max.saturating_mul(DUE_TIMES);
    let is_known = is_followed && without.collect(now, due_max, &mut command_of);
    let followed_max = changes_max.saturating_add(without.changes.len());
    let is_whole = is_known && fork.collect(now, followed_max, &mut command_of);
    Forecast {
        answer,
        course: fork.course(is_whole),
        due: without.course(is_known),
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

    /// Until nobody holds anything that is being deleted, or it has come to so many changes. Everybody is asked once,
    /// and again where something changed.
    fn let_go(
        &mut self,
        now: Time,
        changes_max: usize,
        command_of: &mut impl FnMut(Worker, Step) -> Command,
    ) -> bool {
        let mut going = letting_go::going(&self.ground.state);
        loop {
            let before = self.changes.len();
            for key in going {
                let Some(intent) = letting_go::request(&self.ground.state, &key) else {
                    continue;
                };
                if self.changes.len() >= changes_max {
                    return false;
                }
                // Who is refused holds it still.
                self.run(asked_by_nobody(intent, now)).ok();
            }
            if self.changes.len() == before {
                return true;
            }
            if !self.collect(now, changes_max, command_of) {
                return false;
            }
            let changed = self.changes.iter().skip(before);
            let changed = changed.map(|change| change.commit.key.clone());
            going = changed.collect();
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
            collector: self.ground.collector,
        }
    }
}
