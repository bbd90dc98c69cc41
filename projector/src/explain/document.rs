//! The document that `hindsight why -o json` prints and `/hindsight/v1/why` serves, so its members keep their names;
//! `docs/time-travel.md` describes them. A second set of types at the edge would repeat each member and say nothing else.

use hindsight_core::{Request, Revision, Rule};
use serde::{Deserialize, Serialize};

/// The answer to "why was this deleted?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The object in question.
    pub object: Subject,
    /// What became of it.
    pub state: Fate,
    /// The rule by which it was deleted.
    pub rule: Option<Rule>,
    /// The end of the chain; `None` if the cause of its last link is no longer in the log.
    pub root: Option<Root>,
    /// The chain, from the object back to the root.
    pub chain: Vec<Link>,
    /// For a live object: the newest deletion of another object that had its name.
    pub earlier: Option<Earlier>,
    /// Set if earlier owners of the object may be missing because part of the log of its time was
    /// dropped: the revision from which on everything is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Revision>,
}

impl Explanation {
    /// Without a chain.
    pub(super) const fn new(object: Subject, state: Fate) -> Self {
        Self {
            object,
            state,
            rule: None,
            root: None,
            chain: Vec::new(),
            earlier: None,
            floor: None,
        }
    }
}

/// What has become of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It is gone.
    Deleted,
    /// Its deletion was requested, and waits for something.
    Deleting,
    /// It exists.
    Live,
    /// There never was an object of this name.
    Unknown,
}

impl Fate {
    /// The name that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Deleting => "deleting",
            Self::Live => "live",
            Self::Unknown => "unknown",
        }
    }
}

/// What a commit did, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkEvent {
    /// Removed the object.
    #[serde(rename = "deleted")]
    Deleted,
    /// Marked it for deletion.
    #[serde(rename = "deletion requested")]
    DeletionRequested,
    /// Created it.
    #[serde(rename = "created")]
    Created,
    /// Anything else.
    #[serde(rename = "written")]
    Written,
}

impl LinkEvent {
    /// The name that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::DeletionRequested => "deletion requested",
            Self::Created => "created",
            Self::Written => "written",
        }
    }
}

/// A deleted object whose name another object has now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// Its uid.
    pub uid: String,
    /// The revision of its deletion.
    pub revision: Revision,
    /// The time of its deletion.
    pub time: String,
    /// The rule by which it was deleted.
    pub rule: Option<Rule>,
    /// The end of its chain of causes; `None` if the cause of the last link is no longer in the log.
    pub root: Option<Root>,
}

/// The names that identify an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Empty for a cluster-scoped object.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The uid; empty if there is none.
    pub uid: String,
}

/// The request, or the policy, from which everything followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The user who made it.
    pub user: String,
    /// The verb of the request, or the policy.
    pub verb: String,
    /// The rest of the request.
    #[serde(flatten)]
    pub request: RequestDetails,
    /// The object that it was about.
    pub object: String,
    /// Its revision.
    pub revision: Revision,
    /// Its time.
    pub time: String,
}

/// What is recorded of a request beside its verb.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestDetails {
    /// The subresource that it was sent to, such as `eviction`; empty for the object itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// The program that sent it, as it named itself; empty if it did not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_agent: String,
}

impl RequestDetails {
    /// Those of a request.
    pub fn of(request: &Request) -> Self {
        Self {
            subresource: request.subresource().to_owned(),
            user_agent: request.user_agent.clone(),
        }
    }
}

/// One commit of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its revision.
    pub revision: Revision,
    /// Its time.
    pub time: String,
    /// The rule that it followed; `None` for other writes.
    pub rule: Option<Rule>,
    /// What it did.
    pub event: LinkEvent,
    /// The object that it changed.
    pub object: String,
    /// The user who made it.
    pub user: String,
    /// The verb of the request, or the policy; empty for the other work of the collectors.
    pub verb: String,
    /// The rest of the request.
    #[serde(flatten)]
    pub request: RequestDetails,
    /// Another request, earlier or later, for the deletion that this one requests, which changed what becomes of
    /// the dependents or how long the object may take to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Box<Self>>,
    /// The owners, if several were considered. The next link of the chain is what became of the last of
    /// them, or what came later and made the kind of one of them known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Owner>,
    /// How many more were considered: of many only the first are named.
    #[serde(default, rename = "moreOwners", skip_serializing_if = "is_zero")]
    pub more_owners: usize,
    /// For the object in question, if it was deleted because of its owners or exists: the owners that it had
    /// before, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
}

/// An owner as it was found when a dependent was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// As in the reference.
    pub kind: String,
    /// As in the reference.
    pub name: String,
    /// As in the reference.
    pub uid: String,
    /// Whether it was in foreground deletion, waiting for its dependents; otherwise it did not exist.
    pub waits: bool,
    /// For the object in question: what became of the owner, if the log still shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// A reference to an owner that was removed from an object, before that was deleted if it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// As in the reference.
    pub kind: String,
    /// As in the reference.
    pub name: String,
    /// As in the reference.
    pub uid: String,
    /// The revision at which it was removed.
    pub revision: Revision,
    /// The time at which it was removed.
    pub time: String,
    /// The user who removed it.
    pub user: String,
    /// The verb of the request; empty for the collector.
    pub verb: String,
    /// If the collector removed it: what had become of the owner, if the log still shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// What became of an owner, and who requested that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The kind of end.
    #[serde(rename = "as")]
    pub ended: EndedAs,
    /// The revision at which it came to that.
    pub revision: Revision,
    /// The time at which it came to that.
    pub time: String,
    /// The rule that its deletion followed.
    pub rule: Option<Rule>,
    /// The user who requested its deletion.
    pub user: String,
    /// The verb of the request; empty for the collector.
    pub verb: String,
}

/// What became of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndedAs {
    /// It no longer exists.
    Gone,
    /// It waits until its dependents are deleted.
    Waiting,
    /// It waits until its dependents are released.
    Orphaning,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "it is called so when a link is serialized"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}
