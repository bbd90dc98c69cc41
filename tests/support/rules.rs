//! What holds wherever the collector comes to rest, and for every object that it removes, however it
//! orders its steps. The rules are stated on the objects and the log alone, without a graph, a queue
//! or a decision, so they would hold for any other collector too.

use crate::reference::{Reference, Thing, World};
use hindsight_core::{Cause, Change, Event, Object, ObjectKey, OwnerReference, Rule};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Checks all that holds at rest; an error has the first sentence that does not, and the object.
pub fn check_at_rest(world: &World) -> Result<(), String> {
    type Sentence = (&'static str, fn(&World, &Thing) -> bool);
    let sentences: [Sentence; 5] = [
        ("nobody who waits is blocked by nobody", |world, thing| {
            !is_waiting(thing) || !blockers(world, thing).is_empty()
        }),
        (
            "nobody waits only for those that wait for him",
            |world, thing| !is_waiting(thing) || !waits_in_a_closed_cycle(world, thing),
        ),
        ("nobody who orphans is left", |_, thing| {
            !(thing.deleting && holds(thing, "orphan"))
        }),
        ("nobody alive has lost every owner", |world, thing| {
            thing.deleting
                || thing.owners.is_empty()
                || has_unresolvable_owner(world, thing)
                || has_solid_owner(world, thing)
        }),
        (
            "nobody alive names others beside an owner that holds on",
            |world, thing| {
                let all = || {
                    thing
                        .owners
                        .iter()
                        .all(|owner| is_solid(world, thing, owner))
                };
                thing.deleting
                    || has_unresolvable_owner(world, thing)
                    || !has_solid_owner(world, thing)
                    || all()
            },
        ),
    ];
    for (sentence, holds) in sentences {
        if let Some(thing) = world.things.iter().find(|thing| !holds(world, thing)) {
            return Err(format!("not so: {sentence}: {thing:?}"));
        }
    }
    Ok(())
}

fn holds(thing: &Thing, finalizer: &str) -> bool {
    thing.finalizers.iter().any(|held| held == finalizer)
}

fn is_waiting(thing: &Thing) -> bool {
    thing.deleting && holds(thing, "foregroundDeletion")
}

fn blockers<'a>(world: &'a World, owner: &Thing) -> Vec<&'a Thing> {
    let blocks = |thing: &&Thing| {
        let mut owners = thing.owners.iter();
        thing.uid != owner.uid && owners.any(|named| named.uid == owner.uid && named.blocks)
    };
    world.things.iter().filter(blocks).collect()
}

/// Whether it waits for something, and everything that it waits for, directly or through others,
/// waits for it too.
fn waits_in_a_closed_cycle(world: &World, thing: &Thing) -> bool {
    let reached = waited_for(world, thing);
    let back = |uid: &&str| {
        let other = world.get(uid).expect("it is there");
        is_waiting(other) && waited_for(world, other).contains(thing.uid.as_str())
    };
    !reached.is_empty() && reached.iter().all(back)
}

fn waited_for<'a>(world: &'a World, thing: &'a Thing) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![thing];
    while let Some(at) = open.pop() {
        for blocker in blockers(world, at) {
            if reached.insert(blocker.uid.as_str()) {
                open.push(blocker);
            }
        }
    }
    reached
}

/// Whether some owner of it cannot be resolved: then nothing follows from any of its owners.
fn has_unresolvable_owner(world: &World, thing: &Thing) -> bool {
    let unknown = |owner: &Reference| {
        !world.is_served(owner.kind) || (owner.kind.is_namespaced() && thing.namespace.is_empty())
    };
    thing.owners.iter().any(unknown)
}

fn has_solid_owner(world: &World, thing: &Thing) -> bool {
    thing
        .owners
        .iter()
        .any(|owner| is_solid(world, thing, owner))
}

fn is_solid(world: &World, thing: &Thing, owner: &Reference) -> bool {
    let namespace = if owner.kind.is_namespaced() {
        thing.namespace.as_str()
    } else {
        ""
    };
    let found = world.find(owner.kind, namespace, &owner.name);
    found.is_some_and(|found| found.uid == owner.uid && !is_waiting(found))
}

/// Reads the log from its beginning, and checks that no object is removed for lack of an owner while
/// an owner holds it.
#[derive(Debug, Default)]
pub struct Judge {
    seen: usize,
    objects: BTreeMap<ObjectKey, Arc<Object>>,
}

impl Judge {
    /// Reads the changes that were not read yet.
    pub fn read_changes(&mut self, changes: &[Arc<Change>]) -> Result<(), String> {
        for change in &changes[self.seen..] {
            self.judge(change)?;
            let commit = &change.commit;
            match commit.events.last() {
                Some(Event::ObjectCreated { object } | Event::ObjectUpdated { object }) => {
                    self.objects.insert(commit.key.clone(), Arc::clone(object));
                }
                _ => {
                    self.objects.remove(&commit.key);
                }
            }
        }
        self.seen = changes.len();
        Ok(())
    }

