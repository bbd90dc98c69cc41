//! Mutating webhooks are called one after the other, each seeing what those before it made of the object. Those
//! with `reinvocationPolicy: IfNeeded` are called once more if the object changed after them. Source:
//! upstream's mutating dispatcher.

use super::hooks::{Hook, HookContext, HookError, Sight, apply_failure_policy};
use super::shown;
use crate::offload::offload;
use crate::status::Failure;
use hindsight_core::command::Patch;
use hindsight_core::{Rejection, State, patch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the webhooks made of an object.
#[derive(Debug, Default)]
pub(super) struct Mutated {
    /// `None` where the operation has no object, as in a deletion.
    pub(super) object: Option<Value>,
    pub(super) changed: bool,
    pub(super) warnings: Vec<String>,
}

/// Calls every webhook that selects the object.
pub(super) async fn mutate(
    context: &HookContext<'_>,
    hooks: &[Hook<'_>],
    object: Option<Value>,
) -> Result<Mutated, Failure> {
    let mut run = Run {
        context,
        object: object.map(Arc::new),
        mutated: Mutated::default(),
        called: BTreeSet::new(),
        to_reinvoke: BTreeSet::new(),
    };
    match run.call_all(hooks).await {
        Ok(()) => Ok(Mutated {
            object: run.object.map(Arc::unwrap_or_clone),
            ..run.mutated
        }),
        Err(failure) => Err(failure.with_warnings(run.mutated.warnings)),
    }
}

struct Run<'a> {
    context: &'a HookContext<'a>,
    object: Option<Arc<Value>>,
    /// What else came of it, without the object.
    mutated: Mutated,
    /// Webhooks called already that are to be called again should the object change.
    called: BTreeSet<usize>,
    to_reinvoke: BTreeSet<usize>,
}

impl Run<'_> {
    async fn call_all(&mut self, hooks: &[Hook<'_>]) -> Result<(), Failure> {
        for (index, hook) in hooks.iter().enumerate() {
            self.call(index, hook).await?;
        }
        // A change in this second round also calls those further down the list again; there is no third round.
        for (index, hook) in hooks.iter().enumerate() {
            if self.to_reinvoke.contains(&index) {
                self.call(index, hook).await?;
            }
        }
        Ok(())
    }

    async fn call(&mut self, index: usize, hook: &Hook<'_>) -> Result<(), Failure> {
        let context = self.context;
        if !context.selects(hook, self.object.as_deref()).await? {
            return Ok(());
        }
        let answered = match context.call(hook, self.object.as_ref()).await {
            Ok(response) => {
                self.mutated.warnings.extend(response.warnings);
                match response.patch {
                    Some(patch) => self.apply(hook, patch).await,
                    None => Ok(false),
                }
            }
            Err(error) => Err(error),
        };
        let changed = match answered {
            Ok(changed) => changed,
            Err(error) => {
                apply_failure_policy(hook.webhook, error)?;
                false
            }
        };
        if changed {
            self.mutated.changed = true;
            self.to_reinvoke.append(&mut self.called);
        }
        if hook.webhook.reinvoked {
            self.called.insert(index);
        }
        Ok(())
    }

    /// Applies a webhook's patch; returns whether it changed anything.
    async fn apply(&mut self, hook: &Hook<'_>, operations: Value) -> Result<bool, HookError> {
        let name = &hook.webhook.name;
        let Some(object) = self.object.clone() else {
            return Err(HookError::Refused(Failure::internal(format!(
                "admission webhook \"{name}\" attempted to modify the object, which is not \
                 supported for this operation"
            ))));
        };
        let (sight, state) = (self.context.sight(hook), self.context.state.clone());
        let apply = move || patched(&sight, &state, &object, operations);
        let applied = offload(self.context.bytes, apply).await;
        let next = applied.map_err(HookError::Refused)?.map_err(|why| {
            HookError::Refused(Failure::internal(match why {
                Unusable::Inapplicable(why) => {
                    format!("the patch of admission webhook \"{name}\" cannot be applied: {why}")
                }
                Unusable::Unreadable(why) => format!(
                    "the object as admission webhook \"{name}\" changed it cannot be read: {why}"
                ),
            }))
        })?;
        let is_changed = next.is_some();
        if let Some(next) = next {
            self.object = Some(Arc::new(next));
        }
        Ok(is_changed)
    }
}

/// What is wrong with a webhook's patch.
enum Unusable {
    Inapplicable(Rejection),
    Unreadable(String),
}

/// What a webhook's patch makes of an object; `None` if nothing changes.
fn patched(
    sight: &Sight,
    state: &State,
    object: &Value,
    operations: Value,
) -> Result<Option<Value>, Unusable> {
    let before = sight.of(object);
    let mut next =
        patch::apply(&before, &Patch::Json(operations)).map_err(Unusable::Inapplicable)?;
    let shown = sight.view(&state.kinds);
    if let Some(shown) = shown.filter(|_| next != before) {
        if let Err(why) = shown.decode(&mut next) {
            return Err(Unusable::Unreadable(why));
        }
        if next != before {
            shown.complete(&mut next);
        }
    }
    if next == before {
        return Ok(None);
    }
    let subject = &*sight.subject;
    let spoken = (&subject.kind, &*subject.version);
    Ok(Some(shown::in_version(subject, next, spoken)))
}
