//! Questions about the log, answered alike by the command line on a directory and by the server that holds one.

mod bounded_texts;
mod changed;
mod log;
mod near;
mod owner;
mod plan;
mod served;
mod versions;

use crate::history::{Defined, LogHistory};
use crate::questions::{self, Why};
use hindsight_api::{AsOf, Gap};
use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::{GroupResource, ObjectKey, Rejection, Revision, State, Time, Uid};
use hindsight_log::{Entry, Error, Reader};
use hindsight_projector::{Fate, History as _};

pub(crate) use log::{Selection, for_each_entry, page};
pub(crate) use near::is_near;
pub(crate) use owner::{Owner, find_owner};
pub(crate) use plan::{World, plan};
pub(crate) use served::{Served, served};

/// Which objects a question is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) kind: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) uid: Option<String>,
    /// Who made the change.
    pub(crate) user: Option<String>,
    /// The verb of the request.
    pub(crate) verb: Option<String>,
    /// From this point on.
    pub(crate) since: Option<AsOf>,
    /// Up to this point.
    pub(crate) until: Option<AsOf>,
}

/// A question that has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    /// As it is quoted, with what may have been meant.
    #[error(
        "there is no kind {0}, and none of this name was ever defined; `kubectl api-resources` lists the kinds that \
         are there"
    )]
    UnknownKind(String),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Rejected(Box<Rejection>),
    #[error(transparent)]
    Log(#[from] Error),
}

/// The time at which a state of the past was the newest: that of its last commit.
pub(crate) fn time_of(reader: &Reader, state: &State) -> Result<Time, Error> {
    let last = reader.scan_back(state.revision).next().transpose()?;
    Ok(last.map_or(Time(0), |commit| commit.time))
}

/// The state at a point of the past.
pub(crate) fn state_at(reader: &Reader, empty: State, point: AsOf) -> Result<State, Error> {
    match point {
        AsOf::Revision(revision) => reader.state_at(empty, revision),
        AsOf::Time(time) => reader.state_at_time(empty, time),
    }
}

/// What a restore lost, if the state of this point was asked for and is that of the backup. An answer does not
/// fail because this cannot be looked up.
pub(crate) fn gap_at(reader: &Reader, asked: AsOf, answered: Revision) -> Option<Gap> {
    if !Gap::may_hold(asked, answered) {
        return None;
    }
    match reader.entries(answered.next()).next()?.ok()? {
        Entry::Commit(_) => None,
        Entry::Restored { revision, .. } => Some(Gap {
            backup: answered,
            restored: revision,
        }),
    }
}

/// A kind by any of its names: alone, with its group, or with one of its versions and its group.
pub(crate) fn kind(state: &State, text: &str) -> Option<KindRef> {
    kind_and_version(state, text).map(|(kind, _)| kind)
}

/// The same with the version, if one is named. A group may begin like a version, so a match of the whole group
/// comes first.
///
/// Source: kubectl's `RESOURCE.VERSION.GROUP`, with nothing behind the last dot for the core group.
fn kind_and_version<'a>(state: &State, text: &'a str) -> Option<(KindRef, Option<&'a str>)> {
    readings(text).find_map(|reading| {
        let mut kinds = state.kinds.iter();
        let found = kinds.find(|kind| reading.is_of(&kind.resource, Some(kind)));
        Some((found?.clone(), reading.version))
    })
}

/// What a text that names a kind may mean.
#[derive(Debug, Clone, Copy)]
struct Reading<'a> {
    name: &'a str,
    group: Option<&'a str>,
    version: Option<&'a str>,
}

impl Reading<'_> {
    /// Whether it means this resource. Without the kind only the plural is known of its names.
    fn is_of(&self, resource: &GroupResource, kind: Option<&Kind>) -> bool {
        let has = |wanted: &str| kind.is_none_or(|kind| has_version(kind, wanted));
        let is_called = |name: &str| match kind {
            Some(kind) => kind.is_called(name),
            None => *resource.resource == *name.to_lowercase(),
        };
        is_called(self.name)
            && self.group.is_none_or(|group| *resource.group == *group)
            && self.version.is_none_or(has)
    }
}

fn has_version(kind: &Kind, version: &str) -> bool {
    kind.versions.iter().any(|one| *one.name == *version)
}

/// What a text may mean, the likeliest first.
fn readings(text: &str) -> impl Iterator<Item = Reading<'_>> {
    let (name, rest) = match text.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let whole = Reading {
        name,
        group: rest,
        version: None,
    };
    let versioned = rest.and_then(|rest| rest.split_once('.'));
    let versioned = versioned.map(|(version, group)| Reading {
        name,
        group: Some(group),
        version: Some(version),
    });
    std::iter::once(whole).chain(versioned)
}

/// A resource that a text names, and its kind; without it if only the end of its definition is kept.
type Named = (GroupResource, Option<KindRef>);

/// Every resource that a text names: several groups may have a kind of one name. Those that no longer exist are
/// looked for only if none exists.
fn named(history: &LogHistory<'_>, state: &State, text: &str) -> Result<Vec<Named>, QueryError> {
    let served = served_as(state, text);
    let named = if served.is_empty() {
        once_defined_as(history, text)?
    } else {
        served
    };
    if named.is_empty() {
        return Err(unknown(history, state, text)?);
    }
    Ok(named)
}

