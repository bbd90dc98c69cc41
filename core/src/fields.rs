//! Field ownership: sets of fields, and how writes change who owns them. Pure functions over values and
//! schemas, which know nothing of commands or `metadata.managedFields`. Source:
//! `sigs.k8s.io/structured-merge-diff`, whose results these reproduce.

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

pub(crate) use check::{check, refuse_undeclared};
pub(crate) use collect::set_of;
pub(crate) use compare::compare;
pub(crate) use element::Element;
pub(crate) use set::FieldSet;
pub(crate) use updater::{Contested, ManagerId, Managers, Owned, Updater, Version, Versions};

/// Maximum number of elements in a path: deeper fields have the owners of the field above them. A set
/// is nested as deeply as its object and is stored further down in it, so the limit must be below the
/// decoder's.
pub(crate) const DEPTH_MAX: u8 = 100;