    fn judge(&self, change: &Change) -> Result<(), String> {
        let commit = &change.commit;
        let for_lack_of_owners = |event: &Event| {
            let (Event::DeletionRequested { rule, .. } | Event::ObjectDeleted { rule, .. }) = event
            else {
                return false;
            };
            matches!(
                rule,
                Rule::OwnersAbsent
                    | Rule::OwnerForeground
                    | Rule::NoSuchOwner
                    | Rule::OwnerInOtherNamespace
            )
        };
        let taken = commit.cause != Cause::Request && commit.events.iter().any(for_lack_of_owners);
        let before = self
            .objects
            .get(&commit.key)
            .filter(|one| !one.is_deleting());
        let Some(before) = before.filter(|_| taken) else {
            return Ok(());
        };
        let owners = &before.meta.owner_references;
        match owners.iter().find(|owner| self.is_solid(before, owner)) {
            None if owners.is_empty() => Err(format!("{} was taken and had no owner", commit.key)),
            None => Ok(()),
            Some(owner) => Err(format!("{} was taken from {}", commit.key, owner.name)),
        }
    }

    /// Whether the owner exists with this kind, name and UID, in the dependent's namespace or
    /// cluster-scoped, and does not wait for its own dependents.
    fn is_solid(&self, dependent: &Object, owner: &OwnerReference) -> bool {
        self.objects.iter().any(|(key, found)| {
            let near = key.namespace.is_empty() || key.namespace == dependent.key.namespace;
            let waits = found.is_deleting() && found.meta.has_finalizer("foregroundDeletion");
            near && found.type_meta.kind == owner.kind
                && key.name == owner.name
                && found.meta.uid == owner.uid
                && !waits
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;
    use crate::reference::{Kind, Short};
    use crate::world;
    use serde_json::json;

    /// Objects by name, with their owners.
    type Things = &'static [(&'static str, &'static [&'static str])];

    /// Parses `NAME` or, for one that is being deleted, `NAME!FINALIZER,...`; an owner is `NAME!` if
    /// it blocks.
    fn thing(name: &str, owners: &[&str]) -> Thing {
        let (name, held) = name
            .split_once('!')
            .map_or((name, None), |(one, held)| (one, Some(held)));
        let finalizers = held.into_iter().flat_map(|held| held.split(','));
        let owner = |one: &&str| Reference {
            kind: Kind::ConfigMap,
            name: one.trim_end_matches('!').into(),
            uid: one.trim_end_matches('!').into(),
            blocks: one.ends_with('!'),
        };
        Thing {
            uid: name.into(),
            kind: Kind::ConfigMap,
            namespace: "n".into(),
            name: name.into(),
            finalizers: finalizers.map(str::to_owned).collect(),
            owners: owners.iter().map(owner).collect(),
            deleting: held.is_some(),
            token: false,
            short: Short::Unwanted,
        }
    }

    fn violation(things: Things) -> String {
        let things = things.iter().map(|(name, owners)| thing(name, owners));
        let world = World {
            things: things.collect(),
        };
        check_at_rest(&world).err().unwrap_or_default()
    }

    #[test]
    fn a_rest_that_breaks_a_sentence_is_told() {
        const A: (&str, &[&str]) = ("a!foregroundDeletion,x/y", &["b!"]);
        const B: (&str, &[&str]) = ("b!foregroundDeletion", &["a!"]);
        let cases: [(Things, &str); 9] = [
            (&[A, ("b!foregroundDeletion", &[])], "blocked by nobody"),
            (&[A, B], "only for those that wait for him"),
            (&[A, B, ("c!x/y", &["a!"])], ""),
            (&[("b!foregroundDeletion", &[]), ("a!x/y", &["b!"])], ""),
            (&[("a!orphan", &[])], "orphans is left"),
            (&[("a", &["gone"])], "lost every owner"),
            (&[("a", &["b"]), B, ("c!x/y", &["b!"])], "lost every owner"),
            (&[("a", &["b", "gone"]), ("b", &[])], "beside an owner"),
            (&[("a", &["b"]), ("b!x/y", &[])], ""),
        ];
        for (things, sentence) in cases {
            let violation = violation(things);
            let as_it_should =
                violation.contains(sentence) && violation.is_empty() == sentence.is_empty();
            assert!(
                as_it_should,
                "{things:?}: {violation:?} and not {sentence:?}"
            );
        }
    }

    #[test]
    fn a_log_in_which_an_owner_holds_on_to_who_is_taken_is_told() {
        let mut world = world::World::new();
        let make = |world: &mut world::World, metadata| {
            let object = json!({"metadata": metadata});
            let made = world.run(naive::create(Kind::PriorityClass, "", object));
            made.expect("made").outcome.object().meta.uid.to_string()
        };
        let uid = make(&mut world, json!({"name": "owner"}));
        let owner = json!([{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "name": "owner", "uid": uid}]);
        make(
            &mut world,
            json!({"name": "dependent", "ownerReferences": owner}),
        );
        let key = naive::key(Kind::PriorityClass, "", "owner");
        world.run(naive::delete(key, None)).expect("gone");
        world.settle(1);
        let mut log = world.changes.clone();
        assert_eq!(log.len(), 4);
        assert_eq!(Judge::default().read_changes(&log), Ok(()));
        log.remove(2);
        let violation = Judge::default()
            .read_changes(&log)
            .expect_err("the owner is there");
        assert!(violation.ends_with("was taken from owner"), "{violation}");
    }
}
