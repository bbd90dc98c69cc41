//! What a deletion would do: decided and collected on a copy of a state.

use super::{Filter, Unanswered, held, kind, log};
use crate::answer::{PlanAnswer, Planned, PlannedCommit, Unplanned, Waiting};
use crate::{collectors, effects};
use hindsight_core::command::{Delete, Intent, Propagation, Target};
use hindsight_core::{
    Actor, Command, Commit, Object, ObjectKey, Rejection, Rule, State, Time, Uid,
};
use hindsight_gc::{Forecast, forecast};
use std::sync::Arc;

/// Changes that are told of.
const CHANGES_MAX: usize = 20_000;

/// What the deletion of the filter's object would come to on this state, at this time.
pub(crate) fn plan(
    state: &State,
    filter: &Filter,
    policy: Propagation,
    now: Time,
) -> Result<PlanAnswer, Unanswered> {
    let text = filter.kind.clone().unwrap_or_default();
    let kind = kind(state, &text).ok_or(Unanswered::UnknownKind(text))?;
    let namespace = if kind.is_namespaced() {
        filter.namespace.as_deref().unwrap_or("default")
    } else {
        ""
    };
    let name = filter.name.as_deref().unwrap_or_default();
    let version = kind.storage_version().map(|version| version.name.clone());
    let target = Target {
        key: ObjectKey::new(kind.stored_under(), namespace, name),
        uid: filter.uid.as_deref().map(Uid::from),
        revision: None,
    };
    let delete = Delete {
        propagation: Some(policy),
        ..Delete::new(target, version.unwrap_or_default(), Rule::Requested)
    };
    let subject = delete.target.key.clone();
    let actor = Arc::new(Actor::new(""));
    let command = Command::new(actor, now, effects::seed(), Intent::Delete(delete));
    let of_step = |worker, step| Command {
        time: now,
        ..collectors::command(worker, step)
    };
    let foretold = forecast(state, command, CHANGES_MAX, of_step);
    match &foretold.answer {
        Ok(_) => Ok(PlanAnswer::Found(told(state, &subject, &foretold))),
        Err(Rejection::NotFound { .. }) => Ok(PlanAnswer::Missing(Unplanned {
            revision: state.revision,
            found: false,
        })),
        Err(rejection) => Err(Unanswered::Refused(rejection.to_string())),
    }
}

/// Who is left being deleted because of it, and who was asked for if it is.
fn told(before: &State, subject: &ObjectKey, foretold: &Forecast) -> Planned {
    let commits = foretold.changes.iter().map(|change| &change.commit);
    let entries = commits.clone().map(|commit| entry(commit)).collect();
    let deleted = commits.filter(|commit| commit.object().is_none()).count();
    let is_left = |object: &&Arc<Object>| {
        let was = before.get(&object.key).is_some_and(|was| was.is_deleting());
        object.is_deleting() && (!was || object.key == *subject)
    };
    let left = foretold.end.objects().filter(is_left);
    let waiting = left.map(|object| Waiting {
        object: object.key.to_string(),
        finalizers: object.meta.finalizers.to_vec(),
        held_by: held(object),
    });
    Planned {
        revision: before.revision,
        found: true,
        entries,
        deleted,
        waiting: waiting.collect(),
        complete: foretold.is_whole,
    }
}

fn entry(commit: &Commit) -> PlannedCommit {
    let events = log::described(commit);
    PlannedCommit {
        object: commit.key.to_string(),
        uid: commit.uid.to_string(),
        events: events.texts,
        more_events: events.more,
    }
}
