//! How much memory a write takes: while it is decided, and while its webhooks are waited for. A patch of a few bytes
//! is as much as the object that it changes.

use crate::request::ResourceRequest;
use hindsight_core::command::{Patch, PatchObject};
use hindsight_core::webhook::{Webhook, WriteAttributes};
use hindsight_core::{Command, Intent, ObjectKey, State};
use http::Method;
use serde_json::Value;

/// How many times an object is held besides what each webhook is sent: as a tree, and in the command.
pub(super) const COPIES: usize = 3;

/// About how many bytes deciding a command reads, where the body of its request is so long. By its aliases YAML may
/// say much more than its length.
pub(super) fn decided_bytes(state: &State, command: &Command, body: usize, is_yaml: bool) -> usize {
    let stored = |key| state.get(key).map_or(0, |stored| stored.body.len());
    let said = said(&command.intent).filter(|_| is_yaml);
    let body = body.max(said.map_or(0, length));
    match &command.intent {
        Intent::Patch(patch) => body + stored(&patch.key),
        Intent::Update(update) => body.max(stored(&update.key)),
        Intent::Delete(delete) | Intent::Evict(delete) => body.max(stored(&delete.target.key)),
        _ => body,
    }
}

/// What deciding a command counts as where others would wait for it: the rules and patterns of a definition may cost
/// seconds, however short an object is.
pub(super) fn computed_bytes(state: &State, command: &Command, decided: usize) -> usize {
    let kind = written(&command.intent).and_then(|key| state.kinds.by_resource(&key.resource));
    if kind.is_some_and(|kind| kind.is_long_to_check()) {
        usize::MAX
    } else {
        decided
    }
}

/// The key of what a command would write.
pub(super) const fn written(intent: &Intent) -> Option<&ObjectKey> {
    match intent {
        Intent::Create(create) => Some(&create.key),
        Intent::Update(update) => Some(&update.key),
        Intent::Patch(patch) => Some(&patch.key),
        _ => None,
    }
}

/// What the body of the request said.
fn said(intent: &Intent) -> Option<&Value> {
    match intent {
        Intent::Create(create) => Some(&create.object),
        Intent::Update(update) => Some(&update.object),
        Intent::Patch(PatchObject {
            patch: Patch::Apply { config, .. },
            ..
        }) => Some(config),
        _ => None,
    }
}

/// About how long a document is as JSON.
pub(super) fn length(document: &Value) -> usize {
    match document {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 3,
        Value::Array(items) => 2 + items.iter().map(length).sum::<usize>(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| name.len() + 4 + length(value);
            2 + members.iter().map(member).sum::<usize>()
        }
    }
}

/// About how many bytes a request holds while webhooks are asked about it; zero if none is. The mutating ones are
/// asked one after the other, the validating ones at once.
pub(crate) fn waiting_bytes(request: &ResourceRequest, body: usize) -> usize {
    let State {
        webhooks, kinds, ..
    } = &*request.state;
    if webhooks.is_empty() {
        return 0;
    }
    let operations: &[&str] = match request.method {
        Method::POST => &["CREATE"],
        Method::DELETE => &["DELETE"],
        _ => &["CREATE", "UPDATE"],
    };
    let is_asked = |webhook: &&Webhook| {
        operations.iter().any(|operation| {
            let write = WriteAttributes {
                operation,
                kind: &request.kind,
                cohabitant: kinds.cohabitant(&request.kind),
                version: &request.version.name,
                subresource: request.subresource,
            };
            webhook.match_write(&write).is_some()
        })
    };
    let at_once = webhooks.validating().filter(is_asked).count();
    let at_once = at_once.max(webhooks.mutating().filter(is_asked).take(1).count());
    if at_once == 0 {
        return 0;
    }
    let stored = request.stored_bytes();
    let new = match request.method {
        Method::PATCH => stored + body,
        _ => body,
    };
    (stored + new).saturating_mul(COPIES + at_once)
}
