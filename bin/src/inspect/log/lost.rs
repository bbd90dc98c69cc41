//! Restores of backups that may have lost what a period holds.

use super::Selection;
use crate::history::LogHistory;
use hindsight_core::{Revision, Time};
use hindsight_log::{Entry, Error};

/// The last restore, unless it came before this revision or after the period: then the period holds nothing of what
/// was lost, or ends within that.
pub(crate) fn lost_in_period(
    history: &LogHistory<'_>,
    selection: &Selection,
    from: Revision,
) -> Result<Option<Revision>, Error> {
    let last = history.restored()?.filter(|last| *last >= from);
    if selection.filter.until.is_none() {
        return Ok(last);
    }
    Ok(last.filter(|last| {
        let time = time_of(history, *last);
        // If its entry was dropped, its time counts as that of any period.
        !selection.is_after_period(*last, time.unwrap_or(Time::MIN))
    }))
}

fn time_of(history: &LogHistory<'_>, restored: Revision) -> Option<Time> {
    match history.all(restored).next()?.ok()? {
        Entry::Restored { revision, time } if revision == restored => Some(time),
        Entry::Restored { .. } | Entry::Commit(_) => None,
    }
}
