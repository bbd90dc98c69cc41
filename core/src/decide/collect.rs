//! The collector's own intents. Each checks its plan again before it is carried out, so a stale or repeated
//! plan does no harm.

mod deadlock;
mod latecomers;
#[cfg(test)]
mod tests;

use super::delete::removal;
use super::planned::{findings, going, refuse_marked, refuse_overtaken, refuse_undecided_above};
use super::{Context, managed_fields, namespace};
use crate::classify::{Going, Verdict, would_close_a_cycle};
use crate::command::{Basis, Collect, DropOwners, DropReason, FinalizeNamespace, Target, Unblock};
use crate::document::metadata_mut;
use crate::event::OwnerClass;
use crate::hold::has_contents;
use crate::object::{Object, OwnerReference, ServerFinalizer, Uid};
use crate::{Decision, Outcome, Rejection, State};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) fn collect(context: Context<'_>, step: &Collect) -> Result<Decision, Rejection> {
    match step {
        Collect::DropOwners(intent) => drop_owners(context, intent),
        Collect::Unblock(intent) => unblock(context, intent),
        Collect::Release(intent) => {
            release_owner(context, &intent.owner, intent.finalizer, &intent.basis)
        }
        Collect::BreakDeadlock(deadlock) => deadlock::break_deadlock(context, deadlock),
        Collect::FinalizeNamespace(intent) => finalize_namespace(context, intent),
    }
}

fn drop_owners(context: Context<'_>, intent: &DropOwners) -> Result<Decision, Rejection> {
    let object = find(context, &intent.dependent)?;
    let context = context.because_of(&intent.basis, object);
    refuse_overtaken(context.state, object, &intent.basis)?;
    let doomed: Vec<&OwnerReference> = match &intent.reason {
        DropReason::Orphaning(owner) => {
            refuse_undecided_above(context.state, &[owner], &intent.basis)?;
            orphaned(context, object, &intent.owners)
        }
        DropReason::SolidOwnerRemains => prunable(context, object, &intent.owners)?,
    };
    drop_references(context, object, &doomed)
}

/// Takes these references from an object.
fn drop_references(
    context: Context<'_>,
    object: &Arc<Object>,
    doomed: &[&OwnerReference],
) -> Result<Decision, Rejection> {
    if doomed.is_empty() {
        return Ok(nothing(object));
    }
    let doomed: BTreeSet<&OwnerReference> = doomed.iter().copied().collect();
    let kept: Vec<&OwnerReference> = object
        .meta
        .owner_references
        .iter()
        .filter(|one| !doomed.contains(one))
        .collect();
    let mut document = context.document(object);
    if let Some(metadata) = metadata_mut(&mut document) {
        if kept.is_empty() {
            metadata.remove("ownerReferences");
        } else {
            metadata.insert("ownerReferences".into(), to_value(&kept)?);
        }
    }
    write(context, object, document)
}

/// Every reference with the uid of a named owner that is still orphaning.
fn orphaned<'a>(
    context: Context<'_>,
    object: &'a Object,
    owners: &[OwnerReference],
) -> Vec<&'a OwnerReference> {
    let named: BTreeSet<&Uid> = owners.iter().map(|owner| &owner.uid).collect();
    let waits = |reference: &&OwnerReference| {
        named.contains(&reference.uid) && context.state.is_orphaning(&reference.uid)
    };
    object.meta.owner_references.iter().filter(waits).collect()
}

/// Exactly the named references that are absent or waiting, while another owner is solid. If two references
/// share a uid, only the wrong one is dropped: upstream drops both and leaks the object.
fn prunable<'a>(
    context: Context<'_>,
    object: &'a Object,
    owners: &[OwnerReference],
) -> Result<Vec<&'a OwnerReference>, Rejection> {
    refuse_marked(object)?;
    let found = findings(context.state, object);
    let stale = |why| Rejection::stale(&object.key, why);
    match Verdict::of(found.iter().map(|finding| finding.class)) {
        Verdict::Undecidable => return Err(stale("the kind of an owner is unknown")),
        Verdict::Goes(_) => return Err(stale("no solid owner is left")),
        Verdict::Stays | Verdict::LosesOwners => {}
    }
    if context.state.is_orphaned(object) {
        return Err(stale("an owner orphans it"));
    }
    let owners: BTreeSet<&OwnerReference> = owners.iter().collect();
    let gone = |(reference, finding): &(&OwnerReference, &crate::event::OwnerFinding)| {
        owners.contains(reference)
            && matches!(finding.class, OwnerClass::Dangling | OwnerClass::Waiting)
    };
    let pairs = object.meta.owner_references.iter().zip(&found);
    Ok(pairs.filter(gone).map(|(reference, _)| reference).collect())
}

