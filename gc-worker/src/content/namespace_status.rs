//! The status conditions of a namespace that cannot be removed yet. Source: upstream's namespace
//! controller, `deletion/status_condition_utils.go`; pods that remain are reported too.

#[cfg(test)]
mod tests;

use hindsight_core::conditions::since;
use hindsight_core::document::text;
use hindsight_core::object::Object;
use hindsight_core::{GroupResource, State, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A condition that tells whether the contents of a namespace hold it.
#[derive(Debug)]
struct NamespaceCondition {
    /// Its `type`.
    kind: &'static str,
    reason_if_well: &'static str,
    message_if_well: &'static str,
    /// Nothing here can make the others fail.
    reason_if_failing: Option<&'static str>,
}

/// The conditions of a namespace in deletion, in their order.
const NAMESPACE_CONDITIONS: [NamespaceCondition; 5] = [
    NamespaceCondition {
        kind: "NamespaceDeletionDiscoveryFailure",
        reason_if_well: "ResourcesDiscovered",
        message_if_well: "All resources successfully discovered",
        reason_if_failing: None,
    },
    NamespaceCondition {
        kind: "NamespaceDeletionGroupVersionParsingFailure",
        reason_if_well: "ParsedGroupVersions",
        message_if_well: "All legacy kube types successfully parsed",
        reason_if_failing: None,
    },
    NamespaceCondition {
        kind: "NamespaceDeletionContentFailure",
        reason_if_well: "ContentDeleted",
        message_if_well: "All content successfully deleted, may be waiting on finalization",
        reason_if_failing: None,
    },
    NamespaceCondition {
        kind: CONTENT_REMAINING,
        reason_if_well: "ContentRemoved",
        message_if_well: "All content successfully removed",
        reason_if_failing: Some("SomeResourcesRemain"),
    },
    NamespaceCondition {
        kind: FINALIZERS_REMAINING,
        reason_if_well: "ContentHasNoFinalizers",
        message_if_well: "All content-preserving finalizers finished",
        reason_if_failing: Some("SomeFinalizersRemain"),
    },
];
const CONTENT_REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS_REMAINING: &str = "NamespaceFinalizersRemaining";

/// The most kinds, and the most finalizers, that a condition names.
const NAMED_MAX: usize = 100;
/// The most bytes of what it says of each sort. While contents go one by one, the conditions are written again and again,
/// and the namespace has to hold them.
const NAMED_BYTES_MAX: usize = 16 << 10;

/// The conditions that the namespace should have, if they differ from its current ones.
pub(super) fn status_to_write(state: &State, namespace: &Object, now: Time) -> Option<Value> {
    let document = namespace.document();
    let current = document
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let current = current.map_or(&[][..], Vec::as_slice);
    let remaining = remaining(state, &namespace.key.name);
    let now = now.to_rfc3339();
    let is_reported = |kind: &str| NAMESPACE_CONDITIONS.iter().any(|one| one.kind == kind);
    let mut others: Vec<Value> = current
        .iter()
        .filter(|one| !is_reported(text(one, "type")))
        .cloned()
        .collect();
    let wanted = NAMESPACE_CONDITIONS.iter().map(|condition| {
        let message = remaining.get(condition.kind);
        let failing = message.filter(|message| !message.is_empty());
        let (status, reason, message) = match condition.reason_if_failing.zip(failing) {
            Some((reason, message)) => ("True", reason, message.as_str()),
            None => ("False", condition.reason_if_well, condition.message_if_well),
        };
        let before = current
            .iter()
            .find(|one| text(one, "type") == condition.kind)
            .and_then(Value::as_object);
        json!({"type": condition.kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": since(before, status, &now)})
    });
    others.extend(wanted);
    (others != current).then(|| json!({"status": {"conditions": others}}))
}

/// How the contents of the namespace with this name hold it, in the words of its conditions; empty if it has
/// none.
pub fn contents_remaining(state: &State, namespace: &str) -> Vec<String> {
    let mut remaining = remaining(state, namespace);
    let kinds = NAMESPACE_CONDITIONS.iter().map(|condition| condition.kind);
    let messages = kinds.filter_map(|kind| remaining.remove(kind));
    messages.filter(|message| !message.is_empty()).collect()
}

/// The messages of failing conditions, by type; empty if all is well.
fn remaining(state: &State, namespace: &str) -> BTreeMap<&'static str, String> {
    let mut resources: BTreeMap<&GroupResource, usize> = BTreeMap::new();
    let mut finalizers: BTreeMap<&str, usize> = BTreeMap::new();
    for object in state.contents(namespace) {
        *resources.entry(&object.key.resource).or_default() += 1;
        for finalizer in object.meta.finalizers.iter() {
            *finalizers.entry(finalizer).or_default() += 1;
        }
    }
    let line = |(of, count): (&GroupResource, usize)| {
        // The trailing dot of the core group is upstream's.
        let GroupResource { group, resource } = of;
        format!("{resource}.{group} has {count} resource instances")
    };
    let mut resources: Vec<String> = resources.into_iter().map(line).collect();
    resources.sort();
    let line =
        |(finalizer, count): (&str, usize)| format!("{finalizer} in {count} resource instances");
    let finalizers: Vec<String> = finalizers.into_iter().map(line).collect();
    BTreeMap::from([
        (
            CONTENT_REMAINING,
            message("Some resources are remaining: ", &resources),
        ),
        (
            FINALIZERS_REMAINING,
            message(
                "Some content in the namespace has finalizers remaining: ",
                &finalizers,
            ),
        ),
    ])
}

/// Names as many as there is room for, and counts the others.
fn message(head: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut bytes = 0;
    let has_room = |item: &&String| {
        bytes += item.len();
        bytes <= NAMED_BYTES_MAX
    };
    let named = items.iter().take(NAMED_MAX).take_while(has_room);
    let named: Vec<&str> = named.map(String::as_str).collect();
    let more = match items.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{head}{}{more}", named.join(", "))
}
