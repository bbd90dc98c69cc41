//! What happened, commit by commit: selected, and answered in pages so that no answer grows with the log.

mod lost;
#[cfg(test)]
mod tests;

pub(crate) use lost::lost_in_period;

use super::bounded_texts::BoundedTexts;
use super::changed::changed;
use super::naming::{Named, ever_named};
use super::versions::Versions;
use super::{Filter, QueryError};
use crate::answer::{LogEntry, LogPage};
use crate::history::LogHistory;
use hindsight_api::AsOf;
use hindsight_core::{Commit, Event, GroupResource, Object, ObjectKey, Revision, State, Time};
use hindsight_log::{Entry, Error};
use hindsight_projector::{History, RequestDetails};
use serde_json::json;
use std::sync::Arc;

/// The most entries of one page.
const PAGE_ENTRIES_MAX: usize = 1_000;
/// A page is complete with the entry with which it reaches this size.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// The most commits that are looked at for one page.
const PAGE_COMMITS_MAX: usize = 20_000;
/// The verb of the entry of a restore, which no request has.
const RESTORE: &str = "restore";

/// Which commits are shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// Those of one name; empty if none is named.
    resources: Vec<GroupResource>,
    scope: Scope,
    /// What is asked of commits besides.
    filter: Filter,
}

/// Where the objects are that are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Scope {
    /// In any namespace, or in none.
    #[default]
    Anywhere,
    /// In no namespace: the kind never was in one, whichever the filter names.
    Cluster,
    Namespace {
        name: String,
        /// Or in none, since the kind is cluster-wide now, or may have been.
        or_cluster: bool,
    },
    /// This is the only one that can be meant.
    Object(ObjectKey),
}

impl Scope {
    /// That of objects of these kinds, in the namespace and with the name that the filter has.
    fn of(named: &[Named], filter: &Filter) -> Self {
        let namespace = filter.namespace.as_deref();
        let of_one = |resource: &GroupResource, namespace: Option<&str>| {
            let name = filter.name.as_deref()?;
            let key = ObjectKey::new(resource.clone(), namespace?, name);
            Some(Self::Object(key))
        };
        let within = |or_cluster| match namespace {
            Some(name) => Self::Namespace {
                name: name.to_owned(),
                or_cluster,
            },
            None => Self::Anywhere,
        };
        match named {
            [] => within(false),
            [(resource, Some(kind))] if kind.is_namespaced() => {
                of_one(resource, namespace).unwrap_or_else(|| within(false))
            }
            [(resource, Some(kind))] if !kind.is_custom() => {
                of_one(resource, Some("")).unwrap_or(Self::Cluster)
            }
            // An earlier definition may have had objects in namespaces.
            _ => within(true),
        }
    }

    fn has(&self, key: &ObjectKey) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Cluster => key.namespace.is_empty(),
            Self::Namespace { name, or_cluster } => {
                is_in(key, name) || (*or_cluster && key.namespace.is_empty())
            }
            Self::Object(object) => object == key,
        }
    }
}

impl Selection {
    /// Resolves the filter with the kinds of this state, and with those that the log once had.
    pub(crate) fn of(
        history: &LogHistory<'_>,
        filter: &Filter,
        state: &State,
    ) -> Result<Self, QueryError> {
        let named = match &filter.kind {
            Some(text) => ever_named(history, state, text)?,
            None => Vec::new(),
        };
        Ok(Self {
            scope: Scope::of(&named, filter),
            resources: named.into_iter().map(|(resource, _)| resource).collect(),
            filter: filter.clone(),
        })
    }

    /// Whether few enough commits are selected to look up for each update the version before it.
    const fn is_narrow(&self) -> bool {
        self.filter.name.is_some() || self.filter.uid.is_some()
    }

    /// Whether a restore is shown. It is of no object and by nobody, so it is shown only if the filter names no
    /// object, user or other verb.
    fn selects_restore(&self, revision: Revision, time: Time) -> bool {
        let Filter { user, verb, .. } = &self.filter;
        let is_other = verb.as_deref().is_some_and(|verb| verb != RESTORE);
        let narrow = self.is_narrow() || user.is_some() || is_other;
        self.resources.is_empty() && !narrow && self.is_in_period(revision, time)
    }

    fn selects_object(&self, commit: &Commit) -> bool {
        let (key, filter) = (&commit.key, &self.filter);
        let is = |wanted: Option<&str>, found: &str| wanted.is_none_or(|wanted| wanted == found);
        (self.resources.is_empty() || self.resources.contains(&key.resource))
            && self.scope.has(key)
            && is(filter.name.as_deref(), &key.name)
            && is(filter.uid.as_deref(), commit.uid.as_str())
    }

