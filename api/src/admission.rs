//! Admission: the webhooks and the authorizer that are asked before a write is submitted. It runs on the
//! caller's side, on a durable state; the command then carries what admission saw, and the writer refuses it if
//! that has changed.

mod caller;
mod conditions;
mod deletion;
mod endpoint;
mod eviction;
mod hooks;
mod managed;
mod mutate;
mod owners;
mod review;
mod shown;
mod subject;
#[cfg(test)]
mod tests;
mod unstored;
mod validate;

pub use caller::{Call, WebhookCaller};
pub(crate) use unstored::Unstored;

use caller::NoCaller;

use hooks::{Asking, Hook, Stage, wanting};
use subject::{Operation, Subject};

use crate::authorizer::{AllowAll, Authorizer};
use crate::backend::Backend;
use crate::params::WriteOptions;
use crate::status::Failure;
use hindsight_core::command::{Admitted, FieldValidation, Ground, Intent};
use hindsight_core::kind::KindRef;
use hindsight_core::{
    Command, Decision, Rejection, State, Unavailable, decide, decide_before_storage, draft,
    namespace_of_new,
};
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
pub(crate) struct Wish {
    pub(crate) command: Command,
    /// The `Eviction` that was posted, where the command carries one out.
    pub(crate) eviction: Option<Value>,
    /// The kind of the collection that it was posted to, where that is not the kind of the object.
    pub(crate) posted_to: Option<KindRef>,
    /// For a deletion only whether it is a dry run: its other options are in the command.
    pub(crate) options: WriteOptions,
    /// Whether this is one of many objects of a request on a collection, which names none of them.
    pub(crate) of_collection: bool,
}

impl Wish {
    /// What is wanted of one object.
    pub(crate) fn new(command: Command, options: WriteOptions) -> Self {
        Self {
            command,
            eviction: None,
            posted_to: None,
            options,
            of_collection: false,
        }
    }
}

/// Admits a write and carries it out. If its object changed in between, both are repeated until the request's
/// deadline. Source: `GuaranteedUpdate` and `conditionalDelete` of upstream's storage, which do not limit the
/// number of rounds.
pub(crate) async fn write(
    backend: &dyn Backend,
    admission: &Admission,
    wish: &Wish,
    deadline: Option<Instant>,
) -> Result<Decision, Failure> {
    let write = Write {
        backend,
        admission,
        wish,
        command: &wish.command,
        deadline: ends(deadline),
    };
    let mut said = Vec::new();
    loop {
        let state = backend.state();
        said.clear();
        let admitted = timeout_at(write.deadline, write.admit(&state, &mut said)).await;
        let admitted = match admitted.unwrap_or_else(|_| Err(Failure::timed_out())) {
            Ok(Verdict::Submit(admitted)) => admitted,
            Ok(Verdict::Answer(decision)) => return Ok(*decision),
            Err(failure) => return Err(failure.after(said)),
        };
        let dry_run = admitted.dry_run;
        match submit(backend, admitted.command, dry_run).await {
            // Another write to the object went through, so every round makes progress for somebody.
            Ok(Err(Rejection::Stale { .. })) => write.pause().await?,
            Ok(Ok(decision)) => return Ok(warn(decision, said)),
            Ok(Err(refusal)) => return Err(Failure::from(refusal).after(said)),
            Err(failure) => return Err(failure.after(said)),
        }
    }
}

/// When a request ends: at the client's deadline, if it names one, and at `ADMISSION_MAX` from now at the
/// latest.
fn ends(asked: Option<Instant>) -> Instant {
    let longest = Instant::now() + ADMISSION_MAX;
    asked.map_or(longest, |asked| asked.min(longest))
}

/// The outcome of admission.
enum Verdict {
    /// It is submitted to the writer in this form.
    Submit(Box<Submission>),
    /// There is nothing to write.
    Answer(Box<Decision>),
}

/// A command that goes to the writer or, in a dry run, is only decided.
struct Submission {
    command: Command,
    dry_run: bool,
}

/// A write on its way to the writer.
struct Write<'a> {
    backend: &'a dyn Backend,
    admission: &'a Admission,
    wish: &'a Wish,
    command: &'a Command,
    deadline: Instant,
}

/// The webhooks whose rules match a write.
struct Wanting<'a> {
    mutating: Vec<Hook<'a>>,
    validating: Vec<Hook<'a>>,
}

