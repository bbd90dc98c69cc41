//! The promises that must hold whatever happens, with one file of checks for each.

#[cfg(test)]
mod canaries;
pub mod collector;
pub mod dry_run;
pub mod durability;
pub mod explanations;
pub mod facts;
pub mod linearizability;
pub mod ownership;
pub mod preconditions;
pub mod projections;
pub mod replay;
#[cfg(test)]
mod tests;
pub mod watch;

use super::{Simulation, clients, history, trace};
use clients::Clients;
use hindsight_core::Revision;
use history::History;

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The name of the promise.
    pub checker: &'static str,
    /// How it was broken.
    pub what: String,
}

/// Whether a promise was kept, or how it was broken.
pub type Checked = Result<(), Violation>;

/// A broken promise.
pub fn violation(checker: &'static str, what: String) -> Violation {
    Violation { checker, what }
}

/// Reports the promise as broken unless `kept`.
pub fn ensure(checker: &'static str, kept: bool, what: impl FnOnce() -> String) -> Checked {
    if kept {
        Ok(())
    } else {
        Err(violation(checker, what()))
    }
}

/// The checks of what is in the log, run before a restore takes some of it back. Its counts are
/// discarded: the run at the end counts.
pub fn of_the_log(history: &History, clients: &Clients) -> Checked {
    facts::check(history, clients, &mut trace::Trace::default())?;
    ownership::check(history)?;
    explanations::audited(history)
}

/// All checks of the whole history, run at the end of a schedule.
pub fn after_all(simulation: &mut Simulation) -> Checked {
    let Simulation {
        history,
        clients,
        watchers,
        trace,
        running,
        dice,
        ..
    } = simulation;
    durability::exactly_once(history, clients)?;
    linearizability::check(history, clients, trace)?;
    preconditions::check(history, clients, trace)?;
    dry_run::check(clients, trace)?;
    facts::check(history, clients, trace)?;
    let ownership = ownership::check(history)?;
    for watcher in &*watchers {
        watch::check(history, watcher, trace)?;
    }
    if let Some(running) = running {
        let read = replay::Read::from(&running.server.reader, history.thinned_to)?;
        replay::check(history, &read, dice)?;
        explanations::check(history, &read, trace)?;
        let (state, graph) = (&running.server.state, running.collecting.graph());
        projections::check(state, graph)?;
        ownership.check_graph(graph)?;
        let is_whole = matches!(running.server.reader.floor(), Ok(Revision::ZERO));
        ownership.check_removals(graph, is_whole)?;
    }
    Ok(())
}
