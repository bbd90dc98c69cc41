//! Index of owner references: how many objects refer to each owner, which of those that block it are being
//! deleted, and which wait for their own dependents. The collector's steps are checked against it.

use crate::GroupResource;
use crate::object::{Object, ObjectKey, Uid};
use imbl::{OrdMap, OrdSet};

/// Counts of the objects that refer to one owner, whether the owner exists or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dependents {
    /// All objects that refer to it.
    pub(crate) all: u64,
    /// Those that block its foreground deletion.
    pub(crate) blocking: u64,
}

/// Counts by the owner's uid. An object does not count as its own dependent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Edges {
    counts: OrdMap<Uid, Dependents>,
    deleting_blockers: Pairs,
    waiting_dependents: Pairs,
}

/// Pairs of an owner and an object that refers to it, of those objects that are being deleted in some way; they
/// are few at any time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pairs(OrdSet<(Uid, ObjectKey)>);

impl Pairs {
    pub(super) fn of(&self, owner: &Uid) -> impl Iterator<Item = &ObjectKey> {
        let first = ObjectKey::new(GroupResource::new("", ""), "", "");
        let from = self.0.range((owner.clone(), first)..);
        from.take_while(move |one| one.0 == *owner)
            .map(|one| &one.1)
    }

    pub(super) fn insert(&mut self, pair: (Uid, ObjectKey)) {
        self.0.insert(pair);
    }

    pub(super) fn remove(&mut self, pair: &(Uid, ObjectKey)) {
        self.0.remove(pair);
    }
}

impl Edges {
    pub(super) fn of(&self, owner: &Uid) -> Dependents {
        self.counts.get(owner).copied().unwrap_or_default()
    }

    /// The objects that block an owner and are being deleted.
    pub(super) fn deleting_blockers(&self, owner: &Uid) -> impl Iterator<Item = &ObjectKey> {
        self.deleting_blockers.of(owner)
    }

    /// Whether an object that refers to this owner waits for its own dependents.
    pub(super) fn has_waiting_dependent(&self, owner: &Uid) -> bool {
        self.waiting_dependents.of(owner).next().is_some()
    }

    /// Records that an object was created, changed or removed.
    pub(super) fn replace(&mut self, old: Option<&Object>, new: Option<&Object>) {
        self.count(old, new);
        let is_deleting = |object: &&Object| object.is_deleting();
        if let Some(old) = old.filter(is_deleting) {
            for (owner, _) in owners(old) {
                let pair = (owner.clone(), old.key.clone());
                self.waiting_dependents.remove(&pair);
                self.deleting_blockers.remove(&pair);
            }
        }
        let Some(new) = new.filter(is_deleting) else {
            return;
        };
        for (owner, blocks) in owners(new) {
            let pair = (owner.clone(), new.key.clone());
            if new.is_waiting() {
                self.waiting_dependents.insert(pair.clone());
            }
            if blocks {
                self.deleting_blockers.insert(pair);
            }
        }
    }

    fn count(&mut self, old: Option<&Object>, new: Option<&Object>) {
        if same_owners(old, new) {
            return;
        }
        for (owner, blocks) in old.into_iter().flat_map(owners) {
            let left = self.of(owner);
            let left = Dependents {
                all: left.all.saturating_sub(1),
                blocking: left.blocking.saturating_sub(u64::from(blocks)),
            };
            if left.all == 0 {
                self.counts.remove(owner);
            } else {
                self.counts.insert(owner.clone(), left);
            }
        }
        for (owner, blocks) in new.into_iter().flat_map(owners) {
            let more = self.counts.entry(owner.clone()).or_default();
            more.all += 1;
            more.blocking += u64::from(blocks);
        }
    }
}

/// Each owner once, besides the object itself, and whether any reference to it blocks.
fn owners(object: &Object) -> impl Iterator<Item = (&Uid, bool)> {
    let owners = object.owner_blocks().into_iter();
    owners.filter(|(owner, _)| **owner != object.meta.uid)
}

