//! The write that empties the finalizers of a deleting object removes it instead.

use super::decision;
use crate::decide::Context;
use crate::event::Event;
use crate::object::{Name, Object};
use crate::state::is_namespace;
use crate::{Decision, Outcome, Rejection, Rule};
use serde_json::Value;
use std::sync::Arc;

/// Whether this next version of a stored object means its removal.
pub(crate) fn follows(stored: &Object, next: &Value) -> bool {
    let graceful = stored.meta.deletion_grace_period_seconds.unwrap_or(0) != 0;
    let held = next
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .is_some_and(|finalizers| !finalizers.is_empty());
    let has_content = is_namespace(&stored.key) && !spec_finalizers(next).is_empty();
    stored.is_deleting() && !graceful && !held && !has_content
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
    let is_listed = |one: &&Name| {
        let list = listed.as_ref().and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|held| held.as_str() == Some(one)))
    };
    let let_go = stored.meta.finalizers.iter().filter(|one| !is_listed(one));
    let commit = context.remove(stored, context.state.revision.next(), let_go, event);
    let shown = Object::from_value(stored.key.clone(), next, stored.revision, stored.mark)
        .map_err(|error| Rejection::Internal(error.to_string()))?;
    Ok(decision(vec![commit], Outcome::Updated(Arc::new(shown))))
}

/// A namespace's own list, which its contents hold.
pub(crate) fn spec_finalizers(namespace: &Value) -> &[Value] {
    let list = namespace
        .pointer("/spec/finalizers")
        .and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
