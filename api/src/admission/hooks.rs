//! Which webhooks are asked about a write, and how one of them is called.

use super::review::{self, AdmissionRequest, AdmissionResponse};
use super::subject::{Operation, Subject};
use super::{Admission, conditions, endpoint, shown};
use crate::backend::Backend;
use crate::body::Bodies;
use crate::offload::{LONG_BYTES, offload};
use crate::status::Failure;
use hindsight_core::kind::{KindRef, Kinds};
use hindsight_core::object::Name;
use hindsight_core::webhook::{Webhook, WriteAttributes};
use hindsight_core::{AdmissionView, ObjectKey, Rejection, State, Uid};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// Everything that calling a webhook about a write needs.
pub(super) struct HookContext<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) admission: &'a Admission,
    pub(super) state: &'a State,
    pub(super) subject: Arc<Subject>,
    /// Empty for a request on a collection.
    pub(super) name: &'a str,
    /// The labels of the object before the write. The object itself is decoded again for each webhook: it would be
    /// held while others are waited for.
    pub(super) old_labels: Option<Arc<BTreeMap<Name, Name>>>,
    /// How long the write is, with what webhooks have made of it: what is long is written down and changed on another
    /// thread.
    pub(super) bytes: usize,
    /// Where the answers of webhooks have room, if they are bounded.
    pub(super) bodies: Option<&'a Bodies>,
    /// How many webhooks are asked at once about what the mutating ones leave.
    pub(super) asked_at_once: usize,
    /// Room for what they made of the object, kept until it is written.
    pub(super) room: Vec<OwnedSemaphorePermit>,
    /// When the request ends, even if a webhook is being called then.
    pub(super) deadline: Instant,
}

/// A webhook whose rules match, and the kind and version that it wants to see.
#[derive(Clone)]
pub(super) struct Hook<'a> {
    pub(super) webhook: &'a Webhook,
    pub(super) kind: KindRef,
    pub(super) version: Name,
    pub(super) stage: Stage,
}

/// What a webhook sees of a write: the kind and version that it wants.
pub(super) struct Sight {
    pub(super) subject: Arc<Subject>,
    pub(super) kind: KindRef,
    pub(super) version: Name,
}

impl Sight {
    /// The object in that version.
    pub(super) fn of(&self, object: &Value) -> Value {
        self.converted(object.clone())
    }

    /// The object before the write, in that version.
    pub(super) fn of_old(&self) -> Option<Value> {
        shown::old(&self.subject).map(|old| self.converted(old))
    }

    fn converted(&self, document: Value) -> Value {
        shown::in_version(&self.subject, document, (&self.kind, &self.version))
    }

    /// How documents in that version are read; `None` if it is not served.
    pub(super) fn view<'b>(&'b self, kinds: &'b Kinds) -> Option<AdmissionView<'b>> {
        Some(AdmissionView {
            kinds,
            kind: &self.kind,
            version: self.kind.served(&self.version)?,
            subresource: self.subject.subresource,
            stored: self.subject.old.as_deref(),
        })
    }

    /// A question without the objects.
    pub(super) fn request<'b>(&'b self, name: &'b str, uid: &'b str) -> AdmissionRequest<'b> {
        AdmissionRequest {
            subject: &self.subject,
            kind: &self.kind,
            version: &self.version,
            name,
            uid,
            object: None,
            old: None,
        }
    }
}

/// When a webhook is asked, and so what it may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It may change the object.
    Mutating,
    /// It may only refuse.
    Validating,
}

/// What a webhook is asked, as it is sent.
pub(super) struct WrittenReview {
    version: &'static str,
    uid: Uid,
    body: Vec<u8>,
}

/// Why a webhook did not admit a write.
pub(super) enum HookError {
    /// It could not be called, or its answer not read: its failure policy decides.
    Failed(String),
    /// The write is refused, whatever the policy.
    Refused(Failure),
}

