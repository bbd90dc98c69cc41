//! The admission of reviews, which are answered and never stored. Source: upstream's handler of creations, and
//! the `Create` of each review.

use super::hooks::{Hook, HookContext, Stage};
use super::subject::Subject;
use super::{capped_deadline, hooks, mutate, shown, validate};
use crate::api::Api;
use crate::params::WriteOptions;
use crate::request::ResourceRequest;
use crate::status::Failure;
use hindsight_core::State;
use hindsight_core::webhook::Webhook;
use serde_json::Value;
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

/// A review on its way through admission.
pub(crate) struct ReviewAdmission<'a> {
    api: &'a Api,
    state: Arc<State>,
    subject: Arc<Subject>,
    bytes: usize,
    deadline: Instant,
}

impl<'a> ReviewAdmission<'a> {
    /// Of a review that is about so long.
    pub(crate) fn new(
        api: &'a Api,
        request: &ResourceRequest,
        options: &WriteOptions,
        bytes: usize,
    ) -> Self {
        Self {
            api,
            state: api.backend.state(),
            subject: Arc::new(Subject::of_unstored(request, options)),
            bytes,
            deadline: capped_deadline(request.deadline),
        }
    }

    /// Returns the review as mutating webhooks leave it; their warnings are appended to `warnings`.
    pub(crate) async fn mutate(
        &self,
        review: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let hooks = self.matching_hooks(self.state.webhooks.mutating(), Stage::Mutating);
        if hooks.is_empty() {
            return Ok(review);
        }
        let name = shown::name(&review).to_owned();
        let mut context = self.context(&name);
        let mutation = mutate::mutate(&mut context, &hooks, Some(review));
        let mutated = self.in_time(mutation).await?;
        warnings.extend(mutated.warnings);
        Ok(mutated.object.unwrap_or_default())
    }

    /// Asks the validating webhooks, and returns the review; their warnings are appended to `warnings`.
    pub(crate) async fn validate(
        &self,
        review: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let hooks = self.matching_hooks(self.state.webhooks.validating(), Stage::Validating);
        if hooks.is_empty() {
            return Ok(review);
        }
        let (name, review) = (shown::name(&review).to_owned(), Arc::new(review));
        let context = self.context(&name);
        let validation = validate::validate(&context, &hooks, Some(Arc::clone(&review)));
        warnings.extend(self.in_time(validation).await?);
        Ok(Arc::unwrap_or_clone(review))
    }

    fn matching_hooks<'b>(
        &self,
        webhooks: impl Iterator<Item = &'b Webhook>,
        stage: Stage,
    ) -> Vec<Hook<'b>> {
        hooks::matching_hooks(webhooks, &self.state.kinds, &self.subject, stage)
    }

    fn context<'b>(&'b self, name: &'b str) -> HookContext<'b> {
        HookContext {
            backend: &*self.api.backend,
            admission: &self.api.admission,
            state: &self.state,
            subject: Arc::clone(&self.subject),
            name,
            old_labels: None,
            bytes: self.bytes,
            bodies: self.api.bodies.as_ref(),
            asked_at_once: 0,
            room: Vec::new(),
            deadline: self.deadline,
        }
    }

    async fn in_time<T>(
        &self,
        future: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let result = timeout_at(self.deadline, future).await;
        result.unwrap_or_else(|_| Err(Failure::admission_timed_out()))
    }
}
