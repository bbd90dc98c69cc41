//! The identity of a kind, for what is kept about it.

use hindsight_core::kind::{Kind, KindRef};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

/// A kind as it is defined: a definition that changes makes another one, with its fields and its schemas. What it
/// defines is not kept in memory, only its address.
#[derive(Debug, Clone)]
pub(crate) struct Defined(Weak<Kind>);

impl Defined {
    pub(crate) fn of(kind: &KindRef) -> Self {
        Self(Arc::downgrade(kind))
    }
}

impl PartialEq for Defined {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Defined {}

impl Hash for Defined {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}
