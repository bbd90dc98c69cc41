//! The admission of reviews, which are answered and never stored. Source: upstream's handler of creations, and
//! the `Create` of each review.

use super::hooks::{Asking, Hook, Stage};
use super::subject::Subject;
use super::{ends, hooks, mutate, shown, validate};
use crate::handler::{Api, Routed};
use crate::params::WriteOptions;
use crate::status::Failure;
use hindsight_core::State;
use hindsight_core::webhook::Webhook;
use serde_json::Value;
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

/// A review on its way through admission.
pub(crate) struct Unstored<'a> {
    api: &'a Api,
    state: Arc<State>,
    subject: Subject<'a>,
    deadline: Instant,
}

impl<'a> Unstored<'a> {
    pub(crate) fn new(api: &'a Api, asked: &'a Routed, options: &WriteOptions) -> Self {
        Self {
            api,
            state: api.backend.state(),
            subject: Subject::of_unstored(asked, options),
            deadline: ends(asked.deadline),
        }
    }

    /// Returns the review as mutating webhooks leave it; their warnings are appended to `said`.
    pub(crate) async fn mutate(
        &self,
        review: Value,
        said: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let hooks = self.wanting(self.state.webhooks.mutating(), Stage::Mutating);
        if hooks.is_empty() {
            return Ok(review);
        }
        let name = shown::name(&review).to_owned();
        let asking = self.asking(&name);
        let asked = mutate::mutate(&asking, &hooks, Some(review));
        let mutated = self.in_time(asked).await?;
        said.extend(mutated.warnings);
        Ok(mutated.object.unwrap_or_default())
    }

    /// Asks the validating webhooks; their warnings are appended to `said`.
    pub(crate) async fn validate(
        &self,
        review: &Value,
        said: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let hooks = self.wanting(self.state.webhooks.validating(), Stage::Validating);
        if hooks.is_empty() {
            return Ok(());
        }
        let asking = self.asking(shown::name(review));
        let asked = validate::validate(&asking, &hooks, Some(review));
        said.extend(self.in_time(asked).await?);
        Ok(())
    }

    fn wanting<'b>(
        &self,
        webhooks: impl Iterator<Item = &'b Webhook>,
        stage: Stage,
    ) -> Vec<Hook<'b>> {
        hooks::wanting(webhooks, &self.state.kinds, &self.subject, stage)
    }

    fn asking<'b>(&'b self, name: &'b str) -> Asking<'b> {
        Asking {
            backend: &*self.api.backend,
            admission: &self.api.admission,
            state: &self.state,
            subject: &self.subject,
            name,
            old: None,
            deadline: self.deadline,
        }
    }

    async fn in_time<T>(
        &self,
        asked: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let asked = timeout_at(self.deadline, asked).await;
        asked.unwrap_or_else(|_| Err(Failure::timed_out()))
    }
}
