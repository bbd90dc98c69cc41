//! How many objects refer to each owner: what a release is asked against before it is written.

use crate::object::{Object, Uid};
use imbl::OrdMap;

/// Objects that refer to one owner, whether it is there or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dependents {
    /// All of them.
    pub(crate) all: u64,
    /// Those that hold its foreground deletion.
    pub(crate) blocking: u64,
}

/// By the owner's uid. An object does not count as its own dependent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Edges(OrdMap<Uid, Dependents>);

impl Edges {
    pub(super) fn of(&self, owner: &Uid) -> Dependents {
        self.0.get(owner).copied().unwrap_or_default()
    }

    /// An object came, changed or went.
    pub(super) fn replace(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let references = |object: Option<&Object>| object.map_or(0, |one| one.owners().len());
        let same = match (old, new) {
            (Some(old), Some(new)) => old.meta.uid == new.meta.uid && old.owners() == new.owners(),
            _ => references(old) + references(new) == 0,
        };
        if same {
            return;
        }
        for (owner, blocks) in old.into_iter().flat_map(owners) {
            let left = self.of(&owner);
            let left = Dependents {
                all: left.all.saturating_sub(1),
                blocking: left.blocking.saturating_sub(u64::from(blocks)),
            };
            if left.all == 0 {
                self.0.remove(&owner);
            } else {
                self.0.insert(owner, left);
            }
        }
        for (owner, blocks) in new.into_iter().flat_map(owners) {
            let more = self.0.entry(owner).or_default();
            more.all += 1;
            more.blocking += u64::from(blocks);
        }
    }
}

/// Each owner once, and whether any of the references to it blocks.
fn owners(object: &Object) -> Vec<(Uid, bool)> {
    let mut found: Vec<(Uid, bool)> = Vec::new();
    let references = object.owners().iter();
    for reference in references.filter(|one| one.uid != object.meta.uid) {
        match found.iter_mut().find(|(uid, _)| *uid == reference.uid) {
            Some((_, blocks)) => *blocks |= reference.blocks(),
            None => found.push((reference.uid.clone(), reference.blocks())),
        }
    }
    found
}

#[cfg(test)]
mod tests {
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
}
