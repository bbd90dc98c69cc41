//! Mutating webhooks are called one after the other, each seeing what those before it made of the object. Those
//! with `reinvocationPolicy: IfNeeded` are called once more if the object changed after them. Source:
//! upstream's mutating dispatcher.

use super::hooks::{Hook, HookContext, HookError, Sight, apply_failure_policy};
use super::room::{COPIES, length};
use super::{review, shown};
use crate::body::Bodies;
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

/// Calls every webhook that selects the object. From then on the context counts what they made of it, and has its room.
pub(super) async fn mutate(
    context: &mut HookContext<'_>,
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

struct Run<'a, 'b> {
    context: &'a mut HookContext<'b>,
    object: Option<Arc<Value>>,
    /// What else came of it, without the object.
    mutated: Mutated,
    /// Webhooks called already that are to be called again should the object change.
    called: BTreeSet<usize>,
    to_reinvoke: BTreeSet<usize>,
}

impl Run<'_, '_> {
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
        let context = &*self.context;
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
    async fn apply(&mut self, hook: &Hook<'_>, patch: Vec<u8>) -> Result<bool, HookError> {
        let context = &mut *self.context;
        // The tree, and the object that becomes so much longer, with all that is written down of it.
        let copies = COPIES + context.asked_at_once;
        let wanted = Bodies::document_bytes(&patch) + copies * patch.len();
        context.room.extend(context.room_for(wanted).await?);
        let bytes = context.bytes.max(patch.len());
        let (sight, state) = (context.sight(hook), context.state.clone());
        let object = self.object.clone();
        let apply = move || {
            let next = patched(&sight, &state, object.as_deref(), &patch)?;
            Ok(next.map(|next| (length(&next), next)))
        };
        let applied = offload(bytes, apply).await.map_err(HookError::Refused)?;
        let next = applied.map_err(|why: Unusable| why.told(&hook.webhook.name))?;
        let is_changed = next.is_some();
        if let Some((length, next)) = next {
            context.bytes = context.bytes.max(length);
            self.object = Some(Arc::new(next));
        }
        Ok(is_changed)
    }
}

/// What is wrong with a webhook's patch.
enum Unusable {
    Undecodable(String),
    /// There is nothing to change.
    Unsupported,
    Inapplicable(Rejection),
    Unreadable(String),
}

impl Unusable {
    fn told(self, name: &str) -> HookError {
        HookError::Refused(Failure::internal(match self {
            Self::Undecodable(why) => return HookError::Failed(review::undecodable(why)),
            Self::Unsupported => format!(
                "admission webhook \"{name}\" attempted to modify the object, which is not supported for this operation"
            ),
            Self::Inapplicable(why) => {
                format!("the patch of admission webhook \"{name}\" cannot be applied: {why}")
            }
            Self::Unreadable(why) => {
                format!(
                    "the object as admission webhook \"{name}\" changed it cannot be read: {why}"
                )
            }
        }))
    }
}

/// What a webhook's patch makes of an object; `None` if nothing changes.
fn patched(
    sight: &Sight,
    state: &State,
    object: Option<&Value>,
    patch: &[u8],
) -> Result<Option<Value>, Unusable> {
    let Some(operations) = review::operations(patch).map_err(Unusable::Undecodable)? else {
        return Ok(None);
    };
    let object = object.ok_or(Unusable::Unsupported)?;
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
