//! Commands: what somebody wants. Time, randomness and the actor come in with them.

use crate::event::{Cause, Rule};
use crate::kind::Subresource;
use crate::object::{Name, ObjectKey, OwnerReference, Uid};
use crate::{Revision, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// One wish, with everything that deciding it needs.
#[derive(Debug, Clone)]
pub struct Command {
    /// Who asks.
    pub actor: Arc<Actor>,
    /// How they asked.
    pub request: Arc<Request>,
    /// When the command was made.
    pub time: Time,
    /// The only randomness: uids and generated names follow from it.
    pub seed: [u8; 16],
    /// What made it necessary.
    pub cause: Cause,
    /// Who owns the fields that it writes. Without a name, as of embedders that do not say, nobody's
    /// account of them is kept or changed.
    pub manager: Option<Name>,
    /// What was found in the body of a create, an update or a patch, to be said beside the answer.
    pub noted: Vec<String>,
    /// What is wanted.
    pub intent: Intent,
}

impl Command {
    /// What somebody asks for, by no request that anybody told of: an explanation that ends here has a root without
    /// a verb, unless [`Self::request`] is given one.
    pub fn new(actor: Arc<Actor>, time: Time, seed: [u8; 16], intent: Intent) -> Self {
        Self {
            actor,
            request: Arc::default(),
            time,
            seed,
            cause: Cause::Request,
            manager: None,
            noted: Vec::new(),
            intent,
        }
    }
}

/// An authenticated identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Actor {
    /// `system:serviceaccount:...`, `admin`, ...
    pub user: Name,
    /// Identity of the user, often empty.
    pub uid: Name,
    /// Groups.
    pub groups: Vec<Name>,
}

impl Actor {
    /// Somebody in no group.
    pub fn new(user: &str) -> Self {
        Self {
            user: user.into(),
            uid: "".into(),
            groups: Vec::new(),
        }
    }
}

/// The request that a command came with. It is for the log alone: nothing is decided by what it says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Request {
    /// Kubernetes verb: `create`, `deletecollection`, ...; empty for the server's own work.
    pub verb: String,
    /// Path and query as sent; empty for the server's own work.
    pub uri: String,
    /// `User-Agent`.
    pub user_agent: String,
    /// Identity of the request, as in the audit log.
    pub id: String,
}

/// What is wanted.
#[derive(Debug, Clone)]
pub enum Intent {
    /// Make an object.
    Create(Create),
    /// Replace an object.
    Update(Update),
    /// Change an object by a patch of its live state.
    Patch(PatchObject),
    /// Ask for an object's deletion.
    Delete(Delete),
    /// Ask for a pod's deletion, unless a disruption budget refuses it.
    Evict(Delete),
    /// Take owner references away from a dependent.
    DropOwners(DropOwners),
    /// Stop a dependent's references from blocking their owners.
    Unblock(Target),
    /// Take a garbage collection finalizer off its owner.
    Release(Release),
    /// Let owners go that only wait for each other, all of them or none.
    Untie(Knot),
    /// Take a token out of a namespace's `spec.finalizers`.
    FinalizeNamespace(FinalizeNamespace),
    /// Carry out what admission let through.
    Admitted(Box<Admitted>),
}

impl Intent {
    /// What somebody deletes, and what the collectors do so that it goes: on a full disk these go on.
    pub const fn is_deletion(&self) -> bool {
        match self {
            Self::Create(_) | Self::Update(_) | Self::Patch(_) => false,
            Self::Delete(_)
            | Self::Evict(_)
            | Self::DropOwners(_)
            | Self::Unblock(_)
            | Self::Release(_)
            | Self::Untie(_)
            | Self::FinalizeNamespace(_) => true,
            // Admission lets through what was asked for; one is not inside another.
            Self::Admitted(admitted) => matches!(admitted.intent, Self::Delete(_) | Self::Evict(_)),
        }
    }
}

/// A wish that admission has seen, with the ground that it was seen on.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// What admission decided on; anything else makes the command stale.
    pub seen: Ground,
    /// The object as admission left it, where it changed what was asked for.
    pub object: Option<Value>,
    /// What was asked for.
    pub intent: Intent,
}

/// What was there when a wish was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// No object.
    Absent,
    /// An object that nobody had to be shown, in whatever version.
    Present,
    /// The version that was shown.
    At(Revision),
}

/// Which object, and which of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it is.
    pub key: ObjectKey,
    /// Which identity is meant; another one under the same name is refused.
    pub uid: Option<Uid>,
    /// Which version is meant; a later one is refused.
    pub revision: Option<Revision>,
}

impl Target {
    /// Whatever is there.
    pub const fn any(key: ObjectKey) -> Self {
        Self {
            key,
            uid: None,
            revision: None,
        }
    }
}

/// Makes an object. A body may say its kind and its namespace, and is refused where they are not the key's.
#[derive(Debug, Clone)]
pub struct Create {
    /// Resource, namespace, and the name, which must be the body's; without one it is whatever the body says, or is
    /// made of its `generateName`.
    pub key: ObjectKey,
    /// Version of the API that the body is in; with its group where another group stores it.
    pub version: Name,
    /// The object as sent; what `apiVersion` says in it is not looked at.
    pub object: Value,
    /// What becomes of unknown fields.
    pub validation: FieldValidation,
}

