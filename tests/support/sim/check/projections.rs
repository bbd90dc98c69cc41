//! Checks that a projection that followed every change equals its rebuild.

use super::{Checked, ensure};
use crate::sim::history::History;
use hindsight_core::State;
use hindsight_projector::OwnershipGraph;
use std::convert::Infallible;
use std::sync::Arc;

/// Compares the ownership graph with its rebuild from the state.
pub fn check(state: &State, graph: &OwnershipGraph) -> Checked {
    let rebuilt = OwnershipGraph::rebuild(state);
    let followed: Vec<_> = graph.nodes().collect();
    let anew: Vec<_> = rebuilt.nodes().collect();
    ensure("projections equal their rebuild", followed == anew, || {
        format!("{followed:?} is not {anew:?}")
    })?;
    for (uid, _) in anew {
        let followed: Vec<_> = graph.dependents(uid).collect();
        let anew: Vec<_> = rebuilt.dependents(uid).collect();
        ensure("projections equal their rebuild", followed == anew, || {
            format!("dependents of {uid}: {followed:?} is not {anew:?}")
        })?;
    }
    for kind in state.kinds.iter() {
        let followed: Vec<_> = graph.dependents_of_kind(kind).collect();
        let anew: Vec<_> = rebuilt.dependents_of_kind(kind).collect();
        ensure("projections equal their rebuild", followed == anew, || {
            format!("naming {}: {followed:?} is not {anew:?}", kind.kind)
        })?;
    }
    Ok(())
}

/// Checks that what the graph knows of removed owners is what the history says. If the log was
/// thinned, a reference may appear older than it is, so the graph may know of more removals.
pub fn removals(state: &State, history: &History, known: &OwnershipGraph, whole: bool) -> Checked {
    let mut told = OwnershipGraph::rebuild(state);
    let back = history.kept().rev();
    let back = back.map(|commit| Ok::<_, Infallible>(Arc::clone(commit)));
    told.recall(back).unwrap_or_else(|never| match never {});
    for (uid, node) in told.nodes() {
        for owner in node.owners() {
            let told = told.removed_at(&owner.uid, uid);
            let known = known.removed_at(&owner.uid, uid);
            let right = told == known || (told.is_none() && !whole);
            ensure("removals of owners are known", right, || {
                format!("of {owner:?}, as {uid} has it: {known:?}, and it was {told:?}")
            })?;
        }
    }
    Ok(())
}
