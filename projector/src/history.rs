//! What explanations ask of a log.

use hindsight_core::{Commit, ObjectKey, Revision, Uid};

/// The log, as far as an explanation reads it.
pub trait History {
    /// What reading can fail with.
    type Error;

    /// The commit at this revision.
    fn commit(&self, revision: Revision) -> Result<Option<Commit>, Self::Error>;

    /// From this revision on every commit is there; of those before, some may be missing.
    fn floor(&self) -> Result<Revision, Self::Error>;

    /// The newest commit that touched this object, not above `until`; of this identity, if given.
    fn last(
        &self,
        key: &ObjectKey,
        uid: Option<&Uid>,
        until: Revision,
    ) -> Result<Option<Commit>, Self::Error>;
}
