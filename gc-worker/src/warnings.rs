//! Warns of references to an owner in another namespace, with an `Event` about the dependent. Source:
//! upstream's graph builder, `addDependentToOwners` and `reportInvalidNamespaceOwnerRef`.

mod doubts;
#[cfg(test)]
mod tests;

use crate::identity::Identity;
use crate::steps::Step;
pub(crate) use doubts::Doubts;
use hindsight_core::command::{Create, FieldValidation, Intent};
use hindsight_core::kind::Kinds;
use hindsight_core::validate::is_subdomain;
use hindsight_core::{
    Cause, Change, GroupResource, Object, ObjectKey, OwnerReference, State, Time, Uid,
};
use hindsight_projector::OwnershipGraph;
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The namespace of events about cluster-scoped objects.
const DEFAULT_NAMESPACE: &str = "default";
/// The most warnings that wait; upstream's recorder drops what exceeds its limit as well.
const WARNINGS_MAX: usize = 1 << 16;
const UID_CHARACTERS: usize = 8;
const COMPONENT: &str = "garbage-collector-controller";

/// References that have yet to be checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings {
    waiting: VecDeque<Warning>,
    doubts: Doubts,
}

/// References of one dependent whose owners exist now, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Warning {
    dependent: Arc<Object>,
    named: Vec<(OwnerReference, Arc<Object>)>,
}

impl Warnings {
    /// Checks a change; `graph` already contains it.
    pub(crate) fn note(&mut self, change: &Change, graph: &OwnershipGraph) {
        let commit = &change.commit;
        let Some(object) = commit.object() else {
            return;
        };
        self.check(object, added(change, object), graph);
        if change.previous.is_some() {
            return;
        }
        for (_, dependent) in graph.dependents(&commit.uid) {
            let mut references = dependent.owners().iter();
            let reference = references.find(|one| one.uid == commit.uid);
            self.check(dependent, reference.into_iter(), graph);
        }
    }

    /// Checks an object that exists when a collector begins: every reference with a wrong namespace. If
    /// it was reported not long ago, the event exists under the same name. If that is gone, the log is read
    /// back to where it was: see [`Self::doubts`].
    pub(crate) fn begin(&mut self, state: &State, object: &Arc<Object>, graph: &OwnershipGraph) {
        let Some(all) = Warning::of(object, object.owners().iter(), graph) else {
            return;
        };
        let kinds = &state.kinds;
        let correct_owners = all
            .named
            .iter()
            .filter(|named| !all.looks_wrong(kinds, named));
        let correct_owners = Arc::new(
            correct_owners
                .map(|(reference, _)| reference.uid.clone())
                .collect(),
        );
        for named in &all.named {
            let warning = Warning {
                dependent: Arc::clone(object),
                named: vec![named.clone()],
            };
            let Some(owner) = warning.first_misplaced(kinds) else {
                continue;
            };
            let report_key = warning.report_key(owner);
            if state.get(&report_key).is_none() {
                let pair = (object.meta.uid.clone(), owner.uid.clone());
                self.doubts
                    .add(report_key, pair, Arc::clone(&correct_owners));
                self.push(warning);
            }
        }
        let owners = object.owners().iter();
        for owner in owners.filter(|owner| graph.object(&owner.uid).is_none()) {
            self.doubts.add_missing_owner(owner.uid.clone());
        }
    }

    /// The doubts about objects that existed when the collector began. Reading the log backward clears
    /// them up.
    pub(crate) fn doubts(&mut self) -> Doubts {
        std::mem::take(&mut self.doubts)
    }

    /// Drops the warnings that were given before.
    pub(crate) fn forget(&mut self, doubts: &Doubts) {
        self.waiting.retain(|warning| {
            let dependent = &warning.dependent.meta.uid;
            let mut owners = warning.named.iter().map(|(reference, _)| &reference.uid);
            !owners.any(|owner| doubts.is_settled(&(dependent.clone(), owner.clone())))
        });
    }

    fn check<'a>(
        &mut self,
        dependent: &Arc<Object>,
        references: impl Iterator<Item = &'a OwnerReference>,
        graph: &OwnershipGraph,
    ) {
        if let Some(warning) = Warning::of(dependent, references, graph) {
            self.push(warning);
        }
    }

    /// Queues a warning; beyond the limit, the oldest is dropped.
    pub(crate) fn push(&mut self, warning: Warning) {
        if self.waiting.len() == WARNINGS_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(warning);
    }

    /// The next warnings, with their steps.
    pub(crate) fn take(&mut self, state: &State, now: Time, limit: usize) -> Vec<(Warning, Step)> {
        let count = limit.min(self.waiting.len());
        let next = self.waiting.drain(..count);
        let due = next.filter_map(|warning| {
            let step = warning.step(&state.kinds, now)?;
            Some((warning, step))
        });
        due.collect()
    }
}

/// References to owners that the object did not refer to before; not those that only changed.
fn added<'a>(change: &'a Change, object: &'a Object) -> impl Iterator<Item = &'a OwnerReference> {
    let before = change.previous.as_ref().map_or(&[][..], |one| one.owners());
    let before: BTreeSet<&Uid> = before.iter().map(|one| &one.uid).collect();
    let owners = object.owners().iter();
    owners.filter(move |one| !before.contains(&one.uid))
}

