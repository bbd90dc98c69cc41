//! What holds wherever the collector comes to rest, and for every object that it removes, however it
//! orders its steps. The rules are stated on the objects and the log alone, without a graph, a queue
//! or a decision, so they would hold for any other collector too.

use crate::reference::{Reference, Thing, World};
use hindsight_core::{Cause, Change, Event, Object, ObjectKey, OwnerReference, Rule};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Checks all that holds at rest; an error has the first sentence that does not, and the object.
pub fn at_rest(world: &World) -> Result<(), String> {
    type Sentence = (&'static str, fn(&World, &Thing) -> bool);
    let sentences: [Sentence; 5] = [
        ("nobody who waits is blocked by nobody", |world, one| {
            !waits(one) || !blockers(world, one).is_empty()
        }),
        (
            "nobody waits only for those that wait for him",
            |world, one| !waits(one) || !waits_in_a_closed_circle(world, one),
        ),
        ("nobody who orphans is left", |_, one| {
            !(one.deleting && holds(one, "orphan"))
        }),
        ("nobody alive has lost every owner", |world, one| {
            one.deleting || one.owners.is_empty() || is_unsure(world, one) || has_holder(world, one)
        }),
        (
            "nobody alive names others beside an owner that holds on",
            |world, one| {
                let all = || one.owners.iter().all(|owner| holds_on(world, one, owner));
                one.deleting || is_unsure(world, one) || !has_holder(world, one) || all()
            },
        ),
    ];
    for (sentence, holds) in sentences {
        if let Some(one) = world.things.iter().find(|one| !holds(world, one)) {
            return Err(format!("not so: {sentence}: {one:?}"));
        }
    }
    Ok(())
}

fn holds(one: &Thing, finalizer: &str) -> bool {
    one.finalizers.iter().any(|held| held == finalizer)
}

fn waits(one: &Thing) -> bool {
    one.deleting && holds(one, "foregroundDeletion")
}

fn blockers<'a>(world: &'a World, owner: &Thing) -> Vec<&'a Thing> {
    let blocks = |one: &&Thing| {
        let mut owners = one.owners.iter();
        one.uid != owner.uid && owners.any(|named| named.uid == owner.uid && named.blocks)
    };
    world.things.iter().filter(blocks).collect()
}

/// Whether it waits for something, and everything that it waits for, directly or through others,
/// waits for it too.
fn waits_in_a_closed_circle(world: &World, one: &Thing) -> bool {
    let reached = waited_for(world, one);
    let back = |uid: &&str| {
        let other = world.get(uid).expect("it is there");
        waits(other) && waited_for(world, other).contains(one.uid.as_str())
    };
    !reached.is_empty() && reached.iter().all(back)
}

fn waited_for<'a>(world: &'a World, one: &'a Thing) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![one];
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
fn is_unsure(world: &World, one: &Thing) -> bool {
    let unknown = |owner: &Reference| {
        !world.is_served(owner.kind) || (owner.kind.is_namespaced() && one.namespace.is_empty())
    };
    one.owners.iter().any(unknown)
}

fn has_holder(world: &World, one: &Thing) -> bool {
    one.owners.iter().any(|owner| holds_on(world, one, owner))
}

fn holds_on(world: &World, one: &Thing, owner: &Reference) -> bool {
    let namespace = if owner.kind.is_namespaced() {
        one.namespace.as_str()
    } else {
        ""
    };
    let found = world.find(owner.kind, namespace, &owner.name);
    found.is_some_and(|found| found.uid == owner.uid && !waits(found))
}

/// Reads the log from its beginning, and checks that no object is removed for lack of an owner while
/// an owner holds it.
#[derive(Debug, Default)]
pub struct Judge {
    seen: usize,
    there: BTreeMap<ObjectKey, Arc<Object>>,
}

impl Judge {
    /// Reads the changes that were not read yet.
    pub fn take(&mut self, changes: &[Arc<Change>]) -> Result<(), String> {
        for change in &changes[self.seen..] {
            self.judge(change)?;
            let commit = &change.commit;
            match commit.events.last() {
                Some(Event::ObjectCreated { object } | Event::ObjectUpdated { object }) => {
                    self.there.insert(commit.key.clone(), Arc::clone(object));
                }
                _ => {
                    self.there.remove(&commit.key);
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
        let before = self.there.get(&commit.key).filter(|one| !one.is_deleting());
        let Some(before) = before.filter(|_| taken) else {
            return Ok(());
        };
        let owners = &before.meta.owner_references;
        match owners.iter().find(|owner| self.holds_on(before, owner)) {
            None if owners.is_empty() => Err(format!("{} was taken and had no owner", commit.key)),
            None => Ok(()),
            Some(owner) => Err(format!("{} was taken from {}", commit.key, owner.name)),
        }
    }

    /// Whether the owner exists with this kind, name and UID, in the dependent's namespace or
    /// cluster-scoped, and does not wait for its own dependents.
    fn holds_on(&self, dependent: &Object, owner: &OwnerReference) -> bool {
        self.there.iter().any(|(key, found)| {
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
    use crate::reference::Kind;
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
        }
    }

    fn told(things: Things) -> String {
        let things = things.iter().map(|(name, owners)| thing(name, owners));
        let world = World {
            things: things.collect(),
        };
        at_rest(&world).err().unwrap_or_default()
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
            let told = told(things);
            let as_it_should = told.contains(sentence) && told.is_empty() == sentence.is_empty();
            assert!(as_it_should, "{things:?}: {told:?} and not {sentence:?}");
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
        assert_eq!(Judge::default().take(&log), Ok(()));
        log.remove(2);
        let told = Judge::default().take(&log).expect_err("the owner is there");
        assert!(told.ends_with("was taken from owner"), "{told}");
    }
}
