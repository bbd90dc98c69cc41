//! An orphaning owner is released by the decision that takes the reference from dependents that came late. If it were
//! released earlier, they would keep a reference to nothing; if it waited until there are none, new ones could hold it
//! for ever.

use super::{drop_owners, take_finalizer};
use crate::command::{Basis, DropOwners, DropReason, Target};
use crate::decide::Context;
use crate::decide::sequence::Sequence;
use crate::object::{Object, ServerFinalizer};
use crate::{Decision, Rejection};
use std::sync::Arc;

/// Takes the owner from each object that still refers to it, and releases it. Each commit has the cause that it
/// would have on its own.
pub(super) fn release_after_latecomers(
    context: Context<'_>,
    owner: &Arc<Object>,
    basis: &Basis,
) -> Result<Decision, Rejection> {
    let Some(latecomers) = context.state.latecomers(owner) else {
        return Err(Rejection::stale(&owner.key, "a dependent was added since"));
    };
    let mut sequence = Sequence::on(context.state);
    for dependent in latecomers {
        let references = dependent.owners().iter();
        let drop = DropOwners {
            dependent: Target {
                uid: Some(dependent.meta.uid.clone()),
                ..Target::any(dependent.key.clone())
            },
            owners: references
                .filter(|one| one.uid == owner.meta.uid)
                .cloned()
                .collect(),
            reason: DropReason::Orphaning(owner.key.clone()),
            basis: Basis::at(basis.revision),
        };
        let decision = drop_owners(sequence.context(context), &drop)?;
        sequence.add(decision.commits);
    }
    let context = sequence.context(context);
    let decision = take_finalizer(context, owner, ServerFinalizer::Orphan, basis)?;
    sequence.add(decision.commits);
    Ok(Decision::new(sequence.into_commits(), decision.outcome))
}
