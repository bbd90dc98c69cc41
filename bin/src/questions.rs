//! Why an object was deleted, and what a command would come to: the same for an embedder, for the command line on
//! a directory, and over HTTP.

#[cfg(test)]
mod tests;

use crate::effects;
use crate::history::LogHistory;
use crate::reasons::{self, reasons};
use hindsight_core::kind::KindRef;
use hindsight_core::{Command, ObjectKey, Rule, State, Time, Uid};
use hindsight_gc::{Forecast, Ground, Step, Worker};
use hindsight_log::{Error, Reader};
use hindsight_projector::{Explanation, History, Subject};
#[cfg(feature = "http")]
use serde::{Deserialize, Serialize};

/// Changes that a look ahead follows, and as many more as are due already; these up to ten times as far.
pub(crate) const CHANGES_MAX: usize = 20_000;

/// Why an object was deleted, is being deleted, or is there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "http", derive(Serialize, Deserialize))]
pub struct Why {
    /// What became of it, and the chain of causes.
    #[cfg_attr(feature = "http", serde(flatten))]
    pub explanation: Explanation,
    /// In words: of an object that is being deleted, what it waits for; of another that is there, what its owners
    /// are, and which namespace or definition that is going takes it along; of one that went for its owners, which of
    /// its references had the uid of another object that is there.
    #[cfg_attr(feature = "http", serde(default))]
    pub reasons: Vec<String>,
}

/// Of the newest that had this name, or of the one with this identity. The kind says how it is called where the
/// log does not.
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
    let mut reasons = object.map_or_else(Vec::new, |object| reasons(state, object));
    reasons.extend(mistaken(history, state, &explanation)?);
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

/// What was wrong with the owners that it was deleted for.
fn mistaken(
    history: &LogHistory<'_>,
    state: &State,
    explanation: &Explanation,
) -> Result<Vec<String>, Error> {
    let Some(link) = explanation.chain.first() else {
        return Ok(Vec::new());
    };
    if !matches!(
        explanation.rule,
        Some(Rule::OwnersAbsent | Rule::NoSuchOwner)
    ) {
        return Ok(Vec::new());
    }
    let deletion = history.commit(link.revision)?;
    Ok(deletion.map_or_else(Vec::new, |deletion| reasons::mistaken(state, &deletion)))
}

/// As its kind is called now; of what was there its body knows better.
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

/// On a state and the log that it is of, at the command's time and no later.
pub(crate) fn forecast(
    reader: &Reader,
    state: &State,
    command: Command,
    changes_max: usize,
) -> Result<Forecast, Error> {
    let now = command.time;
    let ground = Ground::new(state, reader.scan_back(state.revision))?;
    Ok(hindsight_gc::forecast(
        ground,
        command,
        changes_max,
        step_at(now),
    ))
}

/// Steps of the collectors as commands that are given at this time.
pub(crate) fn step_at(now: Time) -> impl FnMut(Worker, Step) -> Command {
    move |worker, step| worker.command(step, now, effects::seed())
}
