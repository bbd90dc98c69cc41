//! Checks that the collectors' work in a log would have had the same result in any other order of steps.

#[cfg(test)]
mod tests;

use crate::Collector;
use crate::freed_names::is_naming;
use crate::trial::{anonymous_command, carry_out};
use hindsight_core::{Cause, Commit, Object, OwnerReference, Revision, State, Time};
use std::collections::BTreeSet;

/// The number of runs between two that are repeated grows by this factor.
const SAMPLING_FACTOR: u64 = 4;
/// A time at which no job is due.
const NO_JOB_IS_DUE: Time = Time::MIN;
/// The limit of small batches, in which the consequences of a step come before other steps that were due.
const FEW_STEPS: usize = 7;

/// Follows a log. From the state in which a request left the collectors, and from the state in which the
/// next request found them, they are run until nothing is left to do, in different orders: the results
/// must be the same. Not every run can be repeated, so it is the first, the fourth, the sixteenth, and so
/// on.
#[derive(Debug)]
pub struct Orders {
    begin: Option<State>,
    now: Time,
    runs: u64,
    next: u64,
    is_running: bool,
    repeated: u64,
}

/// Two orders have different results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "what the collectors do between revision {after} and revision {before} depends on their order: \
     {difference}"
)]
pub struct OrderDependence {
    /// The revision at which both begin.
    pub after: Revision,
    /// The revision up to which the log went one of the ways.
    pub before: Revision,
    /// The first object that differs, and how it does.
    pub difference: String,
}

impl Default for Orders {
    fn default() -> Self {
        Self {
            begin: None,
            now: Time::MIN,
            runs: 0,
            next: 1,
            is_running: false,
            repeated: 0,
        }
    }
}

impl Orders {
    /// Observes the next commit; `before` is the state before it.
    pub fn observe(&mut self, before: &State, commit: &Commit) -> Result<(), OrderDependence> {
        // What goes with a service that a request removed belongs to that request.
        let is_of_a_request = !self.is_running && commit.goes_with_a_service();
        if !is_collectors(commit) || is_of_a_request {
            return self.end(before);
        }
        if !self.is_running {
            self.is_running = true;
            self.runs += 1;
            if self.runs == self.next {
                self.next = self.next.saturating_mul(SAMPLING_FACTOR);
                self.begin = Some(before.clone());
                self.now = Time::MIN;
            }
        }
        self.now = self.now.max(commit.time);
        if releases_endpoints(before, commit) {
            self.begin = None;
        }
        Ok(())
    }

    /// Ends a run, at the end of the log or before a request; what else would have followed is not known.
    pub fn end(&mut self, state: &State) -> Result<(), OrderDependence> {
        self.is_running = false;
        let Some(begin) = self.begin.take() else {
            return Ok(());
        };
        let Some(log) = run_to_end(state.clone(), self.now, usize::MAX, false) else {
            return Ok(());
        };
        self.repeated += 1;
        for (limit, reversed) in [(FEW_STEPS, false), (usize::MAX, true)] {
            let Some(other) = run_to_end(begin.clone(), self.now, limit, reversed) else {
                return Ok(());
            };
            if let Some(difference) = difference(&log, &other) {
                return Err(OrderDependence {
                    after: begin.revision,
                    before: state.revision,
                    difference,
                });
            }
        }
        Ok(())
    }

    /// The number of runs that were repeated.
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }
}

/// Whether the collectors took this step because of another commit; the others that no request asked for
/// create objects, or follow a policy.
fn is_collectors(commit: &Commit) -> bool {
    // Events are created only for reports.
    let is_report = commit.key.resource.is_event();
    matches!(commit.cause, Cause::Commit(_)) && (is_report || !commit.creates())
}

/// Whether the commit releases a service, and its endpoints go with it. What is below these may be decided before or
/// after that, as decision 5 says.
fn releases_endpoints(before: &State, commit: &Commit) -> bool {
    let removed = before
        .get(&commit.key)
        .filter(|_| commit.object().is_none());
    let is_released = removed.is_some_and(|one| one.is_waiting() || one.is_orphaning());
    let endpoints = commit.key.endpoints().filter(|_| is_released);
    let endpoints = endpoints.and_then(|key| before.get(&key));
    endpoints.is_some_and(|one| !one.is_deleting())
}

/// The state in which the collectors have nothing left to do; what they write is written at this time. `None` if a
/// service is released on the way, and its endpoints go with it.
fn run_to_end(mut state: State, now: Time, limit: usize, reversed: bool) -> Option<State> {
    let mut collector = Collector::new(&state);
    let mut limit = limit;
    loop {
        let batch = collector.next_batch(&state, NO_JOB_IS_DUE, limit);
        let mut answers = vec![Ok(()); batch.len()];
        let mut steps: Vec<_> = batch.into_iter().zip(&mut answers).collect();
        if reversed {
            steps.reverse();
        }
        let (before, mut released) = (state.clone(), false);
        for (step, answer) in steps {
            // Whose kind is known depends on the names.
            if step.intent.advances_deletion() || is_naming(&step) {
                let done = carry_out(&mut state, anonymous_command(step, now));
                *answer = done.map(|(_, changes)| {
                    let mut commits = changes.iter().map(|change| &change.commit);
                    released |= commits.any(|one| releases_endpoints(&before, one));
                    changes.iter().for_each(|change| collector.observe(change));
                });
            }
        }
        collector.settle(answers.iter().map(|answer| answer.as_ref().copied()));
        if released {
            return None;
        }
        if state.revision > before.revision {
            continue;
        }
        // A small batch may consist only of steps that are refused for ever.
        if limit == usize::MAX {
            return Some(state);
        }
        limit = usize::MAX;
    }
}

/// The first object in which two results differ, as a phrase.
fn difference(one: &State, other: &State) -> Option<String> {
    let [mut left, mut right] = [one, other].map(|state| {
        let objects = state.objects().map(AsRef::as_ref);
        objects
            .filter(|object| !object.key.resource.is_event())
            .peekable()
    });
    loop {
        let key = [left.peek(), right.peek()].into_iter().flatten();
        let key = key.map(|object| &object.key).min()?.clone();
        let [left, right] = [
            left.next_if(|one| one.key == key),
            right.next_if(|one| one.key == key),
        ];
        let [left, right] = [left.map(End::of), right.map(End::of)];
        if left != right {
            let [left, right] = [left, right].map(|end| describe(end.as_ref()));
            return Some(format!("{key} is {left}, and in another order {right}"));
        }
    }
}

/// The parts of an object that must not depend on an order.
#[derive(Debug, PartialEq, Eq)]
struct End<'a> {
    object: &'a str,
    is_deleting: bool,
    finalizers: BTreeSet<&'a str>,
    owners: BTreeSet<&'a OwnerReference>,
}

impl<'a> End<'a> {
    fn of(object: &'a Object) -> Self {
        let is_deleting = object.is_deleting();
        let owners = object.meta.owner_references.iter();
        Self {
            object: object.meta.uid.as_str(),
            is_deleting,
            finalizers: object.meta.finalizers.iter().map(|one| &**one).collect(),
            // An object in deletion may or may not lose references on the way.
            owners: owners.filter(|_| !is_deleting).collect(),
        }
    }
}

fn describe(end: Option<&End<'_>>) -> String {
    let Some(end) = end else {
        return "absent".into();
    };
    let uids = end.owners.iter().map(|owner| owner.uid.as_str());
    format!(
        "uid {}, {}, with finalizers {:?} and owners {:?}",
        end.object,
        if end.is_deleting { "going" } else { "live" },
        end.finalizers,
        uids.collect::<Vec<_>>(),
    )
}
