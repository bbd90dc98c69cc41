//! References to an owner in another namespace: the dependent is told by an `Event`. Source:
//! upstream's graph builder, `reportInvalidNamespaceOwnerRef`.

use crate::plan::Step;
use hindsight_core::command::{Create, FieldValidation, Intent};
use hindsight_core::{Cause, Change, Event, GroupResource, ObjectKey, Revision, State, Time, Uid};
use hindsight_projector::OwnershipGraph;
use serde_json::json;
use std::collections::VecDeque;

/// Where events about cluster-scoped objects live.
const DEFAULT_NAMESPACE: &str = "default";
const COMPONENT: &str = "garbage-collector-controller";

/// Warnings that have yet to be written.
#[derive(Debug, Default)]
pub(crate) struct Warnings(VecDeque<Warning>);

#[derive(Debug)]
struct Warning {
    dependent: ObjectKey,
    uid: Uid,
    owner: Uid,
    seen: Revision,
}

impl Warnings {
    /// Looks at a change; `graph` has taken it in already.
    pub(crate) fn note(&mut self, change: &Change, graph: &OwnershipGraph) {
        let commit = &change.commit;
        let Some(object) = commit.object() else {
            return;
        };
        if let Some(owner) = misplaced(change, graph) {
            self.push(&object.key, &commit.uid, owner, commit.revision);
        }
        if change.previous.is_some() {
            return;
        }
        for (uid, node) in graph.dependents(&commit.uid) {
            if is_elsewhere(&object.key, node.key()) {
                self.push(node.key(), uid, &commit.uid, commit.revision);
            }
        }
    }

    fn push(&mut self, dependent: &ObjectKey, uid: &Uid, owner: &Uid, seen: Revision) {
        self.0.push_back(Warning {
            dependent: dependent.clone(),
            uid: uid.clone(),
            owner: owner.clone(),
            seen,
        });
    }

    /// The next few, as commands.
    pub(crate) fn take(&mut self, state: &State, now: Time, limit: usize) -> Vec<Step> {
        let count = limit.min(self.0.len());
        let warnings = self.0.drain(..count);
        warnings
            .filter_map(|warning| warning.step(state, now))
            .collect()
    }
}

/// The owner in another namespace that a change added; only the first reference that looks wrong
/// is looked at, as upstream.
fn misplaced<'a>(change: &'a Change, graph: &OwnershipGraph) -> Option<&'a Uid> {
    let adds =
        |event: &Event| matches!(event, Event::OwnerAdded { .. } | Event::OwnerChanged { .. });
    let object = change.commit.object()?;
    if !change.commit.events.iter().any(adds) {
        return None;
    }
    let mut wrong = object.owners().iter().filter_map(|owner| {
        let found = graph.node(&owner.uid)?.key();
        let elsewhere = is_elsewhere(found, &object.key);
        (elsewhere || found.name != owner.name)
            .then_some((owner, elsewhere && found.name == owner.name))
    });
    let (owner, only_elsewhere) = wrong.next()?;
    only_elsewhere.then_some(&owner.uid)
}

fn is_elsewhere(owner: &ObjectKey, dependent: &ObjectKey) -> bool {
    !owner.namespace.is_empty() && owner.namespace != dependent.namespace
}

impl Warning {
    fn step(&self, state: &State, now: Time) -> Option<Step> {
        let dependent = state
            .get(&self.dependent)
            .filter(|object| object.meta.uid == self.uid)?;
        let mut owners = dependent.meta.owner_references.iter();
        let owner = owners.find(|owner| owner.uid == self.owner)?;
        let home = &self.dependent.namespace;
        let namespace = if home.is_empty() {
            DEFAULT_NAMESPACE
        } else {
            home
        };
        let message = format!(
            "ownerRef [{}/{}, namespace: {home}, name: {}, uid: {}] does not exist in namespace \"{home}\"",
            owner.api_version, owner.kind, owner.name, owner.uid
        );
        let time = now.to_rfc3339();
        let mut involved = json!({"apiVersion": &*dependent.type_meta.api_version,
            "kind": &*dependent.type_meta.kind,
            "name": &*self.dependent.name, "uid": self.uid.as_str()});
        if !home.is_empty()
            && let Some(members) = involved.as_object_mut()
        {
            members.insert("namespace".into(), (&**home).into());
        }
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": format!("{}.{:x}", self.dependent.name, self.seen.0)},
            "involvedObject": involved, "reason": "OwnerRefInvalidNamespace", "message": message,
            "type": "Warning", "source": {"component": COMPONENT}, "count": 1,
            "firstTimestamp": time, "lastTimestamp": time,
            "reportingComponent": COMPONENT, "reportingInstance": "",
        });
        Some(Step {
            intent: Intent::Create(Create {
                key: ObjectKey::new(GroupResource::new("", "events"), namespace, ""),
                version: "v1".into(),
                object: event,
                validation: FieldValidation::Ignore,
            }),
            cause: Cause::Commit(self.seen),
        })
    }
}
