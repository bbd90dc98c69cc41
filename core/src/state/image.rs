//! Taking a state apart and assembling it again: what a snapshot must hold besides the objects.

use super::latecomers::Latecomers;
use super::{State, owner_of_edge, waits_or_orphans};
use crate::event::{Commit, Event};
use crate::kind::BuiltinKinds;
use crate::object::{Object, Uid};
use crate::{Revision, apply, webhook};
use std::sync::Arc;

/// What a state holds besides its objects. Everything else in it is derived from the objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Revision of the last commit that was applied.
    pub revision: Revision,
    /// Definitions in the last version that defined a served kind, if they have changed since.
    pub accepted: Vec<Arc<Object>>,
    /// Owners that a finalizer of the collector holds, each with the last commit that gave it a dependent.
    pub held_owners: Vec<(Uid, Revision)>,
}

impl State {
    /// What must be stored besides the objects.
    pub fn image(&self) -> Image {
        let as_stored = |one: &&Arc<Object>| {
            let stored = self.get(&one.key);
            stored.is_none_or(|stored| stored.revision != one.revision)
        };
        let accepted = self.accepted.values().filter(as_stored);
        let held = self.held_owners.iter();
        Image {
            revision: self.revision,
            accepted: accepted.cloned().collect(),
            held_owners: held.map(|(uid, held)| (uid.clone(), held.since)).collect(),
        }
    }

    /// Applies only what [`Self::image`] depends on. A state that receives every commit in this way arrives
    /// at the same image, but holds few objects. Returns false if the commit does not matter for the image.
    pub fn apply_to_image(&mut self, commit: &Commit) -> bool {
        let is_in_image =
            |object: &Arc<Object>| object.key.is_definition() || waits_or_orphans(object);
        let object = commit.object();
        let matters = object.is_some_and(is_in_image)
            || self.get(&commit.key).is_some()
            || (!self.held_owners.is_empty() && commit.events.iter().any(|one| self.is_edge(one)));
        if matters {
            apply(self, commit);
            if object.is_some_and(|object| !is_in_image(object)) {
                self.take(&commit.key);
            }
        }
        matters
    }

    fn is_edge(&self, event: &Event) -> bool {
        owner_of_edge(event).is_some_and(|owner| self.is_held(&owner.uid))
    }

    /// Puts a state together from these kinds, its objects and its image.
    pub fn assemble(
        builtin: Arc<BuiltinKinds>,
        objects: impl IntoIterator<Item = Arc<Object>>,
        image: &Image,
    ) -> Self {
        let mut state = Self::new(builtin);
        for object in objects {
            state.put(&object);
            if &*object.key.resource.group == webhook::GROUP {
                state.webhooks.put(&object);
            }
            if object.key.is_definition() {
                state.define(&object);
            }
        }
        for definition in &image.accepted {
            state.define(definition);
        }
        for (uid, since) in &image.held_owners {
            if let Some(held) = state.held_owners.get_mut(uid) {
                held.since = *since;
            }
        }
        // The order in which objects are put together says nothing of the order in which they were written.
        state.latecomers = Latecomers::default();
        state.revision = image.revision;
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Patch, Propagation};
    use crate::testing::World;
    use serde_json::{Value, json};

    fn put_together(state: &State) -> State {
        let builtin = Arc::clone(state.kinds.builtin());
        State::assemble(builtin, state.objects().cloned(), &state.image())
    }

    /// Compares the image with that of a state that kept only what the image needs, and reassembles the
    /// state from it.
    fn assert_same(world: &World) {
        let state = &world.state;
        let mut beside = World::empty();
        for commit in &world.commits {
            beside.apply_to_image(commit);
        }
        let parts = |image: Image| (image.accepted, image.held_owners);
        assert_eq!(parts(beside.image()), parts(state.image()));
        assert!(beside.len() < state.len(), "it keeps everything");
        let again = put_together(state);
        assert_eq!(again.hash(), state.hash());
        let held = |state: &State| format!("{:?}", state.held_owners);
        assert_eq!(held(&again), held(state));
        let asked = |state: &State| format!("{:?} {:?}", state.webhooks, state.populations);
        assert_eq!(asked(&again), asked(state));
        let kinds = |state: &State| state.kinds.iter().cloned().collect::<Vec<_>>();
        assert_eq!(kinds(&again), kinds(state));
        assert!(again.namespaces.keys().eq(state.namespaces.keys()));
    }

