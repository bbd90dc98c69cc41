//! Where the steps of a batch come from.

use crate::freed_names::Freed;
use crate::warnings::Warning;
use hindsight_core::{ObjectKey, Uid};

/// The source of a step: what is looked at again if the step was out of date, or was never decided.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// A job or an event whose time to live is over: it is due until it is gone.
    Deadline,
    /// A warning about a reference of a dependent.
    Warning(Warning),
    /// An owner or a dependent.
    Object(Entry),
    /// A container (namespace or definition) that is being deleted.
    Container(ObjectKey),
    /// A definition that is released.
    Definition(ObjectKey),
    /// A name that has become free.
    Name(Freed),
}

/// An object in the queue: its key, by which objects have their turns, and its uid.
pub(super) type Entry = (ObjectKey, Uid);
