//! What a change is to somebody who sees a selection of objects.

use crate::event::Change;
use crate::object::Object;
use std::sync::Arc;

/// An event of a watch, before it has a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen<'a> {
    /// It is selected, and was not before.
    Added(&'a Arc<Object>),
    /// It is selected as before.
    Modified(&'a Arc<Object>),
    /// It is gone, or no longer selected; this was its last selected version.
    Deleted(&'a Arc<Object>),
}

impl Change {
    /// Entering a selection adds, leaving it deletes; the rest is not seen at all.
    pub fn seen_by(&self, selects: impl Fn(&Object) -> bool) -> Option<Seen<'_>> {
        let before = self.previous.as_ref().filter(|object| selects(object));
        let after = self.commit.object().filter(|object| selects(object));
        match (before, after) {
            (None, None) => None,
            (None, Some(object)) => Some(Seen::Added(object)),
            (Some(_), Some(object)) => Some(Seen::Modified(object)),
            (Some(object), None) => Some(Seen::Deleted(object)),
        }
    }
}
