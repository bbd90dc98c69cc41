//! Mutating webhooks are called one after the other, each seeing what those before it made of the object. Those
//! with `reinvocationPolicy: IfNeeded` are called once more if the object changed after them. Source:
//! upstream's mutating dispatcher.

use super::hooks::{Asking, Hook, Trouble, settle};
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
    asking: &Asking<'_>,
    hooks: &[Hook<'_>],
    object: Option<Value>,
) -> Result<Mutated, Failure> {
    let mut run = Run {
        asking,
        mutated: Mutated {
            object,
            ..Mutated::default()
        },
        asked: BTreeSet::new(),
        again: BTreeSet::new(),
    };
    match run.ask_all(hooks).await {
        Ok(()) => Ok(run.mutated),
        Err(failure) => Err(failure.after(run.mutated.warnings)),
    }
}

struct Run<'a> {
    asking: &'a Asking<'a>,
    mutated: Mutated,
    /// Webhooks called already that are to be called again should the object change.
    asked: BTreeSet<usize>,
    again: BTreeSet<usize>,
}

impl Run<'_> {
    async fn ask_all(&mut self, hooks: &[Hook<'_>]) -> Result<(), Failure> {
        for (index, hook) in hooks.iter().enumerate() {
            self.ask(index, hook).await?;
        }
        // A change in this second round also calls those further down the list again; there is no third round.
        for (index, hook) in hooks.iter().enumerate() {
            if self.again.contains(&index) {
                self.ask(index, hook).await?;
            }
        }
        Ok(())
    }

    async fn ask(&mut self, index: usize, hook: &Hook<'_>) -> Result<(), Failure> {
        let object = self.mutated.object.as_ref();
        if !self.asking.selects(hook, object)? {
            return Ok(());
        }
        let answered = match self.asking.ask(hook, object).await {
            Ok(reply) => {
                self.mutated.warnings.extend(reply.warnings);
                reply
                    .patch
                    .map_or(Ok(false), |patch| self.apply(hook, patch))
            }
            Err(trouble) => Err(trouble),
        };
        let changed = match answered {
            Ok(changed) => changed,
            Err(trouble) => {
                settle(hook.webhook, trouble)?;
                false
            }
        };
        if changed {
            self.mutated.changed = true;
            self.again.append(&mut self.asked);
        }
        if hook.webhook.reinvoked {
            self.asked.insert(index);
        }
        Ok(())
    }

    /// Applies a webhook's patch; returns whether it changed anything.
    fn apply(&mut self, hook: &Hook<'_>, operations: Value) -> Result<bool, Trouble> {
        let name = &hook.webhook.name;
        let refuse = |why: String| Err(Trouble::Refused(Failure::internal(why)));
        let Some(object) = &self.mutated.object else {
            return refuse(format!(
                "admission webhook \"{name}\" attempted to modify the object, which is not \
                 supported for this operation"
            ));
        };
        let subject = self.asking.subject;
        let asked = self.asking.in_version(hook, object);
        let mut next = match patch::apply(&asked, &Patch::Json(operations)) {
            Ok(next) => next,
            Err(rejection) => {
                return refuse(format!(
                    "the patch of admission webhook \"{name}\" cannot be applied: {rejection}"
                ));
            }
        };
        let shown = self.asking.shown(hook);
        if let Some(shown) = shown.filter(|_| next != asked) {
            if let Err(why) = shown.decode(&mut next) {
                return refuse(format!(
                    "the object as admission webhook \"{name}\" changed it cannot be read: {why}"
                ));
            }
            if next != asked {
                shown.complete(&mut next);
            }
        }
        if next == asked {
            return Ok(false);
        }
        let spoken = (&subject.kind, &*subject.version);
        self.mutated.object = Some(shown::in_version(subject, next, spoken));
        Ok(true)
    }
}