impl Write<'_> {
    async fn pause(&self) -> Result<(), Failure> {
        let [drawn, ..] = self.backend.seed();
        sleep(PAUSE_STEP * (u32::from(drawn) + 1)).await;
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(Failure::timed_out())
    }

    /// Admits the command on this state. Warnings for the client are appended to `said`, whatever the outcome.
    async fn admit(&self, state: &State, said: &mut Vec<String>) -> Result<Verdict, Failure> {
        let subject = Subject::of(state, self.wish)?;
        if subject.posted.is_some() {
            namespace_of_new(state, &subject.key, &subject.key.name)?;
        }
        let State {
            webhooks, kinds, ..
        } = state;
        let wanting = Wanting {
            mutating: wanting(webhooks.mutating(), kinds, &subject, Stage::Mutating),
            validating: wanting(webhooks.validating(), kinds, &subject, Stage::Validating),
        };
        let asks_webhooks = !wanting.mutating.is_empty() || !wanting.validating.is_empty();
        if !asks_webhooks && !self.admission.checks_owners() {
            let seen = match &subject.old {
                Some(_) => Ground::Present,
                None => Ground::Absent,
            };
            return Ok(self.submit(self.on(&subject, seen, None)));
        }
        if subject.operation == Operation::Delete {
            return self.admit_deletion(state, subject, &wanting, said).await;
        }
        if self.wish.eviction.is_some() {
            return self.admit_eviction(state, subject, &wanting, said).await;
        }
        self.admit_change(state, &subject, &wanting, said).await
    }

    async fn admit_change(
        &self,
        state: &State,
        subject: &Subject<'_>,
        wanting: &Wanting<'_>,
        said: &mut Vec<String>,
    ) -> Result<Verdict, Failure> {
        let first = self.first_look(state, !wanting.mutating.is_empty())?;
        said.extend_from_slice(&first.warnings);
        let shown = self.shown(subject, &first);
        let name = self.name(subject, shown.as_ref());
        let asking = self.asking(state, subject, &name);
        let account = managed::of(shown.as_ref());
        let mut mutated = mutate::mutate(&asking, &wanting.mutating, shown).await?;
        managed::mend(&mut mutated, account);
        let object = mutated.object;
        said.extend(mutated.warnings);
        let admitted = self.admitted(subject, object.clone().filter(|_| mutated.changed));
        let last = decide_before_storage(state, admitted.clone())?;
        said.extend_from_slice(&last.warnings);
        if self.admission.checks_owners() {
            owners::check(&*self.admission.authorizer, state, subject, &last)?;
        }
        let shown = match &subject.posted {
            Some(_) => object,
            None => Some(shown::new(subject, &last)),
        };
        let name = self.name(subject, shown.as_ref());
        let asking = Asking {
            name: &name,
            ..asking
        };
        let asked = validate::validate(&asking, &wanting.validating, shown.as_ref());
        said.extend(asked.await?);
        Ok(self.submit(admitted))
    }

    fn submit(&self, command: Command) -> Verdict {
        let dry_run = self.wish.options.dry_run;
        Verdict::Submit(Box::new(Submission { command, dry_run }))
    }

    /// The decision that webhooks are shown first. Mutating webhooks may still repair the object, so if there
    /// are any it need not be valid yet.
    fn first_look(&self, state: &State, mutates: bool) -> Result<Decision, Rejection> {
        if mutates {
            draft(state, self.command.clone())
        } else {
            decide_before_storage(state, self.command.clone())
        }
    }

    fn shown(&self, subject: &Subject<'_>, first: &Decision) -> Option<Value> {
        let posted = subject.posted.clone();
        posted.or_else(|| Some(shown::draft(subject, self.command, first)))
    }

    fn asking<'b>(
        &'b self,
        state: &'b State,
        subject: &'b Subject<'b>,
        name: &'b str,
    ) -> Asking<'b> {
        Asking {
            backend: self.backend,
            admission: self.admission,
            state,
            subject,
            name,
            old: shown::old(subject),
            deadline: self.deadline,
        }
    }

    /// The name that webhooks are asked about: empty in a request on a collection.
    fn name(&self, subject: &Subject<'_>, shown: Option<&Value>) -> String {
        if self.wish.of_collection {
            return String::new();
        }
        match &*subject.key.name {
            "" => shown.map(shown::name).unwrap_or_default().to_owned(),
            name => name.to_owned(),
        }
    }

    /// The admitted command. What is posted to an object (a binding) makes no claim about the object's version,
    /// so that command gets no precondition.
    fn admitted(&self, subject: &Subject<'_>, object: Option<Value>) -> Command {
        let mut command = self.command.clone();
        match (&mut command.intent, object) {
            (Intent::Update(update), Some(object)) if subject.posted.is_some() => {
                update.object = object;
                update.validation = FieldValidation::Ignore;
                command
            }
            (_, object) => {
                let old = subject.old.as_ref();
                let seen = old.map_or(Ground::Absent, |old| Ground::At(old.revision));
                self.on(subject, seen, object)
            }
        }
    }

    /// The command, to be carried out on this ground alone. If it would reach another object, or become another
    /// operation, everybody is asked again.
    fn on(&self, subject: &Subject<'_>, seen: Ground, object: Option<Value>) -> Command {
        let mut command = self.command.clone();
        if subject.posted.is_none() {
            let intent = command.intent;
            command.intent = Intent::Admitted(Box::new(Admitted {
                seen,
                object,
                intent,
            }));
        }
        command
    }
}

/// Adds warnings to a decision. Duplicates are removed where the headers are written.
fn warn(mut decision: Decision, warnings: Vec<String>) -> Decision {
    decision.warnings.extend(warnings);
    decision
}

/// Submits one command, or only decides it in a dry run.
pub(crate) async fn submit(
    backend: &dyn Backend,
    command: Command,
    dry_run: bool,
) -> Result<Result<Decision, Rejection>, Failure> {
    if dry_run {
        return Ok(decide(&backend.state(), command));
    }
    let answers: Result<_, Unavailable> = backend.submit(vec![command]).await;
    let missing = || Failure::internal("the writer did not answer".into());
    answers?.pop().ok_or_else(missing)
}