    fn child(name: &str, owner: &Object) -> Value {
        json!({"metadata": {"name": name, "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap",
            "name": &*owner.key.name, "uid": owner.meta.uid.as_str(), "blockOwnerDeletion": true}]}})
    }

    #[test]
    fn owners_that_wait_are_known_with_the_commit_of_their_last_dependent() {
        let mut world = World::new();
        let named = |name: &str| json!({"metadata": {"name": name}});
        world.create("configmaps", named("owner")).unwrap();
        let owner = world.get("configmaps", "owner").unwrap();
        world.create("configmaps", child("first", &owner)).unwrap();
        let foreground = Some(Propagation::Foreground);
        world.delete("configmaps", "owner", foreground).unwrap();
        let marked = world.state.revision;
        world.create("configmaps", child("second", &owner)).unwrap();
        assert_eq!(world.state.image().held_owners.len(), 1);
        assert!(world.state.image().held_owners[0].1 > marked);
        assert_same(&world);
        let freed = json!({"metadata": {"finalizers": null}});
        world
            .patch("configmaps", "owner", Patch::Merge(freed))
            .unwrap();
        assert_eq!(world.state.image().held_owners, []);
        assert_same(&world);
    }

    /// Its dependent comes after it by key, and was written after the owner was marked.
    #[test]
    fn who_referred_to_an_owner_before_it_orphaned_is_no_latecomer_of_a_state_put_together() {
        let mut world = World::new();
        let named = |name: &str| json!({"metadata": {"name": name}});
        world.create("configmaps", named("a")).unwrap();
        let owner = world.get("configmaps", "a").unwrap();
        world.create("configmaps", child("b", &owner)).unwrap();
        let orphan = Some(Propagation::Orphan);
        world.delete("configmaps", "a", orphan).unwrap();
        let labeled = json!({"metadata": {"labels": {"a": "b"}}});
        world
            .patch("configmaps", "b", Patch::Merge(labeled))
            .unwrap();
        let owner = world.get("configmaps", "a").unwrap();
        for state in [&world.state, &put_together(&world.state)] {
            assert!(state.latecomers(&owner).is_none());
        }
    }

    #[test]
    fn a_definition_is_taken_as_it_was_last_accepted() {
        let mut world = World::new();
        let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
        world
            .create("customresourcedefinitions", definition)
            .unwrap();
        assert_same(&world);
        assert_eq!(world.state.image().accepted, []);
        // No request can write this any more, but existing logs may contain it.
        write(&mut world, |document| {
            document["status"]["conditions"] = json!([{"type": "Established", "status": "False"}]);
        });
        assert_eq!(world.state.image().accepted.len(), 1);
        assert_same(&world);
        assert!(!is_terminating(&world));
        write(&mut world, |document| {
            document["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        });
        assert!(is_terminating(&world));
        assert_eq!(world.state.image().accepted.len(), 1);
        assert_same(&world);
        let freed = json!({"metadata": {"finalizers": null}});
        let name = "widgets.example.com";
        world
            .patch("customresourcedefinitions", name, Patch::Merge(freed))
            .unwrap();
        assert_eq!(
            world.state.image().accepted,
            [],
            "what is gone says nothing"
        );
        assert_same(&world);
    }

    /// Writes a next version of the definition, as a log may contain it.
    fn write(world: &mut World, change: impl FnOnce(&mut Value)) {
        let old = world.get("customresourcedefinitions", "widgets.example.com");
        let old = old.unwrap();
        let mut document = old.document();
        change(&mut document);
        let revision = world.state.revision.next();
        let object = Object::from_value(old.key.clone(), document, revision, old.mark);
        let object = Arc::new(object.unwrap());
        let commit = Arc::new(Commit {
            revision,
            events: vec![Event::ObjectUpdated { object }],
            ..(**world.commits.last().unwrap()).clone()
        });
        apply(&mut world.state, &commit);
        world.commits.push(commit);
    }

    fn is_terminating(world: &World) -> bool {
        let kind = world.state.kinds.by_kind("example.com", "Widget").unwrap();
        kind.is_terminating()
    }

    #[test]
    fn webhooks_and_namespaces_follow_from_the_objects() {
        let mut world = World::new();
        let hook = json!({"metadata": {"name": "policy"}, "webhooks": [{"name": "a.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"]}]});
        world
            .create("validatingwebhookconfigurations", hook)
            .unwrap();
        world
            .create("namespaces", json!({"metadata": {"name": "other"}}))
            .unwrap();
        world
            .create_in("other", "configmaps", json!({"metadata": {"name": "c"}}))
            .unwrap();
        assert!(!world.state.webhooks.is_empty());
        assert_same(&world);
    }
}
