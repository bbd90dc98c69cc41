//! Questions about the log, answered alike by the command line on a directory and by the server that holds one.

mod changed;
mod log;
mod place;
mod plan;
mod told;
mod versions;

use crate::history::LogHistory;
use crate::questions::{self, Why};
use hindsight_api::AsOf;
use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::{GroupResource, ObjectKey, Rejection, State, Time, Uid};
use hindsight_log::{Error, Reader};
use hindsight_projector::Fate;

pub(crate) use log::{Selection, for_each_entry, page};
pub(crate) use place::{Owner, Served, is_there, served};
pub(crate) use plan::{World, plan};

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
    #[error(
        "there is no kind {0:?}; `kubectl api-resources` lists the kinds, and one whose definition is gone is named \
         PLURAL.GROUP"
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

/// A kind by any of its names: alone, with its group, or with one of its versions and its group.
pub(crate) fn kind(state: &State, text: &str) -> Option<KindRef> {
    kind_and_version(state, text).map(|(kind, _)| kind)
}

/// The same with the version, if one is named. A group may begin like a version, so a match of the whole group
/// comes first.
///
/// Source: kubectl's `RESOURCE.VERSION.GROUP`, with nothing behind the last dot for the core group.
fn kind_and_version<'a>(state: &State, text: &'a str) -> Option<(KindRef, Option<&'a str>)> {
    let find = |name: &str, group: Option<&str>, version: Option<&'a str>| {
        let mut kinds = state.kinds.iter();
        let found = kinds.find(|kind| {
            let has = |version: &str| kind.versions.iter().any(|one| *one.name == *version);
            kind.is_called(name)
                && group.is_none_or(|group| *kind.resource.group == *group)
                && version.is_none_or(has)
        });
        Some((found?.clone(), version))
    };
    let Some((name, group)) = text.split_once('.') else {
        return find(text, None, None);
    };
    let found = find(name, Some(group), None);
    found.or_else(|| {
        let (version, group) = group.split_once('.')?;
        find(name, Some(group), Some(version))
    })
}

/// The resource that a text names, and its kind. A kind that no longer exists is known only by plural and
/// group.
fn named(state: &State, text: &str) -> Result<(GroupResource, Option<KindRef>), QueryError> {
    if let Some(kind) = kind(state, text) {
        return Ok((kind.stored_under(), Some(kind)));
    }
    let gone = text
        .split_once('.')
        .filter(|(_, group)| group.contains('.'));
    let gone = gone.map(|(plural, group)| GroupResource::new(group, plural));
    let resource = gone.ok_or_else(|| QueryError::UnknownKind(text.to_owned()))?;
    Ok((resource, None))
}

/// The refusal of a kind that this state does not have, in a question about what is in it.
fn not_served(text: &str) -> QueryError {
    QueryError::Refused(format!(
        "there is no kind {text:?} at this point; `kubectl api-resources` lists the kinds that are served now, and \
         one whose definition is gone needs --as-of with a point at which it was there"
    ))
}

/// Why an object was deleted, is being deleted, or still exists.
pub(crate) fn why(
    history: &LogHistory<'_>,
    state: &State,
    filter: &Filter,
) -> Result<Why, QueryError> {
    let (resource, kind) = named(state, filter.kind.as_deref().unwrap_or_default())?;
    let name = filter.name.as_deref().unwrap_or_default();
    let uid = filter.uid.as_deref().map(Uid::from);
    let mut answer = None;
    for namespace in places(kind.as_deref(), filter.namespace.as_deref()) {
        let key = ObjectKey::new(resource.clone(), namespace, name);
        let why = questions::explain(history, state, &key, uid.as_ref(), kind.as_ref())?;
        if why.explanation.state != Fate::Unknown {
            return Ok(why);
        }
        answer.get_or_insert(why);
    }
    answer.ok_or_else(|| QueryError::UnknownKind(resource.to_string()))
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
