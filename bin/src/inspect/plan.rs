//! What a deletion would do: decided and collected on a copy of a state, and reported apart from what goes
//! without it.

#[cfg(test)]
mod tests;

use super::naming::{kind, not_served, refuse_review};
use super::{ObjectQuery, QueryError, log};
use crate::answer::{OnceLetGo, PlanAnswer, Planned, PlannedCommit, Unplanned, Waiting};
use crate::effects;
use crate::questions::{self, CHANGES_MAX};
use crate::reasons::Reasons;
use hindsight_core::command::{Delete, Intent, Propagation, Target};
use hindsight_core::{
    Actor, Command, Commit, Object, ObjectKey, Rejection, Rule, State, Time, Uid,
};
use hindsight_gc::Course;
use hindsight_log::Reader;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The state to plan on, and the time in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World<'a> {
    /// The log of the state.
    pub(crate) reader: &'a Reader,
    pub(crate) state: &'a State,
    pub(crate) now: Time,
}

/// What the deletion of this object would come to.
pub(crate) fn plan(
    world: World<'_>,
    object: &ObjectQuery,
    policy: Propagation,
) -> Result<PlanAnswer, QueryError> {
    plan_within(CHANGES_MAX, world, object, policy)
}

fn plan_within(
    changes_max: usize,
    world: World<'_>,
    object: &ObjectQuery,
    policy: Propagation,
) -> Result<PlanAnswer, QueryError> {
    let World { reader, state, now } = world;
    let delete = deletion(state, object, policy)?;
    let subject = delete.target.key.clone();
    let actor = Arc::new(Actor::new(""));
    let command = Command::new(actor, now, effects::seed(), Intent::Delete(delete));
    let forecast = questions::forecast(reader, state, command, changes_max)?;
    match forecast.answer {
        Ok(_) => {
            let due = Due::of(state, &forecast.due)?;
            let planned = changes_beyond_due(state, &subject, &forecast.course, due);
            let (with, without) = (&forecast.course, &forecast.due);
            Ok(PlanAnswer::Found(Planned {
                once_let_go: gone_once_let_go(with, without, now, changes_max),
                ..planned
            }))
        }
        Err(rejection) if is_absent(&rejection) => Ok(PlanAnswer::Missing(Unplanned {
            revision: state.revision,
            found: false,
            namespaced: !subject.namespace.is_empty(),
        })),
        Err(rejection) => Err(QueryError::Rejected(Box::new(rejection))),
    }
}

fn is_absent(rejection: &Rejection) -> bool {
    matches!(rejection.plain(), Rejection::NotFound { .. })
}

fn deletion(
    state: &State,
    object: &ObjectQuery,
    policy: Propagation,
) -> Result<Delete, QueryError> {
    let kind = kind(state, &object.kind).ok_or_else(|| not_served(state, &object.kind))?;
    refuse_review(&kind)?;
    let namespace = if kind.is_namespaced() {
        object.namespace.as_deref().unwrap_or("default")
    } else {
        ""
    };
    let version = kind.storage_version().map(|version| version.name.clone());
    let target = Target {
        key: ObjectKey::new(kind.stored_under(), namespace, &object.name),
        uid: object.uid.as_deref().map(Uid::from),
        revision: None,
    };
    Ok(Delete {
        propagation: Some(policy),
        ..Delete::new(target, version.unwrap_or_default(), Rule::Requested)
    })
}

/// What is done to an object, as far as it is the same in two courses: the rule of a deletion may be another one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ChangeIdentity {
    object: String,
    /// `None` for an object that is created on the copy: it has another UID each time.
    uid: Option<Uid>,
    events: Vec<String>,
}

/// What is done even without the deletion.
#[derive(Debug, Default)]
struct Due {
    remaining: BTreeMap<ChangeIdentity, usize>,
    removed: BTreeSet<Uid>,
    still_deleting: BTreeSet<Uid>,
}

impl Due {
    fn of(before: &State, due: &Course) -> Result<Self, QueryError> {
        if !due.is_complete {
            return Err(QueryError::Refused(format!(
                "at least {} changes are already due, too many to follow, and the effect of one more deletion cannot be told \
                 apart from theirs; ask again when fewer are due",
                due.changes.len().max(1)
            )));
        }
        let mut remaining = BTreeMap::new();
        for change in &due.changes {
            *remaining
                .entry(identity(before, &change.commit))
                .or_default() += 1;
        }
        Ok(Self {
            remaining,
            removed: removed(due).cloned().collect(),
            still_deleting: due
                .end
                .objects()
                .filter(|object| object.is_deleting() && is_new(before, object))
                .map(|object| object.meta.uid.clone())
                .collect(),
        })
    }
}

/// Whether this is done without the deletion too; each occurrence counts once.
fn consume(remaining: &mut BTreeMap<ChangeIdentity, usize>, change: &ChangeIdentity) -> bool {
    let remaining = remaining.get_mut(change).filter(|count| **count > 0);
    remaining.map(|count| *count -= 1).is_some()
}

