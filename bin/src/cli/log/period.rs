//! Whether something that is missing from a log may be missing from the period that is asked for.

use crate::answer::LogPage;
use crate::cli::ask::Source;
use crate::cli::point::Point;
use crate::cli::query::Query;
use hindsight_api::AsOf;
use hindsight_core::{Revision, Time};
use hindsight_log::Entry;

/// Whether all that came before this revision happened before the time from which on the log is asked for. Of a
/// revision from which on it is asked for, this is seen without a look at the log.
pub(super) fn begins_after(since: Option<&Point>, source: &Source, revision: Revision) -> bool {
    match since.map(|since| since.at) {
        Some(AsOf::Time(since)) => time_from(source, revision).is_some_and(|time| time < since),
        Some(AsOf::Revision(_)) | None => false,
    }
}

/// When the first thing from this revision on happened. An answer does not fail because this cannot be looked up.
fn time_from(source: &Source, revision: Revision) -> Option<Time> {
    match source {
        Source::Directory { reader, .. } => Some(match reader.entries(revision).next()?.ok()? {
            Entry::Commit(commit) => commit.time,
            Entry::Restored { time, .. } => time,
        }),
        Source::Server(client) => {
            let query = Query::named("log").with("from", &revision.to_string());
            let page: LogPage = client.ask(query.path()).ok()?;
            Time::parse(&page.entries.first()?.time)
        }
    }
}
