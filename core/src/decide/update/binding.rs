//! The `pods/binding` subresource: the only way to assign a pod to a node. Source:
//! `pkg/registry/core/pod/storage`.

use super::{same_identity, version_allows};
use crate::command::Update;
use crate::decide::coordinates::same_coordinates;
use crate::decide::{Context, conditions, decode, namespace_of_new, prepare, warned};
use crate::document::{member_or_insert, object_or_insert};
use crate::kind::{Kind, Subresource};
use crate::object::{Object, ObjectKey};
use crate::rejection::FieldCause;
use crate::{Decision, GroupResource, Outcome, Rejection};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Reads the posted `Binding`, and binds the pod that it is posted to.
pub(super) fn bind(
    context: Context<'_>,
    kind: &Kind,
    intent: Update,
) -> Result<Decision, Rejection> {
    let (key, to) = (&intent.key, Subresource::Binding);
    let mut binding = intent.object;
    let kinds = &context.state.kinds;
    let unknown = decode::prune_posted(kinds, to, intent.validation, &mut binding)?;
    let bound = bind_to(context, kind, key, &mut binding);
    warned(bound, context.warnings(unknown))
}

fn bind_to(
    context: Context<'_>,
    kind: &Kind,
    key: &ObjectKey,
    binding: &mut Value,
) -> Result<Decision, Rejection> {
    let to = Subresource::Binding;
    let metadata = prepare::metadata(binding)?;
    same_coordinates(metadata, key)?;
    namespace_of_new(context.state, key, &key.name)?;
    let found = context.state.get(key);
    let stored = found.ok_or_else(|| Rejection::not_found(key))?;
    same_identity(stored, metadata)?;
    version_allows(kind, stored, metadata, Some(to))?;
    Pod { context, stored }.bind(binding)
}

struct Pod<'a> {
    context: Context<'a>,
    stored: &'a Arc<Object>,
}

impl Pod<'_> {
    /// Writes the node of the `Binding` into the pod, and adds the annotations and labels of the `Binding`.
    fn bind(&self, binding: &Value) -> Result<Decision, Rejection> {
        let node = self.node(binding)?;
        let mut pod = self.stored.document();
        self.is_free(&pod)?;
        for texts in ["annotations", "labels"] {
            let sent = binding
                .pointer("/metadata")
                .and_then(|sent| sent.get(texts));
            if let Some(Value::Object(sent)) = sent {
                let own = object_or_insert(prepare::metadata(&mut pod)?, texts);
                if let Some(own) = own {
                    own.extend(sent.clone());
                }
            }
        }
        let now = self.context.envelope.time.to_rfc3339();
        let spec = pod.as_object_mut();
        if let Some(spec) = spec.and_then(|root| object_or_insert(root, "spec")) {
            spec.insert("nodeName".into(), node.into());
        }
        if let Some(status) = conditions::status(&mut pod) {
            scheduled(status, &now);
        }
        let (object, commit) = self.context.updated(self.stored, pod, Vec::new())?;
        Ok(Decision::new(vec![commit], Outcome::Updated(object)))
    }

    fn node(&self, binding: &Value) -> Result<String, Rejection> {
        let text = |pointer: &str| binding.pointer(pointer).and_then(Value::as_str);
        let (kind, name) = (text("/target/kind"), text("/target/name"));
        let mut causes = Vec::new();
        if let Some(other) = kind.filter(|kind| !matches!(*kind, "" | "Node")) {
            let supported = ["Node", "<empty>"];
            causes.push(FieldCause::not_supported("target.kind", other, &supported));
        }
        match name.filter(|name| !name.is_empty()) {
            Some(name) if causes.is_empty() => return Ok(name.to_owned()),
            Some(_) => {}
            None => causes.push(FieldCause::required("target.name", "")),
        }
        Err(Rejection::Invalid {
            group: "".into(),
            kind: "Binding".into(),
            name: self.stored.key.name.clone(),
            causes,
        })
    }

    /// Refuses to bind a pod that is being deleted, has a node, or waits at a scheduling gate.
    fn is_free(&self, pod: &Value) -> Result<(), Rejection> {
        let name = &self.stored.key.name;
        let node = pod.pointer("/spec/nodeName").and_then(Value::as_str);
        let gates = pod
            .pointer("/spec/schedulingGates")
            .and_then(Value::as_array);
        let reason = match node.filter(|node| !node.is_empty()) {
            _ if self.stored.is_deleting() => {
                format!("pod {name} is being deleted, cannot be assigned to a host")
            }
            Some(node) => format!("pod {name} is already assigned to node \"{node}\""),
            None if gates.is_some_and(|gates| !gates.is_empty()) => {
                format!("pod {name} has non-empty .spec.schedulingGates")
            }
            None => return Ok(()),
        };
        Err(Rejection::Conflict {
            resource: GroupResource::new("", "pods/binding"),
            name: name.clone(),
            reason,
        })
    }
}

/// Sets the condition `PodScheduled` to true, and removes the nominated node.
fn scheduled(status: &mut Map<String, Value>, now: &str) {
    status.remove("nominatedNodeName");
    let conditions = member_or_insert(status, "conditions", json!([]));
    if let Some(list) = conditions.as_array_mut() {
        list.retain(|one| one.get("type") != Some(&json!("PodScheduled")));
        list.push(json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now}));
    }
}
