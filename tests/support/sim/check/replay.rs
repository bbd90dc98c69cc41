//! Any prefix of the log, folded again, is the state that was published at its end.

use super::{Checked, ensure, violation};
use crate::dice::Dice;
use crate::sim::history::History;
use crate::sim::server::{Server, empty};
use hindsight_core::{Revision, State};

/// Prefixes that are folded again.
const PREFIXES: usize = 3;

/// The whole log, and a few prefixes of it.
pub fn check(history: &History, server: &Server, dice: &mut Dice) -> Checked {
    let floor = server.reader.floor();
    let floor = floor.map_err(|error| violation("a sound log is read", error.to_string()))?;
    let revisions = history.hashes.keys().copied();
    let revisions: Vec<_> = revisions.filter(|one| *one >= floor).collect();
    let mut wanted = vec![server.state.revision];
    wanted.extend((0..PREFIXES).map(|_| dice.pick(&revisions)));
    for revision in wanted {
        let state = server.reader.state_at(empty(), revision);
        let state = state.map_err(|error| violation("a sound log is read", error.to_string()))?;
        is_as_it_was(history, &state, revision)?;
    }
    Ok(())
}

/// A state that was read back is what was published at its revision.
pub fn is_as_it_was(history: &History, state: &State, revision: Revision) -> Checked {
    let same = history.hashes.get(&revision) == Some(&state.hash());
    ensure("replay equals live", same, || {
        format!("the log replayed to {revision} is not what was published there")
    })
}
