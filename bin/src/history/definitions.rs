//! What is looked for in all of the log: the kinds that it ever defined, as objects of a kind whose definition is
//! gone are still in it, and the restores.

use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::kind_of_definition;
use hindsight_core::{Commit, GroupResource, Revision};
use hindsight_log::{Entry, Error, Reader};
use std::sync::Arc;

/// A kind that was defined once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Defined {
    pub(crate) resource: GroupResource,
    /// The kind as it was; `None` if the history in which its definition was is no longer kept.
    pub(crate) kind: Option<KindRef>,
}

/// What was found, and up to where the log was read for it.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// The latest last.
    all: Vec<Defined>,
    /// The last restore.
    pub(super) restored: Option<Revision>,
    covers: Revision,
}

impl Definitions {
    /// Adds what was written since.
    pub(super) fn extend(&mut self, reader: &Reader) -> Result<(), Error> {
        for entry in reader.entries(self.covers.next()) {
            let entry = entry?;
            self.covers = entry.revision();
            match entry {
                Entry::Restored { revision, .. } => self.restored = Some(revision),
                Entry::Commit(commit) if commit.key.is_definition() => self.add(&commit),
                Entry::Commit(_) => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, commit: &Commit) {
        let resource = commit.key.defined_resource();
        let kind = commit.object().and_then(|definition| {
            let document = definition.document();
            kind_of_definition(&document, &commit.uid, false)
        });
        let kind = kind.map(|(kind, _)| Arc::new(kind));
        let is_known = self.all.iter().any(|one| one.resource == resource);
        if kind.is_none() && is_known {
            return;
        }
        let defined = Defined { resource, kind };
        self.all.retain(|one| *one != defined);
        self.all.push(defined);
    }

    /// The latest with such a resource and, as far as it is known, such a kind.
    pub(super) fn find(
        &self,
        is_it: impl Fn(&GroupResource, Option<&Kind>) -> bool,
    ) -> Option<Defined> {
        let mut latest = self.all.iter().rev();
        let found = latest.find(|one| is_it(&one.resource, one.kind.as_deref()));
        found.cloned()
    }
}
