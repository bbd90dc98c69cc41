//! The size limit of stored objects: without one, frames, backups and answers would be unbounded, too.

#[cfg(test)]
mod tests;

use super::{Context, Strictness};
use crate::Rejection;
use crate::command::{Intent, Patch};
use crate::document::metadata_mut;
use crate::object::{OBJECT_BYTES_MAX, Object};

/// How far an object may exceed the limit after a write that removes a finalizer: what the write adds to
/// `managedFields` must not keep an object at the limit from being released.
const ROOM_BYTES: usize = 16 << 10;

/// What to do with an object that would be too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OversizePolicy {
    /// Accept it: deletions and steps of the collector add next to nothing, and are how such objects are removed. A
    /// request to recompute the names in a definition's status is accepted, too.
    Open,
    /// Try again without its `managedFields`. Source: `isTooLargeError` in upstream's handlers.
    WithoutManagedFields,
    /// Refuse it: an apply makes no sense without `managedFields`.
    Refused,
}

impl OversizePolicy {
    pub(crate) fn of(intent: &Intent) -> Self {
        match intent {
            Intent::Patch(patch) if matches!(patch.patch, Patch::Apply { .. }) => Self::Refused,
            Intent::Patch(patch) if patch.refreshes_names() => Self::Open,
            Intent::Create(_) | Intent::Update(_) | Intent::Patch(_) => Self::WithoutManagedFields,
            Intent::Delete(_) | Intent::Evict(_) | Intent::Collect(_) => Self::Open,
        }
    }
}

impl Context<'_> {
    /// Checks the size of an object to be stored. One that is already too large may not grow.
    pub(super) fn check_size(
        &self,
        previous: Option<&Object>,
        object: Object,
    ) -> Result<Object, Rejection> {
        let bytes_max = previous.map_or(OBJECT_BYTES_MAX, |it| bytes_max_after(it, &object));
        let length = object.body.len();
        let is_checked =
            self.strictness == Strictness::Storage && self.oversize != OversizePolicy::Open;
        if !is_checked || length <= bytes_max {
            return Ok(object);
        }
        let shorter = (self.oversize == OversizePolicy::WithoutManagedFields)
            .then(|| without_managed_fields(object))
            .flatten();
        let fits = shorter.filter(|object| object.body.len() <= bytes_max);
        fits.ok_or_else(|| {
            Rejection::TooLarge(format!(
                "Request entity too large: the object would take {length} bytes, including its \
                 managedFields: limit is {OBJECT_BYTES_MAX}"
            ))
        })
    }

    /// Refuses a document that has no room for its defaults.
    pub(super) fn refuse_overfilled(&self) -> Result<(), Rejection> {
        if self.oversize == OversizePolicy::Open {
            return Ok(());
        }
        Err(Rejection::TooLarge(format!(
            "Request entity too large: the object would be too long with its defaults: limit is \
             {OBJECT_BYTES_MAX}"
        )))
    }
}

/// The most that any version of an object may take which has so many bytes now.
pub(super) fn bytes_max_beside(stored: usize) -> usize {
    stored.max(OBJECT_BYTES_MAX + ROOM_BYTES)
}

fn bytes_max_after(previous: &Object, object: &Object) -> usize {
    let removes_finalizer = object.meta.finalizers.len() < previous.meta.finalizers.len();
    let room = if removes_finalizer { ROOM_BYTES } else { 0 };
    previous.body.len().max(OBJECT_BYTES_MAX + room)
}

fn without_managed_fields(object: Object) -> Option<Object> {
    let mut document = object.document();
    let metadata = metadata_mut(&mut document);
    metadata?.remove("managedFields")?;
    Object::from_value(object.key, document, object.revision, object.mark).ok()
}