/// The error for a text that names none of the kinds that the log knows of. Where definitions may have been dropped, one
/// of them may have had the name; the resource of each is known all the same, from what is kept of it.
fn unknown(history: &LogHistory<'_>, state: &State, text: &str) -> Result<QueryError, QueryError> {
    let quoted = near::quoted(state, text);
    let floor = history.floor()?;
    if floor == Revision::ZERO {
        return Ok(QueryError::UnknownKind(quoted));
    }
    Ok(QueryError::Refused(format!(
        "there is no kind {quoted}, and none of this name is in what is kept: history is complete only from revision \
         {floor} on; name a kind that was called so before as PLURAL.GROUP, or find it with `kubectl api-resources`"
    )))
}

fn served_as(state: &State, text: &str) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    for reading in readings(text) {
        let kinds = state.kinds.iter();
        for kind in kinds.filter(|kind| reading.is_of(&kind.resource, Some(kind))) {
            let resource = kind.stored_under();
            if found.iter().all(|(other, _)| *other != resource) {
                found.push((resource, Some(kind.clone())));
            }
        }
    }
    found
}

/// Those that were ever defined, by the names that they had, the latest first.
fn once_defined_as(history: &LogHistory<'_>, text: &str) -> Result<Vec<Named>, QueryError> {
    let mut found: Vec<Named> = Vec::new();
    for reading in readings(text) {
        for defined in history.defined(|resource, kind| reading.is_of(resource, kind))? {
            let Defined { resource, kind } = defined;
            if found.iter().all(|(other, _)| *other != resource) {
                found.push((resource, kind));
            }
        }
    }
    Ok(found)
}

/// The refusal of a kind that this state does not have, in a question about what is in it.
fn not_served(state: &State, text: &str) -> QueryError {
    let quoted = near::quoted(state, text);
    QueryError::Refused(format!(
        "there is no kind {quoted} at this point; `kubectl api-resources` lists the kinds that are served now, and \
         one whose definition is gone needs --as-of with a point at which it was there"
    ))
}

/// Why an object was deleted, is being deleted, or still exists.
pub(crate) fn why(
    history: &LogHistory<'_>,
    state: &State,
    filter: &Filter,
) -> Result<Why, QueryError> {
    let wanted = filter.kind.as_deref().unwrap_or_default();
    let named = named(history, state, wanted)?;
    let not_found = match why_any(history, state, filter, &named)? {
        Some(found) if is_known(&found) => return Ok(found),
        other => other,
    };
    let mut earlier = once_defined_as(history, wanted)?;
    earlier.retain(|(resource, _)| named.iter().all(|(known, _)| known != resource));
    let found = why_any(history, state, filter, &earlier)?;
    if let Some(found) = found.filter(is_known) {
        return Ok(found);
    }
    let Some(mut answer) = not_found else {
        return Err(unknown(history, state, wanted)?);
    };
    answer.reasons.extend(history.restored()?.map(lost_at));
    Ok(answer)
}

fn is_known(why: &Why) -> bool {
    why.explanation.state != Fate::Unknown
}

/// The answer for the first of these kinds, and of the places in which it may have been, that the object is found
/// in; otherwise that for the first of all.
fn why_any(
    history: &LogHistory<'_>,
    state: &State,
    filter: &Filter,
    named: &[Named],
) -> Result<Option<Why>, QueryError> {
    let name = filter.name.as_deref().unwrap_or_default();
    let uid = filter.uid.as_deref().map(Uid::from);
    let mut unknown = None;
    for (resource, kind) in named {
        for namespace in places(kind.as_deref(), filter.namespace.as_deref()) {
            let key = ObjectKey::new(resource.clone(), namespace, name);
            let mut why = questions::explain(history, state, &key, uid.as_ref(), kind.as_ref())?;
            if is_known(&why) {
                let others = named.iter().filter(|(other, _)| other != resource);
                why.reasons.extend(namesakes(state, filter, others));
                return Ok(Some(why));
            }
            unknown.get_or_insert(why);
        }
    }
    Ok(unknown)
}

/// What is said of objects that exist and have this name too, of these other kinds. A UID tells which one is meant.
fn namesakes<'a>(
    state: &State,
    filter: &Filter,
    others: impl Iterator<Item = &'a Named>,
) -> Vec<String> {
    let name = filter.name.as_deref().unwrap_or_default();
    let of_kind = |(resource, kind): &Named| {
        let places = places(kind.as_deref(), filter.namespace.as_deref()).into_iter();
        let key = places
            .map(|namespace| ObjectKey::new(resource.clone(), namespace, name))
            .find(|key| state.get(key).is_some())?;
        Some(format!(
            "{key} exists too, of another kind of this name; to ask about that, name the kind as {resource}"
        ))
    };
    let others = others.filter(|_| filter.uid.is_none());
    others.filter_map(of_kind).collect()
}

/// What is said of the last restore where nothing was found.
pub(crate) fn lost_at(restored: Revision) -> String {
    format!(
        "a backup was restored at revision {restored}; what was written between the backup and the restore is not in \
         this log"
    )
}

/// The namespaces in which an object of this kind may have been, in the order of the search: a definition that
/// was recreated may have another scope. A user who means an object that was in a namespace names it.
fn places<'a>(kind: Option<&Kind>, wanted: Option<&'a str>) -> Vec<&'a str> {
    let namespace = wanted.unwrap_or("default");
    match kind {
        Some(kind) if !kind.is_custom() && kind.is_namespaced() => vec![namespace],
        Some(kind) if !kind.is_custom() => vec![""],
        Some(kind) if !kind.is_namespaced() && wanted.is_none() => vec!["", namespace],
        Some(_) | None => vec![namespace, ""],
    }
}
