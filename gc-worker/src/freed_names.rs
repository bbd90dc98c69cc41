//! Gives names that have become free to the definitions that wait for them. The decision that frees names
//! gives away as many as one record may hold; the others follow here, with one step after the other. Source:
//! upstream's `naming_controller.go`, which does so for each definition by itself.

use crate::identity::Identity;
use crate::steps::{Step, status_patch};
use hindsight_core::command::Intent;
use hindsight_core::object::Name;
use hindsight_core::{Cause, ObjectKey, Revision, State, next_to_be_named};
use serde_json::json;
use std::collections::BTreeMap;

/// Groups in which a name may have become free.
#[derive(Debug, Clone, Default)]
pub(crate) struct FreedNames {
    groups: BTreeMap<Name, Freed>,
}

/// A definition that may have given up a name, and the commit with which it did.
#[derive(Debug, Clone)]
pub(crate) struct Freed {
    definition: ObjectKey,
    revision: Revision,
}

impl FreedNames {
    /// Notes a change of a definition. The newest counts: steps are caused by it.
    pub(crate) fn note(&mut self, definition: &ObjectKey, revision: Revision) {
        self.add(Freed {
            definition: definition.clone(),
            revision,
        });
    }

    /// Puts back what came with a step that has to be taken again.
    pub(crate) fn add(&mut self, freed: Freed) {
        let group = freed.definition.defined_resource().group;
        let known = self.groups.get(&group);
        if known.is_none_or(|known| known.revision < freed.revision) {
            self.groups.insert(group, freed);
        }
    }

    /// The next step in each group, as far as there is room: names depend on who else in the group has them,
    /// so a group takes one step at a time. Groups without a step are forgotten.
    pub(crate) fn take(&mut self, state: &State, room: usize) -> Vec<(Freed, Step)> {
        let mut steps = Vec::new();
        while steps.len() < room
            && let Some((_, freed)) = self.groups.pop_first()
        {
            let step = step(state, &freed);
            steps.extend(step.map(|step| (freed, step)));
        }
        steps
    }
}

/// Whether this step gives a name to a definition.
pub(crate) fn is_naming(step: &Step) -> bool {
    matches!(&step.intent, Intent::Patch(patch) if patch.refreshes_names())
}

/// Every write to the status of a definition brings it up to date, so this one asks for nothing else.
fn step(state: &State, freed: &Freed) -> Option<Step> {
    let next = next_to_be_named(state, &freed.definition)?;
    let intent = status_patch(&next.key, json!({}));
    Some(Identity::ApiServer.step(intent, Cause::Commit(freed.revision)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collector;
    use crate::testing::{empty, put, remove, write};
    use crate::trial::{anonymous_command, carry_out};
    use hindsight_core::{Rejection, Time};
    use serde_json::Value;

    const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

    /// A definition with a short name, or one that waits for it.
    fn definition(letter: &str, short: &str, waits: bool) -> Value {
        let (plural, kind) = (format!("{letter}s"), letter.to_uppercase());
        let names = json!({"plural": plural, "singular": letter, "kind": kind,
            "listKind": format!("{kind}List"), "shortNames": [short]});
        let mut accepted = names.clone();
        let mut conditions = json!([{"type": "NamesAccepted", "status": "True"}]);
        if waits {
            accepted
                .as_object_mut()
                .expect("names")
                .remove("shortNames");
            let why = format!("\"{short}\" is already in use");
            conditions = json!([
                {"type": "NamesAccepted", "status": "False", "reason": "ShortNamesConflict",
                    "message": why, "lastTransitionTime": "2024-01-01T00:00:00Z"},
                {"type": "Established", "status": "False", "reason": "NotAccepted",
                    "message": "not all names are accepted",
                    "lastTransitionTime": "2024-01-01T00:00:00Z"}]);
        }
        let version = json!({"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.e.io")},
            "spec": {"group": "e.io", "scope": "Cluster", "names": names, "versions": [version]},
            "status": {"acceptedNames": accepted, "conditions": conditions,
                "storedVersions": ["v1"]}})
    }

    /// `as` has the name that the others wait for.
    fn waiting() -> State {
        let mut state = empty();
        for (letter, waits) in [("a", false), ("b", true), ("c", true)] {
            put(&mut state, DEFINITIONS, definition(letter, "x", waits));
        }
        state
    }

    fn next(collector: &mut Collector, state: &State) -> Vec<Step> {
        let batch = collector.next_batch(state, Time(0), 10);
        for step in &batch {
            assert_eq!(step.by, Identity::ApiServer);
            assert!(is_naming(step), "{step:?}");
        }
        batch
    }

    fn short_names(state: &State, name: &str) -> Value {
        let key = ObjectKey::new(
            hindsight_core::GroupResource::new(DEFINITIONS.0, DEFINITIONS.1),
            "",
            name,
        );
        let document = state.get(&key).expect("a definition").document();
        document["status"]["acceptedNames"]["shortNames"].clone()
    }

    #[test]
    fn the_first_that_waits_gets_what_is_free_and_the_next_what_that_one_gives_up() {
        let mut state = waiting();
        let mut collector = Collector::new(&state);
        assert!(next(&mut collector, &state).is_empty());
        let gone = remove(&mut state, DEFINITIONS, ("", "as.e.io"));
        for restarted in [false, true] {
            let mut state = state.clone();
            let mut collector = collector.clone();
            if restarted {
                collector = Collector::new(&state);
            } else {
                collector.observe(&gone);
            }
            let steps = next(&mut collector, &state);
            let [step] = &steps[..] else {
                panic!("{steps:?}")
            };
            assert!(restarted || step.cause == Cause::Commit(gone.commit.revision));
            let command = anonymous_command(step.clone(), Time(0));
            let (_, changes) = carry_out(&mut state, command).expect("carried out");
            assert_eq!(changes.len(), 1, "the other still waits");
            changes.iter().for_each(|change| collector.observe(change));
            collector.settle([Ok(())].into_iter());
            assert_eq!(short_names(&state, "bs.e.io"), json!(["x"]));
            assert_eq!(short_names(&state, "cs.e.io"), Value::Null);
            assert!(next(&mut collector, &state).is_empty());

            let renamed = write(&mut state, DEFINITIONS, definition("b", "y", false));
            collector.observe(&renamed);
            let steps = next(&mut collector, &state);
            assert_eq!(steps.len(), 1);
            let command = anonymous_command(steps[0].clone(), Time(0));
            carry_out(&mut state, command).expect("carried out");
            assert_eq!(short_names(&state, "cs.e.io"), json!(["x"]));
        }
    }

    #[test]
    fn a_step_that_was_not_decided_comes_again_and_one_that_is_refused_does_not() {
        let mut state = waiting();
        let gone = remove(&mut state, DEFINITIONS, ("", "as.e.io"));
        let stale = Rejection::Stale {
            key: gone.commit.key.clone(),
            reason: "another version".into(),
        };
        for (answer, again) in [
            (None, 1),
            (Some(stale), 1),
            (Some(Rejection::Internal("no".into())), 0),
        ] {
            let mut collector = Collector::new(&state);
            assert_eq!(next(&mut collector, &state).len(), 1);
            match &answer {
                Some(refusal) => collector.settle([Err(refusal)].into_iter()),
                None => collector.postpone(1),
            }
            assert_eq!(next(&mut collector, &state).len(), again, "{answer:?}");
        }
    }
}
