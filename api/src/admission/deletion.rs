//! The admission of a deletion: webhooks cannot change anything in it, and it may come in two steps, marking
//! and removal.

use super::hooks::Asking;
use super::subject::Subject;
use super::{Verdict, Wanting, Write, mutate, validate};
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
        mut subject: Subject<'_>,
        wanting: &Wanting<'_>,
        said: &mut Vec<String>,
    ) -> Result<Verdict, Failure> {
        let admitted = self.admitted(&subject, None);
        let decision = decide_before_storage(state, admitted.clone())?;
        if goes_on_as_it_was(state, &subject, &decision) {
            return Ok(Verdict::Answer(Box::new(decision)));
        }
        let marked = marked_on_the_way(&decision);
        for old in [subject.old.clone(), marked].into_iter().flatten() {
            subject.old = Some(old);
            let name = self.name(&subject, None);
            let asking = self.asking(state, &subject, &name);
            ask(&asking, wanting, said).await?;
        }
        Ok(self.submit(admitted))
    }
}

async fn ask(
    asking: &Asking<'_>,
    wanting: &Wanting<'_>,
    said: &mut Vec<String>,
) -> Result<(), Failure> {
    let mutated = mutate::mutate(asking, &wanting.mutating, None).await?;
    said.extend(mutated.warnings);
    said.extend(validate::validate(asking, &wanting.validating, None).await?);
    Ok(())
}

/// The object after the first of two steps, if the deletion takes two.
fn marked_on_the_way(decision: &Decision) -> Option<Arc<Object>> {
    let [marked, removal, ..] = decision.commits.as_slice() else {
        return None;
    };
    let is_two_steps = marked.key == removal.key && removal.object().is_none();
    marked.object().filter(|_| is_two_steps).map(Arc::clone)
}

/// Whether the deletion was already under way and this request cannot advance it: then no webhook is asked.
/// Source: `store.Delete` of an object with time left, and the storage of namespaces.
fn goes_on_as_it_was(state: &State, subject: &Subject<'_>, decision: &Decision) -> bool {
    let Some(old) = subject.old.as_ref().filter(|_| decision.commits.is_empty()) else {
        return false;
    };
    let time_left = old.meta.deletion_grace_period_seconds.unwrap_or(0) != 0;
    let stops = subject.kind.strategy.graceful && time_left;
    stops || (subject.is_namespace() && awaits_its_contents(state, old))
}

fn awaits_its_contents(state: &State, namespace: &Object) -> bool {
    state.population(&namespace.key.name) > 0 || !spec_finalizers(&namespace.document()).is_empty()
}
