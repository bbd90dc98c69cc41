//! The end of a schedule: faults stop, and everything must come to rest within bounds.

use super::check::{self, Checked, violation};
use super::workload;
use super::{Running, Simulation};
use crate::naive;
use crate::reference::Policy;
use hindsight_core::{Cause, State, Time};

/// Rounds within which everything must be at rest.
const ROUNDS_MAX: u64 = 2_000;

impl Simulation {
    /// Ends all faults, lets the writer finish, then has one more object deleted and everything
    /// collected that is due.
    pub(super) fn come_to_rest(&mut self) -> Checked {
        self.disk.clear_faults();
        self.slow = 0;
        self.overloaded = 0;
        self.trace.note("calm", "");
        if self.running.as_ref().is_none_or(|running| running.poisoned) || self.disk.is_damaged() {
            self.kill();
            self.disk.repair();
            self.start()?;
        }
        self.drain_writer()?;
        self.last_request()?;
        self.collect_all()?;
        self.drain_watchers()
    }

    fn running(&self) -> Result<&Running, check::Violation> {
        let down = || {
            violation(
                "liveness",
                "the server does not stay up without faults".into(),
            )
        };
        self.running.as_ref().ok_or_else(down)
    }

    /// Lets the writer run until every client is answered.
    pub(super) fn drain_writer(&mut self) -> Checked {
        for _ in 0..ROUNDS_MAX {
            self.decide();
            self.sync()?;
            self.running()?;
            if self.clients.pending().next().is_none() {
                return Ok(());
            }
        }
        Err(violation("liveness", "somebody is not answered".into()))
    }

    /// Deletes one object, with its whole outcome foretold by the naive evaluator and by a plan, and
    /// compares.
    fn last_request(&mut self) -> Checked {
        let state = self.running()?.server.state.clone();
        let Some(object) = workload::any_object(&mut self.dice, &state) else {
            return Ok(());
        };
        let policies = [Policy::Background, Policy::Foreground, Policy::Orphan];
        let policy = self.dice.pick(&policies);
        let intent = naive::delete(object.key.clone(), Some(policy));
        let mut expected = naive::world(&state);
        expected.delete(object.meta.uid.as_str(), Some(policy));
        let number = self.send(Some(0), vec![(intent, Cause::Request)]);
        let command = number
            .first()
            .map(|number| self.clients.operations[number].command.clone());
        let plan = command.map(|command| check::dry_run::plan(&state, &command, self.clock));
        self.drain_writer()?;
        self.collect_all()?;
        let rest: State = self.running()?.server.state.clone();
        if let Some(plan) = plan {
            check::dry_run::check_plan(&plan?, &state, &rest, &self.history)?;
        }
        if !self.options.namespaces && !self.options.definitions {
            check::collector::ends_as_expected(expected, &rest)?;
        }
        check::collector::nothing_is_left(&rest, Time(self.clock))
    }

    /// Lets the collector run until nothing is due.
    fn collect_all(&mut self) -> Checked {
        for _ in 0..ROUNDS_MAX {
            self.collect();
            self.drain_writer()?;
            if self.running()?.collecting.idle {
                return Ok(());
            }
        }
        Err(violation(
            "liveness",
            "the collector does not come to rest".into(),
        ))
    }

    /// Lets every watch read until it has seen everything.
    fn drain_watchers(&mut self) -> Checked {
        let newest = self.running()?.server.state.revision;
        for index in 0..self.watchers.len() {
            self.watchers[index].stalled = 0;
            for _ in 0..ROUNDS_MAX {
                if self.watchers[index].position == Some(newest) {
                    break;
                }
                self.watch_turn(index)?;
            }
            if self.watchers[index].position != Some(newest) {
                let what = format!("watch {index} does not arrive at {newest}");
                return Err(violation("watch: reliable", what));
            }
        }
        Ok(())
    }
}
