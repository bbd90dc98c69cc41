//! The steps that collectors take, and the parts that these are made of.

use crate::identity::Identity;
use hindsight_core::command::{
    Basis, Command, Delete, FieldValidation, Intent, Patch, PatchObject, Target,
};
use hindsight_core::kind::Subresource;
use hindsight_core::{Cause, Object, ObjectKey, Rule, State, Time, Uid};
use serde_json::Value;

/// The most steps in one batch of a server. A batch shares an fsync, and everybody else waits until it is
/// decided and durable.
pub const BATCH_STEPS_MAX: usize = 384;

/// What an object above a step weighs in a part, in bytes, as does each reference that it has beside one: after some
/// requests the writer looks at them again before the step. So it looks at 16,000 of either, and those of one more step,
/// at most between two writes of others.
const PASSED_BYTES: usize = 256;

/// What a collector does next, and why.
#[derive(Debug, Clone)]
pub struct Step {
    /// The identity by which it is carried out.
    pub by: Identity,
    /// What to do.
    pub intent: Intent,
    /// What made it necessary.
    pub cause: Cause,
}

/// The two parts of a batch, which are submitted apart: steps that advance deletions, for which there is room on
/// a full disk too, and the others, such as reports and deletions of old events.
pub fn split_advancing(mut batch: Vec<Step>) -> [Vec<Step>; 2] {
    let advancing = batch.partition_point(|step| step.intent.advances_deletion());
    let others = batch.split_off(advancing);
    [batch, others]
}

/// Divides steps into parts, in their order. A part ends once its steps take `bytes_max` bytes: what is submitted
/// together is held in memory together, and needs room on the disk together. What is above a step takes its share,
/// because everybody else waits while the writer looks at it again.
pub fn in_parts(steps: Vec<Step>, state: &State, bytes_max: usize) -> Vec<Vec<Step>> {
    let mut parts: Vec<Vec<Step>> = Vec::new();
    let mut bytes = 0;
    for step in steps {
        let passed = basis_of(&step.intent).map_or(0, |basis| basis.passed);
        let more = bytes_of(state, &step.intent) + passed * PASSED_BYTES;
        match parts.last_mut() {
            Some(part) if bytes < bytes_max => part.push(step),
            _ => {
                parts.push(vec![step]);
                bytes = 0;
            }
        }
        bytes += more;
    }
    parts
}

impl Step {
    /// The command for it.
    pub fn command(self, time: Time, seed: [u8; 16]) -> Command {
        Command {
            cause: self.cause,
            manager: Some(self.by.field_manager().into()),
            ..Command::new(self.by.actor(), time, seed, self.intent)
        }
    }
}

/// How many bytes the objects take that an intent writes to, as they are stored.
fn bytes_of(state: &State, intent: &Intent) -> usize {
    let stored = |key: &ObjectKey| state.get(key).map_or(0, |object| object.body.len());
    match intent {
        Intent::Create(_) => 0,
        Intent::Update(update) => stored(&update.key),
        Intent::Patch(patch) => stored(&patch.key),
        Intent::Delete(delete) | Intent::Evict(delete) => stored(&delete.target.key),
        Intent::Collect(step) => step.targets().iter().map(|one| stored(&one.key)).sum(),
    }
}

/// What an intent was planned on.
const fn basis_of(intent: &Intent) -> Option<&Basis> {
    match intent {
        Intent::Create(_) | Intent::Update(_) | Intent::Patch(_) | Intent::Evict(_) => None,
        Intent::Delete(delete) => delete.basis.as_ref(),
        Intent::Collect(step) => step.basis(),
    }
}

/// A write to the status of a container: this document, merged.
pub(crate) fn status_patch(key: &ObjectKey, document: Value) -> Intent {
    Intent::Patch(PatchObject {
        key: key.clone(),
        version: "v1".into(),
        subresource: Some(Subresource::Status),
        patch: Patch::Merge(document),
        validation: FieldValidation::Ignore,
    })
}

/// The mark of an object in deletion, as a cause.
pub(crate) fn cause_of_mark(object: &Object) -> Cause {
    Cause::Commit(object.mark.map_or(object.revision, |mark| mark.revision))
}

/// The object with this uid, in whatever version it is found: what matters of it is checked again.
pub(crate) fn target(key: &ObjectKey, uid: &Uid) -> Target {
    Target {
        key: key.clone(),
        uid: Some(uid.clone()),
        revision: None,
    }
}

