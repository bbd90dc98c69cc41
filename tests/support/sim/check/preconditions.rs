//! Checks preconditions: what a command asked for held when it was carried out. This is
//! compare-and-set, per object.

use super::{Checked, ensure};
use crate::sim::clients::{Clients, Operation};
use crate::sim::history::History;
use crate::sim::trace::Trace;
use hindsight_core::{Intent, Object, Revision, Uid};

/// The UID and revision that a command requires.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    uid: Option<Uid>,
    revision: Option<Revision>,
}

/// Checks every commit against the preconditions of its command.
pub fn check(history: &History, clients: &Clients, trace: &mut Trace) -> Checked {
    for (commit, before) in history.with_states() {
        let number: Option<u64> = commit.request.uri.parse().ok();
        let operation = number.and_then(|number| clients.operations.get(&number));
        let wanted = operation.map(wanted).unwrap_or_default();
        if wanted != Wanted::default() {
            trace.count("preconditions judged", 1);
            holds(
                &wanted,
                before.get(&commit.key).map(|one| &**one),
                commit.revision,
            )?;
        }
    }
    Ok(())
}

/// Whether an object with this UID and revision differs from the one that the command requires;
/// `None` if the command is for any version.
pub fn differs(operation: &Operation, uid: &Uid, revision: Revision) -> Option<bool> {
    let wanted = wanted(operation);
    let other_uid = wanted.uid.as_ref().map(|wanted| wanted != uid);
    let other_revision = wanted.revision.map(|wanted| wanted != revision);
    other_uid
        .into_iter()
        .chain(other_revision)
        .reduce(|one, other| one || other)
}

/// Whether the absence of the object is a conflict rather than not found: an update compares the UID
/// that it asks for with that of an empty object. Source: `GuaranteedUpdate` of upstream's storage,
/// whose preconditions come before what is missing.
pub fn is_an_update_of_one_identity(operation: &Operation) -> bool {
    matches!(operation.command.intent, Intent::Update(_)) && wanted(operation).uid.is_some()
}

fn wanted(operation: &Operation) -> Wanted {
    match &operation.command.intent {
        Intent::Update(update) => {
            let text = |member| update.object["metadata"][member].as_str();
            Wanted {
                uid: text("uid").map(Uid::from),
                revision: text("resourceVersion")
                    .and_then(|one| one.parse().ok())
                    .map(Revision),
            }
        }
        Intent::Delete(delete) | Intent::Evict(delete) => Wanted {
            uid: delete.target.uid.clone(),
            revision: delete.target.revision,
        },
        _ => Wanted::default(),
    }
}

fn holds(wanted: &Wanted, found: Option<&Object>, at: Revision) -> Checked {
    let uid = found.map(|one| &one.meta.uid);
    let revision = found.map(|one| one.revision);
    let same = wanted.uid.as_ref().is_none_or(|wanted| Some(wanted) == uid)
        && wanted
            .revision
            .is_none_or(|wanted| Some(wanted) == revision);
    ensure("preconditions hold", same, || {
        format!("{at} was written for {wanted:?}, there was {uid:?} at {revision:?}")
    })
}
