//! Whether what the collectors did in a log is what they would have done in any other order of steps.

use crate::Collector;
use crate::trial::{carry_out, of_nobody};
use hindsight_core::{
    Cause, Commit, Event, Object, ObjectKey, OwnerReference, Revision, State, Time,
};
use std::collections::BTreeSet;

/// Each run that is taken again comes after so many times as many as the one before it.
const SPARSER: u64 = 4;
/// Small batches, so that what one step makes necessary comes before others that were due.
const FEW_STEPS: usize = 7;

/// Follows a log. From where the collectors begin with what a request left them, and from where the next
/// request finds them, they are let go on until they rest, in different orders: both must come to the same.
/// All runs cannot be taken again, so it is the first, the fourth, the sixteenth, and so on.
#[derive(Debug)]
pub struct Orders {
    begin: Option<State>,
    now: Time,
    runs: u64,
    next: u64,
    is_running: bool,
    taken: u64,
}

/// Two orders come to two ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "what the collectors do between revision {after} and revision {before} depends on their order: of {what}"
)]
pub struct Parted {
    /// Where both begin.
    pub after: Revision,
    /// Up to here the log has gone one of the ways.
    pub before: Revision,
    /// The first object that differs, and how.
    pub what: String,
}

impl Default for Orders {
    fn default() -> Self {
        Self {
            begin: None,
            now: Time::MIN,
            runs: 0,
            next: 1,
            is_running: false,
            taken: 0,
        }
    }
}

impl Orders {
    /// The next commit, and the state that it finds.
    pub fn take(&mut self, before: &State, commit: &Commit) -> Result<(), Parted> {
        if !is_collectors(commit) {
            return self.end(before);
        }
        if !self.is_running {
            self.is_running = true;
            self.runs += 1;
            if self.runs == self.next {
                self.next = self.next.saturating_mul(SPARSER);
                self.begin = Some(before.clone());
                self.now = Time::MIN;
            }
        }
        self.now = self.now.max(commit.time);
        Ok(())
    }

    /// After the last commit, or where somebody asks for something: nothing is known of what else follows.
    pub fn end(&mut self, state: &State) -> Result<(), Parted> {
        self.is_running = false;
        let Some(begin) = self.begin.take() else {
            return Ok(());
        };
        self.taken += 1;
        let log = rest(state.clone(), self.now, usize::MAX, false);
        for (limit, reversed) in [(FEW_STEPS, false), (usize::MAX, true)] {
            let other = rest(begin.clone(), self.now, limit, reversed);
            if let Some(what) = difference(&log, &other) {
                return Err(Parted {
                    after: begin.revision,
                    before: state.revision,
                    what,
                });
            }
        }
        Ok(())
    }

    /// How many runs were taken again.
    pub const fn taken(&self) -> u64 {
        self.taken
    }
}

/// Whether it is a step that the collectors take by themselves; what else no request asks for is created.
fn is_collectors(commit: &Commit) -> bool {
    let is_report = is_event(&commit.key);
    let creates = matches!(commit.events.last(), Some(Event::ObjectCreated { .. }));
    commit.cause != Cause::Request && (is_report || !creates)
}

/// Events take no part in collection, and are made when somebody has something to tell.
fn is_event(key: &ObjectKey) -> bool {
    &*key.resource.resource == "events" && ["", "events.k8s.io"].contains(&&*key.resource.group)
}

/// What the collectors leave when they have come to rest, at this time.
fn rest(mut state: State, now: Time, limit: usize, reversed: bool) -> State {
    let mut collector = Collector::new(&state);
    let mut limit = limit;
    loop {
        let batch = collector.next_batch(&state, now, limit);
        let mut answers = vec![Ok(()); batch.len()];
        let mut steps: Vec<_> = batch.into_iter().zip(&mut answers).collect();
        if reversed {
            steps.reverse();
        }
        let before = state.revision;
        for ((_, step), answer) in steps {
            if step.intent.is_deletion() {
                let done = carry_out(&mut state, of_nobody(step, now));
                *answer = done.map(|(_, changes)| {
                    changes.iter().for_each(|change| collector.observe(change));
                });
            }
        }
        collector.settle(answers.iter().map(|answer| answer.as_ref().copied()));
        if state.revision > before {
            continue;
        }
        // Those that are refused for ever may be all that is in a small batch.
        if limit == usize::MAX {
            return state;
        }
        limit = usize::MAX;
    }
}

/// The first object of which two ends are left, in words.
fn difference(one: &State, other: &State) -> Option<String> {
    let [mut left, mut right] = [one, other].map(|state| {
        let objects = state.objects().map(AsRef::as_ref);
        objects.filter(|object| !is_event(&object.key)).peekable()
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
            let [left, right] = [left, right].map(|end| told(end.as_ref()));
            return Some(format!(
                "{key} there is {left}, and in another order {right}"
            ));
        }
    }
}

/// What must not depend on an order.
#[derive(Debug, PartialEq, Eq)]
struct End<'a> {
    object: &'a str,
    is_going: bool,
    finalizers: BTreeSet<&'a str>,
    owners: BTreeSet<&'a OwnerReference>,
}

impl<'a> End<'a> {
    fn of(object: &'a Object) -> Self {
        let is_going = object.is_deleting();
        let owners = object.meta.owner_references.iter();
        Self {
            object: object.meta.uid.as_str(),
            is_going,
            finalizers: object.meta.finalizers.iter().map(|one| &**one).collect(),
            // What goes may lose them on the way, or not.
            owners: owners.filter(|_| !is_going).collect(),
        }
    }
}

fn told(end: Option<&End<'_>>) -> String {
    let Some(end) = end else {
        return "nothing".into();
    };
    let uids = end.owners.iter().map(|owner| owner.uid.as_str());
    format!(
        "uid {}, {}, with finalizers {:?} and owners {:?}",
        end.object,
        if end.is_going { "going" } else { "live" },
        end.finalizers,
        uids.collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests;
