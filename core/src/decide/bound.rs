//! How long an object may be stored: what has no end makes every frame, backup and answer endless.

#[cfg(test)]
mod tests;

use super::{Context, Strictness};
use crate::Rejection;
use crate::command::{Intent, Patch};
use crate::object::{OBJECT_BYTES_MAX, Object};
use serde_json::Value;

/// What a write that takes a finalizer off an object which is too long already may add to it, for
/// what the server itself says of the write.
const ROOM_BYTES: usize = 16 << 10;

/// What becomes of an object that would be too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// A deletion, or a step of the collector, adds next to nothing, and is how such objects go.
    Open,
    /// It is tried again without its account. Source: `isTooLargeError` in upstream's handlers.
    WithoutAccount,
    /// A configuration is nothing without its account.
    Refused,
}

impl Bound {
    pub(crate) fn of(intent: &Intent) -> Self {
        match intent {
            Intent::Patch(patch) if matches!(patch.patch, Patch::Apply { .. }) => Self::Refused,
            Intent::Create(_) | Intent::Update(_) | Intent::Patch(_) => Self::WithoutAccount,
            Intent::Admitted(admitted) => Self::of(&admitted.intent),
            Intent::Delete(_)
            | Intent::Evict(_)
            | Intent::DropOwners(_)
            | Intent::Unblock(_)
            | Intent::Release(_)
            | Intent::Untie(_)
            | Intent::FinalizeNamespace(_) => Self::Open,
        }
    }
}

impl Context<'_> {
    /// The object as it may be stored. One that is too long already may not get longer.
    pub(super) fn bounded(
        &self,
        previous: Option<&Object>,
        object: Object,
    ) -> Result<Object, Rejection> {
        let most = previous.map_or(0, |previous| most_after(previous, &object));
        let most = most.max(OBJECT_BYTES_MAX);
        let length = object.body.len();
        let looked_at = self.strictness == Strictness::Storage && self.bound != Bound::Open;
        if !looked_at || length <= most {
            return Ok(object);
        }
        let shorter = (self.bound == Bound::WithoutAccount)
            .then(|| without_account(object))
            .flatten();
        let fits = shorter.filter(|object| object.body.len() <= most);
        fits.ok_or_else(|| {
            Rejection::TooLarge(format!(
                "Request entity too large: the object would be stored in {length} bytes, its \
                 managedFields among them: limit is {OBJECT_BYTES_MAX}"
            ))
        })
    }
}

fn most_after(previous: &Object, object: &Object) -> usize {
    let lets_go = object.meta.finalizers.len() < previous.meta.finalizers.len();
    previous.body.len() + if lets_go { ROOM_BYTES } else { 0 }
}

fn without_account(object: Object) -> Option<Object> {
    let mut document = object.document();
    let metadata = document.get_mut("metadata").and_then(Value::as_object_mut);
    metadata?.remove("managedFields")?;
    Object::from_value(object.key, document, object.revision, object.mark).ok()
}
