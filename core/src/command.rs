//! Commands: what somebody wants to happen. The time, the randomness and the actor of a write come in with
//! its command.

mod collect;
mod evaluation;
mod origin;

use crate::event::{Cause, Rule};
use crate::kind::Subresource;
use crate::object::{
    FOREGROUND_FINALIZER, Name, ORPHAN_FINALIZER, Object, ObjectKey, OwnerReference, Uid,
};
use crate::{Revision, Time};
pub use collect::{Collect, Deadlock, DropOwners, DropReason, FinalizeNamespace, Release, Unblock};
pub use evaluation::{Evaluation, Passed};
pub use origin::{Actor, Request};
use serde_json::Value;
use std::sync::{Arc, LazyLock};

/// One wish, with everything that is needed to decide it.
#[derive(Debug, Clone)]
pub struct Command {
    /// Who issued the command.
    pub actor: Arc<Actor>,
    /// The request that the command came with.
    pub request: Arc<Request>,
    /// When the command was made.
    pub time: Time,
    /// The only source of randomness: uids and generated names are derived from it. Draw a fresh one for each
    /// command, as `ControlPlane::seed` does, and never use one twice: an object that is created again under
    /// its old key would get its old uid back, which only `verify --deep` notices.
    pub seed: [u8; 16],
    /// What made the command necessary.
    pub cause: Cause,
    /// The field manager that owns the fields which this command writes. `None`, for embedders that name no
    /// manager, leaves `managedFields` as they are.
    pub manager: Option<Name>,
    /// Warnings that reading the body of a create, an update or a patch gave; they are returned with the
    /// answer.
    pub warnings: Vec<String>,
    /// What admission saw and left, if the intent has passed it.
    pub admitted: Option<Box<Admitted>>,
    /// How long it may take to check the object.
    pub evaluation: Evaluation,
    /// What is wanted.
    pub intent: Intent,
}

impl Command {
    /// A command that no HTTP request is known for. An explanation that ends at its commit has a root
    /// without a verb, unless [`Self::request`] is set afterwards.
    pub fn new(actor: Arc<Actor>, time: Time, seed: [u8; 16], intent: Intent) -> Self {
        static NO_REQUEST: LazyLock<Arc<Request>> = LazyLock::new(Arc::default);
        Self {
            actor,
            request: Arc::clone(&NO_REQUEST),
            time,
            seed,
            cause: Cause::Request,
            manager: None,
            warnings: Vec::new(),
            admitted: None,
            evaluation: Evaluation::default(),
            intent,
        }
    }
}

/// What is wanted.
#[derive(Debug, Clone)]
pub enum Intent {
    /// Create an object.
    Create(Create),
    /// Replace an object.
    Update(Update),
    /// Patch the live state of an object.
    Patch(PatchObject),
    /// Request an object's deletion.
    Delete(Delete),
    /// Request a pod's deletion, unless a disruption budget refuses it.
    Evict(Delete),
    /// Take a step that only the collectors take.
    Collect(Collect),
}

/// What an intent means for the space on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceUse {
    /// It takes space for itself.
    Write,
    /// It writes an object anew that stays, on the way to the deletion of others.
    Rewrite,
    /// It is a client's deletion, or another step of the collectors towards one.
    Deletion,
}

impl Intent {
    /// What it means for the space on the disk. The end of an old event is a write: it can wait, and all events
    /// together would take the space that is kept for deletions.
    pub fn space_use(&self) -> SpaceUse {
        match self {
            Self::Create(_) | Self::Update(_) | Self::Patch(_) => SpaceUse::Write,
            Self::Delete(delete) => {
                if delete.rule != Rule::Policy || !delete.target.key.resource.is_event() {
                    SpaceUse::Deletion
                } else {
                    SpaceUse::Write
                }
            }
            Self::Evict(_) => SpaceUse::Deletion,
            Self::Collect(step) => step.space_use(),
        }
    }

    /// Whether this is a client's deletion or a step of the collectors towards one. These are still
    /// accepted while the disk is full.
    pub fn advances_deletion(&self) -> bool {
        self.space_use() != SpaceUse::Write
    }

    /// The document that came with it: an object, or a patch.
    pub const fn document(&self) -> Option<&Value> {
        match self {
            Self::Create(create) => Some(&create.object),
            Self::Update(update) => Some(&update.object),
            Self::Patch(patch) => Some(patch.patch.document()),
            Self::Delete(_) | Self::Evict(_) | Self::Collect(_) => None,
        }
    }
}

