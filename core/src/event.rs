//! Events: what happened. Stored for ever, so variants are added and never changed.

use crate::command::{Actor, Propagation, Request};
use crate::object::{BESIDE_BODY_BYTES, Name, Object, ObjectKey, OwnerReference, Uid};
use crate::{Revision, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything that happened to one object at one revision, all or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Position in the log.
    pub revision: Revision,
    /// When the command was made.
    pub time: Time,
    /// Who asked.
    pub actor: Arc<Actor>,
    /// How they asked.
    pub request: Arc<Request>,
    /// What made it necessary.
    pub cause: Cause,
    /// The object.
    pub key: ObjectKey,
    /// Its identity.
    pub uid: Uid,
    /// The facts, in order. The last one is `ObjectCreated`, `ObjectUpdated` or `ObjectDeleted`.
    pub events: Vec<Event>,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The object exists from here on.
    ObjectCreated {
        /// Its first version.
        object: Arc<Object>,
    },
    /// The object has a new version.
    ObjectUpdated {
        /// The version.
        object: Arc<Object>,
    },
    /// A finalizer was set.
    FinalizerAdded {
        /// Its name.
        finalizer: Name,
    },
    /// A finalizer was removed.
    FinalizerRemoved {
        /// Its name.
        finalizer: Name,
    },
    /// An owner reference was set.
    OwnerAdded {
        /// The reference.
        owner: OwnerReference,
    },
    /// An owner reference was removed.
    OwnerRemoved {
        /// The reference.
        owner: OwnerReference,
    },
    /// An owner reference of the same uid now reads differently.
    OwnerChanged {
        /// As it was.
        from: OwnerReference,
        /// As it is.
        to: OwnerReference,
    },
    /// Somebody asked for the deletion; the object stays until its finalizers are gone.
    DeletionRequested {
        /// Why.
        rule: Rule,
        /// What becomes of dependents.
        propagation: Propagation,
        /// Seconds to stop.
        grace_period_seconds: Option<i64>,
        /// The owners that the collector decided on, as each was found.
        owners: Vec<OwnerFinding>,
        /// The revision that it was decided on, for whoever reads the log.
        decided_at: Revision,
    },
    /// The object is gone.
    ObjectDeleted {
        /// Why.
        rule: Rule,
        /// The owners that the collector decided on, as each was found.
        owners: Vec<OwnerFinding>,
        /// The revision that it was decided on, for whoever reads the log.
        decided_at: Revision,
    },
}

/// How the collector found one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerFinding {
    /// The reference.
    pub owner: OwnerReference,
    /// What it pointed at.
    pub class: OwnerClass,
    /// Nothing: it has a place in what is stored, and nobody says it. The log tells when the owner went.
    pub since: Option<Revision>,
}

/// What a reference points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OwnerClass {
    /// It exists and is not waiting for dependents.
    Solid,
    /// It does not exist at these coordinates with this uid.
    Dangling,
    /// It exists, in foreground deletion.
    Waiting,
    /// Its kind cannot be resolved, so nothing is known.
    Unresolvable,
}

/// What made a command necessary.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// A request from outside.
    Request,
    /// An earlier commit.
    Commit(Revision),
    /// A policy that somebody wrote, by name.
    Policy(Name),
}

/// Why an object is deleted. What no request asked for, by its [`Cause`], must have the ground that its rule
/// names in the state that it was decided on: see [`crate::invariants`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A request, in the background.
    Requested,
    /// A request, in the foreground.
    RequestedForeground,
    /// A request that orphans.
    RequestedOrphan,
    /// One of a deleted collection.
    RequestedCollection,
    /// Every owner is gone.
    OwnersAbsent,
    /// An owner in foreground deletion waits for it.
    OwnerForeground,
    /// Nobody had the uid when the reference was made, and nobody got it since.
    NoSuchOwner,
    /// The owner lives in another namespace, which is the same as nowhere.
    OwnerInOtherNamespace,
    /// Its namespace is being deleted.
    NamespaceDeleted,
    /// The definition of its kind is being deleted.
    CrdDeleted,
    /// It finished longer ago than its time to live.
    TtlAfterFinished,
    /// A policy asked for it, which is its cause.
    Policy,
}

impl Rule {
    /// The name that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::RequestedForeground => "requested-foreground",
            Self::RequestedOrphan => "requested-orphan",
            Self::RequestedCollection => "requested-collection",
            Self::OwnersAbsent => "owners-absent",
            Self::OwnerForeground => "owner-foreground",
            Self::NoSuchOwner => "no-such-owner",
            Self::OwnerInOtherNamespace => "owner-in-other-namespace",
            Self::NamespaceDeleted => "namespace-deleted",
            Self::CrdDeleted => "crd-deleted",
            Self::TtlAfterFinished => "ttl-after-finished",
            Self::Policy => "policy",
        }
    }

    /// Whether it was decided by looking at owners.
    pub const fn is_about_owners(self) -> bool {
        matches!(
            self,
            Self::OwnersAbsent
                | Self::OwnerForeground
                | Self::NoSuchOwner
                | Self::OwnerInOtherNamespace
        )
    }
}

