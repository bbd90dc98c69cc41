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

pub use caller::{Call, WebhookCaller};
pub(crate) use room::waiting_bytes;
pub(crate) use unstored::ReviewAdmission;

use caller::NoCaller;
use carry_out::carry_out;
use hooks::{Hook, HookContext, Stage, matching_hooks};
use subject::{Operation, Subject};

use crate::authorizer::{AllowAll, Authorizer};
use crate::backend::Backend;
use crate::body::Bodies;
use crate::offload::offload;
use crate::params::WriteOptions;
use crate::status::Failure;
use hindsight_core::command::{AdmissionBasis, Admitted, FieldValidation, Intent};
use hindsight_core::kind::KindRef;
use hindsight_core::{
    Command, Decision, ObjectKey, Rejection, State, decide_before_storage, draft, namespace_of_new,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
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
    /// The `Eviction` that was posted, where the command carries one out.
    pub(crate) eviction: Option<Value>,
    /// The kind of the collection that it was posted to, where that is not the kind of the object.
    pub(crate) posted_to: Option<KindRef>,
    /// For a deletion only whether it is a dry run: its other options are in the command.
    pub(crate) options: WriteOptions,
    /// Whether this is one of many objects of a request on a collection, which names none of them.
    pub(crate) of_collection: bool,
}

impl WriteRequest {
    /// What is wanted of one object.
    pub(crate) fn new(command: Command, options: WriteOptions) -> Self {
        Self {
            command: Arc::new(command),
            eviction: None,
            posted_to: None,
            options,
            of_collection: false,
        }
    }
}

/// What bounds a write.
#[derive(Debug, Clone, Copy)]
struct Bounds<'a> {
    /// How much is decided: see [`room::decided_bytes`].
    bytes: usize,
    /// Where what webhooks make of it has room, if that is bounded.
    bodies: Option<&'a Bodies>,
    /// When the client stops waiting, if it says so.
    deadline: Option<Instant>,
}

