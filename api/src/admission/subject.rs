//! The subject of a write as admission sees it: derived from the command, so that every verb is admitted alike.

use super::{Addressed, WriteRequest};
use crate::params::WriteOptions;
use crate::request::ResourceRequest;
use crate::unpoisoned::unpoisoned;
use hindsight_core::command::{Delete, FieldValidation, Intent, Propagation};
use hindsight_core::kind::{KindRef, Shape, Subresource};
use hindsight_core::object::Name;
use hindsight_core::webhook::ConditionBudget;
use hindsight_core::{
    Actor, Form, Object, ObjectKey, Rejection, State, admission_grace, metadata_mut,
};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};

/// The operation as admission names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The object of a write, and who writes it. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) operation: Operation,
    pub(crate) actor: Arc<Actor>,
    pub(crate) kind: KindRef,
    /// The name in it is empty where only the object itself gives one.
    pub(crate) key: ObjectKey,
    /// The version of the API that the request speaks.
    pub(crate) version: Name,
    /// How stored objects are read in that version.
    pub(crate) form: Form,
    pub(crate) subresource: Option<Subresource>,
    /// The object before the write, if it exists.
    pub(crate) old: Option<Arc<Object>>,
    /// What is posted to an object (a binding, an eviction): webhooks see it instead of the object.
    pub(crate) posted: Option<Arc<Value>>,
    /// `CreateOptions` and its like.
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
    /// What the conditions of all webhooks may still cost.
    pub(super) conditions: SharedBudget,
}

/// What is left of the budget of a write.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedBudget(Arc<Mutex<ConditionBudget>>);

impl SharedBudget {
    /// Lets `evaluate` spend of what is left. A write asks about one webhook at a time.
    pub(super) fn spend<T>(&self, evaluate: impl FnOnce(&mut ConditionBudget) -> T) -> T {
        let mut left = unpoisoned(self.0.lock());
        evaluate(&mut left)
    }
}

impl Subject {
    /// Reads a client's command.
    pub(crate) fn of(state: &State, write_request: &WriteRequest) -> Result<Self, Rejection> {
        let command = &write_request.command;
        let (key, version, subresource) = match &command.intent {
            Intent::Create(create) => (&create.key, &create.version, None),
            Intent::Update(update) => (&update.key, &update.version, update.subresource),
            Intent::Patch(patch) => (&patch.key, &patch.version, patch.subresource),
            Intent::Delete(delete) => (&delete.target.key, &delete.version, None),
            Intent::Evict(delete) => {
                let eviction = Some(Subresource::Eviction);
                (&delete.target.key, &delete.version, eviction)
            }
            Intent::Collect(_) => return Err(Rejection::Internal("not a client's command".into())),
        };
        let missing = || Rejection::not_found(key);
        let spoken = state.kinds.resolve(&key.resource, version);
        let (kind, version) = spoken.ok_or_else(missing)?;
        let old = match &command.intent {
            Intent::Create(_) => None,
            _ => state.get(key).cloned(),
        };
        let posted = posted(write_request, subresource);
        let addressed = &write_request.addressed;
        let names_it = !matches!(addressed, Addressed::OneOfMany);
        let seconds = match (&command.intent, &old) {
            (Intent::Delete(delete), Some(old)) if names_it => {
                admission_grace(kind, old, delete.grace_period_seconds)
            }
            (Intent::Delete(delete), _) => delete.grace_period_seconds,
            _ => None,
        };
        let operation = match (&command.intent, &old, &posted) {
            (_, _, Some(_)) => Operation::Create,
            (Intent::Delete(_), _, _) => Operation::Delete,
            (_, None, _) => Operation::Create,
            (_, Some(_), None) => Operation::Update,
        };
        let (shown, shown_of) = match addressed {
            Addressed::Collection(collection) => (collection, None),
            _ => (kind, subresource),
        };
        Ok(Self {
            operation,
            actor: Arc::clone(&command.actor),
            kind: Arc::clone(shown),
            key: key.clone(),
            version: Arc::clone(&version.name),
            form: Form::of(&state.kinds, kind, &version.name),
            subresource: shown_of,
            old,
            posted: posted.map(Arc::new),
            options: options(write_request, operation, seconds),
            dry_run: write_request.options.dry_run,
            conditions: SharedBudget::default(),
        })
    }

