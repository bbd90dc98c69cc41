//! Forecasts the consequences of a command: decides it on a copy of the state and runs the collectors
//! until nothing is left to do. Nothing is written, and no webhook is called.

use crate::trial::{anonymous_request, carry_out};
use crate::{Collector, Step, clients_part};
use hindsight_core::{Change, Command, Commit, Decision, Rejection, State, Time};
use std::borrow::Borrow;

/// Steps of the collector in one batch.
const BATCH_STEPS: usize = 256;
/// How many times more changes are followed for what is already due than for the command.
const DUE_FACTOR: usize = 10;
/// How many objects and references are passed at most on the way along a course: some seconds of work. Thousands of
/// objects that own each other in a ring are few changes, and each of them is looked for all around the ring.
const WORK_MAX: usize = 10_000_000;

/// The consequences of a command.
#[derive(Debug)]
pub struct Forecast {
    /// The answer that the command would get.
    pub answer: Result<Decision, Rejection>,
    /// What would be written, including what is due already.
    pub course: Course,
    /// What would be written without the command; empty if nothing is due already, or if the command was refused.
    pub due: Course,
}

/// What is written from a state on.
#[derive(Debug)]
pub struct Course {
    /// The changes, in this order or in another with the same result.
    pub changes: Vec<Change>,
    /// The state after these changes.
    pub end: State,
    /// Whether it was followed until nothing was left to do. False if there are more changes than were asked for or
    /// they take too much work, and if it was not followed: the command was refused, or the course that it builds on
    /// is incomplete.
    pub is_complete: bool,
    collector: Collector,
}

impl Course {
    /// What would follow after its end if clients let go of all that they hold in deletion: finalizers
    /// other than the collectors' are removed, and nodes have stopped their pods. At most
    /// `changes_max` changes, with the clock standing still; none if this course is not complete.
    #[must_use]
    pub fn if_clients_let_go(
        &self,
        now: Time,
        changes_max: usize,
        mut command_of: impl FnMut(Step) -> Command,
    ) -> Self {
        let mut fork = Fork::of(Baseline {
            state: self.end.clone(),
            collector: self.collector.clone(),
        });
        let is_complete = self.is_complete && fork.play_clients(now, changes_max, &mut command_of);
        fork.course(is_complete)
    }
}

/// The state from which a forecast begins.
#[derive(Debug, Clone)]
pub struct Baseline {
    state: State,
    collector: Collector,
}

impl Baseline {
    /// A state, and the log read backward from it: which owners existed earlier determines the rules by
    /// which objects are deleted.
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

/// Looks ahead for at most `changes_max` changes, with the clock standing still; what is due already is
/// allowed in addition. A refused command is not followed, nor one whose consequences cannot be told
/// apart from what is due. `command_of` turns a step into the command that carries it out:
/// [`Step::command`], at the time of `command`, and with a unique seed.
pub fn forecast(
    baseline: Baseline,
    command: Command,
    changes_max: usize,
    mut command_of: impl FnMut(Step) -> Command,
) -> Forecast {
    let now = command.time;
    let mut fork = Fork::of(baseline.clone());
    let mut without = Fork::of(baseline);
    let answer = fork.run(command);
    let is_followed = answer.is_ok();
    let due_max = changes_max.saturating_mul(DUE_FACTOR);
    let is_known = is_followed && without.collect(now, due_max, &mut command_of);
    let followed_max = changes_max.saturating_add(without.changes.len());
    let is_complete = is_known && fork.collect(now, followed_max, &mut command_of);
    Forecast {
        answer,
        course: fork.course(is_complete),
        due: without.course(is_known),
    }
}

struct Fork {
    baseline: Baseline,
    changes: Vec<Change>,
    /// How far the collector's count of its work may come.
    work_max: usize,
}

impl Fork {
    const fn of(baseline: Baseline) -> Self {
        Self::within(baseline, WORK_MAX)
    }

    const fn within(baseline: Baseline, work_max: usize) -> Self {
        Self {
            work_max: baseline.collector.work().saturating_add(work_max),
            baseline,
            changes: Vec::new(),
        }
    }

