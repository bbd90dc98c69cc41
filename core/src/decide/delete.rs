//! Deletion requests: options give a policy, the policy gives finalizers, and the finalizers decide between
//! marking and removal. Source: semantics of upstream's `registry/generic/registry/store.go` and
//! `rest/delete.go`.

mod grace;
mod ground;
mod namespace;
mod owners;
mod policy;
pub(super) mod precondition;
pub(crate) mod removal;
pub(crate) use policy::write_finalizers;
#[cfg(test)]
mod tests;

use super::Context;
use super::commit::Written;
use super::conditions::{self, Condition};
use crate::command::{Delete, Propagation};
use crate::document::metadata_mut;
use crate::event::{Event, OwnerFinding};
use crate::hold::has_contents;
use crate::kind::{Kind, Shape};
use crate::object::{
    DEFINITION_FINALIZER, Name, Object, ObjectKey, is_collector_finalizer, spec_finalizers,
};
use crate::{Decision, Outcome, Rejection, Rule};
use grace::Grace;
pub use grace::admission_grace;
use serde_json::{Value, json};
use std::sync::Arc;

/// Priority classes that the scheduler depends on; no request may delete one by name. Source: the
/// `SystemPriorityClasses` that upstream's storage of priority classes checks first.
const SYSTEM_CLASSES: [&str; 2] = ["system-node-critical", "system-cluster-critical"];

pub(crate) fn delete(context: Context<'_>, intent: &Delete) -> Result<Decision, Rejection> {
    let key = &intent.target.key;
    refuse_system_class(intent)?;
    let missing = || Rejection::not_found(key);
    let kind = context
        .state
        .kinds
        .by_resource(&key.resource)
        .ok_or_else(missing)?;
    let object = context.state.get(key).ok_or_else(missing)?;
    precondition::check(intent, object, kind)?;
    ground::check(&context, intent, object)?;
    let planned = intent.basis.as_ref();
    let deletion = Deletion {
        context: planned.map_or(context, |basis| context.because_of(basis, object)),
        intent,
        kind,
        object,
    };
    let shape = kind.strategy.shape;
    if shape == Shape::Namespace && !deletion.is_emptied_namespace() {
        return namespace::mark(&deletion);
    }
    if shape == Shape::Definition && !object.is_deleting() {
        return deletion.mark_definition();
    }
    deletion.decide()
}

fn refuse_system_class(intent: &Delete) -> Result<(), Rejection> {
    let ObjectKey { resource, name, .. } = &intent.target.key;
    let is_class =
        (&*resource.group, &*resource.resource) == ("scheduling.k8s.io", "priorityclasses");
    if intent.rule != Rule::Requested || !is_class || !SYSTEM_CLASSES.contains(&&**name) {
        return Ok(());
    }
    Err(Rejection::Forbidden {
        resource: resource.clone(),
        name: Arc::clone(name),
        reason: "this is a system priority class and cannot be deleted".into(),
        causes: Vec::new(),
    })
}

/// A deletion request with everything that its decision reads.
struct Deletion<'a> {
    context: Context<'a>,
    intent: &'a Delete,
    kind: &'a Kind,
    object: &'a Arc<Object>,
}