/// The version in which discovery shows an object.
fn api_version(kinds: &Kinds, object: &Object) -> String {
    let kind = kinds.by_resource(&object.key.resource);
    let preferred = kind.and_then(|kind| Some(kind.api_version(&kind.versions.first()?.name)));
    preferred.unwrap_or_else(|| (*object.type_meta.api_version).into())
}

/// Whether the graph of upstream's collector contains it.
fn is_collected(kinds: &Kinds, object: &Object) -> bool {
    let kind = kinds.by_resource(&object.key.resource);
    kind.is_none_or(|kind| kind.strategy.collected)
}

impl Warning {
    /// A warning, if one of these references may have to be reported.
    fn of<'a>(
        dependent: &Arc<Object>,
        references: impl Iterator<Item = &'a OwnerReference>,
        graph: &OwnershipGraph,
    ) -> Option<Self> {
        let named = references.filter_map(|reference| {
            let owner = graph.object(&reference.uid)?;
            Some((reference.clone(), Arc::clone(owner)))
        });
        let named: Vec<_> = named.collect();
        let mut owners = named.iter().map(|(_, owner)| owner);
        let is_elsewhere = owners.any(|owner| !dependent.key.reaches(&owner.key.namespace));
        is_elsewhere.then(|| Self {
            dependent: Arc::clone(dependent),
            named,
        })
    }

    /// The reference to report: at most one event. It shows the first reference with the owner's uid.
    fn misplaced(&self, kinds: &Kinds) -> Option<&OwnerReference> {
        let reference = self.first_misplaced(kinds)?;
        let mut all = self.dependent.owners().iter();
        all.find(|one| one.uid == reference.uid)
    }

    /// The first reference that looks wrong, if what is wrong is its namespace.
    fn first_misplaced(&self, kinds: &Kinds) -> Option<&OwnerReference> {
        let mut known = self.named.iter();
        let (reference, owner) = known.find(|named| self.looks_wrong(kinds, named))?;
        self.is_elsewhere(owner).then_some(reference)
    }

    fn looks_wrong(
        &self,
        kinds: &Kinds,
        (reference, owner): &(OwnerReference, Arc<Object>),
    ) -> bool {
        is_collected(kinds, owner)
            && (self.is_elsewhere(owner) || !is_named(kinds, reference, owner))
    }

    /// Whether an owner is in another namespace than the dependent.
    fn is_elsewhere(&self, owner: &Object) -> bool {
        !self.dependent.key.reaches(&owner.key.namespace)
    }

    fn step(&self, kinds: &Kinds, now: Time) -> Option<Step> {
        let owner = self.misplaced(kinds)?;
        let intent = Intent::Create(Create {
            key: self.event_key(""),
            version: "v1".into(),
            object: self.event(owner, kinds, now),
            validation: FieldValidation::Ignore,
        });
        let cause = Cause::Commit(self.dependent.revision);
        Some(Identity::GarbageCollector.step(intent, cause))
    }

    /// The key of the event that reports this reference.
    fn report_key(&self, owner: &OwnerReference) -> ObjectKey {
        self.event_key(&self.name(owner))
    }

    fn event_key(&self, name: &str) -> ObjectKey {
        let namespace = match &*self.dependent.key.namespace {
            "" => DEFAULT_NAMESPACE,
            home => home,
        };
        ObjectKey::new(GroupResource::new("", "events"), namespace, name)
    }

    fn event(&self, owner: &OwnerReference, kinds: &Kinds, now: Time) -> Value {
        let home = &self.dependent.key.namespace;
        let message = format!(
            "ownerRef [{}/{}, namespace: {home}, name: {}, uid: {}] does not exist in namespace \"{home}\"",
            owner.api_version, owner.kind, owner.name, owner.uid
        );
        let time = now.to_rfc3339();
        let mut involved = json!({"apiVersion": api_version(kinds, &self.dependent),
            "kind": &*self.dependent.type_meta.kind,
            "name": &*self.dependent.key.name, "uid": self.dependent.meta.uid.as_str()});
        if !home.is_empty()
            && let Some(members) = involved.as_object_mut()
        {
            members.insert("namespace".into(), (&**home).into());
        }
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": self.name(owner)},
            "involvedObject": involved, "reason": "OwnerRefInvalidNamespace", "message": message,
            "type": "Warning", "source": {"component": COMPONENT}, "count": 1,
            "firstTimestamp": time, "lastTimestamp": time,
            "reportingComponent": COMPONENT, "reportingInstance": "",
        })
    }

    /// The name of the event. It is the same whichever collector reports, whatever else has changed, so a
    /// repeated report collides with the first. Not every name of a dependent is valid at the beginning
    /// of an event's name.
    fn name(&self, owner: &OwnerReference) -> String {
        let dependent = &self.dependent.meta.uid;
        let pair = format!("{}{}", beginning(dependent), beginning(&owner.uid));
        let name = format!("{}.{pair}", self.dependent.key.name);
        if is_subdomain(&name) {
            name
        } else {
            format!("{dependent}.{pair}")
        }
    }
}

/// Enough of a uid to tell it from others.
fn beginning(uid: &Uid) -> &str {
    let text = uid.as_str();
    text.get(..UID_CHARACTERS).unwrap_or(text)
}

/// Whether a reference names its owner as the collector sees it, except for the namespace.
fn is_named(kinds: &Kinds, reference: &OwnerReference, owner: &Object) -> bool {
    reference.name == owner.key.name
        && reference.kind == owner.type_meta.kind
        && *reference.api_version == *api_version(kinds, owner)
}
