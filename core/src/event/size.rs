//! About how large commits are. Whatever a client can make long is counted: limits on records, on disk space
//! and on memory rest on it.

use super::{Cause, Commit, Event, OwnerFinding};
use crate::command::{Actor, Request};
use crate::object::{BESIDE_BODY_BYTES, OwnerReference};

/// The length of a text, and where the text ends, in a file.
const LENGTH_BYTES: usize = 8;
/// What a commit takes in a file beside all texts: times, numbers and codes.
const FIXED_BYTES: usize = 64;

impl Commit {
    /// About how many bytes it takes in memory and in an uncompressed file, never less than the latter: the
    /// body of its version, its other facts, and where it came from.
    pub fn estimated_bytes(&self) -> usize {
        self.beside_events(origin_bytes(&self.actor, &self.request)) + self.events_bytes()
    }

    /// As [`Self::estimated_bytes`], for a commit that is stored together with the one before it: they share
    /// their origin if it is the same.
    pub fn estimated_bytes_after(&self, before: Option<&Self>) -> usize {
        let is_shared =
            |before: &Self| before.actor == self.actor && before.request == self.request;
        if before.is_some_and(is_shared) {
            return self.beside_events(0) + self.events_bytes();
        }
        self.estimated_bytes()
    }

    /// About how many bytes these take in one file; see [`Self::estimated_bytes_after`].
    pub fn estimated_bytes_of_all<'a>(commits: impl IntoIterator<Item = &'a Self>) -> usize {
        let mut before = None;
        let bytes = |commit: &'a Self| commit.estimated_bytes_after(before.replace(commit));
        commits.into_iter().map(bytes).sum()
    }

    fn events_bytes(&self) -> usize {
        self.events.iter().map(Event::estimated_bytes).sum()
    }

    fn beside_events(&self, origin: usize) -> usize {
        let key = self.key.parts().into_iter().map(|part| text(part));
        let policy = match &self.cause {
            Cause::Policy(name) => text(name),
            Cause::Request | Cause::Commit(_) => 0,
        };
        let exact = FIXED_BYTES + key.sum::<usize>() + text(self.uid.as_str()) + policy + origin;
        exact.max(BESIDE_BODY_BYTES)
    }
}

impl Event {
    /// A fact takes more in memory than in a file, whatever it is about, unless it is a version.
    fn estimated_bytes(&self) -> usize {
        let texts = match self {
            Self::ObjectCreated { object } | Self::ObjectUpdated { object } => object.body.len(),
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
        };
        size_of::<Self>() + texts
    }
}

fn text(text: &str) -> usize {
    LENGTH_BYTES + text.len()
}

fn texts(owner: &OwnerReference) -> usize {
    owner.api_version.len() + owner.kind.len() + owner.name.len() + owner.uid.as_str().len()
}

fn origin_bytes(actor: &Actor, request: &Request) -> usize {
    let groups = actor.groups.iter().map(|group| text(group));
    let named = [&*actor.user, &*actor.uid];
    let asked = [&*request.verb, &*request.uri, &*request.user_agent, ""];
    let texts = named.into_iter().chain(asked).map(text);
    LENGTH_BYTES + groups.sum::<usize>() + texts.sum::<usize>()
}