    /// The subject of a creation that is answered but not stored: a review.
    pub(crate) fn of_unstored(request: &ResourceRequest, sent: &WriteOptions) -> Self {
        Self {
            operation: Operation::Create,
            actor: Arc::clone(&request.actor),
            kind: Arc::clone(&request.kind),
            key: request.key(),
            version: Arc::clone(&request.version.name),
            form: request.form.clone(),
            subresource: None,
            old: None,
            posted: None,
            options: stated("CreateOptions", write_options(sent), sent.dry_run),
            dry_run: sent.dry_run,
            conditions: SharedBudget::default(),
        }
    }

    /// The namespace that the object is in; a namespace is in itself.
    pub(crate) fn namespace(&self) -> &str {
        if self.is_namespace() {
            return &self.key.name;
        }
        &self.key.namespace
    }

    pub(crate) fn is_namespace(&self) -> bool {
        self.kind.strategy.shape == Shape::Namespace
    }

    /// The subresource by its name; empty for the object itself.
    pub(crate) fn subresource_name(&self) -> &'static str {
        self.subresource.map_or("", Subresource::name)
    }
}

fn posted(write_request: &WriteRequest, subresource: Option<Subresource>) -> Option<Value> {
    match (&write_request.command.intent, subresource) {
        (Intent::Update(update), Some(Subresource::Binding)) => {
            let mut binding = update.object.clone();
            let members = binding.as_object_mut()?;
            members.insert("apiVersion".into(), "v1".into());
            members.insert("kind".into(), "Binding".into());
            Some(binding)
        }
        (Intent::Evict(delete), _) => {
            let Addressed::Eviction(sent) = &write_request.addressed else {
                return None;
            };
            let mut eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction"});
            for member in ["metadata", "deleteOptions"] {
                let value = sent.get(member).filter(|value| !value.is_null());
                if let Some((members, value)) = eviction.as_object_mut().zip(value) {
                    members.insert(member.into(), value.clone());
                }
            }
            let metadata = metadata_mut(&mut eviction)?;
            metadata.insert("namespace".into(), (*delete.target.key.namespace).into());
            Some(eviction)
        }
        _ => None,
    }
}

/// The options as webhooks see them. `seconds` is the grace period that a deletion will grant.
fn options(write_request: &WriteRequest, operation: Operation, seconds: Option<i64>) -> Value {
    let (kind, members) = match (&write_request.command.intent, operation) {
        (Intent::Delete(delete), Operation::Delete) => {
            ("DeleteOptions", delete_options(delete, seconds))
        }
        (_, Operation::Create) => ("CreateOptions", write_options(&write_request.options)),
        // Also for a patch: how the change was expressed is not what is admitted.
        _ => ("UpdateOptions", write_options(&write_request.options)),
    };
    stated(kind, members, write_request.options.dry_run)
}

fn stated(kind: &str, mut members: Map<String, Value>, dry_run: bool) -> Value {
    members.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    members.insert("kind".into(), kind.into());
    let mut options = Value::Object(members);
    if dry_run {
        as_dry_run(&mut options);
    }
    options
}

/// Marks the options as those of a dry run.
pub(super) fn as_dry_run(options: &mut Value) {
    if let Some(members) = options.as_object_mut() {
        members.insert("dryRun".into(), json!(["All"]));
    }
}

fn write_options(sent: &WriteOptions) -> Map<String, Value> {
    let validation = sent.validation.map(FieldValidation::name);
    let texts = [
        ("fieldManager", &*sent.manager),
        ("fieldValidation", validation.unwrap_or_default()),
    ];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    texts
        .map(|(name, text)| (name.to_owned(), text.into()))
        .collect()
}

fn delete_options(delete: &Delete, seconds: Option<i64>) -> Map<String, Value> {
    let preconditions = &delete.preconditions;
    let preconditions = json!({
        "uid": preconditions.uid.as_ref().map(|uid| uid.as_str().to_owned()),
        "resourceVersion": preconditions.resource_version.as_deref(),
    });
    let propagation = delete.propagation.map(Propagation::name);
    let mut options = json!({
        "gracePeriodSeconds": seconds,
        "orphanDependents": delete.orphan_dependents,
        "propagationPolicy": propagation,
    });
    let mut members = options
        .as_object_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    if let Value::Object(mut preconditions) = preconditions {
        preconditions.retain(|_, value| !value.is_null());
        if !preconditions.is_empty() {
            members.insert("preconditions".into(), preconditions.into());
        }
    }
    members.retain(|_, value| !value.is_null());
    members
}
