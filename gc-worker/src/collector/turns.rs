//! Whose turn it is, as the log tells: so a collector that begins anew goes on where the last one was.
//! See `docs/decisions/0031-the-same-log-after-a-restart.md`.

use super::origin::{Entry, Origin};
use crate::identity::Identity;
use hindsight_core::{Commit, ObjectKey, Revision, Rule};

/// Turns older than this many commits are forgotten. This bounds how far back the log is read for them.
const COMMITS_MAX: u64 = 4096;

/// Who had the last turns, of objects and of containers.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    object: Option<(Revision, Entry)>,
    container: Option<(Revision, ObjectKey)>,
    newest: Revision,
    /// The oldest commit that was read.
    oldest: Revision,
}

impl Turns {
    /// Nothing is known of what was before this revision.
    pub(super) const fn at(newest: Revision) -> Self {
        Self {
            object: None,
            container: None,
            newest,
            oldest: newest,
        }
    }

    /// The object that had its turn last.
    pub(super) fn object(&self) -> Option<Entry> {
        self.recent(self.object.as_ref())
    }

    /// The container that had its turn last.
    pub(super) fn container(&self) -> Option<ObjectKey> {
        self.recent(self.container.as_ref())
    }

    fn recent<T: Clone>(&self, turn: Option<&(Revision, T)>) -> Option<T> {
        let (_, one) = turn.filter(|(revision, _)| self.reaches(*revision))?;
        Some(one.clone())
    }

    fn reaches(&self, revision: Revision) -> bool {
        revision.0 + COMMITS_MAX > self.newest.0
    }

    /// Notes the next commit.
    pub(super) fn note(&mut self, commit: &Commit) {
        self.newest = commit.revision;
        if let Some(entry) = object_of(commit) {
            self.object = Some((commit.revision, entry));
        }
        if let Some(key) = container_of(commit) {
            self.container = Some((commit.revision, key));
        }
    }

    /// Reads the next commit backward, from the newest on.
    pub(super) fn recall(&mut self, commit: &Commit) {
        self.oldest = commit.revision;
        if self.object.is_none() {
            self.object = object_of(commit).map(|entry| (commit.revision, entry));
        }
        if self.container.is_none() {
            self.container = container_of(commit).map(|key| (commit.revision, key));
        }
    }

    /// Whether an older commit may tell of a turn that is not known yet.
    pub(super) fn may_be_older(&self) -> bool {
        self.reaches(self.oldest) && (self.object.is_none() || self.container.is_none())
    }

    /// Counts a turn of which the log tells nothing, because nothing was decided in it: the others come next.
    pub(super) fn pass_over(&mut self, origin: &Origin) {
        match origin {
            Origin::Object(entry) => self.object = Some((self.newest, entry.clone())),
            Origin::Container(key) => self.container = Some((self.newest, key.clone())),
            Origin::Deadline | Origin::Warning(_) | Origin::Definition(_) | Origin::Name(_) => {}
        }
    }
}

/// The object about which the garbage collector decided something, if this is a step of it.
fn object_of(commit: &Commit) -> Option<Entry> {
    let is_step = Identity::of(&commit.actor) == Some(Identity::GarbageCollector);
    // Its reports are no steps.
    let is_step = is_step && !commit.key.resource.is_event();
    is_step.then(|| (commit.key.clone(), commit.uid.clone()))
}

/// The container that this object was deleted with, if it was.
fn container_of(commit: &Commit) -> Option<ObjectKey> {
    commit.deletions().find_map(|(rule, _)| match rule {
        Rule::NamespaceDeleted => Some(ObjectKey::namespace(&commit.key.namespace)),
        Rule::CrdDeleted => Some(ObjectKey::defining(&commit.key.resource)),
        Rule::Requested
        | Rule::RequestedForeground
        | Rule::RequestedOrphan
        | Rule::RequestedCollection
        | Rule::OwnersAbsent
        | Rule::OwnerForeground
        | Rule::NoSuchOwner
        | Rule::OwnerInOtherNamespace
        | Rule::TtlAfterFinished
        | Rule::Policy
        | Rule::ServiceDeleted => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{empty, write};
    use serde_json::json;

    /// A step of the garbage collector about an object.
    fn step() -> Commit {
        let document = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "n"}});
        let change = write(&mut empty(), ("", "configmaps"), document);
        Commit {
            actor: Identity::GarbageCollector.actor(),
            ..(*change.commit).clone()
        }
    }

    #[test]
    fn a_turn_is_forgotten_after_so_many_commits_and_looked_for_no_further_back() {
        let step = step();
        let other = |revision| Commit {
            actor: Identity::ApiServer.actor(),
            revision: Revision(revision),
            ..step.clone()
        };
        for (newest, is_known) in [(COMMITS_MAX, true), (COMMITS_MAX + 1, false)] {
            let expected = is_known.then(|| (step.key.clone(), step.uid.clone()));
            let mut noted = Turns::at(Revision::ZERO);
            noted.note(&step);
            noted.note(&other(newest));
            assert_eq!(noted.object(), expected);

            let mut recalled = Turns::at(Revision(newest));
            recalled.recall(&other(newest));
            assert!(recalled.may_be_older());
            recalled.recall(&step);
            assert_eq!(recalled.object(), expected);
            assert_eq!(recalled.may_be_older(), is_known);
        }
    }
}
