//! What happened, commit by commit: selected, and told in pages so that no answer grows with the log.

use super::{Filter, Unanswered, named};
use crate::history::LogHistory;
use hindsight_core::{Commit, Event, GroupResource, ObjectKey, Revision, State};
use hindsight_log::{Error, Reader};
use serde_json::{Value, json};

/// Entries of one page.
const PAGE_ENTRIES_MAX: usize = 1_000;
/// Commits that are looked at for one page.
const PAGE_COMMITS_MAX: usize = 20_000;

/// Which commits are told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    resource: Option<GroupResource>,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    /// The one object that can be meant.
    key: Option<ObjectKey>,
}

impl Selection {
    /// The state says what kinds there are.
    pub(crate) fn of(filter: &Filter, state: &State) -> Result<Self, Unanswered> {
        let mut selection = Self {
            resource: None,
            namespace: filter.namespace.clone(),
            name: filter.name.clone(),
            uid: filter.uid.clone(),
            key: None,
        };
        if let Some(text) = &filter.kind {
            let (resource, kind) = named(state, text)?;
            let namespaced = kind.is_none_or(|kind| kind.is_namespaced());
            let namespace = if namespaced {
                filter.namespace.as_deref()
            } else {
                Some("")
            };
            let place = namespace.zip(filter.name.as_deref());
            selection.key =
                place.map(|(namespace, name)| ObjectKey::new(resource.clone(), namespace, name));
            selection.resource = Some(resource);
        }
        Ok(selection)
    }

    fn matches(&self, commit: &Commit) -> bool {
        let key = &commit.key;
        let is = |wanted: Option<&str>, found: &str| wanted.is_none_or(|wanted| wanted == found);
        let resource = self.resource.as_ref();
        resource.is_none_or(|wanted| *wanted == key.resource)
            && (key.namespace.is_empty() || is(self.namespace.as_deref(), &key.namespace))
            && is(self.name.as_deref(), &key.name)
            && is(self.uid.as_deref(), commit.uid.as_str())
    }

    /// The selected commits from this one on, oldest first, each as a document.
    pub(crate) fn entries(
        &self,
        reader: &Reader,
        from: Revision,
    ) -> impl Iterator<Item = Result<Value, Error>> {
        let told = |commit: Result<Commit, Error>| match commit {
            Ok(commit) => self.matches(&commit).then(|| Ok(entry(&commit))),
            Err(error) => Some(Err(error)),
        };
        reader.scan(from).filter_map(told)
    }
}

/// `entries`; `next`, where the page after this one begins, `null` after the last; and `floor`, the
/// revision from which on nothing is missing.
pub(crate) fn page(
    history: &LogHistory<'_>,
    selection: &Selection,
    from: Revision,
) -> Result<Value, Error> {
    let floor = history.floor()?;
    match &selection.key {
        None => fill(selection, history.all(from), floor),
        Some(key) => fill(selection, history.touched(key, from)?, floor),
    }
}

fn fill(
    selection: &Selection,
    commits: impl Iterator<Item = Result<Commit, Error>>,
    floor: Revision,
) -> Result<Value, Error> {
    let mut entries = Vec::new();
    let mut next = None;
    for (looked_at, commit) in commits.enumerate() {
        let commit = commit?;
        if looked_at == PAGE_COMMITS_MAX || entries.len() == PAGE_ENTRIES_MAX {
            next = Some(commit.revision);
            break;
        }
        if selection.matches(&commit) {
            entries.push(entry(&commit));
        }
    }
    Ok(json!({"entries": entries, "next": next, "floor": floor}))
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
