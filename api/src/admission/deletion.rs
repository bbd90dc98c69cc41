//! The admission of a deletion: webhooks cannot change anything in it, and it may come in two steps, marking
//! and removal.

use super::hooks::HookContext;
use super::subject::Subject;
use super::write::{AdmissionOutcome, MatchingHooks, Write, version_seen};
use super::{mutate, validate};
use crate::status::Failure;
use hindsight_core::object::spec_finalizers;
use hindsight_core::{Decision, Object, State, decide_before_storage};
use std::sync::Arc;

impl Write<'_> {
    /// Asks about the object as it is and, where one request marks and removes it, about the marked
    /// one, too. Upstream asks the second time when the first step is written; here a refusal of
    /// either leaves the object as it was.
    pub(super) async fn admit_deletion(
        &self,
        state: &State,
        mut subject: Subject,
        hooks: &MatchingHooks<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<AdmissionOutcome, Failure> {
        let seen = version_seen(&subject);
        let command = self.bound_to(&subject, seen, None, self.bytes).await?;
        let decision = self.decide(state, &command, decide_before_storage, self.bytes);
        let decision = decision.await?;
        if is_already_under_way(state, &subject, &decision) {
            return Ok(AdmissionOutcome::Answer(Box::new(decision)));
        }
        let marked = marked_object(&decision);
        for old in [subject.old.clone(), marked].into_iter().flatten() {
            subject.old = Some(old);
            let name = self.name(&subject, None);
            let mut context = self.context(state, &subject, &name);
            call_webhooks(&mut context, hooks, warnings).await?;
        }
        Ok(self.admitted(command).into())
    }
}

async fn call_webhooks(
    context: &mut HookContext<'_>,
    hooks: &MatchingHooks<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    let mutated = mutate::mutate(context, &hooks.mutating, None).await?;
    warnings.extend(mutated.warnings);
    warnings.extend(validate::validate(context, &hooks.validating, None).await?);
    Ok(())
}

/// The object after the first of two steps, if the deletion takes two.
fn marked_object(decision: &Decision) -> Option<Arc<Object>> {
    let [marked, removal, ..] = decision.commits.as_slice() else {
        return None;
    };
    let is_two_steps = marked.key == removal.key && removal.object().is_none();
    marked.object().filter(|_| is_two_steps).map(Arc::clone)
}

/// Whether the deletion was already under way and this request cannot advance it: then no webhook is asked.
/// Source: `store.Delete` of an object with time left, and the storage of namespaces.
fn is_already_under_way(state: &State, subject: &Subject, decision: &Decision) -> bool {
    let Some(old) = subject.old.as_ref().filter(|_| decision.commits.is_empty()) else {
        return false;
    };
    let time_left = old.meta.deletion_grace_period_seconds.unwrap_or(0) != 0;
    let stops = subject.kind.strategy.graceful && time_left;
    stops || (subject.is_namespace() && has_content(state, old))
}

fn has_content(state: &State, namespace: &Object) -> bool {
    state.population(&namespace.key.name) > 0 || !spec_finalizers(&namespace.document()).is_empty()
}