/// Whether the owners of an object are those that it had before.
pub(super) fn same_owners(before: Option<&Object>, after: Option<&Object>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => {
            before.meta.uid == after.meta.uid && before.owners() == after.owners()
        }
        (Some(one), None) | (None, Some(one)) => one.owners().is_empty(),
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::command::Propagation;
    use crate::testing::World;
    use serde_json::{Value, json};

    fn reference(uid: &str, blocks: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid,
            "blockOwnerDeletion": blocks})
    }

    #[test]
    fn every_object_that_refers_counts_once_while_it_does() {
        let mut world = World::new();
        let counts = |world: &World, uid: &str| {
            let found = world.state.dependents(&uid.into());
            (found.all, found.blocking)
        };
        for name in ["a", "b"] {
            let owners = [
                reference("o", json!(false)),
                reference("o", json!(true)),
                reference("p", json!(null)),
            ];
            let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
            world.create("configmaps", object).expect("created");
        }
        assert_eq!(
            (
                counts(&world, "o"),
                counts(&world, "p"),
                counts(&world, "q")
            ),
            ((2, 2), (2, 0), (0, 0))
        );
        let change = |owners: Value| {
            crate::command::Patch::Merge(json!({"metadata": {"ownerReferences": owners}}))
        };
        let fewer = change(json!([reference("o", json!(false))]));
        world.patch("configmaps", "a", fewer).expect("patched");
        assert_eq!((counts(&world, "o"), counts(&world, "p")), ((2, 1), (1, 0)));
        world.delete("configmaps", "b", None).expect("gone");
        assert_eq!((counts(&world, "o"), counts(&world, "p")), ((1, 0), (0, 0)));
        let uid = world
            .get("configmaps", "a")
            .expect("it is there")
            .meta
            .uid
            .clone();
        let own = change(json!([reference(uid.as_str(), json!(true))]));
        world.patch("configmaps", "a", own).expect("patched");
        assert_eq!(
            (counts(&world, "o"), counts(&world, uid.as_str())),
            ((0, 0), (0, 0))
        );
    }

    /// The lookup visits only the owner's own entries, however many others there are.
    #[test]
    fn who_goes_and_blocks_is_known_by_the_owner() {
        let mut world = World::new();
        let deleting_blockers = |world: &World, uid: &str| {
            let owner = uid.into();
            let found = world.state.deleting_blockers(&owner);
            let names: Vec<String> = found.map(|one| one.key.name.to_string()).collect();
            names.join(" ")
        };
        for (name, owner, blocks) in [
            ("a", "o", true),
            ("b", "o", true),
            ("c", "o", false),
            ("d", "p", true),
            ("e", "oo", true),
        ] {
            let owners = [reference(owner, json!(blocks))];
            let metadata =
                json!({"name": name, "ownerReferences": owners, "finalizers": ["x/y", "x/z"]});
            let object = json!({"metadata": metadata});
            world.create("configmaps", object).expect("created");
        }
        assert_eq!(deleting_blockers(&world, "o"), "", "nobody goes");
        for name in ["b", "c", "d", "e"] {
            let background = Some(Propagation::Background);
            let marked = world.delete("configmaps", name, background);
            marked.expect("marked");
        }
        assert_eq!(deleting_blockers(&world, "o"), "b");
        let foreground = Some(Propagation::Foreground);
        world.delete("configmaps", "a", foreground).expect("marked");
        assert_eq!(deleting_blockers(&world, "o"), "a b");
        let change = |metadata: Value| crate::command::Patch::Merge(json!({"metadata": metadata}));
        let held = change(json!({"finalizers": ["x/y"]}));
        world.patch("configmaps", "b", held).expect("patched");
        assert_eq!(
            deleting_blockers(&world, "o"),
            "a b",
            "it is another version of it"
        );
        let free = change(json!({"ownerReferences": [reference("p", json!(true))]}));
        world.patch("configmaps", "a", free).expect("patched");
        assert_eq!(deleting_blockers(&world, "o"), "b");
        assert_eq!(deleting_blockers(&world, "p"), "a d");
        let gone = change(json!({"finalizers": null}));
        world.patch("configmaps", "b", gone).expect("gone");
        assert_eq!(deleting_blockers(&world, "o"), "");
    }
}
