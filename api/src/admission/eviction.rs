//! The admission of an eviction: webhooks see the `Eviction` that was posted, and the delete options that they
//! leave in it are carried out. The pod and its budget are checked after all webhooks. Source: upstream's
//! `EvictionREST.Create`.

use super::hooks::HookContext;
use super::subject::{self, Subject};
use super::write::{AdmissionOutcome, AdmittedWrite, MatchingHooks, Write};
use super::{mutate, validate};
use crate::status::Failure;
use crate::verbs::pod;
use hindsight_core::{Intent, State};
use std::sync::Arc;

impl Write<'_> {
    pub(super) async fn admit_eviction(
        &self,
        state: &State,
        mut subject: Subject,
        hooks: &MatchingHooks<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<AdmissionOutcome, Failure> {
        let name = subject.key.name.to_string();
        let mut context = self.context(state, &subject, &name);
        context.asked_at_once = hooks.validating.len();
        let posted = subject.posted.as_deref().cloned();
        let mutated = mutate::mutate(&mut context, &hooks.mutating, posted).await?;
        let mut eviction = mutated.object.unwrap_or_default();
        warnings.extend(mutated.warnings);
        let options = pod::options_of(&eviction, &name)?;
        // A webhook may turn an eviction into a dry run, but not a dry run into a deletion.
        let dry_run = self.write_request.options.dry_run || options.dry_run;
        if dry_run {
            subject.dry_run = true;
            subject::as_dry_run(&mut subject.options);
            if let Some(options) = eviction.get_mut("deleteOptions") {
                subject::as_dry_run(options);
            }
        }
        let context = HookContext {
            subject: Arc::new(subject),
            ..context
        };
        let validation = validate::validate(&context, &hooks.validating, Some(Arc::new(eviction)));
        warnings.extend(validation.await?);
        let mut command = self.command().clone();
        if let Intent::Evict(delete) = &mut command.intent {
            options.put(delete);
        }
        let admitted = AdmittedWrite {
            dry_run,
            ..self.admitted(Arc::new(command))
        };
        Ok(admitted.into())
    }
}
