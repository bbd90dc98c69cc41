//! Events: the facts that the log stores. They are stored for ever, so variants are added and never
//! changed.

mod size;

use crate::command::{Actor, Propagation, Request};
use crate::object::{Name, Object, ObjectKey, OwnerReference, Uid};
use crate::{Revision, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// All that happened to one object at one revision. A commit is applied as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Position in the log.
    pub revision: Revision,
    /// When the command was made.
    pub time: Time,
    /// Who issued the command.
    pub actor: Arc<Actor>,
    /// The request that the command came with.
    pub request: Arc<Request>,
    /// What made the command necessary.
    pub cause: Cause,
    /// The key of the object.
    pub key: ObjectKey,
    /// The uid of the object.
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
    /// A finalizer was added.
    FinalizerAdded {
        /// Its name.
        finalizer: Name,
    },
    /// A finalizer was removed.
    FinalizerRemoved {
        /// Its name.
        finalizer: Name,
    },
    /// An owner reference was added.
    OwnerAdded {
        /// The reference.
        owner: OwnerReference,
    },
    /// An owner reference was removed.
    OwnerRemoved {
        /// The reference.
        owner: OwnerReference,
    },
    /// An owner reference has changed but kept its uid.
    OwnerChanged {
        /// The reference before.
        from: OwnerReference,
        /// The reference after.
        to: OwnerReference,
    },
    /// The deletion was requested; the object stays until its finalizers are gone.
    DeletionRequested {
        /// The rule that the deletion follows.
        rule: Rule,
        /// What happens to dependents.
        propagation: Propagation,
        /// Seconds that the object is given to stop, for readers of the log: zero where its kind has no such
        /// period, and `None` for a namespace, whose own deletion knows of none.
        grace_period_seconds: Option<i64>,
        /// What the collector found each owner to be, if the deletion was decided on owners.
        owners: Vec<OwnerFinding>,
        /// The revision that the decision was based on, for readers of the log.
        decided_at: Revision,
    },
    /// The object was removed.
    ObjectDeleted {
        /// The rule that the removal follows.
        rule: Rule,
        /// What the collector found each owner to be, if the removal was decided on owners.
        owners: Vec<OwnerFinding>,
        /// The revision that the decision was based on, for readers of the log.
        decided_at: Revision,
    },
}

/// What the collector found one owner to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerFinding {
    /// The reference.
    pub owner: OwnerReference,
    /// What the reference pointed at.
    pub class: OwnerClass,
}

/// What an owner reference points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnerClass {
    /// The owner exists and is not waiting for dependents.
    Solid,
    /// No object with this uid exists at these coordinates.
    Dangling,
    /// The owner exists and is in foreground deletion.
    Waiting,
    /// The kind of the owner cannot be resolved, so nothing is known about it.
    Unresolvable,
}

/// What made a command necessary.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A request from outside.
    Request,
    /// An earlier commit.
    Commit(Revision),
    /// A policy that somebody set, by its name.
    Policy(Name),
}

/// Why an object is deleted. A deletion that no request asked for (see [`Cause`]) needs grounds in the
/// state that it was decided on: those that its rule names. See [`crate::invariants`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A request, with background propagation.
    Requested,
    /// A request, with foreground propagation.
    RequestedForeground,
    /// A request that orphans dependents.
    RequestedOrphan,
    /// A request that deletes a whole collection; the object was one of it.
    RequestedCollection,
    /// Every owner is gone.
    OwnersAbsent,
    /// An owner in foreground deletion waits for it.
    OwnerForeground,
    /// No object had this uid when the reference was made, and none has had it since.
    NoSuchOwner,
    /// The owner lives in another namespace, where a reference cannot reach it: the same as no owner.
    OwnerInOtherNamespace,
    /// Its namespace is being deleted.
    NamespaceDeleted,
    /// The definition (CRD) of its kind is being deleted.
    CrdDeleted,
    /// The job finished longer ago than its time to live.
    TtlAfterFinished,
    /// A policy asked for the deletion; the cause names it.
    Policy,
    /// It is the `Endpoints` of a service that is gone.
    ServiceDeleted,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 13] = [
        Self::Requested,
        Self::RequestedForeground,
        Self::RequestedOrphan,
        Self::RequestedCollection,
        Self::OwnersAbsent,
        Self::OwnerForeground,
        Self::NoSuchOwner,
        Self::OwnerInOtherNamespace,
        Self::NamespaceDeleted,
        Self::CrdDeleted,
        Self::TtlAfterFinished,
        Self::Policy,
        Self::ServiceDeleted,
    ];

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
            Self::ServiceDeleted => "service-deleted",
        }
    }

    /// Whether deletions by this rule are decided by looking at owners.
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

/// The result of deciding a command.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The commits to write; none for a write that changes nothing. Their revisions continue the state's.
    pub commits: Vec<Arc<Commit>>,
    /// The answer to the client.
    pub outcome: Outcome,
    /// Sent with the answer, in `Warning` headers.
    pub warnings: Vec<String>,
}

impl Decision {
    pub(crate) const fn new(commits: Vec<Arc<Commit>>, outcome: Outcome) -> Self {
        Self {
            commits,
            outcome,
            warnings: Vec::new(),
        }
    }
}

