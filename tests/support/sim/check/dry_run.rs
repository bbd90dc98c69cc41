//! What a dry run says is what the real run does: of one command on one state, and of a deletion
//! with everything that is collected after it.

use super::{Checked, Violation, ensure, violation};
use crate::naive;
use crate::sim::clients::{Clients, Operation};
use crate::sim::history::History;
use crate::sim::trace::Trace;
use crate::world;
use hindsight_core::{Cause, Change, Command, Intent, Revision, State, Time, Uid, apply, decide};
use hindsight_gc::Collector;
use std::collections::BTreeSet;

/// Batches within which a fork must be at rest.
const BATCHES_MAX: u64 = 2_000;

/// Every command that was decided on the state that it was rehearsed on.
pub fn check(clients: &Clients, trace: &mut Trace) -> Checked {
    for operation in clients.operations.values() {
        if let Some(dry) = &operation.dry {
            trace.count("dry runs compared", u64::from(compare(operation, dry)?));
        }
    }
    Ok(())
}

type Dry = Result<hindsight_core::Decision, hindsight_core::Rejection>;

/// Whether both were on one state, and so had to be equal.
fn compare(operation: &Operation, dry: &Dry) -> Result<bool, Violation> {
    let differs = || {
        format!(
            "command {}: {dry:?} is not {:?}",
            operation.number, operation.end
        )
    };
    if let Some((_, _, decision)) = operation.done() {
        let on = decision.commits.first().map(|one| one.revision.previous());
        if on != Some(operation.base) {
            return Ok(false);
        }
        let same = dry
            .as_ref()
            .is_ok_and(|dry| dry.commits == decision.commits && dry.warnings == decision.warnings);
        ensure("dry run equals real run", same, differs)?;
        return Ok(true);
    }
    let Some((newest, rejection)) = operation.refused() else {
        return Ok(false);
    };
    // Refused while nothing else became visible: on the same state, or ahead of a batch that did.
    let same = dry.as_ref().err() == Some(rejection);
    let certain = newest == operation.base && dry.is_err();
    ensure("dry run equals real run", same || !certain, differs)?;
    Ok(certain)
}

/// What a plan foretells.
#[derive(Debug)]
pub struct Plan {
    end: State,
    removed: BTreeSet<Uid>,
}

/// Decides and collects on a fork until it rests.
pub fn plan(state: &State, command: &Command, clock: i64) -> Result<Plan, Violation> {
    let mut fork = Fork {
        state: state.clone(),
        collector: Collector::new(state),
        removed: BTreeSet::new(),
        commands: 1 << 32,
    };
    // Where it is refused, nothing comes of it but what was due anyway.
    fork.run(command.clone()).ok();
    for _ in 0..BATCHES_MAX {
        let batch = fork.collector.next_batch(&fork.state, Time(clock), 1);
        if batch.is_empty() {
            return Ok(Plan {
                end: fork.state,
                removed: fork.removed,
            });
        }
        for (_, step) in batch {
            fork.step(step.intent, step.cause, clock);
        }
    }
    Err(violation(
        "liveness",
        "the collector does not come to rest on a fork".into(),
    ))
}

struct Fork {
    state: State,
    collector: Collector,
    removed: BTreeSet<Uid>,
    commands: u64,
}

impl Fork {
    fn run(&mut self, command: Command) -> Result<(), hindsight_core::Rejection> {
        for commit in decide(&self.state, command)?.commits {
            let previous = apply(&mut self.state, &commit);
            if commit.object().is_none() {
                self.removed.insert(commit.uid.clone());
            }
            self.collector.observe(&Change { commit, previous });
        }
        Ok(())
    }

    fn step(&mut self, intent: Intent, cause: Cause, clock: i64) {
        self.commands += 1;
        let mut command = world::command(self.commands, intent, cause);
        command.time = Time(clock);
        let answer = self.run(command);
        self.collector
            .settle(std::iter::once(answer.as_ref().copied()));
    }
}

/// The real run removed what the plan said, and ended where it said.
pub fn came_true(plan: &Plan, before: &State, after: &State, history: &History) -> Checked {
    let since = |revision: Revision| revision > before.revision;
    let commits = history.commits.iter().filter(|one| since(one.revision));
    let removals = commits.filter(|one| one.object().is_none());
    let removed: BTreeSet<Uid> = removals.map(|one| one.uid.clone()).collect();
    ensure("a plan comes true", removed == plan.removed, || {
        format!("{:?} was foretold to go, {removed:?} went", plan.removed)
    })?;
    let (foretold, found) = (naive::world(&plan.end), naive::world(after));
    ensure(
        "a plan comes true",
        foretold.visible() == found.visible(),
        || format!("{foretold:?} was foretold, {found:?} came"),
    )
}
