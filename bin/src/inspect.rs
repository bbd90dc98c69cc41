//! Questions about the log, answered as documents: the same for the command line on a directory
//! and for the server that holds one.

use crate::history::LogHistory;
use hindsight_core::kind::KindRef;
use hindsight_core::{Commit, Event, GroupResource, ObjectKey, Revision, State, Uid};
use hindsight_log::{Error, Reader};
use hindsight_projector::{Explanation, Subject, explain};
use serde_json::{Value, json};

/// Which objects a question is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) kind: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) uid: Option<String>,
}

/// A question that has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("no kind is called {0:?}; `kubectl api-resources` lists them")]
    UnknownKind(String),
    #[error(transparent)]
    Log(#[from] Error),
}

impl Filter {
    fn resource(&self, state: &State) -> Result<Option<GroupResource>, Unanswered> {
        let Some(text) = &self.kind else {
            return Ok(None);
        };
        let kind = kind(state, text).ok_or_else(|| Unanswered::UnknownKind(text.clone()))?;
        Ok(Some(kind.stored_under()))
    }
}

/// A kind by any of its names, with or without its group.
pub(crate) fn kind(state: &State, text: &str) -> Option<KindRef> {
    let (name, group) = text
        .split_once('.')
        .map_or((text, None), |(name, group)| (name, Some(group)));
    let name = name.to_lowercase();
    let called = |kind: &&KindRef| {
        *kind.resource.resource == *name
            || *kind.singular == *name
            || kind.kind.to_lowercase() == name
            || kind.short_names.iter().any(|short| **short == *name)
    };
    let of_group = |kind: &&KindRef| group.is_none_or(|group| *kind.resource.group == *group);
    state
        .kinds
        .iter()
        .find(|kind| called(kind) && of_group(kind))
        .cloned()
}

/// Commits that touched the filter's objects, oldest first.
pub(crate) fn log(reader: &Reader, state: &State, filter: &Filter) -> Result<Value, Unanswered> {
    let resource = filter.resource(state)?;
    let mut found = Vec::new();
    for commit in reader.scan(Revision(1)) {
        let commit = commit?;
        let key = &commit.key;
        let differs = resource.as_ref().is_some_and(|one| *one != key.resource)
            || filter
                .namespace
                .as_deref()
                .is_some_and(|one| !key.namespace.is_empty() && *one != *key.namespace)
            || filter.name.as_deref().is_some_and(|one| *one != *key.name)
            || filter
                .uid
                .as_deref()
                .is_some_and(|one| one != commit.uid.as_str());
        if !differs {
            found.push(entry(&commit));
        }
    }
    Ok(Value::Array(found))
}

fn entry(commit: &Commit) -> Value {
    let events: Vec<String> = commit.events.iter().map(describe).collect();
    json!({
        "revision": commit.revision,
        "time": commit.time.to_rfc3339_micros(),
        "user": &*commit.actor.user,
        "verb": commit.request.verb,
        "object": commit.key.to_string(),
        "uid": commit.uid.as_str(),
        "events": events,
    })
}

fn describe(event: &Event) -> String {
    match event {
        Event::ObjectCreated { .. } => "created".into(),
        Event::ObjectUpdated { .. } => "updated".into(),
        Event::FinalizerAdded { finalizer } => format!("finalizer {finalizer} set"),
        Event::FinalizerRemoved { finalizer } => format!("finalizer {finalizer} removed"),
        Event::OwnerAdded { owner } => format!("owner {} {} set", owner.kind, owner.name),
        Event::OwnerRemoved { owner } => format!("owner {} {} removed", owner.kind, owner.name),
        Event::OwnerChanged { to, .. } => format!("owner {} {} changed", to.kind, to.name),
        Event::DeletionRequested { rule, .. } => format!("deletion requested [{}]", rule.name()),
        Event::ObjectDeleted { rule, .. } => format!("deleted [{}]", rule.name()),
    }
}

/// Why an object is gone, going or there.
pub(crate) fn why(
    reader: &Reader,
    state: &State,
    filter: &Filter,
) -> Result<Explanation, Unanswered> {
    let text = filter.kind.clone().unwrap_or_default();
    let kind = kind(state, &text).ok_or(Unanswered::UnknownKind(text))?;
    let wanted = filter.namespace.as_deref().unwrap_or("default");
    let namespace = if kind.is_namespaced() { wanted } else { "" };
    let name = filter.name.as_deref().unwrap_or_default();
    let key = ObjectKey::new(kind.stored_under(), namespace, name);
    let version = kind.storage_version().map_or("", |version| &version.name);
    let subject = Subject {
        api_version: kind.api_version(version),
        kind: kind.kind.to_string(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: filter.uid.clone().unwrap_or_default(),
    };
    let uid = filter.uid.as_deref().map(Uid::from);
    Ok(explain(&LogHistory(reader), &key, uid.as_ref(), subject)?)
}

/// The filter's objects in a state, as a list.
pub(crate) fn objects(state: &State, filter: &Filter) -> Result<Value, Unanswered> {
    let text = filter.kind.clone().unwrap_or_default();
    let kind = kind(state, &text).ok_or(Unanswered::UnknownKind(text))?;
    let namespace = filter.namespace.as_deref().filter(|_| kind.is_namespaced());
    let named = |name: &str| filter.name.as_deref().is_none_or(|wanted| wanted == name);
    let items: Vec<Value> = state
        .list(&kind.stored_under(), namespace)
        .filter(|object| named(&object.key.name))
        .map(|object| object.document())
        .collect();
    Ok(json!({"kind": "List", "apiVersion": "v1",
        "metadata": {"resourceVersion": state.revision.to_string()}, "items": items}))
}
