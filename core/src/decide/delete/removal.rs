//! A write that removes the last finalizer of an object in deletion removes the object, unless it still
//! contains others: a namespace its contents, a definition its instances.

use crate::decide::Context;
use crate::event::Event;
use crate::hold::{Hold, has_contents, holds_next};
use crate::kind::Subresource;
use crate::object::{DEFINITION_FINALIZER, Object};
use crate::{Decision, Outcome, Rejection, Rule, State};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether writing this next version means removing the object.
pub(crate) fn follows(state: &State, stored: &Object, next: &Value) -> bool {
    stored.is_deleting() && holds_next(state, stored, next).next().is_none()
}

/// Describes what is left in a namespace, or of the instances of a definition; `None` if it is empty.
fn content(state: &State, container: &Object) -> Option<String> {
    let key = has_contents(state, container).then_some(&container.key)?;
    if key.is_namespace() {
        let count = state.population(&key.name);
        let kinds = state.resources_in(&key.name).map(ToString::to_string);
        let kinds: Vec<String> = kinds.collect();
        return Some(format!("{count} of {}", kinds.join(", ")));
    }
    let first = state.instances(key).next()?;
    Some(format!("instances, {} among them", first.key))
}

/// Refuses a write that only lets go of a container while something is left in it. Upstream lets a
/// namespace go without its contents, and a definition without its instances; they would be unreachable
/// then.
pub(crate) fn refuse_to_abandon(
    state: &State,
    stored: &Object,
    next: &Value,
    subresource: Option<Subresource>,
) -> Result<(), Rejection> {
    let abandons = if stored.key.is_namespace() {
        subresource == Some(Subresource::Finalize)
            && stored.is_deleting()
            && holds_next(state, stored, next).all(|hold| hold == Hold::Contents)
    } else {
        stored.key.is_definition() && stored.is_deleting() && drops_cleanup(stored, next)
    };
    let left = abandons.then(|| content(state, stored));
    match left.flatten() {
        None => Ok(()),
        Some(left) => {
            let why = format!(
                "it is being deleted and will be removed once it is empty, but there are still {left}: \
                 check which finalizers hold them"
            );
            Err(Rejection::conflict(&stored.key, why))
        }
    }
}

/// Whether a definition loses the finalizer that holds it until its instances are gone.
fn drops_cleanup(stored: &Object, next: &Value) -> bool {
    let list = next
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    let is_cleanup = |one: &Value| one.as_str() == Some(DEFINITION_FINALIZER);
    stored.meta.has_finalizer(DEFINITION_FINALIZER)
        && !list.is_some_and(|list| list.iter().any(is_cleanup))
}

/// Removes the stored object; the answer shows it as the update would have left it.
pub(crate) fn remove(
    context: Context<'_>,
    stored: &Arc<Object>,
    next: Value,
) -> Result<Decision, Rejection> {
    let event = Event::ObjectDeleted {
        rule: stored.mark.map_or(Rule::Requested, |mark| mark.rule),
        owners: Vec::new(),
        decided_at: context.state.revision,
    };
    let listed = next.pointer("/metadata/finalizers").cloned();
    let listed = listed.as_ref().and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    let listed: BTreeSet<&str> = listed.collect();
    let finalizers = stored.meta.finalizers.iter();
    let let_go = finalizers.filter(|one| !listed.contains(&***one));
    let commit = context.remove(stored, context.state.revision.next(), let_go, event);
    let shown = Object::from_value(stored.key.clone(), next, stored.revision, stored.mark)
        .map_err(|error| Rejection::Internal(error.to_string()))?;
    Ok(Decision::new(
        vec![commit],
        Outcome::Updated(Arc::new(shown)),
    ))
}