/// What a command comes to.
#[derive(Debug, Clone)]
pub struct Decision {
    /// What happens; empty for a write that changes nothing. Revisions follow the state's.
    pub commits: Vec<Arc<Commit>>,
    /// What the asker is told.
    pub outcome: Outcome,
    /// Said beside the answer (`Warning` headers).
    pub warnings: Vec<String>,
}

/// What the asker is told.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The object is new.
    Created(Arc<Object>),
    /// The object as it is now, which may be as it was.
    Updated(Arc<Object>),
    /// Deletion has begun, or goes on; the object is still there.
    Deleting(Arc<Object>),
    /// The object is gone; this was its last version.
    Deleted(Arc<Object>),
}

impl Outcome {
    /// The object that the answer speaks of.
    pub const fn object(&self) -> &Arc<Object> {
        match self {
            Self::Created(object)
            | Self::Updated(object)
            | Self::Deleting(object)
            | Self::Deleted(object) => object,
        }
    }
}

impl Event {
    /// The rule of a deletion, and the owners that it was decided on.
    pub fn verdict(&self) -> Option<(Rule, &[OwnerFinding])> {
        match self {
            Self::DeletionRequested { rule, owners, .. }
            | Self::ObjectDeleted { rule, owners, .. } => Some((*rule, owners)),
            Self::ObjectCreated { .. }
            | Self::ObjectUpdated { .. }
            | Self::FinalizerAdded { .. }
            | Self::FinalizerRemoved { .. }
            | Self::OwnerAdded { .. }
            | Self::OwnerRemoved { .. }
            | Self::OwnerChanged { .. } => None,
        }
    }

    /// The rule by which an object was marked, and how it is to go.
    pub const fn mark(&self) -> Option<(Rule, Propagation)> {
        match self {
            Self::DeletionRequested {
                rule, propagation, ..
            } => Some((*rule, *propagation)),
            Self::ObjectCreated { .. }
            | Self::ObjectUpdated { .. }
            | Self::FinalizerAdded { .. }
            | Self::FinalizerRemoved { .. }
            | Self::OwnerAdded { .. }
            | Self::OwnerRemoved { .. }
            | Self::OwnerChanged { .. }
            | Self::ObjectDeleted { .. } => None,
        }
    }

    /// The variant's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ObjectCreated { .. } => "ObjectCreated",
            Self::ObjectUpdated { .. } => "ObjectUpdated",
            Self::FinalizerAdded { .. } => "FinalizerAdded",
            Self::FinalizerRemoved { .. } => "FinalizerRemoved",
            Self::OwnerAdded { .. } => "OwnerAdded",
            Self::OwnerRemoved { .. } => "OwnerRemoved",
            Self::OwnerChanged { .. } => "OwnerChanged",
            Self::DeletionRequested { .. } => "DeletionRequested",
            Self::ObjectDeleted { .. } => "ObjectDeleted",
        }
    }
}

impl Commit {
    /// The version that this commit leaves; `None` once the object is gone.
    pub fn object(&self) -> Option<&Arc<Object>> {
        self.events.iter().rev().find_map(|event| match event {
            Event::ObjectCreated { object } | Event::ObjectUpdated { object } => Some(object),
            Event::FinalizerAdded { .. }
            | Event::FinalizerRemoved { .. }
            | Event::OwnerAdded { .. }
            | Event::OwnerRemoved { .. }
            | Event::OwnerChanged { .. }
            | Event::DeletionRequested { .. }
            | Event::ObjectDeleted { .. } => None,
        })
    }

    /// How its object is to go, if it marks it.
    pub fn propagation(&self) -> Option<Propagation> {
        let mark = self.events.iter().find_map(Event::mark);
        mark.map(|(_, propagation)| propagation)
    }

    /// Whether it takes this finalizer off.
    pub fn lets_go(&self, held: &str) -> bool {
        let is_it = |event: &Event| matches!(event, Event::FinalizerRemoved { finalizer } if &**finalizer == held);
        self.events.iter().any(is_it)
    }

    /// What it takes, about, in memory and in a file that is not compressed.
    pub fn weight(&self) -> usize {
        let version = self.object();
        version.map_or(BESIDE_BODY_BYTES, |object| object.weight())
    }
}

/// A commit with the version that it replaced: what watches and projections are told.
#[derive(Debug, Clone)]
pub struct Change {
    /// What happened.
    pub commit: Arc<Commit>,
    /// The object as it was; `None` for a creation.
    pub previous: Option<Arc<Object>>,
}
