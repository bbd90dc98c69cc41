//! Thinned logs of owners in foreground deletion. The state records since when an owner waits, and a release that was
//! decided before that is stale: an owner that waited, stopped, and waits again must not seem to have waited all the
//! time.

use super::disk::Disk;
use super::script::{self, Commands};
use crate::retention::thin;
use crate::{Reader, Writer};
use hindsight_core::command::{
    Create, Delete, FieldValidation, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::{GroupResource, Intent, ObjectKey, Revision, Rule, apply};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An owner: every definition is also in the part of the state beside the objects, and most other objects never are.
#[derive(Debug, Clone, Copy)]
enum Owner {
    ConfigMap,
    Definition,
}

impl Owner {
    fn key(self) -> ObjectKey {
        match self {
            Self::ConfigMap => {
                ObjectKey::new(GroupResource::new("", "configmaps"), "default", "owner")
            }
            Self::Definition => ObjectKey::definition("owners.example.com"),
        }
    }

    fn create(self) -> Intent {
        let metadata = json!({"name": &*self.key().name, "finalizers": ["x.io/held", "x.io/too"]});
        let spec = json!({
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "owners", "singular": "owner", "kind": "Owner"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        });
        let key = self.key();
        Intent::Create(Create {
            key: ObjectKey::new(key.resource, &key.namespace, ""),
            version: "v1".into(),
            object: match self {
                Self::ConfigMap => json!({"metadata": metadata}),
                Self::Definition => json!({"metadata": metadata, "spec": spec}),
            },
            validation: FieldValidation::Warn,
        })
    }

    fn patch(self, patch: Value) -> Intent {
        Intent::Patch(PatchObject {
            key: self.key(),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(patch),
            validation: FieldValidation::Warn,
        })
    }

    fn finalizers(self, left: &[&str]) -> Intent {
        self.patch(json!({"metadata": {"finalizers": left}}))
    }

    fn delete(self, propagation: Propagation) -> Intent {
        Intent::Delete(Delete {
            propagation: Some(propagation),
            ..Delete::new(Target::any(self.key()), "v1".into(), Rule::Requested)
        })
    }
}

struct Written {
    disk: Arc<Disk>,
    writer: Writer,
    commands: Commands,
}

impl Written {
    fn new() -> Self {
        let disk = Arc::new(Disk::default());
        let mut written = Self {
            writer: script::open(&disk),
            commands: Commands::default(),
            disk,
        };
        let namespace = json!({"metadata": {"name": "default"}});
        written.run(script::create("namespaces", "", namespace));
        written
    }

    /// Its revision, or zero if it was refused.
    fn run(&mut self, intent: Intent) -> Revision {
        let command = self.commands.command(intent);
        script::submit(&self.writer, &self.disk, vec![command]).expect("durable")
    }

    fn config_map(&mut self, name: &str) -> Revision {
        let object = json!({"metadata": {"name": name}});
        self.run(script::create("configmaps", "default", object))
    }
}

fn reader(disk: &Arc<Disk>) -> Reader {
    Reader::new(Arc::clone(disk) as _)
}

/// The hash of the state at each revision.
fn hashes(whole: &Reader) -> BTreeMap<Revision, String> {
    let mut state = script::empty();
    let commits = whole.scan(Revision(1));
    let hash = commits.map(|commit| {
        apply(&mut state, &commit.expect("readable"));
        (state.revision, state.hash())
    });
    hash.collect()
}

/// Thins a copy of the log, once and again, and compares every state that is left.
fn check_thinned(whole: &Arc<Disk>, floors: &[Revision]) {
    let expected = hashes(&reader(whole));
    let thinned = Arc::new(Disk::holding(whole.frames(), None));
    for floor in floors {
        let done = thin(&*thinned, &reader(&thinned), *floor, script::empty(), &[]);
        done.expect("thinned");
        for (revision, hash) in expected.range(floor..) {
            let state = reader(&thinned).state_at(script::empty(), *revision);
            let found = state.expect("it is kept").hash();
            assert_eq!(
                found, *hash,
                "at {revision} of a log with the floor {floor}"
            );
        }
    }
}

#[test]
fn since_when_an_owner_waits_is_not_forgotten() {
    for owner in [Owner::ConfigMap, Owner::Definition] {
        let mut written = Written::new();
        written.run(owner.create());
        let (deletion, again) = (
            owner.delete(Propagation::Background),
            owner.delete(Propagation::Foreground),
        );
        // What a definition is deleted with first is not asked for.
        written.run(deletion);
        written.run(again.clone());
        written.run(owner.finalizers(&["x.io/held"]));
        written.run(again);
        written.run(owner.patch(json!({"metadata": {"labels": {"a": "b"}}})));
        let floor = written.config_map("other");
        written.config_map("last");
        check_thinned(&written.disk, &[floor, floor]);
    }
}

#[test]
fn whatever_happens_to_an_owner_that_waits_a_thinned_log_has_the_same_state() {
    let mut dice = Commands::default();
    let mut waits = 0;
    for round in 0..60 {
        let owner = [Owner::ConfigMap, Owner::Definition][round % 2];
        let mut written = Written::new();
        let mut revisions = Vec::new();
        for step in 0..40 {
            let dependent = format!("d{}", dice.dice() % 3);
            let intent = match dice.dice() % 12 {
                0 => owner.create(),
                1 => owner.delete(Propagation::Background),
                2 | 3 => owner.delete(Propagation::Foreground),
                4 => owner.delete(Propagation::Orphan),
                5 => owner.finalizers(&["x.io/held"]),
                6 => owner.finalizers(&["x.io/held", "foregroundDeletion"]),
                7 => owner.finalizers(&[]),
                8 => owner.patch(json!({"metadata": {"labels": {"step": step.to_string()}}})),
                9 => script::create(
                    "configmaps",
                    "default",
                    json!({"metadata": {"name": dependent}}),
                ),
                10 => script::patch(&dependent, owned(&written, owner)),
                _ => script::patch(&dependent, json!({"metadata": {"ownerReferences": null}})),
            };
            revisions.push(written.run(intent));
        }
        revisions.retain(|revision| *revision > Revision::ZERO);
        let state = reader(&written.disk).newest_state(script::empty());
        waits += state.map_or(0, |state| state.image().held_owners.len());
        let mut floors =
            [(); 3].map(|()| *revisions.get(pick(&mut dice, &revisions)).expect("some"));
        floors.sort_unstable();
        check_thinned(&written.disk, &floors);
    }
    assert!(waits > 5, "an owner waits at the end of {waits} logs");
}

fn pick(dice: &mut Commands, revisions: &[Revision]) -> usize {
    usize::try_from(dice.dice()).expect("small") % revisions.len()
}

/// A reference to the owner as it is now; to nobody, if it is not there.
fn owned(written: &Written, owner: Owner) -> Value {
    let state = reader(&written.disk).newest_state(script::empty());
    let state = state.expect("folded");
    let found = state.get(&owner.key()).map(|object| object.document());
    let reference = found.map(|document| {
        json!({
            "apiVersion": document["apiVersion"], "kind": document["kind"],
            "name": document["metadata"]["name"], "uid": document["metadata"]["uid"],
            "blockOwnerDeletion": true,
        })
    });
    json!({"metadata": {"ownerReferences": reference.map(|one| [one])}})
}
