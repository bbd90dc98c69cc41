//! Unknown fields, found before a command is made: a strict client whose body repeats members is told of both
//! at once.

use crate::request::ResourceRequest;
use hindsight_core::command::Patch;
use hindsight_core::kind::{KindRef, Version};
use hindsight_core::object::Name;
use hindsight_core::{Form, ObjectKey, State, patch, scale};
use serde_json::Value;
use std::sync::Arc;

/// What a request is about, apart from the request: what is long is looked through on another thread.
pub(super) struct Known {
    state: Arc<State>,
    key: ObjectKey,
    kind: KindRef,
    version: Name,
    form: Form,
    /// If the request is about the scale alone.
    scale: Option<Arc<Version>>,
}

impl Known {
    pub(super) fn of(request: &ResourceRequest) -> Self {
        let scale = request.is_scale().then(|| Arc::clone(&request.version));
        Self {
            state: Arc::clone(&request.state),
            key: request.key(),
            kind: Arc::clone(&request.kind),
            version: Arc::clone(&request.version.name),
            form: request.form.clone(),
            scale,
        }
    }

    /// The paths of unknown fields in a whole object.
    pub(super) fn unknown(&self, document: &Value) -> Vec<String> {
        let schema = if self.scale.is_some() {
            Some(scale::schema())
        } else {
            let found = self.state.kinds.schema(&self.kind, &self.version);
            found.map(|schema| &**schema)
        };
        schema.map_or_else(Vec::new, |schema| schema.prune(&mut document.clone()))
    }

    /// The paths of unknown fields in what a patch makes of the object as it is now.
    pub(super) fn unknown_after(&self, change: &Patch) -> Vec<String> {
        let live = self.state.get(&self.key).and_then(|stored| {
            if let Some(version) = &self.scale {
                return scale::scale_for_patch(version, &self.form.object(stored));
            }
            Some(self.form.document(stored))
        });
        let next = live.and_then(|live| patch::apply(&live, change).ok());
        next.map_or_else(Vec::new, |next| self.unknown(&next))
    }
}
