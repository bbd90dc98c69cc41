//! Mutating webhooks are called one after the other, each seeing what those before it made of the object. Those
//! with `reinvocationPolicy: IfNeeded` are called once more if the object changed after them. Source:
//! upstream's mutating dispatcher.

use super::hooks::{Hook, HookContext, HookError, apply_failure_policy};
use super::shown;
use crate::status::Failure;
use hindsight_core::command::Patch;
use hindsight_core::patch;
use serde_json::Value;
use std::collections::BTreeSet;

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
        mutated: Mutated {
            object,
            ..Mutated::default()
        },
        called: BTreeSet::new(),
        to_reinvoke: BTreeSet::new(),
    };
    match run.call_all(hooks).await {
        Ok(()) => Ok(run.mutated),
        Err(failure) => Err(failure.with_warnings(run.mutated.warnings)),
    }
}

struct Run<'a> {
    context: &'a HookContext<'a>,
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
        let object = self.mutated.object.as_ref();
        if !self.context.selects(hook, object).await? {
            return Ok(());
        }
        let answered = match self.context.call(hook, object).await {
            Ok(response) => {
                self.mutated.warnings.extend(response.warnings);
                response
                    .patch
                    .map_or(Ok(false), |patch| self.apply(hook, patch))
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
    fn apply(&mut self, hook: &Hook<'_>, operations: Value) -> Result<bool, HookError> {
        let name = &hook.webhook.name;
        let refuse = |why: String| Err(HookError::Refused(Failure::internal(why)));
        let Some(object) = &self.mutated.object else {
            return refuse(format!(
                "admission webhook \"{name}\" attempted to modify the object, which is not \
                 supported for this operation"
            ));
        };
        let subject = self.context.subject;
        let before = self.context.in_version(hook, object);
        let mut next = match patch::apply(&before, &Patch::Json(operations)) {
            Ok(next) => next,
            Err(rejection) => {
                return refuse(format!(
                    "the patch of admission webhook \"{name}\" cannot be applied: {rejection}"
                ));
            }
        };
        let shown = self.context.shown(hook);
        if let Some(shown) = shown.filter(|_| next != before) {
            if let Err(why) = shown.decode(&mut next) {
                return refuse(format!(
                    "the object as admission webhook \"{name}\" changed it cannot be read: {why}"
                ));
            }
            if next != before {
                shown.complete(&mut next);
            }
        }
        if next == before {
            return Ok(false);
        }
        let spoken = (&subject.kind, &*subject.version);
        self.mutated.object = Some(shown::in_version(subject, next, spoken));
        Ok(true)
    }
}
