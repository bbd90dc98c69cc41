//! The memory of what waits to be written: counted when it is handed in, given back with its answer.

use hindsight_core::{Command, Intent, command::Patch};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that submissions may hold which have no answer yet; one that is larger goes alone.
pub(super) const QUEUE_BYTES_MAX: usize = 64 << 20;
/// What a command takes beside its document, with its commit and its answer.
const COMMAND_BYTES: usize = 1 << 10;
/// A map allocates nodes, each half full or more.
const NODE_BYTES: usize = 640;
const NODE_MEMBERS_MIN: usize = 6;

/// Counts what waits.
#[derive(Debug, Default)]
pub(super) struct Waiting(Arc<AtomicUsize>);

/// Room for one submission, until it is dropped.
pub(super) struct Slot {
    waiting: Arc<AtomicUsize>,
    bytes: usize,
    is_only: bool,
}

impl Slot {
    /// Whether nobody else was waiting when it was taken.
    pub(super) const fn is_only(&self) -> bool {
        self.is_only
    }
}

impl Waiting {
    /// Room for these; none where too much waits.
    pub(super) fn take(&self, commands: &[Command]) -> Option<Slot> {
        let bytes = commands.iter().map(size).sum();
        let add = |held: usize| {
            let together = held.saturating_add(bytes);
            (held == 0 || together <= QUEUE_BYTES_MAX).then_some(together)
        };
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        taken.ok().map(|held| Slot {
            waiting: Arc::clone(&self.0),
            bytes,
            is_only: held == 0,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

fn size(command: &Command) -> usize {
    COMMAND_BYTES + documents(&command.intent)
}

fn documents(intent: &Intent) -> usize {
    match intent {
        Intent::Create(create) => heap(&create.object),
        Intent::Update(update) => heap(&update.object),
        Intent::Patch(patch) => match &patch.patch {
            Patch::Json(document) | Patch::Merge(document) | Patch::Strategic(document) => {
                heap(document)
            }
            Patch::Apply {
                config, complaint, ..
            } => heap(config) + complaint.as_ref().map_or(0, String::len),
        },
        Intent::Admitted(admitted) => {
            // What admission let through is not inside another.
            let asked = match &admitted.intent {
                Intent::Admitted(_) => 0,
                inner => documents(inner),
            };
            asked + admitted.object.as_ref().map_or(0, heap)
        }
        Intent::Delete(_)
        | Intent::Evict(_)
        | Intent::DropOwners(_)
        | Intent::Unblock(_)
        | Intent::Release(_)
        | Intent::Untie(_)
        | Intent::FinalizeNamespace(_) => 0,
    }
}

/// What a document has allocated.
fn heap(document: &Value) -> usize {
    match document {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(items) => {
            items.capacity() * size_of::<Value>() + items.iter().map(heap).sum::<usize>()
        }
        Value::Object(members) => {
            let nodes = members.len().div_ceil(NODE_MEMBERS_MIN) * NODE_BYTES;
            let held = members
                .iter()
                .map(|(name, value)| name.capacity() + heap(value));
            nodes + held.sum::<usize>()
        }
    }
}