    fn selects_request(&self, commit: &Commit) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        is(&self.filter.user, &commit.actor.user)
            && is(&self.filter.verb, &commit.request.verb)
            && self.is_in_period(commit.revision, commit.time)
    }

    fn is_in_period(&self, revision: Revision, time: Time) -> bool {
        let since = self.filter.since.is_none_or(|since| match since {
            AsOf::Revision(since) => revision >= since,
            AsOf::Time(since) => time >= since,
        });
        since && !self.is_after_period(revision, time)
    }

    fn is_after_period(&self, revision: Revision, time: Time) -> bool {
        self.filter.until.is_some_and(|until| match until {
            AsOf::Revision(until) => revision > until,
            AsOf::Time(until) => time > until,
        })
    }

    /// The revision to begin at; nothing before it is read.
    fn first(&self, from: Revision) -> Revision {
        match self.filter.since {
            Some(AsOf::Revision(since)) => from.max(since),
            Some(AsOf::Time(_)) | None => from,
        }
    }

    /// The last revision at which anything may be selected of a log that ends with this one.
    fn last(&self, newest: Revision) -> Revision {
        match self.filter.until {
            Some(AsOf::Revision(until)) => newest.min(until),
            Some(AsOf::Time(_)) | None => newest,
        }
    }

    /// Whether the log need not be read any further. With a time it must: commits with earlier times may follow
    /// where the clock was ahead.
    fn is_past_end(&self, entry: &Entry) -> bool {
        let until = self.filter.until;
        until
            .is_some_and(|until| matches!(until, AsOf::Revision(until) if entry.revision() > until))
    }
}

/// A namespace contains its objects, and here also the object that represents it.
fn is_in(key: &ObjectKey, namespace: &str) -> bool {
    *key.namespace == *namespace || (key.is_namespace() && *key.name == *namespace)
}

/// Makes entries of commits, in the order of the log.
struct EntryBuilder<'a> {
    history: &'a LogHistory<'a>,
    selection: &'a Selection,
    /// Before this revision versions may be missing.
    floor: Revision,
    versions: Versions,
}