/// The webhooks whose rules match, in their order.
pub(super) fn matching_hooks<'a>(
    webhooks: impl Iterator<Item = &'a Webhook>,
    kinds: &Kinds,
    subject: &Subject,
    stage: Stage,
) -> Vec<Hook<'a>> {
    let write = WriteAttributes {
        operation: subject.operation.name(),
        kind: &subject.kind,
        cohabitant: kinds.cohabitant(&subject.kind),
        version: &subject.version,
        subresource: subject.subresource,
    };
    let hook = |webhook: &'a Webhook| {
        let (kind, version) = webhook.match_write(&write)?;
        Some(Hook {
            webhook,
            kind: Arc::clone(kind),
            version: Arc::clone(&version.name),
            stage,
        })
    };
    webhooks.filter_map(hook).collect()
}

impl HookContext<'_> {
    /// Whether a webhook's selectors match this object and its namespace, and its conditions hold.
    /// Lets other requests be answered before the next webhook's conditions.
    pub(super) async fn selects(
        &self,
        hook: &Hook<'_>,
        object: Option<&Value>,
    ) -> Result<bool, Failure> {
        let selected =
            self.selects_namespace(hook, object)? && self.selects_object(hook, object)?;
        if let Some(why) = hook.kind.unconvertible(&hook.version).filter(|_| selected) {
            return Err(Failure::internal(why));
        }
        if !selected || hook.webhook.conditions.is_empty() {
            return Ok(selected);
        }
        let hold = conditions::hold(self, hook, object);
        tokio::task::yield_now().await;
        hold.map_err(|reason| {
            Failure::from(Rejection::Forbidden {
                resource: self.subject.kind.resource.clone(),
                name: self.name.into(),
                reason,
                causes: Vec::new(),
            })
        })
    }

    fn selects_namespace(&self, hook: &Hook<'_>, object: Option<&Value>) -> Result<bool, Failure> {
        let subject = &self.subject;
        let name = match subject.namespace() {
            "" => self.name,
            namespace => namespace,
        };
        if subject.key.namespace.is_empty() && !subject.is_namespace() {
            return Ok(true);
        }
        let selector = hook
            .webhook
            .namespace_selector
            .as_ref()
            .map_err(unreadable)?;
        if selector.is_empty() {
            return Ok(true);
        }
        let written = subject.operation != Operation::Delete && subject.subresource.is_none();
        if let Some(object) = object.filter(|_| subject.is_namespace() && written) {
            return Ok(selector.matches(&labels(object)));
        }
        let key = ObjectKey::namespace(name);
        let found = self
            .state
            .get(&key)
            .ok_or_else(|| Rejection::not_found(&key))?;
        Ok(selector.matches(&found.meta.labels))
    }

    fn selects_object(&self, hook: &Hook<'_>, object: Option<&Value>) -> Result<bool, Failure> {
        let selector = hook.webhook.object_selector.as_ref().map_err(unreadable)?;
        if selector.is_empty() {
            return Ok(true);
        }
        let old = self.old_labels.as_deref();
        let is_new = object.is_some_and(|object| selector.matches(&labels(object)));
        Ok(is_new || old.is_some_and(|old| selector.matches(old)))
    }

    /// Calls a webhook, and checks its answer.
    pub(super) async fn call(
        &self,
        hook: &Hook<'_>,
        object: Option<&Arc<Value>>,
    ) -> Result<AdmissionResponse, HookError> {
        let question = self.question(hook, object).await?;
        self.ask(hook, question).await
    }

    /// Writes down what a webhook is asked. No tree outlives this: many writes may wait for one webhook.
    pub(super) async fn question(
        &self,
        hook: &Hook<'_>,
        object: Option<&Arc<Value>>,
    ) -> Result<WrittenReview, HookError> {
        let webhook = hook.webhook;
        if self.subject.dry_run && !webhook.dry_runs {
            let name = &webhook.name;
            let why = format!("admission webhook \"{name}\" does not support dry run");
            return Err(HookError::Refused(Failure::bad_request(why)));
        }
        let version = review::version(webhook).map_err(HookError::Failed)?;
        let uid = Uid::from_seed(self.backend.seed());
        let sight = self.sight(hook);
        let (name, object) = (self.name.to_owned(), object.cloned());
        let write_down = move || {
            let object = object.map(|object| sight.of(&object));
            let old = sight.of_old();
            let request = AdmissionRequest {
                object: object.as_ref(),
                old: old.as_ref(),
                ..sight.request(&name, uid.as_str())
            };
            let body = serde_json::to_vec(&request.document(version)).unwrap_or_default();
            WrittenReview { version, uid, body }
        };
        let written = offload(self.bytes, write_down).await;
        written.map_err(HookError::Refused)
    }

    /// Asks a webhook, and checks its answer.
    pub(super) async fn ask(
        &self,
        hook: &Hook<'_>,
        question: WrittenReview,
    ) -> Result<AdmissionResponse, HookError> {
        let webhook = hook.webhook;
        let WrittenReview { version, uid, body } = question;
        let answer = self.post(webhook, body).await;
        let answer =
            answer.map_err(|why| HookError::Failed(format!("failed to call webhook: {why}")))?;
        let room = self.room_for(Bodies::document_bytes(&answer)).await?;
        let (stage, bytes) = (hook.stage, answer.len());
        let read = move || review::read(&answer, version, uid.as_str(), stage);
        let response = offload(bytes, read).await.map_err(HookError::Refused)?;
        drop(room);
        let response = response.map_err(HookError::Failed)?;
        if response.allowed {
            return Ok(response);
        }
        let mut refusal = review::refusal(&webhook.name, &response.status);
        refusal.warnings = response.warnings;
        Err(HookError::Refused(refusal))
    }

    /// Room for so much of what a webhook has answered; `None` if it needs none.
    pub(super) async fn room_for(
        &self,
        bytes: usize,
    ) -> Result<Option<OwnedSemaphorePermit>, HookError> {
        match self.bodies {
            Some(bodies) if bytes > LONG_BYTES => {
                let room = bodies.room_for_document(bytes).await;
                room.map(Some).map_err(HookError::Refused)
            }
            _ => Ok(None),
        }
    }

    /// How the webhook sees the write.
    pub(super) fn sight(&self, hook: &Hook<'_>) -> Sight {
        Sight {
            subject: Arc::clone(&self.subject),
            kind: Arc::clone(&hook.kind),
            version: Arc::clone(&hook.version),
        }
    }

    async fn post(&self, webhook: &Webhook, body: Vec<u8>) -> Result<bytes::Bytes, String> {
        let posted = |url: &str, why: &str| format!("Post \"{url}\": {why}");
        let limit = Duration::from_secs(webhook.timeout_seconds);
        let remaining = limit.min(self.deadline - Instant::now());
        let [draw, ..] = self.backend.seed();
        let call = endpoint::call(self.state, webhook, remaining, body.into(), draw)
            .map_err(|unresolved| posted(&unresolved.url, &unresolved.why))?;
        let url = call.url.clone();
        let answer = tokio::time::timeout(limit, self.admission.webhooks.call(call)).await;
        let answer = answer.map_err(|_| posted(&url, "context deadline exceeded"))?;
        let (code, body) = answer.map_err(|why| posted(&url, &why))?;
        match code {
            200..300 => Ok(body),
            404 => Err("the server could not find the requested resource".into()),
            _ => Err(format!(
                "an error on the server ({:?}) has prevented the request from succeeding ({code})",
                String::from_utf8_lossy(body.get(..2048).unwrap_or(&body))
            )),
        }
    }
}

/// Applies the failure policy to a webhook that did not admit the write; `Ok` where its failure is ignored.
pub(super) fn apply_failure_policy(webhook: &Webhook, error: HookError) -> Result<(), Failure> {
    match error {
        HookError::Refused(failure) => Err(failure),
        HookError::Failed(_) if webhook.ignores_failure => Ok(()),
        HookError::Failed(why) => Err(Failure::internal(format!(
            "failed calling webhook \"{}\": {why}",
            webhook.name
        ))),
    }
}

fn unreadable(why: impl ToString) -> Failure {
    Failure::internal(why.to_string())
}

pub(super) fn labels(object: &Value) -> BTreeMap<Name, Name> {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let pair =
        |(key, value): (&String, &Value)| Some((key.as_str().into(), value.as_str()?.into()));
    labels.into_iter().flatten().filter_map(pair).collect()
}
