//! A write on its way through admission: who is asked about it, on which state, and what it is then.

use super::hooks::{Hook, HookContext, Stage, matching_hooks};
use super::subject::{Operation, Subject};
use super::{Addressed, Admission, WriteRequest, managed, mutate, owners, room, shown, validate};
use crate::backend::Backend;
use crate::body::Bodies;
use crate::offload::offload;
use crate::status::Failure;
use hindsight_core::command::{AdmissionBasis, Admitted, FieldValidation, Intent};
use hindsight_core::{
    Command, Decision, Rejection, State, decide_before_storage, draft, namespace_of_new,
};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// A write on its way to the writer.
pub(super) struct Write<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) admission: &'a Admission,
    pub(super) write_request: &'a WriteRequest,
    /// How much is decided, as it was sent: see [`room::decided_bytes`].
    pub(super) bytes: usize,
    pub(super) bodies: Option<&'a Bodies>,
    pub(super) deadline: Instant,
}

/// The outcome of admission.
pub(super) enum AdmissionOutcome {
    /// It is carried out in this form.
    Admitted(Box<AdmittedWrite>),
    /// There is nothing to write.
    Answer(Box<Decision>),
}

impl From<AdmittedWrite> for AdmissionOutcome {
    fn from(admitted: AdmittedWrite) -> Self {
        Self::Admitted(Box::new(admitted))
    }
}

/// What goes to the writer or, in a dry run, is only decided.
pub(super) struct AdmittedWrite {
    /// With what admission saw, where it is bound to that.
    pub(super) command: Arc<Command>,
    pub(super) dry_run: bool,
    /// How much is decided, with what webhooks made of it.
    pub(super) bytes: usize,
    /// Room for what they made of it.
    pub(super) room: Vec<OwnedSemaphorePermit>,
}

/// The webhooks whose rules match a write.
pub(super) struct MatchingHooks<'a> {
    pub(super) mutating: Vec<Hook<'a>>,
    pub(super) validating: Vec<Hook<'a>>,
}

impl Write<'_> {
    pub(super) fn command(&self) -> &Command {
        &self.write_request.command
    }

    /// Admits the command on this state. Warnings for the client go to `warnings`, whatever the outcome.
    pub(super) async fn admit(
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
            let command = self.bound_to(&subject, seen, None, self.bytes).await?;
            return Ok(self.admitted(command).into());
        }
        if subject.operation == Operation::Delete {
            return self.admit_deletion(state, subject, &hooks, warnings).await;
        }
        if matches!(self.write_request.addressed, Addressed::Eviction(_)) {
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
        let seen = version_seen(subject);
        let command = self.bound_to(subject, seen, changed, bytes).await?;
        let last = self.decide(state, &command, decide_before_storage, bytes);
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
        let admitted = AdmittedWrite {
            bytes,
            room: context.room,
            ..self.admitted(command)
        };
        Ok(admitted.into())
    }

    /// What is admitted with this command, where webhooks made nothing that takes room.
    pub(super) fn admitted(&self, command: Arc<Command>) -> AdmittedWrite {
        AdmittedWrite {
            command,
            dry_run: self.write_request.options.dry_run,
            bytes: self.bytes,
            room: Vec::new(),
        }
    }

    /// Decides a command for those who are asked about it, where a long one holds up no other request.
    pub(super) async fn decide(
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

    pub(super) fn context<'b>(
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
    pub(super) fn name(&self, subject: &Subject, shown: Option<&Value>) -> String {
        if matches!(self.write_request.addressed, Addressed::OneOfMany) {
            return String::new();
        }
        match &*subject.key.name {
            "" => shown.map(shown::name).unwrap_or_default().to_owned(),
            name => name.to_owned(),
        }
    }

    /// The command, with what webhooks made of its object, to be carried out on what was seen alone: if it would reach
    /// another object, or become another operation, everybody is asked again. What is posted to an object (a binding)
    /// makes no claim about the object's version, so that command gets no precondition.
    pub(super) async fn bound_to(
        &self,
        subject: &Subject,
        seen: AdmissionBasis,
        object: Option<Arc<Value>>,
        bytes: usize,
    ) -> Result<Arc<Command>, Failure> {
        let is_posted = subject.posted.is_some();
        self.changed(bytes, move |command| {
            let object = object.map(Arc::unwrap_or_clone);
            if !is_posted {
                command.admitted = Some(Box::new(Admitted { seen, object }));
            } else if let (Intent::Update(update), Some(object)) = (&mut command.intent, object) {
                update.object = object;
                update.validation = FieldValidation::Ignore;
            }
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

/// That somebody was asked about this version of the object.
pub(super) fn version_seen(subject: &Subject) -> AdmissionBasis {
    let old = subject.old.as_ref();
    old.map_or(AdmissionBasis::Absent, |old| {
        AdmissionBasis::At(old.revision)
    })
}