/// A deletion of the target by this rule, in the version in which it is stored.
pub(crate) fn deletion(state: &State, target: Target, rule: Rule) -> Delete {
    let kind = state.kinds.by_resource(&target.key.resource);
    let version = kind.and_then(|kind| kind.storage_version());
    let version = version.map_or_else(|| "".into(), |version| version.name.clone());
    Delete::new(target, version, rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::Collector;
    use crate::testing::{add, empty, put};
    use hindsight_core::state::{ABOVE_MAX, REFERENCES_ABOVE_MAX};
    use serde_json::json;

    #[test]
    fn steps_on_large_objects_are_submitted_in_parts_and_in_their_order() {
        const MANY: usize = 1000;
        let mut state = empty();
        let mut steps = Vec::new();
        for (name, bytes) in [("a", 1), ("b", MANY), ("c", 1), ("d", MANY), ("e", MANY)] {
            let document = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "n"}, "data": {"k": "v".repeat(bytes)}});
            let object = put(&mut state, ("", "configmaps"), document);
            let target = target(&object.key, &object.meta.uid);
            steps.push(Step {
                by: Identity::GarbageCollector,
                intent: Intent::Delete(deletion(&state, target, Rule::OwnersAbsent)),
                cause: Cause::Request,
            });
        }
        let name = |step: &Step| {
            let Intent::Delete(delete) = &step.intent else {
                panic!("{step:?}");
            };
            delete.target.key.name.to_string()
        };
        for (most, expected) in [
            (usize::MAX, &["abcde"][..]),
            (MANY, &["ab", "cd", "e"]),
            (1, &["a", "b", "c", "d", "e"]),
        ] {
            let parts = in_parts(steps.clone(), &state, most).into_iter();
            let parts: Vec<String> = parts.map(|part| part.iter().map(name).collect()).collect();
            assert_eq!(parts, expected, "{most}");
        }
        assert!(in_parts(Vec::new(), &state, 1).is_empty());
    }

    /// A chain of so many objects, the highest of which stays, and ten objects that lose another owner below it.
    fn below_a_chain(length: usize) -> (State, Vec<Step>) {
        let mut state = empty();
        let link = |at: usize| format!("c{at}");
        for at in 0..length {
            let above = at.checked_sub(1).map(link);
            add(&mut state, &link(at), above.as_deref().as_slice());
        }
        for name in 'a'..='j' {
            add(&mut state, &name.to_string(), &[&link(length - 1), "gone"]);
        }
        let batch = Collector::new(&state).next_batch(&state, Time(0), BATCH_STEPS_MAX);
        (state, batch)
    }

    #[test]
    fn steps_far_below_others_are_submitted_in_parts() {
        const PASSED: usize = 300;
        let most = PASSED * PASSED_BYTES;
        for (length, expected) in [(1, 1), (PASSED / 2, 5), (PASSED, 10)] {
            let (state, batch) = below_a_chain(length);
            assert_eq!(batch.len(), 10);
            let parts = in_parts(batch, &state, most);
            assert_eq!(parts.len(), expected, "below {length}");
        }
    }

    /// The writer looks at each reference of an object above a step, whether it leads anywhere or not.
    #[test]
    fn steps_below_many_references_are_submitted_in_parts() {
        const PART: usize = 16_000;
        for (references, expected) in [(1, 1), (PART / 4, 3), (PART, 10)] {
            let mut state = empty();
            let absent: Vec<String> = (1..references).map(|at| format!("absent{at}")).collect();
            let absent = absent.iter().map(String::as_str);
            let owners: Vec<&str> = absent.chain(["?unknown"]).collect();
            add(&mut state, "x", &owners);
            for name in 'a'..='j' {
                add(&mut state, &name.to_string(), &["x", "gone"]);
            }
            let batch = Collector::new(&state).next_batch(&state, Time(0), BATCH_STEPS_MAX);
            assert_eq!(batch.len(), 10);
            let parts = in_parts(batch, &state, PART * PASSED_BYTES);
            assert_eq!(parts.len(), expected, "below {references}");
        }
    }

    /// What an owner orphans is below its containers alone, which may have many references too. The writer passes those of
    /// the owner and those of its dependent.
    #[test]
    fn steps_in_a_namespace_with_many_references_are_submitted_in_parts() {
        const PART: usize = 1_000;
        for (references, expected) in [(1, 1), (PART / 4, 5), (PART, 10)] {
            let mut state = empty();
            let absent = |at| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": format!("absent{at}")});
            let owners: Vec<Value> = (0..references).map(absent).collect();
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": "n", "ownerReferences": owners}});
            put(&mut state, ("", "namespaces"), namespace);
            add(&mut state, "x!orphan", &[]);
            for name in 'a'..='j' {
                add(&mut state, &name.to_string(), &["x"]);
            }
            let batch = Collector::new(&state).next_batch(&state, Time(0), BATCH_STEPS_MAX);
            assert_eq!(batch.len(), 10);
            let parts = in_parts(batch, &state, PART * PASSED_BYTES);
            assert_eq!(parts.len(), expected, "below {references}");
        }
    }

    /// A walk up ends at so many objects, whatever their shape.
    #[test]
    fn a_step_weighs_no_more_than_the_longest_walk_up() {
        let mut state = empty();
        let [mut left, mut right] = ["stays", "stays"].map(String::from);
        add(&mut state, "stays", &[]);
        for at in 0..100 {
            let names = [format!("l{at}"), format!("r{at}")];
            for name in &names {
                add(&mut state, name, &[&left, &right]);
            }
            [left, right] = names;
        }
        add(&mut state, "z", &[&left, "gone"]);
        let mut collector = Collector::new(&state);
        let batch = collector.next_batch(&state, Time(0), BATCH_STEPS_MAX);
        let [step] = &batch[..] else {
            panic!("{batch:?}");
        };
        let passed = basis_of(&step.intent).map(|basis| basis.passed);
        assert_eq!(passed, Some(ABOVE_MAX + REFERENCES_ABOVE_MAX));
    }
}
