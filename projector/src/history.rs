//! What explanations read from a log.

use hindsight_core::{Commit, GroupResource, ObjectKey, Revision, Uid};

/// The log, as far as an explanation reads it.
pub trait History {
    /// The error of a failed read.
    type Error;

    /// The commit at this revision.
    fn commit(&self, revision: Revision) -> Result<Option<Commit>, Self::Error>;

    /// The revision from which on every commit is kept; earlier ones may be missing.
    fn floor(&self) -> Result<Revision, Self::Error>;

    /// The newest commit of this object, not after `until`; of this uid only, if one is given. A question has no
    /// bound for what others did who had the name: it must be found without reading much of that.
    fn last(
        &self,
        key: &ObjectKey,
        uid: Option<&Uid>,
        until: Revision,
    ) -> Result<Option<Commit>, Self::Error>;

    /// The resources of the definitions that gave a group this kind at any time, the latest first; also those of which
    /// only the end is kept, which may have.
    fn once_defined(&self, group: &str, kind: &str) -> Result<Vec<GroupResource>, Self::Error>;
}