/// What admission saw, and what it left.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// The version that admission decided on; if the object has changed since, the command is stale.
    pub seen: AdmissionBasis,
    /// The object as admission left it, if admission changed it.
    pub object: Option<Value>,
}

/// What was stored under the key when an intent was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionBasis {
    /// No object.
    Absent,
    /// An object that nobody had to be shown; any version of it will do.
    Present,
    /// The object in this version, which was shown.
    At(Revision),
}

/// Which object is meant, and optionally which identity and version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The key of the object.
    pub key: ObjectKey,
    /// The uid that is meant; an object with another uid under the same key is refused.
    pub uid: Option<Uid>,
    /// The version that is meant; any other version is refused.
    pub revision: Option<Revision>,
}

impl Target {
    /// Whatever object is stored under the key.
    pub const fn any(key: ObjectKey) -> Self {
        Self {
            key,
            uid: None,
            revision: None,
        }
    }
}

/// Creates an object. The body may state its kind and namespace; it is refused if they differ from the
/// key's.
#[derive(Debug, Clone)]
pub struct Create {
    /// Resource, namespace and name. The name must be the body's; without one, it is taken from the body or
    /// made from its `generateName`.
    pub key: ObjectKey,
    /// Version of the API that the body is in; prefixed with its group if the objects are stored under
    /// another group.
    pub version: Name,
    /// The object as sent; its `apiVersion` is ignored.
    pub object: Value,
    /// What happens to unknown fields.
    pub validation: FieldValidation,
}

/// Replaces an object, or the part of it that a subresource shows. The body must have the object's name,
/// and may state its kind and namespace; it is refused if they differ from the key's.
#[derive(Debug, Clone)]
pub struct Update {
    /// The key of the object; preconditions come from the body.
    pub key: ObjectKey,
    /// Version of the API that the body is in; prefixed with its group if the objects are stored under
    /// another group.
    pub version: Name,
    /// The subresource that is written, if it is not the whole object: any but an eviction.
    pub subresource: Option<Subresource>,
    /// The object as sent; its `apiVersion` is ignored.
    pub object: Value,
    /// What happens to unknown fields.
    pub validation: FieldValidation,
}

/// Patches an object.
#[derive(Debug, Clone)]
pub struct PatchObject {
    /// The key of the object.
    pub key: ObjectKey,
    /// Version of the API that the patch is written for.
    pub version: Name,
    /// The subresource that is patched, if it is not the whole object: any but a binding or an eviction.
    pub subresource: Option<Subresource>,
    /// The patch document and its type.
    pub patch: Patch,
    /// What happens to unknown fields.
    pub validation: FieldValidation,
}

impl PatchObject {
    /// Whether this is an empty patch of a definition's status: its only effect is that the names in the
    /// status are computed anew.
    pub fn refreshes_names(&self) -> bool {
        let is_empty =
            matches!(&self.patch, Patch::Merge(Value::Object(change)) if change.is_empty());
        is_empty && self.subresource == Some(Subresource::Status) && self.key.is_definition()
    }
}

/// A patch document by its media type.
#[derive(Debug, Clone)]
pub enum Patch {
    /// JSON patch, RFC 6902.
    Json(Value),
    /// JSON merge patch, RFC 7386.
    Merge(Value),
    /// Kubernetes' strategic merge patch, driven by list keys.
    Strategic(Value),
    /// Server-side apply: all that the manager wants to have in the object. Fields that others own are only
    /// taken by force.
    Apply {
        /// The fields that the manager wants to have, with their values.
        config: Value,
        /// Take over fields that other managers own.
        force: bool,
        /// What strict validation found wrong in the text; it is only reported once the configuration
        /// itself can be applied.
        complaint: Option<String>,
    },
}

impl Patch {
    /// The document itself.
    pub const fn document(&self) -> &Value {
        match self {
            Self::Json(document)
            | Self::Merge(document)
            | Self::Strategic(document)
            | Self::Apply {
                config: document, ..
            } => document,
        }
    }
}

