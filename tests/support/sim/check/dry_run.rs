//! Checks that a dry run equals the real run: of one command on one state, and of a deletion with
//! everything that is collected after it.

use super::{Checked, Violation, ensure, violation};
use crate::naive;
use crate::sim::clients::{Clients, Operation};
use crate::sim::history::History;
use crate::sim::trace::Trace;
use crate::world;
use hindsight_core::{Command, Commit, Revision, State, Time, Uid};
use hindsight_gc::{Baseline, forecast};
use std::collections::BTreeSet;
use std::convert::Infallible;

/// Changes after which a forecast must have come to rest.
const CHANGES_MAX: usize = 2_000;

/// Compares every command that was decided on the same state as its dry run.
pub fn check(clients: &Clients, trace: &mut Trace) -> Checked {
    for operation in clients.operations.values() {
        if let Some(dry_run) = &operation.dry_run {
            trace.count("dry runs compared", u64::from(compare(operation, dry_run)?));
        }
    }
    Ok(())
}

type DryRun = Result<hindsight_core::Decision, hindsight_core::Rejection>;

/// Compares a command with its dry run; false if they were not decided on the same state.
fn compare(operation: &Operation, dry_run: &DryRun) -> Result<bool, Violation> {
    let differs = || {
        format!(
            "command {}: {dry_run:?} is not {:?}",
            operation.number, operation.end
        )
    };
    if let Some((_, _, decision)) = operation.done() {
        let on = decision.commits.first().map(|one| one.revision.previous());
        if on != Some(operation.base) {
            return Ok(false);
        }
        let same = dry_run.as_ref().is_ok_and(|dry_run| {
            dry_run.commits == decision.commits && dry_run.warnings == decision.warnings
        });
        ensure("dry run equals real run", same, differs)?;
        return Ok(true);
    }
    let Some((newest, rejection)) = operation.refused() else {
        return Ok(false);
    };
    // The rejection can be compared only if no other commit became visible between the two: the dry run may
    // have been decided on an older state otherwise.
    let same = dry_run.as_ref().err() == Some(rejection);
    let certain = newest == operation.base;
    ensure("dry run equals real run", same || !certain, differs)?;
    Ok(certain)
}

/// The outcome that a plan foretells: the final state, and what is removed.
#[derive(Debug)]
pub struct Plan {
    end: State,
    removed: BTreeSet<Uid>,
}

/// Has the product forecast the outcome of a command.
pub fn plan(state: &State, command: &Command, clock: i64) -> Result<Plan, Violation> {
    let mut commands = 1 << 32;
    let mut command = command.clone();
    command.time = Time(clock);
    // The baseline is given no log: only rules need it, and they are not compared.
    let baseline = Baseline::new::<Commit, Infallible>(state, []);
    let baseline = baseline.unwrap_or_else(|never| match never {});
    let foretold = forecast(baseline, command, CHANGES_MAX, |step| {
        commands += 1;
        let mut command = world::command(commands, step.intent, step.cause);
        command.time = Time(clock);
        command
    });
    let foretold = foretold.course;
    // If the command is refused, the forecast holds only what was due anyway.
    if !foretold.is_complete {
        let what = "the collector does not come to rest on a fork".into();
        return Err(violation("liveness", what));
    }
    let commits = foretold.changes.iter().map(|change| &change.commit);
    let removals = commits.filter(|commit| commit.object().is_none());
    Ok(Plan {
        removed: removals.map(|commit| commit.uid.clone()).collect(),
        end: foretold.end,
    })
}

/// Checks that the real run removed what the plan said and ended in the state that it said.
pub fn check_plan(plan: &Plan, before: &State, after: &State, history: &History) -> Checked {
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
