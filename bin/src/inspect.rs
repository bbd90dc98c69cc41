//! Questions about the log, answered alike by the command line on a directory and by the server that holds one.

mod bounded_texts;
mod changed;
mod log;
mod naming;
mod near;
mod owner;
mod plan;
mod served;
#[cfg(test)]
mod tests;
mod versions;
mod why;

use hindsight_api::{AsOf, LostByRestore};
use hindsight_core::{Pruned, Rejection, Revision, State, Time};
use hindsight_log::{Entry, Error, Reader};

pub(crate) use log::{Selection, for_each_entry, lost_in_period, page};
pub(crate) use near::is_near;
pub(crate) use owner::{Owner, find_owner};
pub(crate) use plan::{World, plan};
pub(crate) use served::{Served, served};
pub(crate) use why::why;

/// The object, or objects of one name, that a question is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectQuery {
    pub(crate) kind: String,
    pub(crate) name: String,
    /// `default` without one.
    pub(crate) namespace: Option<String>,
    /// One of several that had the name.
    pub(crate) uid: Option<String>,
}

/// Which commits a question is about.
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

/// The time at which a state of the past was the newest: that of its last commit, or of the restore at this revision.
/// `None` if nothing was written until then, or none of it is kept.
pub(crate) fn time_of(reader: &Reader, revision: Revision) -> Result<Option<Time>, Error> {
    if let Some(Ok(Entry::Restored { revision: at, time })) = reader.entries(revision).next()
        && at == revision
    {
        return Ok(Some(time));
    }
    let last = reader.scan_back(revision).next().transpose()?;
    Ok(last.map(|commit| commit.time))
}

/// The clock of a state of the past.
pub(crate) fn clock_at(reader: &Reader, revision: Revision) -> Result<Time, Error> {
    Ok(time_of(reader, revision)?.unwrap_or(Time(0)))
}

/// Refuses what was computed from the log as of a revision whose commits were dropped, perhaps since: its state may have
/// been kept, but not the time and the reasons of then, and a fold would name another revision.
pub(crate) fn refuse_dropped(reader: &Reader, asked: Revision) -> Result<(), Error> {
    let floor = reader.floor()?;
    if asked < floor {
        return Err(Error::Pruned(Pruned { asked, floor }));
    }
    Ok(())
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
pub(crate) fn lost_by_restore(
    reader: &Reader,
    asked: AsOf,
    answered: Revision,
) -> Option<LostByRestore> {
    if !LostByRestore::may_hold(asked, answered) {
        return None;
    }
    match reader.entries(answered.next()).next()?.ok()? {
        Entry::Commit(_) => None,
        Entry::Restored { revision, .. } => Some(LostByRestore {
            backup: answered,
            restored: revision,
        }),
    }
}

/// What is said of the last restore where nothing was found.
pub(crate) fn lost_at(restored: Revision) -> String {
    format!(
        "a backup was restored at revision {restored}; what was written between the backup and the restore is not in \
         this log"
    )
}