impl Deletion<'_> {
    fn decide(&self) -> Result<Decision, Rejection> {
        let owners = owners::verified(self.context, self.intent, self.object)?;
        let (asked, now) = (self.intent.grace_period_seconds, self.context.envelope.time);
        let grace = Grace::of(self.kind, self.object, asked, now);
        if grace == Grace::Pending {
            return Ok(self.unchanged());
        }
        let policy = policy::effective(self.intent, self.kind, self.object);
        let finalizers = policy::finalizers(self.object, policy);
        if finalizers.is_empty() && grace == Grace::None {
            return Ok(self.removed(policy, owners));
        }
        if finalizers.is_empty() && grace.seconds() == 0 {
            return self.marked_and_removed(policy, grace, owners);
        }
        self.marked(policy, &finalizers, grace, owners)
    }

    /// Removes the object in one step: nothing holds it.
    fn removed(&self, policy: Propagation, owners: Vec<OwnerFinding>) -> Decision {
        let revision = self.context.state.revision.next();
        let event = Event::ObjectDeleted {
            rule: self.rule_of(self.object, policy),
            owners,
            decided_at: self.context.state.revision,
        };
        let listed = self.object.meta.finalizers.iter();
        let replaced = listed.filter(|one| is_collector_finalizer(one));
        let commit = self.context.remove(self.object, revision, replaced, event);
        Decision::new(vec![commit], Outcome::Deleted(Arc::clone(self.object)))
    }

    /// Marks the object: a finalizer holds it, or it has time left to stop.
    fn marked(
        &self,
        policy: Propagation,
        finalizers: &[Name],
        grace: Grace,
        owners: Vec<OwnerFinding>,
    ) -> Result<Decision, Rejection> {
        let Some((object, commit)) = self.mark(policy, finalizers, grace, owners)? else {
            return Ok(self.unchanged());
        };
        Ok(Decision::new(vec![commit], Outcome::Deleting(object)))
    }

    /// Marks the object, then removes it: its kind has grace periods, but it needs none, like a pod on no node.
    fn marked_and_removed(
        &self,
        policy: Propagation,
        grace: Grace,
        owners: Vec<OwnerFinding>,
    ) -> Result<Decision, Rejection> {
        let Some((object, commit)) = self.mark(policy, &[], grace, owners.clone())? else {
            return Ok(self.unchanged());
        };
        let event = Event::ObjectDeleted {
            rule: self.rule_of(&object, policy),
            owners,
            decided_at: self.context.state.revision,
        };
        let revision = commit.revision.next();
        let removal = self.context.remove(&object, revision, [].iter(), event);
        Ok(Decision::new(
            vec![commit, removal],
            Outcome::Deleted(object),
        ))
    }

    /// The object with the mark of this request; `None` if it has that already.
    fn mark(
        &self,
        policy: Propagation,
        finalizers: &[Name],
        grace: Grace,
        owners: Vec<OwnerFinding>,
    ) -> Result<Option<Written>, Rejection> {
        let mut document = self.context.document(self.object);
        let changed = self.stamp(&mut document, finalizers, grace);
        if !changed {
            return Ok(None);
        }
        let extra = self.request_event(policy, Some(grace.seconds()), owners);
        self.write(document, extra).map(Some)
    }

    fn request_event(
        &self,
        policy: Propagation,
        grace_period_seconds: Option<i64>,
        owners: Vec<OwnerFinding>,
    ) -> Vec<Event> {
        vec![Event::DeletionRequested {
            rule: self.rule(policy),
            propagation: policy,
            grace_period_seconds,
            owners,
            decided_at: self.context.state.revision,
        }]
    }

    fn write(&self, document: Value, extra: Vec<Event>) -> Result<Written, Rejection> {
        self.context.updated(self.object, document, extra)
    }

    /// Writes the metadata of a deletion; false if all of it was there already.
    fn stamp(&self, document: &mut Value, finalizers: &[Name], grace: Grace) -> bool {
        let Some(metadata) = metadata_mut(document) else {
            return false;
        };
        let before = metadata.clone();
        write_finalizers(metadata, finalizers);
        let first = self.object.meta.deletion_timestamp.is_none();
        let when = grace.deletion_time(self.context.envelope.time);
        let in_the_future = self.object.meta.deletion_timestamp > Some(when);
        if first || in_the_future || grace.shortens() {
            metadata.insert("deletionTimestamp".into(), json!(when.to_rfc3339()));
        }
        metadata.insert("deletionGracePeriodSeconds".into(), json!(grace.seconds()));
        if first && self.object.meta.generation > 0 {
            metadata.insert(
                "generation".into(),
                json!(self.object.meta.next_generation()),
            );
        }
        *metadata != before
    }

    fn mark_definition(&self) -> Result<Decision, Rejection> {
        let owners = owners::verified(self.context, self.intent, self.object)?;
        let mut finalizers = self.object.meta.finalizers.to_vec();
        if !self.object.meta.has_finalizer(DEFINITION_FINALIZER) {
            finalizers.push(DEFINITION_FINALIZER.into());
        }
        let mut document = self.object.document();
        let now = self.context.envelope.time.to_rfc3339();
        if let Some(metadata) = metadata_mut(&mut document) {
            write_finalizers(metadata, &finalizers);
            metadata.insert("deletionTimestamp".into(), json!(now));
        }
        let why =
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        let pending = Condition::new_true("Terminating", "InstanceDeletionPending", why);
        conditions::set(&mut document, &pending, &now);
        let policy = policy::of_mark(&finalizers);
        let extra = self.request_event(policy, Some(Grace::None.seconds()), owners);
        let (object, commit) = self.write(document, extra)?;
        Ok(Decision::new(vec![commit], Outcome::Deleting(object)))
    }

    fn unchanged(&self) -> Decision {
        Decision::new(Vec::new(), Outcome::Deleting(Arc::clone(self.object)))
    }

    /// The rule of the mark, or of the request if there is no mark.
    fn rule_of(&self, object: &Object, policy: Propagation) -> Rule {
        object
            .mark
            .map_or_else(|| self.rule(policy), |mark| mark.rule)
    }

    /// The rule of this request: a client's depends on the policy, the collector's are kept.
    fn rule(&self, policy: Propagation) -> Rule {
        match (self.intent.rule, policy) {
            (Rule::Requested, Propagation::Foreground) => Rule::RequestedForeground,
            (Rule::Requested, Propagation::Orphan) => Rule::RequestedOrphan,
            (rule, _) => rule,
        }
    }

    /// Whether a namespace has no contents left, so that it is deleted like any other object.
    fn is_emptied_namespace(&self) -> bool {
        self.object.is_deleting()
            && spec_finalizers(&self.object.document()).is_empty()
            && !has_contents(self.context.state, self.object)
    }
}
