//! Explanations of deletions and forecasts of commands: the same for an embedder, for the command line on a
//! directory, and over HTTP.

#[cfg(test)]
mod tests;

use crate::effects;
use crate::history::LogHistory;
use crate::reasons::{Mismatches, Reasons};
use hindsight_core::kind::KindRef;
use hindsight_core::{Command, ObjectKey, State, Time, Uid};
use hindsight_gc::{Baseline, Forecast, Step};
use hindsight_log::{Error, Reader};
use hindsight_projector::{Explanation, Subject};
#[cfg(feature = "http")]
use serde::{Deserialize, Serialize};

/// How many changes a forecast follows, beside those that are due already; these are followed up to ten times
/// as far.
pub(crate) const CHANGES_MAX: usize = 20_000;

/// Why an object was deleted, is being deleted, or exists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "http", derive(Serialize, Deserialize))]
pub struct Why {
    /// What became of it, and the chain of causes.
    #[cfg_attr(feature = "http", serde(flatten))]
    pub explanation: Explanation,
    /// In words: for an object that is being deleted, what it waits for; for another one that exists, what its
    /// owners are, and which namespace or definition in deletion takes it along; for one that was deleted
    /// because of its owners, which of its references named an object that had another UID then, or has the UID of
    /// another object that exists; for one that is not in the log, which restore may have lost it; and which object
    /// of another kind may have been meant.
    #[cfg_attr(feature = "http", serde(default))]
    pub reasons: Vec<String>,
}

/// As [`explain`], of an object whose kind is the one that is served now.
pub(crate) fn explain_served(
    history: &LogHistory<'_>,
    state: &State,
    key: &ObjectKey,
    uid: Option<&Uid>,
) -> Result<Why, Error> {
    let kind = state.kinds.by_resource(&key.resource);
    explain(history, state, key, uid, kind)
}

/// Explains the newest object that had this name, or the one with this UID. The kind says what it is called if
/// the log does not.
pub(crate) fn explain(
    history: &LogHistory<'_>,
    state: &State,
    key: &ObjectKey,
    uid: Option<&Uid>,
    kind: Option<&KindRef>,
) -> Result<Why, Error> {
    let subject = subject(kind, key, uid);
    let mut explanation = hindsight_projector::explain(history, state, key, uid, subject)?;
    let object = state.get(key);
    let object = object.filter(|object| object.meta.uid.as_str() == explanation.object.uid);
    let mut reasons = object.map_or_else(Vec::new, |object| Reasons::new(state).of(object));
    reasons.extend(Mismatches { history, state }.of(&explanation)?);
    let object = &mut explanation.object;
    if object.kind.is_empty() {
        object.kind = key.resource.resource.to_string();
        object.api_version = key.resource.group.to_string();
    }
    Ok(Why {
        explanation,
        reasons,
    })
}

/// The object as its kind is called now. If the object existed, its body knows better.
fn subject(kind: Option<&KindRef>, key: &ObjectKey, uid: Option<&Uid>) -> Subject {
    let version = kind.and_then(|kind| Some(kind.api_version(&kind.storage_version()?.name)));
    Subject {
        api_version: version.unwrap_or_default(),
        kind: kind.map_or_else(String::new, |kind| kind.kind.to_string()),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        uid: uid.map_or_else(String::new, |uid| uid.as_str().to_owned()),
    }
}

/// Forecasts a command on a state and the log of that state, at the command's time and no later.
pub(crate) fn forecast(
    reader: &Reader,
    state: &State,
    command: Command,
    changes_max: usize,
) -> Result<Forecast, Error> {
    let now = command.time;
    let baseline = Baseline::new(state, reader.scan_back(state.revision))?;
    Ok(hindsight_gc::forecast(
        baseline,
        command,
        changes_max,
        step_at(now),
    ))
}

/// Turns steps of the collectors into commands that are given at this time.
pub(crate) fn step_at(now: Time) -> impl FnMut(Step) -> Command {
    move |step| step.command(now, effects::seed())
}