/// The `fieldValidation` parameter of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// Drop unknown fields silently.
    Ignore,
    /// Drop them and report each in a `Warning` header.
    #[default]
    Warn,
    /// Refuse the request. Fields of built-in kinds are known where the Kubernetes API is compiled in: without it,
    /// every field is.
    Strict,
}

impl FieldValidation {
    const ALL: [Self; 3] = [Self::Ignore, Self::Warn, Self::Strict];

    /// The value in a query string.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }

    /// The variant with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Requests a deletion.
#[derive(Debug, Clone)]
pub struct Delete {
    /// The key, and the uid and version that the server itself has seen.
    pub target: Target,
    /// The preconditions that the client sent.
    pub preconditions: Preconditions,
    /// Version of the API that was used; the defaults of a type depend on it.
    pub version: Name,
    /// Deprecated; mutually exclusive with `propagation`.
    pub orphan_dependents: Option<bool>,
    /// What happens to dependents.
    pub propagation: Option<Propagation>,
    /// Seconds that the object is given to stop.
    pub grace_period_seconds: Option<i64>,
    /// Why the object is deleted: for a request, [`Rule::Requested`]. A rule of the collectors is checked against the
    /// state, whoever issues the command, and refused as stale if its reason does not hold.
    pub rule: Rule,
    /// What the collector planned this on; `None` if it was not planned.
    pub basis: Option<Basis>,
}

impl Delete {
    /// A deletion without options: the kind and the object decide how it is done.
    pub fn new(target: Target, version: Name, rule: Rule) -> Self {
        Self {
            target,
            preconditions: Preconditions::default(),
            version,
            orphan_dependents: None,
            propagation: None,
            grace_period_seconds: None,
            rule,
            basis: None,
        }
    }
}

/// What a step of the collector was planned on. If a request since then may have changed what comes before the
/// step, the command is refused as stale, and the step is planned anew. See
/// `docs/decisions/0005-owners-first.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Basis {
    /// The revision of the state that was looked at.
    pub revision: Revision,
    /// Objects that must be decided before that of the step, except its containers: its owners, even if a reference
    /// misspells their names; the `Service` of `Endpoints`; and the containers of its dependents, if its policy
    /// depends on whether it has any.
    pub above: Vec<ObjectKey>,
    /// About how much a walk up passes from there: objects, [`ABOVE_MAX`](crate::state::ABOVE_MAX) at most, and the
    /// references that each of them has beside one,
    /// [`REFERENCES_ABOVE_MAX`](crate::state::REFERENCES_ABOVE_MAX) at most.
    pub passed: usize,
    /// The object of the step, if the step is about its owners.
    pub seen: Option<Seen>,
}

/// An object that was looked at. It need not be in the same version when the step is decided: it may be written to
/// all the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its version. It is the cause of the step if no change of an owner is. The decision then names the object's
    /// newest version as the cause instead.
    pub revision: Revision,
    /// What it referred to. If it refers to anything else by now, something else may come first, so the command is
    /// refused as stale.
    pub owners: Arc<[OwnerReference]>,
}

impl Seen {
    /// The object as it is now.
    pub fn of(object: &Object) -> Self {
        Self {
            revision: object.revision,
            owners: Arc::clone(&object.meta.owner_references),
        }
    }
}

impl Basis {
    /// The state at this revision; nothing but containers is decided before.
    pub const fn at(revision: Revision) -> Self {
        Self {
            revision,
            above: Vec::new(),
            passed: 0,
            seen: None,
        }
    }
}

/// `preconditions` of `DeleteOptions`: compared as strings, exactly as they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The uid.
    pub uid: Option<Uid>,
    /// The `resourceVersion`.
    pub resource_version: Option<Name>,
}

/// The `propagationPolicy` of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Propagation {
    /// Dependents are deleted after the owner.
    Background,
    /// The owner waits for its blocking dependents.
    Foreground,
    /// Dependents stay and lose the reference.
    Orphan,
}

impl Propagation {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Foreground, Self::Background, Self::Orphan];

    /// The value of `propagationPolicy`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }

    /// The variant with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The policy that the first of the collector's finalizers among these stands for.
    pub(crate) fn of_finalizers(finalizers: &[Name]) -> Option<Self> {
        finalizers.iter().find_map(|one| match &**one {
            ORPHAN_FINALIZER => Some(Self::Orphan),
            FOREGROUND_FINALIZER => Some(Self::Foreground),
            _ => None,
        })
    }
}
