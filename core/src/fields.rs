//! Who holds which field: sets of fields, and what writes make of them. Pure functions over values
//! and schemas; of commands and of `metadata.managedFields` they know nothing.
//! Source: `sigs.k8s.io/structured-merge-diff`, whose answers these are.

mod check;
mod collect;
mod compare;
mod element;
mod merge;
mod order;
mod prune;
mod reconcile;
mod remove;
mod set;
#[cfg(test)]
mod tests;
mod types;
mod updater;
mod v1;

pub(crate) use check::check;
pub(crate) use collect::set_of;
pub(crate) use compare::compare;
pub(crate) use element::Element;
pub(crate) use set::FieldSet;
pub(crate) use updater::{Contested, ManagerId, Managers, Owned, Updater, Version, Versions};

/// How many elements a path has at most: what is below has the owners of what is above. A set is
/// nested as deeply as its object, and further down, so it must end before the decoder does.
pub(crate) const DEPTH_MAX: u8 = 100;
