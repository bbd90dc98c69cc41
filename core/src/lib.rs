//! The deterministic state machine of Hindsight: what an object is, what a command may ask for, and which
//! events follow from it. The crate has no clock, no randomness and no IO: every input arrives inside the
//! [`Command`].
#![deny(clippy::wildcard_enum_match_arm)]

pub mod builtin;
mod cel;
pub mod classify;
pub mod command;
pub mod convert;
mod custom;
mod decide;
mod defaults;
pub mod document;
pub mod duration;
pub mod event;
mod fields;
mod form;
mod go;
mod health;
mod hold;
pub mod invariants;
mod job;
pub mod kind;
mod machine;
pub mod managed;
mod memory;
pub mod object;
pub mod patch;
mod quantity;
mod refusal;
pub mod rejection;
mod revision;
mod room;
pub mod scale;
pub mod schema;
pub mod selector;
pub mod state;
#[cfg(test)]
mod testing;
mod time;
pub mod validate;
pub mod webhook;

pub use cel::{Access, Authority};
pub use command::{Actor, Command, Intent, Request};
pub use custom::{is_definable, kind_of_definition, served_kind};
pub use decide::{
    AdmissionView, admission_grace, conditions, namespace_of_new, next_to_be_named, prune_posted,
    prune_review, strict_decoding_error,
};
pub use document::{LEVELS_MAX, metadata_mut};
pub use event::{Cause, Change, Commit, Decision, Event, Outcome, Rule};
pub use form::Form;
pub use health::Check;
pub use hold::{Hold, holds};
pub use job::end_of_life;
pub use kind::{GroupResource, GroupVersionKind, Kind};
pub use machine::{apply, decide, decide_aside, decide_before_storage, draft};
pub use object::{Object, ObjectKey, OwnerReference, Uid};
pub use refusal::{Expired, FutureRevision, Pruned, PrunedTime, Submitted, Unavailable};
pub use rejection::Rejection;
pub use revision::Revision;
pub use state::State;
pub use time::Time;