fn unblock(context: Context<'_>, intent: &Unblock) -> Result<Decision, Rejection> {
    let object = find(context, &intent.dependent)?;
    let context = context.because_of(&intent.basis, object);
    refuse_overtaken(context.state, object, &intent.basis)?;
    going(context.state, object, Going::UnderWaitingOwner)?;
    if !would_close_a_cycle(context.state, object) {
        let why = "it blocks no owner, or none of its dependents waits";
        return Err(Rejection::stale(&object.key, why));
    }
    let (mut owners, mut seen) = (Vec::new(), BTreeSet::new());
    for mut owner in object.meta.owner_references.iter().cloned() {
        if owner.blocks() {
            owner.block_owner_deletion = Some(false);
        }
        // References that differed in blocking alone are now duplicates, which no write leaves behind.
        if seen.insert(owner.clone()) {
            owners.push(owner);
        }
    }
    let mut document = context.document(object);
    if let Some(metadata) = metadata_mut(&mut document) {
        metadata.insert("ownerReferences".into(), to_value(&owners)?);
    }
    write(context, object, document)
}

fn release_owner(
    context: Context<'_>,
    owner: &Target,
    finalizer: ServerFinalizer,
    basis: &Basis,
) -> Result<Decision, Rejection> {
    let object = find(context, owner)?;
    if !object.is_deleting() || !object.meta.has_finalizer(finalizer.name()) {
        return Ok(nothing(object));
    }
    // Nothing that came and went again changes how the owner goes, nor does an event that refers to it.
    let has_dependents = context.state.dependents(&object.meta.uid).all > 0;
    if has_dependents && finalizer == ServerFinalizer::Orphan {
        return latecomers::release_after_latecomers(context, object, basis);
    }
    refuse_overtaken(context.state, object, basis)?;
    release_held(context, object, finalizer, basis)
}

/// Releases an owner that is held, once it is known that nothing comes before it.
fn release_held(
    context: Context<'_>,
    object: &Arc<Object>,
    finalizer: ServerFinalizer,
    basis: &Basis,
) -> Result<Decision, Rejection> {
    let has_dependents = context.state.dependents(&object.meta.uid).all > 0;
    if has_dependents && gained_a_dependent_since(context.state, object, basis) {
        return Err(Rejection::stale(&object.key, "a dependent was added since"));
    }
    take_finalizer(context, object, finalizer, basis)
}

/// Whether a reference to this owner is newer than the plan. It is noted of owners that wait or orphan: a definition
/// that does neither is held by no dependent.
fn gained_a_dependent_since(state: &State, owner: &Object, basis: &Basis) -> bool {
    let held = state.held_owners.get(&owner.meta.uid);
    held.is_some_and(|held| held.since > basis.revision)
}

/// Takes the finalizer from an owner on which no dependent rests any more.
fn take_finalizer(
    context: Context<'_>,
    object: &Arc<Object>,
    finalizer: ServerFinalizer,
    basis: &Basis,
) -> Result<Decision, Rejection> {
    if context.state.overtaken_at(object) > basis.revision {
        let why = "references to it, or what they mean, have changed since";
        return Err(Rejection::stale(&object.key, why));
    }
    let is_cleanup = finalizer == ServerFinalizer::Definition;
    if is_cleanup && has_contents(context.state, object) {
        return Err(Rejection::stale(&object.key, "an instance is left"));
    }
    let mut document = context.document(object);
    if let Some(metadata) = metadata_mut(&mut document) {
        let rest: Vec<_> = object
            .meta
            .finalizers
            .iter()
            .filter(|one| ***one != *finalizer.name())
            .cloned()
            .collect();
        super::delete::write_finalizers(metadata, &rest);
    }
    write(context, object, document)
}

fn finalize_namespace(
    context: Context<'_>,
    intent: &FinalizeNamespace,
) -> Result<Decision, Rejection> {
    let object = find(context, &intent.target)?;
    if !object.is_deleting() {
        return Ok(nothing(object));
    }
    if context.state.population(&object.key.name) > 0 {
        return Err(Rejection::stale(&object.key, "the namespace is not empty"));
    }
    let stored = object.document();
    let mut document = stored.clone();
    namespace::drop_token(&mut document);
    if document == stored && !removal::follows(context.state, object, &document) {
        return Ok(nothing(object));
    }
    write(context, object, document)
}

fn find<'a>(context: Context<'a>, target: &Target) -> Result<&'a Arc<Object>, Rejection> {
    let object = context
        .state
        .get(&target.key)
        .ok_or_else(|| Rejection::not_found(&target.key))?;
    let same = target
        .uid
        .as_ref()
        .is_none_or(|uid| *uid == object.meta.uid);
    let newest = target
        .revision
        .is_none_or(|revision| revision == object.revision);
    if same && newest {
        Ok(object)
    } else {
        Err(Rejection::stale(&object.key, "it is another version"))
    }
}

fn write(
    context: Context<'_>,
    object: &Arc<Object>,
    document: Value,
) -> Result<Decision, Rejection> {
    if removal::follows(context.state, object, &document) {
        return removal::remove(context, object, document);
    }
    let document = managed_fields::with_managed_fields(context, object, document, None);
    let (object, commit) = context.updated(object, document, Vec::new())?;
    Ok(Decision::new(vec![commit], Outcome::Updated(object)))
}

fn nothing(object: &Arc<Object>) -> Decision {
    Decision::new(Vec::new(), Outcome::Updated(Arc::clone(object)))
}

fn to_value<T: serde::Serialize>(value: &T) -> Result<Value, Rejection> {
    serde_json::to_value(value).map_err(|error| Rejection::Internal(error.to_string()))
}
