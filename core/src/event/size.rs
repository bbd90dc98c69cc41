//! About how large commits are. Whatever a client can make long is counted: limits on records, on disk space
//! and on memory rest on it.

use super::{Cause, Commit, Event, OwnerFinding};
use crate::command::{Actor, Request};
use crate::object::{BESIDE_BODY_BYTES, OwnerReference};

/// The length of a text, and where the text ends, in a file.
const LENGTH_BYTES: usize = 8;
/// What a commit with one fact takes in a file beside all texts: times, numbers and codes.
const FIXED_BYTES: usize = 128;
/// What each further fact takes: in memory, where it is more.
const FACT_BYTES: usize = size_of::<Event>();

impl Commit {
    /// About how many bytes it takes in memory and in an uncompressed file, never less than the latter: the
    /// body of its version, its other facts, and where it came from.
    pub fn estimated_bytes(&self) -> usize {
        self.estimated_with(origin_bytes(&self.actor, &self.request))
    }

    /// As [`Self::estimated_bytes`], for a commit that is stored together with the one before it: they share
    /// their origin if it is the same.
    pub fn estimated_bytes_after(&self, before: Option<&Self>) -> usize {
        let is_shared =
            |before: &Self| before.actor == self.actor && before.request == self.request;
        if before.is_some_and(is_shared) {
            return self.estimated_with(0);
        }
        self.estimated_bytes()
    }

    /// About how many bytes these take in one file; see [`Self::estimated_bytes_after`].
    pub fn estimated_bytes_of_all<'a>(commits: impl IntoIterator<Item = &'a Self>) -> usize {
        let mut before = None;
        let bytes = |commit: &'a Self| commit.estimated_bytes_after(before.replace(commit));
        commits.into_iter().map(bytes).sum()
    }

    fn estimated_with(&self, origin: usize) -> usize {
        let key = self.key.parts().into_iter().map(|part| part.len());
        let policy = match &self.cause {
            Cause::Policy(name) => name.len(),
            Cause::Request | Cause::Commit(_) => 0,
        };
        let facts = self.events.iter().map(Event::texts).sum::<usize>()
            + self.events.len().saturating_sub(1) * FACT_BYTES;
        let texts = key.sum::<usize>() + self.uid.as_bytes().len() + policy;
        let bodies: usize = self.events.iter().map(Event::body_bytes).sum();
        bodies + (FIXED_BYTES + texts + origin + facts).max(BESIDE_BODY_BYTES)
    }
}

impl Event {
    fn body_bytes(&self) -> usize {
        match self {
            Self::ObjectCreated { object } | Self::ObjectUpdated { object } => object.body.len(),
            Self::FinalizerAdded { .. }
            | Self::FinalizerRemoved { .. }
            | Self::OwnerAdded { .. }
            | Self::OwnerRemoved { .. }
            | Self::OwnerChanged { .. }
            | Self::DeletionRequested { .. }
            | Self::ObjectDeleted { .. } => 0,
        }
    }

    /// The bytes of what it repeats of an object and its owners.
    fn texts(&self) -> usize {
        match self {
            Self::ObjectCreated { .. } | Self::ObjectUpdated { .. } => 0,
            Self::FinalizerAdded { finalizer } | Self::FinalizerRemoved { finalizer } => {
                finalizer.len()
            }
            Self::OwnerAdded { owner } | Self::OwnerRemoved { owner } => texts(owner),
            Self::OwnerChanged { from, to } => texts(from) + texts(to),
            Self::DeletionRequested { owners, .. } | Self::ObjectDeleted { owners, .. } => {
                let finding =
                    |found: &OwnerFinding| size_of::<OwnerFinding>() + texts(&found.owner);
                owners.iter().map(finding).sum()
            }
        }
    }
}

fn texts(owner: &OwnerReference) -> usize {
    owner.api_version.len() + owner.kind.len() + owner.name.len() + owner.uid.as_bytes().len()
}

fn origin_bytes(actor: &Actor, request: &Request) -> usize {
    let text = |text: &str| LENGTH_BYTES + text.len();
    let groups = actor.groups.iter().map(|group| text(group));
    let named = [&*actor.user, &*actor.uid];
    let asked = [&*request.verb, &*request.uri, &*request.user_agent, ""];
    let texts = named.into_iter().chain(asked).map(text);
    LENGTH_BYTES + groups.sum::<usize>() + texts.sum::<usize>()
}
