//! What only the collectors ask for. A client's deletion has a form of its own, which the collectors use too.

use super::{Basis, SpaceUse, Target};
use crate::object::{ObjectKey, OwnerReference, ServerFinalizer};
use std::slice;

/// A step of the collectors that no client asks for.
#[derive(Debug, Clone)]
pub enum Collect {
    /// Remove owner references from a dependent.
    DropOwners(DropOwners),
    /// Stop a dependent's references from blocking their owners.
    Unblock(Unblock),
    /// Remove a garbage collection finalizer from an owner.
    Release(Release),
    /// Release owners that only wait for each other, all of them or none.
    BreakDeadlock(Deadlock),
    /// Remove a token from a namespace's `spec.finalizers`.
    FinalizeNamespace(FinalizeNamespace),
}

impl Collect {
    /// What it means for the space on the disk.
    pub const fn space_use(&self) -> SpaceUse {
        match self {
            Self::DropOwners(_) | Self::Unblock(_) => SpaceUse::Rewrite,
            Self::Release(_) | Self::BreakDeadlock(_) | Self::FinalizeNamespace(_) => {
                SpaceUse::Deletion
            }
        }
    }

    /// The objects that it is about.
    pub fn targets(&self) -> &[Target] {
        match self {
            Self::DropOwners(drop) => slice::from_ref(&drop.dependent),
            Self::Unblock(unblock) => slice::from_ref(&unblock.dependent),
            Self::Release(release) => slice::from_ref(&release.owner),
            Self::BreakDeadlock(deadlock) => &deadlock.members,
            Self::FinalizeNamespace(finalize) => slice::from_ref(&finalize.target),
        }
    }

    /// What it was planned on, if that is compared.
    pub const fn basis(&self) -> Option<&Basis> {
        match self {
            Self::DropOwners(drop) => Some(&drop.basis),
            Self::Unblock(unblock) => Some(&unblock.basis),
            Self::Release(release) => Some(&release.basis),
            Self::BreakDeadlock(deadlock) => Some(&deadlock.basis),
            Self::FinalizeNamespace(_) => None,
        }
    }
}

/// Removes references from a dependent.
#[derive(Debug, Clone)]
pub struct DropOwners {
    /// The dependent.
    pub dependent: Target,
    /// References to drop, exactly as they were read. When an owner orphans, all references with its uid
    /// are dropped.
    pub owners: Vec<OwnerReference>,
    /// Whether the owner orphans its dependents, or the collector prunes absent and waiting owners.
    pub reason: DropReason,
    /// What this was planned on.
    pub basis: Basis,
}

/// Why references are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropReason {
    /// The owner with this key is deleted with the orphan policy.
    Orphaning(ObjectKey),
    /// Another owner is solid; the dropped ones are absent or waiting.
    SolidOwnerRemains,
}

/// Sets `blockOwnerDeletion: false` in the references of a dependent. Otherwise a cycle could form: its owner waits
/// for it, and it would wait for a dependent that waits itself, perhaps for that owner.
#[derive(Debug, Clone)]
pub struct Unblock {
    /// The dependent.
    pub dependent: Target,
    /// What this was planned on.
    pub basis: Basis,
}

/// Removes a finalizer that held an owner until its dependents were dealt with.
#[derive(Debug, Clone)]
pub struct Release {
    /// The owner.
    pub owner: Target,
    /// What holds it.
    pub finalizer: ServerFinalizer,
    /// The state in which no dependent stood in the way. If one was added since, or what is decided about one
    /// may have changed, the command is refused as stale. Objects that came to refer to an orphaning owner after
    /// it began to orphan lose the reference in the same decision.
    pub basis: Basis,
}

/// A cycle of owners in foreground deletion that only wait for each other.
///
/// Its members may be written to between the plan and the decision. If they take more than twice
/// [`Self::BYTES_MAX`] by then, the command is stale.
#[derive(Debug, Clone)]
pub struct Deadlock {
    /// Each owner. One that is gone or no longer waits makes the command stale.
    pub members: Vec<Target>,
    /// The state in which no other dependent stood in the way; what is above any of the members.
    pub basis: Basis,
}

impl Deadlock {
    /// The most bytes that are planned to be released at once: this is one record, which is written, read and
    /// copied as a whole.
    pub const BYTES_MAX: usize = 32 << 20;
}

/// Removes the server's token from the `spec.finalizers` of a namespace that is empty, so that it can be removed.
#[derive(Debug, Clone)]
pub struct FinalizeNamespace {
    /// The namespace.
    pub target: Target,
}