/// The answer to the client.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The object was created.
    Created(Arc<Object>),
    /// The object as it is now; it may be unchanged.
    Updated(Arc<Object>),
    /// Deletion has begun or continues; the object still exists.
    Deleting(Arc<Object>),
    /// The object was removed; this was its last version.
    Deleted(Arc<Object>),
}

impl Outcome {
    /// The object that the answer carries.
    pub const fn object(&self) -> &Arc<Object> {
        match self {
            Self::Created(object)
            | Self::Updated(object)
            | Self::Deleting(object)
            | Self::Deleted(object) => object,
        }
    }

    /// The same outcome with another version of its object.
    #[must_use]
    pub fn with_object(&self, object: Arc<Object>) -> Self {
        match self {
            Self::Created(_) => Self::Created(object),
            Self::Updated(_) => Self::Updated(object),
            Self::Deleting(_) => Self::Deleting(object),
            Self::Deleted(_) => Self::Deleted(object),
        }
    }
}

impl Event {
    /// The rule of a deletion, and what was found about the owners that it was decided on.
    pub fn deletion(&self) -> Option<(Rule, &[OwnerFinding])> {
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

    /// The rule and the propagation policy of a deletion request; `None` for any other event.
    pub(crate) const fn deletion_request(&self) -> Option<(Rule, Propagation)> {
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

    /// Whether the object exists from here on.
    pub const fn is_creation(&self) -> bool {
        matches!(self, Self::ObjectCreated { .. })
    }

    /// The owner reference that this event takes away, and the one that it gives: both if it has changed.
    pub const fn owner_change(&self) -> (Option<&OwnerReference>, Option<&OwnerReference>) {
        match self {
            Self::OwnerAdded { owner } => (None, Some(owner)),
            Self::OwnerRemoved { owner } => (Some(owner), None),
            Self::OwnerChanged { from, to } => (Some(from), Some(to)),
            Self::ObjectCreated { .. }
            | Self::ObjectUpdated { .. }
            | Self::FinalizerAdded { .. }
            | Self::FinalizerRemoved { .. }
            | Self::DeletionRequested { .. }
            | Self::ObjectDeleted { .. } => (None, None),
        }
    }

    /// The owner reference that this event adds; not one that has changed, which keeps its uid.
    pub const fn added_owner(&self) -> Option<&OwnerReference> {
        match self.owner_change() {
            (None, added) => added,
            (Some(_), _) => None,
        }
    }

    /// The owner reference that this event removes; not one that has changed, which keeps its uid.
    pub const fn removed_owner(&self) -> Option<&OwnerReference> {
        match self.owner_change() {
            (removed, None) => removed,
            (_, Some(_)) => None,
        }
    }

    /// The finalizer that this event says was removed.
    fn removed_finalizer(&self) -> Option<&str> {
        if let Self::FinalizerRemoved { finalizer } = self {
            Some(finalizer)
        } else {
            None
        }
    }

    /// The name of the variant.
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

    /// Whether it says what became of the object: a version of it, or its end.
    pub const fn is_outcome(&self) -> bool {
        matches!(
            self,
            Self::ObjectCreated { .. } | Self::ObjectUpdated { .. } | Self::ObjectDeleted { .. }
        )
    }
}

impl Commit {
    /// The version that this commit writes; `None` if it removes the object.
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

    /// Whether the object exists from this commit on.
    pub fn creates(&self) -> bool {
        self.events.iter().any(Event::is_creation)
    }

    /// The [deletions](Event::deletion) among the events: a mark, a removal, or both.
    pub fn deletions(&self) -> impl Iterator<Item = (Rule, &[OwnerFinding])> {
        self.events.iter().filter_map(Event::deletion)
    }

    /// The propagation policy, if this commit marks its object for deletion.
    pub fn propagation(&self) -> Option<Propagation> {
        let mark = self.events.iter().find_map(Event::deletion_request);
        mark.map(|(_, propagation)| propagation)
    }

    /// Whether it deletes `Endpoints` because their `Service` is gone.
    pub fn goes_with_a_service(&self) -> bool {
        self.deletions()
            .any(|(rule, _)| rule == Rule::ServiceDeleted)
    }

    /// Whether the commit removes this finalizer.
    pub fn removes_finalizer(&self, held: &str) -> bool {
        let mut removed = self.events.iter().filter_map(Event::removed_finalizer);
        removed.any(|one| one == held)
    }

    /// Every finalizer that the commit removes. There may be very many, so it is for looking them up.
    pub(crate) fn removed_finalizers(&self) -> BTreeSet<&str> {
        let removed = self.events.iter().filter_map(Event::removed_finalizer);
        removed.collect()
    }
}

/// A commit with the version that it replaced: the input of watches and projections.
#[derive(Debug, Clone)]
pub struct Change {
    /// The commit.
    pub commit: Arc<Commit>,
    /// The previous version of the object; `None` for a creation.
    pub previous: Option<Arc<Object>>,
}

#[cfg(test)]
mod tests {
    use super::Rule;

    /// Who reads the name of an unknown rule is told all that there are.
    #[test]
    fn no_rule_is_left_out_of_the_list_and_each_is_stored_under_its_name() {
        let told = serde_json::from_str::<Rule>("\"?\"").expect_err("no rule");
        let names = Rule::ALL.map(|rule| format!("`{}`", rule.name()));
        let told = told.to_string();
        assert!(
            told.contains(&format!("expected one of {} at", names.join(", "))),
            "{told}"
        );
    }
}