fn identity(before: &State, commit: &Commit) -> ChangeIdentity {
    let was = before.get(&commit.key);
    let was = was.is_some_and(|was| was.meta.uid == commit.uid);
    ChangeIdentity {
        object: commit.key.to_string(),
        uid: was.then(|| commit.uid.clone()),
        events: log::describe_effects(commit).texts,
    }
}

fn removed(course: &Course) -> impl Iterator<Item = &Uid> {
    let commits = course.changes.iter().map(|change| &change.commit);
    let removals = commits.filter(|commit| commit.object().is_none());
    removals.map(|commit| &commit.uid)
}

/// Whether an object that is being deleted was not being deleted before.
fn is_new(before: &State, object: &Object) -> bool {
    let was = before.get(&object.key);
    !was.is_some_and(|was| was.is_deleting())
}

/// What the deletion adds to what is due anyway, and all that becomes of its object. If the course was not followed to
/// its end, it is not known what would be left waiting.
fn changes_beyond_due(
    before: &State,
    subject: &ObjectKey,
    course: &Course,
    mut due: Due,
) -> Planned {
    let subject = before.get(subject).map(|object| object.meta.uid.clone());
    let is_subject = |uid: &Uid| subject.as_ref() == Some(uid);
    let with_it: BTreeSet<&Uid> = removed(course).collect();
    let going = course.end.objects().filter(|object| object.is_deleting());
    let going: Vec<&Arc<Object>> = going.collect();
    let still_deleting: BTreeSet<&Uid> = going.iter().map(|object| &object.meta.uid).collect();
    let goes_anyway = |uid: &Uid| {
        let is_removed_too = !course.is_complete || with_it.contains(uid);
        let is_removed = due.removed.contains(uid) && is_removed_too;
        let is_marked = due.still_deleting.contains(uid) && still_deleting.contains(uid);
        !is_subject(uid) && (is_removed || is_marked)
    };
    let deleted = removed(course).filter(|uid| !goes_anyway(uid)).count();
    let is_left = |object: &&&Arc<Object>| {
        let uid = &object.meta.uid;
        is_subject(uid) || (is_new(before, object) && !due.still_deleting.contains(uid))
    };
    let left: Vec<&&Arc<Object>> = going.iter().filter(is_left).collect();
    let going_already = due.removed.iter().filter(|uid| goes_anyway(uid)).count();
    let left_uids: BTreeSet<&Uid> = left.iter().map(|object| &object.meta.uid).collect();
    let is_told = |uid: &Uid| is_subject(uid) || left_uids.contains(uid);
    let commits = course.changes.iter().map(|change| &change.commit);
    let added = commits
        .filter(|commit| !goes_anyway(&commit.uid))
        .filter(|commit| {
            let is_due = consume(&mut due.remaining, &identity(before, commit));
            !is_due || is_told(&commit.uid)
        });
    let entries = added.map(|commit| entry(commit)).collect();
    let reasons = Reasons::new(&course.end);
    let waiting = left.iter().map(|object| waiting(&reasons, object));
    Planned {
        revision: before.revision,
        found: true,
        entries,
        deleted,
        waiting: if course.is_complete {
            waiting.collect()
        } else {
            Vec::new()
        },
        going_already,
        complete: course.is_complete,
        once_let_go: None,
    }
}

/// The other objects that would go if clients let go of all that they hold: with the deletion and not without it.
/// If the course without it could not be followed to its end, this is unknown, and none is named.
fn gone_once_let_go(
    with: &Course,
    without: &Course,
    now: Time,
    changes_max: usize,
) -> Option<OnceLetGo> {
    if !with.is_complete || !with.end.objects().any(|object| object.is_deleting()) {
        return None;
    }
    let later = |course: &Course, changes_max| {
        course.if_clients_let_go(now, changes_max, questions::step_at(now))
    };
    let without_later = later(without, changes_max);
    if !without_later.is_complete {
        return Some(OnceLetGo::default());
    }
    let already: BTreeSet<&Uid> = removed(without).chain(removed(&without_later)).collect();
    let with_it = later(
        with,
        changes_max.saturating_add(without_later.changes.len()),
    );
    let commits = with_it.changes.iter().map(|change| &change.commit);
    let removals = commits.filter(|commit| commit.object().is_none());
    let others = removals.filter(|commit| {
        let waits = with
            .end
            .get(&commit.key)
            .is_some_and(|was| was.is_deleting());
        !waits && !already.contains(&commit.uid)
    });
    let deleted: Vec<String> = others.map(|commit| commit.key.to_string()).collect();
    let complete = with_it.is_complete;
    (!complete || !deleted.is_empty()).then_some(OnceLetGo { deleted, complete })
}

fn waiting(reasons: &Reasons<'_>, object: &Arc<Object>) -> Waiting {
    Waiting {
        object: object.key.to_string(),
        finalizers: object.meta.finalizers.to_vec(),
        held_by: reasons.held(object),
    }
}

fn entry(commit: &Commit) -> PlannedCommit {
    let events = log::describe_events(commit);
    PlannedCommit {
        object: commit.key.to_string(),
        uid: commit.uid.to_string(),
        events: events.texts,
        more_events: events.more,
    }
}
