//! What happened, commit by commit: selected, and told in pages so that no answer grows with the log.

use super::{Filter, Unanswered, named};
use crate::history::LogHistory;
use hindsight_core::{Commit, Event, GroupResource, ObjectKey, Revision, State, Time};
use hindsight_log::{Entry, Error, Reader};
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

    /// A restore is of no object: it is told where nothing names one.
    fn told(&self, entry: &Entry) -> Option<Value> {
        let names_one = self.resource.is_some() || self.name.is_some() || self.uid.is_some();
        match entry {
            Entry::Commit(commit) => self.matches(commit).then(|| of_commit(commit)),
            Entry::Restored { revision, time } => {
                (!names_one).then(|| of_restore(*revision, *time))
            }
        }
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

    /// What is selected from this revision on, oldest first, each as a document.
    pub(crate) fn entries(
        &self,
        reader: &Reader,
        from: Revision,
    ) -> impl Iterator<Item = Result<Value, Error>> {
        let entries = reader.entries(from);
        entries.filter_map(|entry| entry.map(|entry| self.told(&entry)).transpose())
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
        Some(key) => {
            let touched = history.touched(key, from)?;
            let entries = touched.map(|commit| commit.map(Entry::Commit));
            fill(selection, entries, floor)
        }
    }
}

fn fill(
    selection: &Selection,
    found: impl Iterator<Item = Result<Entry, Error>>,
    floor: Revision,
) -> Result<Value, Error> {
    let mut entries = Vec::new();
    let mut next = None;
    for (looked_at, entry) in found.enumerate() {
        let entry = entry?;
        if looked_at == PAGE_COMMITS_MAX || entries.len() == PAGE_ENTRIES_MAX {
            next = Some(entry.revision());
            break;
        }
        entries.extend(selection.told(&entry));
    }
    Ok(json!({"entries": entries, "next": next, "floor": floor}))
}

fn of_restore(revision: Revision, time: Time) -> Value {
    json!({
        "revision": revision,
        "time": time.to_rfc3339_micros(),
        "user": "",
        "verb": "restore",
        "object": "",
        "uid": "",
        "events": ["a backup was restored; revisions before have expired"],
    })
}

fn of_commit(commit: &Commit) -> Value {
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

pub(super) fn describe(event: &Event) -> String {
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
