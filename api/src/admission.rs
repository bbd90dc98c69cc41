//! Admission: what is asked of others before a write may go to the writer. It runs on the caller's
//! side, on a durable state; the writer is then told what was seen and refuses anything else.

mod caller;
mod conditions;
mod endpoint;
mod hooks;
mod managed;
mod mutate;
mod owners;
mod review;
mod shown;
mod subject;
mod validate;

pub use caller::{Call, WebhookCaller};

use caller::NoCaller;

use hooks::Asking;
use subject::{Operation, Subject};

use crate::authorizer::{AllowAll, Authorizer};
use crate::backend::{Backend, Unavailable};
use crate::status::Failure;
use hindsight_core::command::{Admitted, Intent};
use hindsight_core::{Command, Decision, Rejection, State, decide, draft, preview};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How often a write is admitted again because its object changed meanwhile. Source: what upstream
/// grants a patch.
const ROUNDS_MAX: usize = 5;
/// How long all of it may take. Source: upstream's deadline of a request.
const ADMISSION_MAX: Duration = Duration::from_secs(34);

/// Who is asked before a write.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Knows who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// Whether owner references need permissions: `delete` on the object whose references change,
    /// `update` on the `finalizers` of an owner that they block.
    pub owner_reference_permissions: bool,
    /// Reaches webhooks.
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
    /// Whether nobody has to be asked about any write.
    pub(crate) fn is_idle(&self, state: &State) -> bool {
        state.webhooks.is_empty() && !self.checks_owners()
    }

    fn checks_owners(&self) -> bool {
        self.owner_reference_permissions && !self.authorizer.allows_everything()
    }
}

/// Admits a command and carries it out; again, where its object changed in between.
pub(crate) async fn write(
    backend: &dyn Backend,
    admission: &Admission,
    command: &Command,
    dry_run: bool,
) -> Result<Decision, Failure> {
    let write = Write {
        backend,
        admission,
        command,
        dry_run,
    };
    let deadline = tokio::time::Instant::now() + ADMISSION_MAX;
    let mut stale = None;
    for _ in 0..ROUNDS_MAX {
        let state = backend.state();
        let admitted = tokio::time::timeout_at(deadline, write.admit(&state)).await;
        let (admitted, warnings) = admitted.map_err(|_| Failure::timed_out())??;
        match carry_out(backend, admitted, dry_run).await? {
            Err(Rejection::Stale { key, .. }) => stale = Some(key),
            decided => return Ok(warn(decided?, warnings)),
        }
    }
    let key = stale.ok_or_else(|| Failure::internal("nothing was admitted".into()))?;
    let reason = "the object has been modified; please apply your changes to the latest version \
                  and try again";
    Err(Failure::from(Rejection::Conflict {
        resource: key.resource,
        name: key.name,
        reason: reason.into(),
    }))
}

/// A write on its way to the writer.
struct Write<'a> {
    backend: &'a dyn Backend,
    admission: &'a Admission,
    command: &'a Command,
    dry_run: bool,
}

impl Write<'_> {
    /// The command as it was admitted on this state, and what is to be said about it.
    async fn admit(&self, state: &State) -> Result<(Command, Vec<String>), Failure> {
        let subject = Subject::of(state, self.command, self.dry_run)?;
        let mutating = hooks::wanting(state.webhooks.mutating(), &subject, true);
        let validating = hooks::wanting(state.webhooks.validating(), &subject, false);
        let checks_owners = self.admission.checks_owners();
        if mutating.is_empty() && validating.is_empty() && !checks_owners {
            return Ok((self.command.clone(), Vec::new()));
        }
        let first = self.first_look(state, &subject, !mutating.is_empty())?;
        if is_pending(&subject, &first) {
            return Ok((self.command.clone(), Vec::new()));
        }
        let shown = self.shown(&subject, &first);
        let name = self.name(&subject, shown.as_ref());
        let asking = Asking {
            backend: self.backend,
            admission: self.admission,
            state,
            subject: &subject,
            name: &name,
            old: shown::old(&subject),
        };
        let account = managed::of(shown.as_ref());
        let mut mutated = mutate::mutate(&asking, &mutating, shown).await?;
        managed::mend(&mut mutated, account);
        let (object, mut warnings) = (mutated.object, mutated.warnings);
        if mutated.changed {
            warnings.splice(0..0, first.warnings);
        }
        let admitted = self.admitted(&subject, object.clone().filter(|_| mutated.changed));
        let last = preview(state, admitted.clone())?;
        if checks_owners {
            owners::check(&*self.admission.authorizer, state, &subject, &last)?;
        }
        let shown = match (&subject.posted, subject.operation) {
            (Some(_), _) => object,
            (None, Operation::Delete) => None,
            (None, _) => Some(shown::new(&subject, &last)),
        };
        let name = self.name(&subject, shown.as_ref());
        let asking = Asking {
            name: &name,
            ..asking
        };
        warnings.extend(validate::validate(&asking, &validating, shown.as_ref()).await?);
        Ok((admitted, warnings))
    }

    /// What those may see who may change it: also what is not valid yet. A deletion has nothing to
    /// change.
    fn first_look(
        &self,
        state: &State,
        subject: &Subject<'_>,
        mutates: bool,
    ) -> Result<Decision, Rejection> {
        if mutates && subject.operation != Operation::Delete {
            draft(state, self.command.clone())
        } else {
            preview(state, self.command.clone())
        }
    }

    fn shown(&self, subject: &Subject<'_>, first: &Decision) -> Option<Value> {
        if subject.posted.is_some() {
            return subject.posted.clone();
        }
        (subject.operation != Operation::Delete).then(|| shown::draft(subject, self.command, first))
    }

    /// The name that is asked about: none in the name of a collection.
    fn name(&self, subject: &Subject<'_>, shown: Option<&Value>) -> String {
        if self.command.request.verb == "deletecollection" {
            return String::new();
        }
        match &*subject.key.name {
            "" => shown.map(shown::name).unwrap_or_default().to_owned(),
            name => name.to_owned(),
        }
    }

    /// What is posted to an object says nothing about the object's version.
    fn admitted(&self, subject: &Subject<'_>, object: Option<Value>) -> Command {
        let mut command = self.command.clone();
        match (&mut command.intent, object) {
            (Intent::Update(update), Some(object)) if subject.posted.is_some() => {
                update.object = object;
            }
            (_, object) if subject.posted.is_none() => {
                let intent = Admitted {
                    seen: subject.old.as_ref().map(|object| object.revision),
                    object,
                    intent: command.intent,
                };
                command.intent = Intent::Admitted(Box::new(intent));
            }
            _ => {}
        }
        command
    }
}

/// A graceful deletion that goes on as it was asks nobody. Source: `store.Delete`.
fn is_pending(subject: &Subject<'_>, first: &Decision) -> bool {
    let unchanged = first.commits.is_empty();
    subject.operation == Operation::Delete && subject.kind.strategy.graceful && unchanged
}

fn warn(mut decision: Decision, warnings: Vec<String>) -> Decision {
    for warning in warnings {
        if !decision.warnings.contains(&warning) {
            decision.warnings.push(warning);
        }
    }
    decision
}

/// One command, made durable, or only decided.
pub(crate) async fn carry_out(
    backend: &dyn Backend,
    command: Command,
    dry_run: bool,
) -> Result<Result<Decision, Rejection>, Failure> {
    if dry_run {
        return Ok(decide(&backend.state(), command));
    }
    let answers: Result<_, Unavailable> = backend.submit(vec![command]).await;
    let missing = || Failure::internal("the writer gave no answer".into());
    answers?.pop().ok_or_else(missing)
}