impl EntryBuilder<'_> {
    fn entry(&mut self, entry: &Entry) -> Result<Option<LogEntry>, Error> {
        match entry {
            Entry::Commit(commit) if self.selection.selects_object(commit) => {
                let before = self.before(commit)?;
                let selected = self.selection.selects_request(commit);
                Ok(selected.then(|| commit_entry(commit, before.as_deref())))
            }
            Entry::Commit(_) => Ok(None),
            Entry::Restored { revision, time } => {
                let selected = self.selection.selects_restore(*revision, *time);
                Ok(selected.then(|| restore_entry(*revision, *time)))
            }
        }
    }

    /// The version that an update replaced, if the selection asks for it.
    fn before(&mut self, commit: &Commit) -> Result<Option<Arc<Object>>, Error> {
        if !self.selection.is_narrow() {
            return Ok(None);
        }
        let known = self.versions.replace(commit);
        let updates = |event| matches!(event, &Event::ObjectUpdated { .. });
        if commit.revision <= self.floor || !commit.events.iter().any(updates) {
            return Ok(None);
        }
        if known.is_some() {
            return Ok(known);
        }
        let until = commit.revision.previous();
        match self.history.last(&commit.key, Some(&commit.uid), until) {
            Ok(before) => Ok(before.and_then(|before| before.object().cloned())),
            // The version was thinned while it was looked up.
            Err(Error::Pruned(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Passes the selected entries from this revision on to `take`, oldest first.
pub(crate) fn for_each_entry<E: From<Error>>(
    history: &LogHistory<'_>,
    selection: &Selection,
    from: Revision,
    mut take: impl FnMut(&LogEntry) -> Result<(), E>,
) -> Result<(), E> {
    let mut builder = entry_builder(history, selection)?;
    for entry in history.all(selection.first(from)) {
        let entry = entry?;
        if selection.is_past_end(&entry) {
            break;
        }
        if let Some(entry) = builder.entry(&entry)? {
            take(&entry)?;
        }
    }
    Ok(())
}

fn entry_builder<'a>(
    history: &'a LogHistory<'a>,
    selection: &'a Selection,
) -> Result<EntryBuilder<'a>, Error> {
    Ok(EntryBuilder {
        history,
        selection,
        floor: history.floor()?,
        versions: Versions::default(),
    })
}

/// The selected entries from this revision on, as many as one answer may hold.
pub(crate) fn page(
    history: &LogHistory<'_>,
    selection: &Selection,
    from: Revision,
) -> Result<LogPage, Error> {
    let builder = entry_builder(history, selection)?;
    let from = selection.first(from);
    let Scope::Object(key) = &selection.scope else {
        return fill(builder, from, history.all(from));
    };
    // Read before what is looked for: all that comes after it is left for later.
    let newest = history.newest()?;
    let mut page = match history.touched(key, from) {
        Ok(touched) => {
            let touched = touched.map(|commit| commit.map(Entry::Commit));
            fill(builder, from, touched)
        }
        Err(error) => fill(builder, from, [Err(error)].into_iter()),
    }?;
    if page.next.is_none() {
        page.end = page.end.max(selection.last(newest).next());
    }
    Ok(page)
}

fn fill(
    mut builder: EntryBuilder<'_>,
    from: Revision,
    found: impl Iterator<Item = Result<Entry, Error>>,
) -> Result<LogPage, Error> {
    let (mut entries, mut bytes, mut restored) = (Vec::new(), 0, None);
    let (mut next, mut end) = (None, from);
    for (looked_at, entry) in found.enumerate() {
        let entry = match entry {
            // The log was thinned while it was read. The next page shows what is left of it.
            Err(Error::Pruned(_)) => {
                next = Some(end);
                break;
            }
            entry => entry?,
        };
        if builder.selection.is_past_end(&entry) {
            break;
        }
        let is_full = entries.len() == PAGE_ENTRIES_MAX || bytes >= PAGE_BYTES_MAX;
        if looked_at == PAGE_COMMITS_MAX || is_full {
            next = Some(entry.revision());
            break;
        }
        end = entry.revision().next();
        let selected = builder.entry(&entry)?;
        bytes += selected
            .as_ref()
            .map_or(0, |entry| json!(entry).to_string().len());
        entries.extend(selected);
    }
    if entries.is_empty() && next.is_none() {
        restored = lost_in_period(builder.history, builder.selection, from)?;
    }
    // Read after the entries: the log may have been thinned before they were, and versions between them are missing.
    let floor = builder.history.floor()?;
    for entry in &mut entries {
        if entry.revision <= floor {
            (entry.changed, entry.more_changed) = (None, 0);
        }
    }
    Ok(LogPage {
        entries,
        next,
        end,
        floor,
        restored,
    })
}

fn restore_entry(revision: Revision, time: Time) -> LogEntry {
    LogEntry {
        revision,
        time: time.to_rfc3339_micros(),
        user: String::new(),
        verb: RESTORE.into(),
        request: RequestDetails::default(),
        object: String::new(),
        uid: String::new(),
        events: vec!["a backup was restored; revisions before have expired".into()],
        more_events: 0,
        changed: None,
        more_changed: 0,
    }
}

fn commit_entry(commit: &Commit, before: Option<&Object>) -> LogEntry {
    let after = commit.object().zip(before);
    let changed = after.map(|(after, before)| changed(&before.document(), &after.document()));
    let events = describe_events(commit);
    LogEntry {
        revision: commit.revision,
        time: commit.time.to_rfc3339_micros(),
        user: commit.actor.user.to_string(),
        verb: commit.request.verb.clone(),
        request: RequestDetails::of(&commit.request),
        object: commit.key.to_string(),
        uid: commit.uid.to_string(),
        events: events.texts,
        more_events: events.more,
        more_changed: changed.as_ref().map_or(0, |changed| changed.more),
        changed: changed.map(|changed| changed.texts),
    }
}

/// What was done to the object, with a bounded number of events about its finalizers and owners.
pub(super) fn describe_events(commit: &Commit) -> BoundedTexts {
    describe(commit, describe_event)
}

/// The same without the rules of deletions.
pub(super) fn describe_effects(commit: &Commit) -> BoundedTexts {
    describe(commit, describe_effect)
}

fn describe(commit: &Commit, text_of: impl Fn(&Event) -> String) -> BoundedTexts {
    let mut texts = BoundedTexts::default();
    for event in &commit.events {
        match event {
            Event::ObjectCreated { .. }
            | Event::ObjectUpdated { .. }
            | Event::DeletionRequested { .. }
            | Event::ObjectDeleted { .. } => texts.push_always(text_of(event)),
            Event::FinalizerAdded { .. }
            | Event::FinalizerRemoved { .. }
            | Event::OwnerAdded { .. }
            | Event::OwnerRemoved { .. }
            | Event::OwnerChanged { .. } => texts.push(text_of(event)),
        }
    }
    texts
}

fn describe_event(event: &Event) -> String {
    let effect = describe_effect(event);
    match event.deletion() {
        Some((rule, _)) => format!("{effect} [{}]", rule.name()),
        None => effect,
    }
}

fn describe_effect(event: &Event) -> String {
    match event {
        Event::ObjectCreated { .. } => "created".into(),
        Event::ObjectUpdated { .. } => "updated".into(),
        Event::FinalizerAdded { finalizer } => format!("finalizer {finalizer} set"),
        Event::FinalizerRemoved { finalizer } => format!("finalizer {finalizer} removed"),
        Event::OwnerAdded { owner } => format!("owner {} {} set", owner.kind, owner.name),
        Event::OwnerRemoved { owner } => format!("owner {} {} removed", owner.kind, owner.name),
        Event::OwnerChanged { to, .. } => format!("owner {} {} changed", to.kind, to.name),
        Event::DeletionRequested { .. } => "deletion requested".into(),
        Event::ObjectDeleted { .. } => "deleted".into(),
    }
}
