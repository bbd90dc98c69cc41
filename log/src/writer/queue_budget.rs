//! Limits the memory of unanswered submissions: it is counted when one is handed in and released with its
//! answer.

use hindsight_core::command::{Command, Intent, Patch, PatchObject};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes held by unanswered submissions from which on no more are let in. The last one let in may be of
/// any size; otherwise a large one would starve while small ones keep coming.
pub(super) const QUEUE_BYTES_MAX: usize = 64 << 20;
/// What a command takes besides its document: its commit and its answer.
const COMMAND_BYTES: usize = 1 << 10;
/// The maps of JSON objects allocate B-tree nodes of about this size, each at least half full.
const NODE_BYTES: usize = 640;
const NODE_MEMBERS_MIN: usize = 6;

/// Counts the bytes of unanswered submissions.
#[derive(Debug, Default)]
pub(super) struct QueueBudget(Arc<AtomicUsize>);

/// The bytes reserved for one submission, until it is dropped.
pub(super) struct Reserved {
    held: Arc<AtomicUsize>,
    bytes: usize,
    is_only: bool,
}

impl Reserved {
    /// Whether nothing else was reserved when it was taken.
    pub(super) const fn is_only(&self) -> bool {
        self.is_only
    }
}

impl QueueBudget {
    /// Reserves memory for these commands; `None` if too much is waiting.
    pub(super) fn reserve(&self, commands: &[Command]) -> Option<Reserved> {
        let bytes = commands.iter().map(size).sum();
        let add = |held: usize| (held < QUEUE_BYTES_MAX).then(|| held.saturating_add(bytes));
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        taken.ok().map(|held| Reserved {
            held: Arc::clone(&self.0),
            bytes,
            is_only: held == 0,
        })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

fn size(command: &Command) -> usize {
    let admitted = command.admitted.as_ref();
    let admitted = admitted.and_then(|admitted| admitted.object.as_ref());
    let origin = command.request.uri.len() + command.request.user_agent.len();
    COMMAND_BYTES + origin + documents(&command.intent) + admitted.map_or(0, heap)
}

fn documents(intent: &Intent) -> usize {
    let complaint = match intent {
        Intent::Patch(PatchObject {
            patch: Patch::Apply { complaint, .. },
            ..
        }) => complaint.as_ref(),
        _ => None,
    };
    intent.document().map_or(0, heap) + complaint.map_or(0, String::len)
}

/// Roughly the heap memory of a document, in bytes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::command::{Create, FieldValidation};
    use hindsight_core::{Actor, GroupResource, ObjectKey, Request, Time};

    fn create(bytes: usize) -> Vec<Command> {
        let intent = Intent::Create(Create {
            key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", ""),
            version: "v1".into(),
            object: Value::String("v".repeat(bytes)),
            validation: FieldValidation::Ignore,
        });
        let actor = Arc::new(Actor::new("t"));
        vec![Command::new(actor, Time(0), [0; 16], intent)]
    }

    #[test]
    fn where_it_comes_from_counts_too() {
        let mut long = create(1);
        long[0].request = Arc::new(Request {
            uri: "v".repeat(QUEUE_BYTES_MAX / 2),
            user_agent: "v".repeat(QUEUE_BYTES_MAX / 2),
            ..Request::default()
        });
        let budget = QueueBudget::default();
        let _held = budget.reserve(&long).expect("room");
        assert!(budget.reserve(&create(1)).is_none());
    }

    #[test]
    fn what_is_large_is_let_in_beside_what_is_small_and_then_nothing_is() {
        let (budget, small, large) = (QueueBudget::default(), create(1), create(QUEUE_BYTES_MAX));
        let first = budget.reserve(&small).expect("room");
        assert!(first.is_only());
        let huge = budget.reserve(&large).expect("it need not be alone");
        assert!(budget.reserve(&small).is_none());
        drop(first);
        assert!(budget.reserve(&small).is_none());
        drop(huge);
        assert!(budget.reserve(&small).is_some_and(|next| next.is_only()));
    }
}
