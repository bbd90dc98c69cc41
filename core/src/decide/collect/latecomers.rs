//! An orphaning owner is released by the decision that takes the reference from dependents that came late. If it were
//! released earlier, they would keep a reference to nothing; if it waited until there are none, new ones could hold it
//! for ever.

use super::{drop_references, take_finalizer};
use crate::command::Basis;
use crate::decide::Context;
use crate::decide::planned::{refuse_overtaken, refuse_undecided_above};
use crate::decide::sequence::Sequence;
use crate::object::{Object, ObjectKey, ServerFinalizer};
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
    let keys: Vec<&ObjectKey> = latecomers.iter().map(|one| &one.key).collect();
    let at = Basis::at(basis.revision);
    refuse_undecided_above(context.state, &keys, &at)?;
    refuse_undecided_above(context.state, &[&owner.key], &at)?;
    let mut sequence = Sequence::on(context.state);
    for dependent in latecomers {
        let references = dependent.owners().iter();
        let doomed: Vec<_> = references.filter(|one| one.uid == owner.meta.uid).collect();
        let decision = drop_references(sequence.context(context), dependent, &doomed)?;
        sequence.add(decision.commits);
    }
    let context = sequence.context(context);
    refuse_overtaken(context.state, owner, basis)?;
    let decision = take_finalizer(context, owner, ServerFinalizer::Orphan, basis)?;
    sequence.add(decision.commits);
    Ok(Decision::new(sequence.into_commits(), decision.outcome))
}
