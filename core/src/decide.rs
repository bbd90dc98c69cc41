//! The decisions, one file for each intent. Each is a pure function of the state and the command.

mod admitted;
mod apply;
mod bound;
mod claim;
mod collect;
mod commit;
pub mod conditions;
mod coordinates;
mod create;
mod decode;
mod definition;
mod delete;
mod demands;
mod endpoints;
mod evict;
mod lifecycle;
mod managed_fields;
mod mutated;
mod namespace;
mod patch;
mod planned;
mod prepare;
mod sequence;
mod subsets;
mod update;
mod volume;

pub(crate) use admitted::as_admitted;
pub(crate) use bound::OversizePolicy;
pub(crate) use collect::collect;
pub(crate) use create::create;
pub use decode::{prune_posted, prune_review, strict_decoding_error};
pub use definition::next_to_be_named;
pub(crate) use definition::with_names_given_away;
pub use delete::admission_grace;
pub(crate) use delete::delete;
pub(crate) use endpoints::with_endpoints_removed;
pub(crate) use evict::evict;
pub use lifecycle::namespace_of_new;
pub use mutated::AdmissionView;
pub(crate) use patch::patch;
pub(crate) use update::update;

use crate::command::{Admitted, Evaluation, Passed};
use crate::kind::Kind;
use crate::object::Name;
use crate::rejection::{self, FieldCause};
use crate::{Actor, Cause, Command, Decision, Intent, Rejection, Request, Revision, State, Time};
use std::cell::OnceCell;
use std::sync::Arc;

/// The inputs of a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) state: &'a State,
    pub(crate) envelope: &'a Envelope,
    /// The commit that this part of the decision is made because of; if there is none, the command says why.
    pub(crate) caused_by: Option<Revision>,
    pub(crate) strictness: Strictness,
    /// The object is as admission left it, and its `managedFields` are to be taken as they are.
    pub(crate) is_mutated: bool,
    pub(crate) oversize: OversizePolicy,
    /// Notes the document that satisfies what takes long to check.
    pub(crate) passed: Option<&'a OnceCell<Passed>>,
}

/// How far a decision is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Invalid objects are let through: mutating admission may still correct them.
    Draft,
    /// The object must be valid, but the checks of storage are left out: validating admission is asked
    /// first.
    Valid,
    /// The object is to be stored: every check applies.
    Storage,
}

impl Context<'_> {
    fn cause(&self) -> Cause {
        let of_command = || self.envelope.cause.clone();
        self.caused_by.map_or_else(of_command, Cause::Commit)
    }

    /// The warnings of a body: those of the request, then those found since.
    fn warnings(&self, found: Vec<String>) -> Vec<String> {
        let mut warnings = self.envelope.warnings.clone();
        warnings.extend(found);
        warnings
    }

    /// Refuses with every fault, if there is any. In a draft, admission may still correct what is wrong.
    fn refuse(&self, kind: &Kind, name: &str, faults: Faults) -> Result<(), Rejection> {
        let Faults {
            mut corrected,
            remaining,
        } = faults;
        if self.strictness != Strictness::Draft || !corrected.is_empty() {
            corrected.extend(remaining);
        }
        prepare::refuse(kind, name, corrected)
    }
}

/// Adds warnings to a decision or a refusal, in front of its own.
fn warned(
    decided: Result<Decision, Rejection>,
    warnings: Vec<String>,
) -> Result<Decision, Rejection> {
    match decided {
        Ok(mut decision) => {
            decision.warnings = rejection::joined(warnings, decision.warnings);
            Ok(decision)
        }
        Err(refusal) => Err(refusal.warned(warnings)),
    }
}

/// What is wrong with the document that was sent.
#[derive(Debug, Default)]
struct Faults {
    /// Faults that are corrected in the document and could not be found again: a draft is refused for them,
    /// too.
    corrected: Vec<FieldCause>,
    /// Faults that remain in the document.
    remaining: Vec<FieldCause>,
}

/// A command without its intent.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) actor: Arc<Actor>,
    pub(crate) request: Arc<Request>,
    pub(crate) time: Time,
    pub(crate) seed: [u8; 16],
    pub(crate) cause: Cause,
    pub(crate) manager: Option<Name>,
    pub(crate) warnings: Vec<String>,
    pub(crate) evaluation: Evaluation,
}

impl Envelope {
    pub(crate) fn split(command: Command) -> (Self, Intent, Option<Box<Admitted>>) {
        let Command {
            actor,
            request,
            time,
            seed,
            cause,
            manager,
            warnings,
            evaluation,
            intent,
            admitted,
        } = command;
        let envelope = Self {
            actor,
            request,
            time,
            seed,
            cause,
            manager,
            warnings,
            evaluation,
        };
        (envelope, intent, admitted)
    }
}
