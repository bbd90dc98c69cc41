//! Questions about the log, answered the same for the command line on a directory and by the server
//! that holds one.

mod changed;
mod log;
mod place;
mod plan;
mod reasons;
mod told;
mod versions;

use crate::answer::WhyAnswer;
use crate::history::LogHistory;
use hindsight_api::AsOf;
use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::{GroupResource, Object, ObjectKey, State, Time, Uid};
use hindsight_log::{Error, Reader};
use hindsight_projector::{Fate, Subject, explain};
use std::sync::Arc;

pub(crate) use log::{Selection, page, tell};
pub(crate) use place::{Owner, Served, is_there, served};
pub(crate) use plan::{World, plan};
use reasons::{held, reasons};

/// Which objects a question is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) kind: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) uid: Option<String>,
    /// Who did it.
    pub(crate) user: Option<String>,
    /// How they asked.
    pub(crate) verb: Option<String>,
    /// From here on.
    pub(crate) since: Option<AsOf>,
    /// Up to here.
    pub(crate) until: Option<AsOf>,
}

/// A question that has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error(
        "no kind is called {0:?}; `kubectl api-resources` lists those that there are, and one whose \
         definition is gone is named PLURAL.GROUP"
    )]
    UnknownKind(String),
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Log(#[from] Error),
}

/// When a state of the past was the newest: the time of its last commit.
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

/// A kind by any of its names, with or without its group.
pub(crate) fn kind(state: &State, text: &str) -> Option<KindRef> {
    let (name, group) = text
        .split_once('.')
        .map_or((text, None), |(name, group)| (name, Some(group)));
    let of_group = |kind: &&KindRef| group.is_none_or(|group| *kind.resource.group == *group);
    state
        .kinds
        .iter()
        .find(|kind| kind.is_called(name) && of_group(kind))
        .cloned()
}

/// The resource that a text names, and its kind. Of a kind that is there no more only plural and
/// group are known.
fn named(state: &State, text: &str) -> Result<(GroupResource, Option<KindRef>), Unanswered> {
    if let Some(kind) = kind(state, text) {
        return Ok((kind.stored_under(), Some(kind)));
    }
    let gone = text
        .split_once('.')
        .filter(|(_, group)| group.contains('.'));
    let gone = gone.map(|(plural, group)| GroupResource::new(group, plural));
    let resource = gone.ok_or_else(|| Unanswered::UnknownKind(text.to_owned()))?;
    Ok((resource, None))
}

/// Why an object was deleted, is being deleted, or still exists.
pub(crate) fn why(
    history: &LogHistory<'_>,
    state: &State,
    filter: &Filter,
) -> Result<WhyAnswer, Unanswered> {
    let (resource, kind) = named(state, filter.kind.as_deref().unwrap_or_default())?;
    let wanted = filter.namespace.as_deref().unwrap_or("default");
    let uid = filter.uid.as_deref().map(Uid::from);
    let mut answer = None;
    for namespace in places(kind.as_deref(), wanted) {
        let subject = subject(kind.as_ref(), namespace, filter);
        let key = ObjectKey::new(resource.clone(), namespace, &subject.name);
        let explanation = explain(history, &key, uid.as_ref(), subject)?;
        let known = explanation.state != Fate::Unknown;
        let is_there = |object: &&Arc<Object>| object.meta.uid.as_str() == explanation.object.uid;
        let object = state.get(&key).filter(is_there);
        if known || answer.is_none() {
            answer = Some(WhyAnswer {
                reasons: object.map_or_else(Vec::new, |object| reasons(state, object)),
                explanation,
            });
        }
        if known {
            break;
        }
    }
    let mut answer = answer.ok_or_else(|| Unanswered::UnknownKind(resource.to_string()))?;
    let object = &mut answer.explanation.object;
    if object.kind.is_empty() {
        object.kind = resource.resource.to_string();
        object.api_version = resource.group.to_string();
    }
    Ok(answer)
}

/// Where an object of this kind may have been: a definition that was made again may have another scope.
fn places<'a>(kind: Option<&Kind>, wanted: &'a str) -> Vec<&'a str> {
    match kind {
        Some(kind) if !kind.is_custom() && kind.is_namespaced() => vec![wanted],
        Some(kind) if !kind.is_custom() => vec![""],
        Some(kind) if !kind.is_namespaced() => vec!["", wanted],
        Some(_) | None => vec![wanted, ""],
    }
}

/// As its kind is called now; of what was there its body knows better.
fn subject(kind: Option<&KindRef>, namespace: &str, filter: &Filter) -> Subject {
    let version = kind.and_then(|kind| Some(kind.api_version(&kind.storage_version()?.name)));
    Subject {
        api_version: version.unwrap_or_default(),
        kind: kind.map_or_else(String::new, |kind| kind.kind.to_string()),
        namespace: namespace.to_owned(),
        name: filter.name.clone().unwrap_or_default(),
        uid: filter.uid.clone().unwrap_or_default(),
    }
}
