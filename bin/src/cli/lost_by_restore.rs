//! What a restore passed over: revisions that may have been issued, and times at which they were. What they changed
//! was lost.

use super::ask::Source;
use super::point::Point;
use super::query::Query;
use crate::answer::{LogPage, StateAnswer};
use crate::hint::hint;
use crate::inspect;
use crate::opening::empty_state;
use anyhow::Result;
use hindsight_api::{AsOf, LostByRestore};
use hindsight_core::Revision;

impl Source {
    fn lost_by_restore(&self, asked: AsOf, answered: Revision) -> Option<LostByRestore> {
        let client = match self {
            Self::Directory { reader, .. } => {
                return inspect::lost_by_restore(reader, asked, answered);
            }
            Self::Server(_) if !LostByRestore::may_hold(asked, answered) => return None,
            Self::Server(client) => client,
        };
        let from = answered.next().to_string();
        let question = Query::named("log").with("from", &from);
        let page: LogPage = client.ask(question.path()).ok()?;
        let next = page.entries.first();
        let restored = next.filter(|next| next.object.is_empty())?.revision;
        Some(LostByRestore {
            backup: answered,
            restored,
        })
    }

    /// The revision of the state at this point.
    fn answered(&self, point: &Point) -> Result<Revision> {
        Ok(match self {
            Self::Directory { reader, .. } => {
                inspect::state_at(reader, empty_state(), point.at)?.revision
            }
            Self::Server(client) => {
                let question = Query::named("state").with_point(Some(&point.text));
                client.ask::<StateAnswer>(question.path())?.revision
            }
        })
    }

    /// Says so if the state of this point was asked for and is that of an older one, before a restore. An
    /// answer does not fail because this cannot be looked up.
    pub(super) fn hint_at_gap(&self, asked: Option<AsOf>, answered: Revision) {
        if let Some(lost) = asked.and_then(|asked| self.lost_by_restore(asked, answered)) {
            hint(&lost.to_string());
        }
    }

    /// The same of the end of a period.
    pub(super) fn hint_at_gap_until(&self, until: Option<&Point>) {
        if let Some(until) = until
            && let Ok(answered) = self.answered(until)
        {
            self.hint_at_gap(Some(until.at), answered);
        }
    }
}