    /// Runs the collectors until nothing is left to do (true), or there are this many changes or it was too much
    /// work (false).
    fn collect(
        &mut self,
        now: Time,
        changes_max: usize,
        command_of: &mut impl FnMut(Step) -> Command,
    ) -> bool {
        loop {
            let Baseline { state, collector } = &mut self.baseline;
            let batch = collector.next_batch(state, now, BATCH_STEPS);
            if batch.is_empty() {
                return true;
            }
            if collector.work() > self.work_max {
                return false;
            }
            let mut answers = Vec::new();
            for step in batch {
                if self.changes.len() >= changes_max {
                    return false;
                }
                answers.push(self.run(command_of(step)));
            }
            let outcomes = answers.iter().map(|answer| answer.as_ref().map(|_| ()));
            self.baseline.collector.settle(outcomes);
        }
    }

    /// Lets go of all that clients hold in deletion, until they hold nothing (true) or there are this many changes
    /// (false). Each object is tried once, and again after it changed.
    fn play_clients(
        &mut self,
        now: Time,
        changes_max: usize,
        command_of: &mut impl FnMut(Step) -> Command,
    ) -> bool {
        let mut keys = clients_part::deleting(&self.baseline.state);
        loop {
            let before = self.changes.len();
            for key in keys {
                let Some(intent) = clients_part::clients_request(&self.baseline.state, &key) else {
                    continue;
                };
                if self.changes.len() >= changes_max {
                    return false;
                }
                // If the request is refused, the object stays as it is.
                self.run(anonymous_request(intent, now)).ok();
            }
            if self.changes.len() == before {
                return true;
            }
            if !self.collect(now, changes_max, command_of) {
                return false;
            }
            let changed = self.changes.iter().skip(before);
            let changed = changed.map(|change| change.commit.key.clone());
            keys = changed.collect();
        }
    }

    fn run(&mut self, command: Command) -> Result<Decision, Rejection> {
        let (decision, changes) = carry_out(&mut self.baseline.state, command)?;
        let collector = &mut self.baseline.collector;
        changes.iter().for_each(|change| collector.observe(change));
        self.changes.extend(changes);
        Ok(decision)
    }

    fn course(self, is_complete: bool) -> Course {
        Course {
            changes: self.changes,
            end: self.baseline.state,
            is_complete,
            collector: self.baseline.collector,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world;
    use crate::trial::anonymous_command;

    /// Each member of a ring that is deleted in the foreground waits for the next.
    #[test]
    fn a_course_is_followed_as_far_as_it_is_little_work() {
        const LENGTH: usize = 60;
        let name = |number: usize| format!("c{:03}", number % LENGTH);
        let owners: Vec<String> = (0..LENGTH)
            .map(|number| name(number + LENGTH - 1) + "!")
            .collect();
        let objects: Vec<(String, [&str; 1])> = owners
            .iter()
            .enumerate()
            .map(|(number, owner)| (name(number), [&**owner]))
            .collect();
        let mut objects: Vec<(&str, &[&str])> = objects
            .iter()
            .map(|(name, owners)| (&**name, &owners[..]))
            .collect();
        objects[0].0 = "c000!foregroundDeletion";
        let state = world(&objects);
        let work_of = |work_max| {
            let mut fork = Fork::within(
                Baseline::new::<Commit, ()>(&state, []).expect("read"),
                work_max,
            );
            let is_complete = fork.collect(Time(0), usize::MAX, &mut |step| {
                anonymous_command(step, Time(0))
            });
            (
                is_complete,
                fork.baseline.collector.work(),
                fork.baseline.state.objects().count(),
            )
        };
        let (is_complete, whole, left) = work_of(usize::MAX);
        assert_eq!((is_complete, left), (true, 0));
        assert!(whole > 10 * LENGTH, "{whole}");
        let (is_complete, half, left) = work_of(whole / 2);
        assert!(
            !is_complete && half < whole && left > 0,
            "{half} {whole} {left}"
        );
    }
}
