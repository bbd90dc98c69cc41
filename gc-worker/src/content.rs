//! Deletes the contents of containers that are being deleted: the objects of a namespace, the instances
//! of a definition.

mod definition_status;
mod namespace_status;
#[cfg(test)]
mod tests;

use crate::identity::Identity;
use crate::steps::{Step, cause_of_mark, deletion, status_patch, target};
use hindsight_core::command::{Basis, Collect, Delete, FinalizeNamespace, Intent, Propagation};
use hindsight_core::object::{
    DEFINITION_FINALIZER, NAMESPACE_TOKEN, Object, ServerFinalizer, spec_finalizers,
};
use hindsight_core::{Cause, GroupResource, Rule, State, Time, Uid};
use hindsight_projector::OwnershipGraph;
pub use namespace_status::contents_remaining;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const BACKGROUND: Option<Propagation> = Some(Propagation::Background);

/// The steps that a container in deletion calls for; none if all that can be done for a namespace is to report in its
/// conditions what remains.
pub(crate) fn steps(state: &State, container: &Object, now: Time, limit: usize) -> Vec<Step> {
    if container.key.is_namespace() {
        removals(state, container, &cause_of_mark(container), limit)
    } else {
        of_definition(state, container, now, limit)
    }
}

/// Whether there is still something to be removed from a container in deletion: contents, or the token of
/// an empty namespace.
pub(crate) fn is_busy(state: &State, container: &Object) -> bool {
    if container.key.is_namespace() {
        !removals(state, container, &cause_of_mark(container), 1).is_empty()
    } else {
        container.key.is_definition() && !instances(state, container, 1).is_empty()
    }
}

/// Containers in deletion from which something is still to be removed.
pub(crate) fn emptying(graph: &OwnershipGraph, state: &State) -> BTreeSet<Uid> {
    let going = graph.objects().filter(|(_, object)| object.is_deleting());
    let busy = going.filter(|(_, object)| is_busy(state, object));
    busy.map(|(uid, _)| uid.clone()).collect()
}

/// The report of what remains in a namespace for which nothing more can be done, unless its conditions say so already.
pub(crate) fn report_of(state: &State, namespace: &Object, now: Time) -> Option<Step> {
    let status = namespace_status::status_to_write(state, namespace, now)?;
    Some(report(Identity::NamespaceController, namespace, status))
}

/// Reports in its conditions that the instances are being deleted, and deletes them.
fn of_definition(state: &State, definition: &Object, now: Time, limit: usize) -> Vec<Step> {
    let status = definition_status::status_to_write(state, definition, now);
    let mut steps: Vec<Step> = status
        .map(|status| report(Identity::ApiServer, definition, status))
        .into_iter()
        .collect();
    let room = limit.saturating_sub(steps.len());
    steps.extend(instances(state, definition, room));
    steps
}

/// Writes this status. With the uid, because another object may have the container's key by then, and a
/// merge patch has no other precondition.
fn report(by: Identity, container: &Object, mut status: Value) -> Step {
    if let Some(root) = status.as_object_mut() {
        let uid = container.meta.uid.as_str();
        root.insert("metadata".into(), json!({"uid": uid}));
    }
    by.step(
        status_patch(&container.key, status),
        cause_of_mark(container),
    )
}

/// Pods first, as long as there are any; then everything else; then the namespace itself.
fn removals(state: &State, namespace: &Object, cause: &Cause, limit: usize) -> Vec<Step> {
    let name = &namespace.key.name;
    if state.population(name) == 0 && waits_for_contents(namespace) {
        let intent = Intent::Collect(Collect::FinalizeNamespace(FinalizeNamespace {
            target: target(&namespace.key, &namespace.meta.uid),
        }));
        return vec![Identity::NamespaceController.step(intent, cause.clone())];
    }
    let why = Why {
        by: Identity::NamespaceController,
        rule: Rule::NamespaceDeleted,
        cause,
    };
    let pods = GroupResource::new("", "pods");
    if state.list(&pods, Some(name)).next().is_some() {
        let pods = state
            .list(&pods, Some(name))
            .filter(|pod| is_left_to_delete(pod));
        return deletions(state, pods, why, BACKGROUND, limit);
    }
    // An object whose kind has no definition cannot be deleted; the conditions report it. A kind without
    // a served version does have a definition, and its objects are deleted.
    let is_defined = |object: &Object| state.kinds.by_resource(&object.key.resource).is_some();
    let contents = state.contents(name);
    let contents = contents.filter(|object| is_left_to_delete(object) && is_defined(object));
    deletions(state, contents, why, BACKGROUND, limit)
}

/// Whether a background deletion would still change it: it is live, or waits for its dependents. Upstream
/// deletes the whole collection again in each of its rounds.
fn is_left_to_delete(object: &Object) -> bool {
    let waits = object.is_waiting() || object.is_orphaning();
    let stops = object.meta.deletion_grace_period_seconds > Some(0);
    !object.is_deleting() || (waits && !stops)
}

/// Whether the namespace can be finalized once it is empty: it has our token, or no tokens and no
/// finalizers at all.
fn waits_for_contents(namespace: &Object) -> bool {
    let document = namespace.document();
    let tokens = spec_finalizers(&document);
    let is_ours = |token: &Value| token.as_str() == Some(NAMESPACE_TOKEN);
    let is_free = tokens.is_empty() && namespace.meta.finalizers.is_empty();
    is_free || tokens.iter().any(is_ours)
}

/// Deletes every instance, without a propagation policy, so that its own finalizers determine what
/// happens to its dependents. Instances that wait for their dependents are deleted in the background: the
/// dependents may wait for the definition.
fn instances(state: &State, definition: &Object, limit: usize) -> Vec<Step> {
    let cause = cause_of_mark(definition);
    let why = Why {
        by: Identity::ApiServer,
        rule: Rule::CrdDeleted,
        cause: &cause,
    };
    let instances = state.instances(&definition.key);
    let live = instances.filter(|object| !object.is_deleting());
    let mut steps = deletions(state, live, why, None, limit);
    let instances = state.instances(&definition.key);
    let waiting = instances.filter(|object| object.is_waiting());
    let room = limit.saturating_sub(steps.len());
    steps.extend(deletions(state, waiting, why, BACKGROUND, room));
    steps
}

/// The release of a definition in deletion that has no instances left.
pub(crate) fn release_of(state: &State, definition: &Object) -> Option<Step> {
    let has_cleanup = definition.meta.has_finalizer(DEFINITION_FINALIZER);
    if !has_cleanup || state.instances(&definition.key).next().is_some() {
        return None;
    }
    let basis = Basis::at(state.revision);
    Some(Identity::ApiServer.release(definition, ServerFinalizer::Definition, basis))
}

/// On whose behalf contents are deleted.
#[derive(Clone, Copy)]
struct Why<'a> {
    by: Identity,
    rule: Rule,
    cause: &'a Cause,
}

fn deletions<'a>(
    state: &State,
    objects: impl Iterator<Item = &'a Arc<Object>>,
    why: Why<'_>,
    propagation: Option<Propagation>,
    limit: usize,
) -> Vec<Step> {
    let step = |object: &Arc<Object>| {
        let target = target(&object.key, &object.meta.uid);
        let delete = Delete {
            propagation,
            ..deletion(state, target, why.rule)
        };
        why.by.step(Intent::Delete(delete), why.cause.clone())
    };
    objects.take(limit).map(step).collect()
}
