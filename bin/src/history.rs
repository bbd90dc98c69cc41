//! The log as explanations read it.

use hindsight_core::{Commit, ObjectKey, Revision, Uid};
use hindsight_log::{Error, Reader};
use hindsight_projector::History;

/// Looks commits up in a log, newest first where a search is needed.
#[derive(Debug)]
pub struct LogHistory<'a>(pub &'a Reader);

impl History for LogHistory<'_> {
    type Error = Error;

    fn commit(&self, revision: Revision) -> Result<Option<Commit>, Error> {
        self.0.commit(revision)
    }

    fn last(
        &self,
        key: &ObjectKey,
        uid: Option<&Uid>,
        until: Revision,
    ) -> Result<Option<Commit>, Error> {
        for commit in self.0.scan_back(until) {
            let commit = commit?;
            if commit.key == *key && uid.is_none_or(|uid| *uid == commit.uid) {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }
}
