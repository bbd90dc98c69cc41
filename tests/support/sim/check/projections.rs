//! Checks that a projection that followed every change equals its rebuild.

use super::{Checked, ensure};
use hindsight_core::State;
use hindsight_projector::OwnershipGraph;

/// Compares the ownership graph with its rebuild from the state.
pub fn check(state: &State, graph: &OwnershipGraph) -> Checked {
    let rebuilt = OwnershipGraph::rebuild(state);
    let followed: Vec<_> = graph.objects().collect();
    let anew: Vec<_> = rebuilt.objects().collect();
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
