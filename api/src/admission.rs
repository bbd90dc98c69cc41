//! Admission: the webhooks and the authorizer that are asked before a write is submitted. It runs on the
//! caller's side, on a durable state; the command then carries what admission saw, and the writer refuses it if
//! that has changed.

mod caller;
mod carry_out;
mod conditions;
mod deletion;
mod endpoint;
mod eviction;
mod hooks;
mod managed;
mod mutate;
mod owners;
mod review;
mod room;
mod shown;
mod subject;
#[cfg(test)]
mod tests;
mod unstored;
mod validate;
mod write;

pub use caller::{Call, WebhookCaller};
pub(crate) use room::waiting_bytes;
pub(crate) use unstored::ReviewAdmission;

use caller::NoCaller;
use carry_out::carry_out;
use write::{AdmissionOutcome, AdmittedWrite, Write};

use crate::api::Api;
use crate::authorizer::{AllowAll, Authorizer};
use crate::params::WriteOptions;
use crate::request::ResourceRequest;
use crate::status::Failure;
use hindsight_core::kind::KindRef;
use hindsight_core::{Command, Decision, ObjectKey, Rejection, State};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// How long admission of one request may take in all. Source: upstream's deadline of a request.
const ADMISSION_MAX: Duration = Duration::from_secs(34);
/// The unit of the pause after a conflict with another write: before it is admitted again, a write waits for a
/// random number of these, at most 256. The pause does not grow with the number of conflicts, so that the first
/// to come is not the last to be served.
const PAUSE_STEP: Duration = Duration::from_micros(32);

/// The parties that are asked before a write.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Answers who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// Whether owner references need permissions: `delete` on the object whose references change,
    /// `update` on the `finalizers` of an owner that they block.
    pub owner_reference_permissions: bool,
    /// Calls webhooks.
    pub webhooks: Arc<dyn WebhookCaller>,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            authorizer: Arc::new(AllowAll),
            owner_reference_permissions: true,
            webhooks: Arc::new(NoCaller),
        }
    }
}

impl Admission {
    /// Whether no party has to be asked about any write.
    pub(crate) fn is_idle(&self, state: &State) -> bool {
        state.webhooks.is_empty() && !self.checks_owners()
    }

    fn checks_owners(&self) -> bool {
        self.owner_reference_permissions && !self.authorizer.allows_everything()
    }
}

/// A write as a client requested it.
#[derive(Debug, Clone)]
pub(crate) struct WriteRequest {
    /// Shared, so that a long one is copied where that holds up nobody.
    pub(crate) command: Arc<Command>,
    /// For a deletion only whether it is a dry run: its other options are in the command.
    pub(crate) options: WriteOptions,
    pub(crate) addressed: Addressed,
}

/// How a request names the object that it writes.
#[derive(Debug, Clone)]
pub(crate) enum Addressed {
    /// By the path of the object or of its subresource; a new one by its collection.
    Object,
    /// By the path to which this `Eviction` was posted, which the command carries out.
    Eviction(Value),
    /// By what was posted to a collection of this kind, which is not the kind of the object.
    Collection(KindRef),
    /// Not at all: it is one of many objects of a request on a collection.
    OneOfMany,
}

impl WriteRequest {
    /// What is wanted of one object.
    pub(crate) fn new(command: Command, options: WriteOptions) -> Self {
        Self {
            command: Arc::new(command),
            options,
            addressed: Addressed::Object,
        }
    }
}

impl Api {
    /// Admits one write, and makes it durable or, in a dry run, only decides it.
    pub(crate) async fn submit(
        &self,
        request: &ResourceRequest,
        write_request: WriteRequest,
    ) -> Result<Decision, Failure> {
        let backend = &*self.backend;
        let state = backend.state();
        let (body, is_yaml) = (request.body_bytes, request.media.is_yaml());
        let bytes = room::decided_bytes(&state, &write_request.command, body, is_yaml);
        if self.admission.is_idle(&state) && !request.kind.is_long_to_check() {
            drop(state);
            let WriteRequest {
                command, options, ..
            } = write_request;
            let command = Arc::unwrap_or_clone(command);
            return Ok(carry_out(backend, command, bytes, options.dry_run).await??);
        }
        drop(state);
        let written = admit_and_carry_out(Write {
            backend,
            admission: &self.admission,
            write_request: &write_request,
            bytes,
            bodies: self.bodies.as_ref(),
            deadline: capped_deadline(request.deadline),
        });
        Box::pin(written).await
    }
}

/// Admits a write and carries it out. If its object changed in between, both are repeated until the request's
/// deadline. Source: `GuaranteedUpdate` and `conditionalDelete` of upstream's storage, which do not limit the
/// number of rounds.
async fn admit_and_carry_out(write: Write<'_>) -> Result<Decision, Failure> {
    let mut warnings = Vec::new();
    // A definition always takes longer than a turn of the writer.
    let mut is_aside = room::written(&write.command().intent).is_some_and(ObjectKey::is_definition);
    loop {
        let state = write.backend.state();
        warnings.clear();
        let admitted = timeout_at(write.deadline, write.admit(&state, &mut warnings)).await;
        let admitted = match admitted.unwrap_or_else(|_| Err(Failure::admission_timed_out())) {
            Ok(AdmissionOutcome::Admitted(admitted)) => admitted,
            Ok(AdmissionOutcome::Answer(decision)) => return Ok(*decision),
            Err(failure) => return Err(failure.with_warnings(warnings)),
        };
        let AdmittedWrite {
            command,
            dry_run,
            bytes,
            room: _room,
        } = *admitted;
        let command = Arc::unwrap_or_clone(command);
        let counted = if is_aside {
            room::computed_bytes(&state, &command, bytes)
        } else {
            bytes
        };
        match carry_out(write.backend, command, counted, dry_run).await {
            // Another write to the object went through, so every round makes progress for somebody; or to check it
            // takes longer than a turn of the writer.
            Ok(Err(Rejection::Stale { .. })) => {
                is_aside = true;
                let paused = write.pause().await;
                paused.map_err(|late| late.with_warnings(std::mem::take(&mut warnings)))?;
            }
            Ok(Ok(decision)) => return Ok(warn(decision, warnings)),
            Ok(Err(refusal)) => return Err(Failure::from(refusal).with_warnings(warnings)),
            Err(failure) => return Err(failure.with_warnings(warnings)),
        }
    }
}

impl Write<'_> {
    async fn pause(&self) -> Result<(), Failure> {
        let [drawn, ..] = self.backend.seed();
        sleep(PAUSE_STEP * (u32::from(drawn) + 1)).await;
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(Failure::admission_timed_out())
    }
}

/// When a request ends: at the client's deadline, if it names one, and at `ADMISSION_MAX` from now at the
/// latest.
pub(crate) fn capped_deadline(requested: Option<Instant>) -> Instant {
    let longest = Instant::now() + ADMISSION_MAX;
    requested.map_or(longest, |requested| requested.min(longest))
}

/// Adds warnings to a decision. Duplicates are removed where the headers are written.
fn warn(mut decision: Decision, warnings: Vec<String>) -> Decision {
    decision.warnings.extend(warnings);
    decision
}
