//! Decides when a definition ends. Its end makes the references to its kind unresolvable, and takes an
//! owner from its dependents. So it waits for every object whose outcome could change by that, and for no
//! other. See `docs/decisions/0005-owners-first.md`.

mod quiet;
mod reach;
mod touched;

use super::{View, whole_plan};
use crate::content;
use crate::steps::Step;
use hindsight_core::command::{Collect, Intent};
use hindsight_core::{Object, ObjectKey};
use quiet::Quiet;
use reach::Reach;
use std::collections::BTreeSet;
use touched::Touched;

/// Whether this step releases a definition.
pub(crate) fn ends_a_definition(step: &Step) -> bool {
    released(step).any(ObjectKey::is_definition)
}

fn released(step: &Step) -> impl Iterator<Item = &ObjectKey> {
    let owners = match &step.intent {
        Intent::Collect(Collect::Release(release)) => std::slice::from_ref(&release.owner),
        Intent::Collect(Collect::BreakDeadlock(deadlock)) => &deadlock.members[..],
        Intent::Create(_)
        | Intent::Update(_)
        | Intent::Patch(_)
        | Intent::Delete(_)
        | Intent::Evict(_)
        | Intent::Collect(
            Collect::DropOwners(_) | Collect::Unblock(_) | Collect::FinalizeNamespace(_),
        ) => &[],
    };
    owners.iter().map(|owner| &owner.key)
}

/// A definition that is being deleted, and the step that releases it, if one would.
struct Ending<'a> {
    definition: &'a Object,
    release: Option<Step>,
}

impl View<'_> {
    /// The steps that release definitions whose time has come, of those that are being deleted. If the ends
    /// of two could affect each other, the lower name comes first. At most `limit`.
    pub(crate) fn ends(self, ending: &BTreeSet<ObjectKey>, limit: usize) -> Vec<(ObjectKey, Step)> {
        let known = ending.iter().filter_map(|key| self.state.get(key));
        let going = known.map(|definition| Ending {
            definition,
            release: self.release_of(definition),
        });
        let mut going: Vec<Ending<'_>> = going.collect();
        let is_released = |one: &Ending<'_>| one.release.is_some();
        going.truncate(going.iter().rposition(is_released).map_or(0, |at| at + 1));
        let reach = Reach::of(self);
        let (mut touched, quiet) = (Touched::of(&reach), Quiet::of(&reach));
        let ends = going.into_iter().filter_map(|one| {
            let uid = &one.definition.meta.uid;
            // At rest: another program's finalizer holds it, or an instance.
            if one.release.is_none() && quiet.is_quiet(uid) {
                return None;
            }
            let its_turn = touched.is_first(uid);
            let step = one.release?;
            (its_turn && quiet.is_quiet(uid)).then(|| (one.definition.key.clone(), step))
        });
        ends.take(limit).collect()
    }

    fn release_of(&self, definition: &Object) -> Option<Step> {
        let plan = whole_plan(*self, &definition.meta.uid);
        let own = |step: &&Step| released(step).any(|key| *key == definition.key);
        let of_its_own = plan.all_steps().find(own).cloned();
        of_its_own.or_else(|| content::release_of(self.state, definition))
    }
}
