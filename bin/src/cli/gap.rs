//! Revisions over which a backup was restored: some may have been issued, and what they changed was lost.

use super::point::Point;
use crate::answer::LogPage;
use crate::hint::hint;
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

    /// Says so if the state of this revision was asked for and is that of an older one, before a restore. An
    /// answer does not fail because this cannot be looked up.
    pub(super) fn hint_at_gap(self, asked: Option<Revision>, answered: Revision) {
        let Some(asked) = asked.filter(|asked| *asked > answered) else {
            return;
        };
        if let Ok(Some(restored)) = self.restored(asked)
            && asked < restored
        {
            hint(&format!(
                "a backup of revision {answered} was restored at {restored}; what happened between is not in this log"
            ));
        }
    }
}

/// The revision that a point names.
pub(super) fn revision_of(point: Option<&Point>) -> Option<Revision> {
    match point?.at {
        AsOf::Revision(revision) => Some(revision),
        AsOf::Time(_) => None,
    }
}