/// Replaces an object, or what a subresource shows of it. The body must have its name, and may say its kind and
/// its namespace: it is refused where they are not the key's.
#[derive(Debug, Clone)]
pub struct Update {
    /// Where it is; preconditions come from the body.
    pub key: ObjectKey,
    /// Version of the API that the body is in; with its group where another group stores it.
    pub version: Name,
    /// What of it, where that is not the whole: all but an eviction.
    pub subresource: Option<Subresource>,
    /// The object as sent; what `apiVersion` says in it is not looked at.
    pub object: Value,
    /// What becomes of unknown fields.
    pub validation: FieldValidation,
}

/// Changes an object by a patch.
#[derive(Debug, Clone)]
pub struct PatchObject {
    /// Where it is.
    pub key: ObjectKey,
    /// Version of the API that the patch speaks of.
    pub version: Name,
    /// What of it, where that is not the whole: the status, the scale or the approval.
    pub subresource: Option<Subresource>,
    /// How it is written.
    pub patch: Patch,
    /// What becomes of unknown fields.
    pub validation: FieldValidation,
}

/// A patch document by its media type.
#[derive(Debug, Clone)]
pub enum Patch {
    /// RFC 6902.
    Json(Value),
    /// RFC 7386.
    Merge(Value),
    /// Kubernetes' own, driven by list keys.
    Strategic(Value),
    /// All that its manager wants to say of the object, and what others hold only by force.
    Apply {
        /// The fields that the manager wants, with their values.
        config: Value,
        /// Take what others own.
        force: bool,
        /// What a strict client must hear of the text, once the configuration itself can be applied.
        complaint: Option<String>,
    },
}

/// `fieldValidation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// Drop unknown fields silently.
    Ignore,
    /// Drop them and say so in a header.
    #[default]
    Warn,
    /// Refuse them.
    Strict,
}

impl FieldValidation {
    const ALL: [Self; 3] = [Self::Ignore, Self::Warn, Self::Strict];

    /// As it stands in a query.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Asks for a deletion.
#[derive(Debug, Clone)]
pub struct Delete {
    /// Where, and which identity and version the server itself has seen.
    pub target: Target,
    /// What the client wants to hold.
    pub preconditions: Preconditions,
    /// Version of the API that was used; type defaults depend on it.
    pub version: Name,
    /// Deprecated; excludes `propagation`.
    pub orphan_dependents: Option<bool>,
    /// What becomes of dependents.
    pub propagation: Option<Propagation>,
    /// Seconds to stop.
    pub grace_period_seconds: Option<i64>,
    /// Why. Rules of the collector are checked again against the state.
    pub rule: Rule,
}

impl Delete {
    /// A deletion that leaves everything to the kind and to the object.
    pub fn new(target: Target, version: Name, rule: Rule) -> Self {
        Self {
            target,
            preconditions: Preconditions::default(),
            version,
            orphan_dependents: None,
            propagation: None,
            grace_period_seconds: None,
            rule,
        }
    }
}

/// `preconditions` of `DeleteOptions`: compared as texts, exactly as they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The identity.
    pub uid: Option<Uid>,
    /// The version.
    pub resource_version: Option<Name>,
}

/// `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Propagation {
    /// Dependents go after the owner.
    Background,
    /// The owner waits for its blocking dependents.
    Foreground,
    /// Dependents stay and lose the reference.
    Orphan,
}

impl Propagation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Foreground, Self::Background, Self::Orphan];

    /// As `propagationPolicy` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Removes references from a dependent.
#[derive(Debug, Clone)]
pub struct DropOwners {
    /// The dependent.
    pub dependent: Target,
    /// References to drop, exactly as they were read. For orphaning the whole uid goes.
    pub owners: Vec<OwnerReference>,
    /// The owner's orphaning, or the collector's pruning of absent and waiting owners.
    pub reason: DropReason,
}

/// Why references are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// The owner is deleted with the orphan policy.
    Orphaning,
    /// Another owner is solid; these are absent or waiting.
    SolidOwnerRemains,
}

/// Lets an owner go on.
#[derive(Debug, Clone)]
pub struct Release {
    /// The owner.
    pub owner: Target,
    /// `foregroundDeletion`, `orphan`, or the definition's cleanup finalizer.
    pub finalizer: Name,
    /// The revision at which no dependent stood in the way. Refused as stale if one was added
    /// since.
    pub decided_at: Revision,
}

/// Owners in foreground deletion that only wait for each other.
#[derive(Debug, Clone)]
pub struct Knot {
    /// Each in the version that it was seen in; any other makes the command stale.
    pub members: Vec<Target>,
    /// The revision at which nobody else stood in the way.
    pub decided_at: Revision,
}

/// Lets a namespace go once it is empty.
#[derive(Debug, Clone)]
pub struct FinalizeNamespace {
    /// The namespace.
    pub target: Target,
    /// `kubernetes`.
    pub token: Name,
}
