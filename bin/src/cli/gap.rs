//! What a restore passed over: revisions that may have been issued, and times at which they were. What they changed
//! was lost.

use super::ask::encode;
use super::point::Point;
use crate::answer::{LogPage, StateAnswer};
use crate::control_plane::empty_state;
use crate::hint::hint;
use crate::inspect;
use crate::remote::Server;
use anyhow::Result;
use hindsight_api::AsOf;
use hindsight_core::Revision;
use hindsight_log::{Entry, Reader};

/// Where it can be looked up what follows in the log.
#[derive(Clone, Copy)]
pub(super) enum Log<'a> {
    Directory(&'a Reader),
    Server(&'a Server),
}

impl Log<'_> {
    /// The revision of the next entry, if that is a restore.
    fn restored(self, from: Revision) -> Result<Option<Revision>> {
        Ok(match self {
            Self::Directory(reader) => match reader.entries(from).next().transpose()? {
                Some(Entry::Restored { revision, .. }) => Some(revision),
                Some(Entry::Commit(_)) | None => None,
            },
            Self::Server(server) => {
                let page: LogPage = server.ask(&format!("/hindsight/v1/log?from={from}"))?;
                let next = page.entries.first();
                let next = next.filter(|next| next.object.is_empty());
                next.map(|next| next.revision)
            }
        })
    }

    /// The revision of the state at this point.
    fn answered(self, point: &Point) -> Result<Revision> {
        Ok(match self {
            Self::Directory(reader) => inspect::state_at(reader, empty_state(), point.at)?.revision,
            Self::Server(server) => {
                let path = format!("/hindsight/v1/state?asOf={}", encode(&point.text));
                server.ask::<StateAnswer>(&path)?.revision
            }
        })
    }

    /// Says so if the state of this point was asked for and is that of an older one, before a restore. An
    /// answer does not fail because this cannot be looked up. The log does not have when the backup was made,
    /// so of a time after its last commit it is not known whether anything was lost until then.
    pub(super) fn hint_at_gap(self, asked: Option<AsOf>, answered: Revision) {
        let may_be_later = match asked {
            None => false,
            Some(AsOf::Revision(asked)) => asked > answered,
            Some(AsOf::Time(_)) => true,
        };
        if may_be_later && let Ok(Some(restored)) = self.restored(answered.next()) {
            hint(&format!(
                "a backup of revision {answered} was restored at {restored}; what happened between is not in this log"
            ));
        }
    }

    /// The same of the end of a period.
    pub(super) fn hint_at_gap_until(self, until: Option<&Point>) {
        if let Some(until) = until
            && let Ok(answered) = self.answered(until)
        {
            self.hint_at_gap(Some(until.at), answered);
        }
    }
}
