//! What goes because its container goes: the objects of a namespace, the instances of a definition.

use crate::conditions;
use crate::plan::{Step, cause_of_mark, target};
use hindsight_core::command::{
    Delete, FieldValidation, FinalizeNamespace, Intent, Patch, PatchObject, Propagation, Release,
};
use hindsight_core::object::Object;
use hindsight_core::{Cause, GroupResource, Rule, State, Time};
use serde_json::Value;
use std::sync::Arc;

const NAMESPACE_TOKEN: &str = "kubernetes";
const DEFINITION_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Pods first, while there are any; then everything else; then the namespace itself. Where nothing
/// more can be done it says what remains.
pub(crate) fn of_namespace(
    state: &State,
    namespace: &Object,
    now: Time,
    limit: usize,
) -> Vec<Step> {
    let cause = cause_of_mark(namespace);
    let steps = removals(state, namespace, &cause, limit);
    if !steps.is_empty() {
        return steps;
    }
    let report = conditions::changed(state, namespace, now).map(|status| {
        Intent::Patch(PatchObject {
            key: namespace.key.clone(),
            version: "v1".into(),
            subresource: "status".into(),
            patch: Patch::Merge(status),
            validation: FieldValidation::Ignore,
        })
    });
    let step = |intent| Step {
        intent,
        cause: cause.clone(),
    };
    report.map(step).into_iter().collect()
}

fn removals(state: &State, namespace: &Object, cause: &Cause, limit: usize) -> Vec<Step> {
    let name = &namespace.key.name;
    let is_empty = state.population(name) == 0;
    if is_empty && holds_token(namespace) {
        let intent = Intent::FinalizeNamespace(FinalizeNamespace {
            target: target(&namespace.key, &namespace.meta.uid, None),
            token: NAMESPACE_TOKEN.into(),
            decided_at: state.revision,
        });
        return vec![Step {
            intent,
            cause: cause.clone(),
        }];
    }
    let pods = GroupResource::new("", "pods");
    if state.list(&pods, Some(name)).next().is_some() {
        let pods = state.list(&pods, Some(name));
        return deletions(state, pods, Rule::NamespaceDeleted, cause, limit);
    }
    let kinds = state.kinds.iter().filter(|kind| kind.is_namespaced());
    let contents = kinds.flat_map(|kind| state.list(&kind.resource, Some(name)));
    deletions(state, contents, Rule::NamespaceDeleted, cause, limit)
}

fn holds_token(namespace: &Object) -> bool {
    let document = namespace.document();
    let tokens = document
        .pointer("/spec/finalizers")
        .and_then(Value::as_array);
    tokens.is_some_and(|tokens| {
        tokens
            .iter()
            .any(|token| token.as_str() == Some(NAMESPACE_TOKEN))
    })
}

/// Every instance; then the definition's own finalizer.
pub(crate) fn of_definition(state: &State, definition: &Object, limit: usize) -> Vec<Step> {
    let Some((plural, group)) = definition.key.name.split_once('.') else {
        return Vec::new();
    };
    let resource = GroupResource::new(group, plural);
    let cause = cause_of_mark(definition);
    if state.list(&resource, None).next().is_none() {
        let intent = Intent::Release(Release {
            owner: target(&definition.key, &definition.meta.uid, None),
            finalizer: DEFINITION_FINALIZER.into(),
            decided_at: state.revision,
        });
        return vec![Step { intent, cause }];
    }
    deletions(
        state,
        state.list(&resource, None),
        Rule::CrdDeleted,
        &cause,
        limit,
    )
}

fn deletions<'a>(
    state: &State,
    objects: impl Iterator<Item = &'a Arc<Object>>,
    rule: Rule,
    cause: &Cause,
    limit: usize,
) -> Vec<Step> {
    let live = objects.filter(|object| !object.is_deleting()).take(limit);
    let step = |object: &Arc<Object>| {
        let kind = state.kinds.by_resource(&object.key.resource);
        let version = kind.and_then(|kind| kind.storage_version());
        let intent = Intent::Delete(Delete {
            target: target(&object.key, &object.meta.uid, None),
            version: version.map_or_else(|| "".into(), |version| version.name.clone()),
            orphan_dependents: None,
            propagation: Some(Propagation::Background),
            grace_period_seconds: None,
            rule,
        });
        Step {
            intent,
            cause: cause.clone(),
        }
    };
    live.map(step).collect()
}