/// Admits a write and carries it out. If its object changed in between, both are repeated until the request's
/// deadline. Source: `GuaranteedUpdate` and `conditionalDelete` of upstream's storage, which do not limit the
/// number of rounds.
async fn admit_and_carry_out(
    backend: &dyn Backend,
    admission: &Admission,
    write_request: &WriteRequest,
    bounds: Bounds<'_>,
) -> Result<Decision, Failure> {
    let write = Write {
        backend,
        admission,
        write_request,
        bytes: bounds.bytes,
        bodies: bounds.bodies,
        deadline: capped_deadline(bounds.deadline),
    };
    let mut warnings = Vec::new();
    // A definition always takes longer than a turn of the writer.
    let mut is_aside = room::written(&write.command().intent).is_some_and(ObjectKey::is_definition);
    loop {
        let state = backend.state();
        warnings.clear();
        let admitted = timeout_at(write.deadline, write.admit(&state, &mut warnings)).await;
        let admitted = match admitted.unwrap_or_else(|_| Err(Failure::admission_timed_out())) {
            Ok(AdmissionOutcome::Submit(admitted)) => admitted,
            Ok(AdmissionOutcome::Answer(decision)) => return Ok(*decision),
            Err(failure) => return Err(failure.with_warnings(warnings)),
        };
        let Submission {
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
        match carry_out(backend, command, counted, dry_run).await {
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

/// When a request ends: at the client's deadline, if it names one, and at `ADMISSION_MAX` from now at the
/// latest.
pub(crate) fn capped_deadline(requested: Option<Instant>) -> Instant {
    let longest = Instant::now() + ADMISSION_MAX;
    requested.map_or(longest, |requested| requested.min(longest))
}

/// The outcome of admission.
enum AdmissionOutcome {
    /// It is submitted to the writer in this form.
    Submit(Box<Submission>),
    /// There is nothing to write.
    Answer(Box<Decision>),
}

/// A command that goes to the writer or, in a dry run, is only decided.
struct Submission {
    command: Arc<Command>,
    dry_run: bool,
    /// How much is decided, with what webhooks made of it.
    bytes: usize,
    /// Room for what they made of it.
    room: Vec<OwnedSemaphorePermit>,
}

/// A write on its way to the writer.
struct Write<'a> {
    backend: &'a dyn Backend,
    admission: &'a Admission,
    write_request: &'a WriteRequest,
    /// How much is decided, as it was sent: see [`room::decided_bytes`].
    bytes: usize,
    bodies: Option<&'a Bodies>,
    deadline: Instant,
}

/// The webhooks whose rules match a write.
struct MatchingHooks<'a> {
    mutating: Vec<Hook<'a>>,
    validating: Vec<Hook<'a>>,
}

impl Write<'_> {
    fn command(&self) -> &Command {
        &self.write_request.command
    }

    async fn pause(&self) -> Result<(), Failure> {
        let [drawn, ..] = self.backend.seed();
        sleep(PAUSE_STEP * (u32::from(drawn) + 1)).await;
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(Failure::admission_timed_out())
    }

    /// Admits the command on this state. Warnings for the client go to `warnings`, whatever the outcome.
    async fn admit(
        &self,
        state: &State,
        warnings: &mut Vec<String>,
    ) -> Result<AdmissionOutcome, Failure> {
        let subject = Subject::of(state, self.write_request)?;
        if subject.posted.is_some() {
            namespace_of_new(state, &subject.key, &subject.key.name)?;
        }
        let State {
            webhooks, kinds, ..
        } = state;
        let hooks = MatchingHooks {
            mutating: matching_hooks(webhooks.mutating(), kinds, &subject, Stage::Mutating),
            validating: matching_hooks(webhooks.validating(), kinds, &subject, Stage::Validating),
        };
        let asks_webhooks = !hooks.mutating.is_empty() || !hooks.validating.is_empty();
        if !asks_webhooks && !self.admission.checks_owners() {
            let seen = match &subject.old {
                Some(_) => AdmissionBasis::Present,
                None => AdmissionBasis::Absent,
            };
            let command = self.bound_to(&subject, seen).await?;
            return Ok(self.to_submit(command));
        }
        if subject.operation == Operation::Delete {
            return self.admit_deletion(state, subject, &hooks, warnings).await;
        }
        if self.write_request.eviction.is_some() {
            return self.admit_eviction(state, subject, &hooks, warnings).await;
        }
        self.admit_change(state, &subject, &hooks, warnings).await
    }

    async fn admit_change(
        &self,
        state: &State,
        subject: &Subject,
        hooks: &MatchingHooks<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<AdmissionOutcome, Failure> {
        // Mutating webhooks may still repair the object, so if there are any it need not be valid yet.
        let preliminary = if hooks.mutating.is_empty() {
            decide_before_storage
        } else {
            draft
        };
        let command = &self.write_request.command;
        let first = self.decide(state, command, preliminary, self.bytes);
        let first = first.await?;
        warnings.extend_from_slice(&first.warnings);
        // Neither this nor the decision after the webhooks is kept while any is waited for.
        let shown = self.shown(subject, first).await?;
        let name = self.name(subject, shown.as_ref());
        let mut context = self.context(state, subject, &name);
        context.asked_at_once = hooks.validating.len();
        let managed_fields = managed::fields(shown.as_ref());
        let mut mutated = mutate::mutate(&mut context, &hooks.mutating, shown).await?;
        managed::restore_unreadable(&mut mutated, managed_fields);
        let object = mutated.object.map(Arc::new);
        warnings.extend(mutated.warnings);
        let (bytes, changed) = (context.bytes, object.clone().filter(|_| mutated.changed));
        let admitted = self.admitted(subject, changed, bytes).await?;
        let last = self.decide(state, &admitted, decide_before_storage, bytes);
        let last = last.await?;
        warnings.extend_from_slice(&last.warnings);
        if self.admission.checks_owners() {
            owners::check(&*self.admission.authorizer, state, subject, &last)?;
        }
        let shown = if subject.posted.is_some() {
            drop(last);
            object
        } else {
            let subject = subject.clone();
            let show = move || {
                drop(object);
                Arc::new(shown::new(&subject, &last))
            };
            Some(offload(bytes, show).await?)
        };
        let name = self.name(subject, shown.as_deref());
        let context = HookContext {
            name: &name,
            ..context
        };
        let validation = validate::validate(&context, &hooks.validating, shown);
        warnings.extend(validation.await?);
        Ok(AdmissionOutcome::Submit(Box::new(Submission {
            command: admitted,
            dry_run: self.write_request.options.dry_run,
            bytes,
            room: context.room,
        })))
    }

    fn to_submit(&self, command: Arc<Command>) -> AdmissionOutcome {
        AdmissionOutcome::Submit(Box::new(Submission {
            command,
            dry_run: self.write_request.options.dry_run,
            bytes: self.bytes,
            room: Vec::new(),
        }))
    }

    /// Decides a command for those who are asked about it, where a long one holds up no other request.
    async fn decide(
        &self,
        state: &State,
        command: &Arc<Command>,
        decide: fn(&State, Command) -> Result<Decision, Rejection>,
        bytes: usize,
    ) -> Result<Decision, Failure> {
        let (state, command) = (state.clone(), Arc::clone(command));
        let bytes = room::computed_bytes(&state, &command, bytes);
        let decided = offload(bytes, move || decide(&state, Command::clone(&command)));
        Ok(decided.await??)
    }

    /// What mutating webhooks see first.
    async fn shown(&self, subject: &Subject, first: Decision) -> Result<Option<Value>, Failure> {
        if let Some(posted) = &subject.posted {
            return Ok(Some((**posted).clone()));
        }
        let (subject, sent) = (subject.clone(), shown::Sent::in_command(self.command()));
        let show = move || shown::draft(&subject, &sent, &first);
        offload(self.bytes, show).await.map(Some)
    }

    fn context<'b>(
        &'b self,
        state: &'b State,
        subject: &Subject,
        name: &'b str,
    ) -> HookContext<'b> {
        HookContext {
            backend: self.backend,
            admission: self.admission,
            state,
            subject: Arc::new(subject.clone()),
            name,
            old_labels: shown::old_labels(subject),
            bytes: self.bytes,
            bodies: self.bodies,
            asked_at_once: 0,
            room: Vec::new(),
            deadline: self.deadline,
        }
    }

    /// The name that webhooks are asked about: empty in a request on a collection.
    fn name(&self, subject: &Subject, shown: Option<&Value>) -> String {
        if self.write_request.of_collection {
            return String::new();
        }
        match &*subject.key.name {
            "" => shown.map(shown::name).unwrap_or_default().to_owned(),
            name => name.to_owned(),
        }
    }

    /// The admitted command. What is posted to an object (a binding) makes no claim about the object's version,
    /// so that command gets no precondition.
    async fn admitted(
        &self,
        subject: &Subject,
        object: Option<Arc<Value>>,
        bytes: usize,
    ) -> Result<Arc<Command>, Failure> {
        if subject.posted.is_none() {
            let old = subject.old.as_ref();
            let seen = old.map_or(AdmissionBasis::Absent, |old| {
                AdmissionBasis::At(old.revision)
            });
            return self
                .changed(bytes, move |command| {
                    let object = object.map(Arc::unwrap_or_clone);
                    command.admitted = Some(Box::new(Admitted { seen, object }));
                })
                .await;
        }
        self.changed(bytes, |command| {
            if let (Intent::Update(update), Some(object)) = (&mut command.intent, object) {
                update.object = Arc::unwrap_or_clone(object);
                update.validation = FieldValidation::Ignore;
            }
        })
        .await
    }

    /// The command, to be carried out on this ground alone. If it would reach another object, or become another
    /// operation, everybody is asked again.
    async fn bound_to(
        &self,
        subject: &Subject,
        seen: AdmissionBasis,
    ) -> Result<Arc<Command>, Failure> {
        if subject.posted.is_some() {
            return Ok(Arc::clone(&self.write_request.command));
        }
        let object = None;
        self.changed(self.bytes, move |command| {
            command.admitted = Some(Box::new(Admitted { seen, object }));
        })
        .await
    }

    /// The command with a change.
    async fn changed(
        &self,
        bytes: usize,
        change: impl FnOnce(&mut Command) + Send + 'static,
    ) -> Result<Arc<Command>, Failure> {
        let command = Arc::clone(&self.write_request.command);
        let copy = move || {
            let mut command = Command::clone(&command);
            change(&mut command);
            Arc::new(command)
        };
        offload(bytes, copy).await
    }
}

/// Adds warnings to a decision. Duplicates are removed where the headers are written.
fn warn(mut decision: Decision, warnings: Vec<String>) -> Decision {
    decision.warnings.extend(warnings);
    decision
}
