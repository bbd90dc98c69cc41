//! The ownership graph, by uid: a fold over changes that equals its rebuild from a state.

mod arrivals;
mod components;
mod deadlocks;
mod kind_references;
mod recall;

use arrivals::Arrivals;
pub(crate) use arrivals::{VersionedKind, served_names, versioned_kind_of};
pub use components::Components;
pub use deadlocks::Deadlocks;
pub use recall::new_owners;

use hindsight_core::object::Object;
use hindsight_core::{Change, Kind, ObjectKey, OwnerReference, Revision, State, Uid};
use kind_references::KindReferences;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The removal of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Removal {
    at: Revision,
    /// The namespace of the owner; empty if it was cluster-scoped.
    home: Arc<str>,
    /// Dependents whose references were added after the owner was gone.
    late: BTreeSet<Uid>,
}

/// Every live object by uid, and for each uid the objects that refer to it, whether or not it exists.
#[derive(Debug, Clone, Default)]
pub struct OwnershipGraph {
    objects: BTreeMap<Uid, Arc<Object>>,
    /// With each dependent, whether any of its references to the owner blocks.
    dependents: BTreeMap<Uid, BTreeMap<Uid, bool>>,
    kind_references: KindReferences,
    arrivals: Arrivals,
    /// Owners that were removed while objects referred to them, for as long as one of these does.
    removed: BTreeMap<Uid, Removal>,
}

impl OwnershipGraph {
    /// The graph of a state. The state does not show when absent owners were removed, nor since when a kind
    /// is served; the log does: see [`Self::recall`].
    pub fn rebuild(state: &State) -> Self {
        let objects = state.objects();
        let by_uid = objects.map(|object| (object.meta.uid.clone(), Arc::clone(object)));
        let mut graph = Self {
            objects: by_uid.collect(),
            arrivals: Arrivals::of(state),
            ..Self::default()
        };
        for object in state.objects() {
            graph.link(object, None);
        }
        graph
    }

    /// Applies the next change.
    pub fn apply(&mut self, change: &Change) {
        let commit = &change.commit;
        match commit.object() {
            Some(object) => self.put(object),
            None => self.remove(&commit.uid, commit.revision),
        }
        self.define(commit);
    }

    /// The live object with this uid.
    pub fn object(&self, uid: &Uid) -> Option<&Arc<Object>> {
        self.objects.get(uid)
    }

    /// Every live object.
    pub fn objects(&self) -> impl Iterator<Item = (&Uid, &Arc<Object>)> {
        self.objects.iter()
    }

    /// The objects that refer to this uid, whether or not it exists.
    pub fn dependents(&self, owner: &Uid) -> impl Iterator<Item = (&Uid, &Arc<Object>)> {
        let uids = self.dependents.get(owner).into_iter().flatten();
        uids.filter_map(|(uid, _)| Some((uid, self.objects.get(uid)?)))
    }

    /// Whether any object refers to this uid.
    pub(crate) fn has_dependents(&self, owner: &Uid) -> bool {
        self.dependents.contains_key(owner)
    }

    /// The custom kinds of this group to which live objects refer, each with these objects.
    pub fn dependents_of_group(&self, group: &str) -> impl Iterator<Item = (&str, &BTreeSet<Uid>)> {
        self.kind_references.of_group(group)
    }

    /// Live objects with a reference to any owner of this custom kind.
    pub fn dependents_of_kind(&self, kind: &Kind) -> impl Iterator<Item = &Uid> {
        self.kind_references
            .dependents(&kind.resource.group, &kind.kind)
    }

    /// Dependents other than the owner itself whose reference blocks its deletion. Matched by uid alone,
    /// as upstream.
    pub fn blockers(&self, owner: &Uid) -> impl Iterator<Item = (&Uid, &Arc<Object>)> {
        let all = self.dependents.get(owner).into_iter().flatten();
        let blocking = all.filter(move |(uid, blocks)| *uid != owner && **blocks);
        blocking.filter_map(|(uid, _)| Some((uid, self.objects.get(uid)?)))
    }

    /// When the owner was removed, if this dependent already referred to it then.
    pub fn removed_at(&self, owner: &Uid, dependent: &Uid) -> Option<Revision> {
        let removal = self.removed.get(owner)?;
        (!removal.late.contains(dependent)).then_some(removal.at)
    }

    /// As [`Self::removed_at`], but only for an owner that this dependent may have: not for one in
    /// another namespace.
    pub fn removed_near_at(
        &self,
        owner: &Uid,
        dependent: &ObjectKey,
        uid: &Uid,
    ) -> Option<Revision> {
        let home = &self.removed.get(owner)?.home;
        self.removed_at(owner, uid)
            .filter(|_| dependent.reaches(home))
    }

    /// The deadlock of this object: objects in foreground deletion that wait only for each other. Empty if it
    /// is not part of one. [`Deadlocks`] remembers them, to ask for several objects.
    pub fn deadlock(&self, uid: &Uid) -> BTreeSet<Uid> {
        let deadlock = Deadlocks::default().of(self, uid);
        deadlock.map(Arc::unwrap_or_clone).unwrap_or_default()
    }

    fn put(&mut self, object: &Arc<Object>) {
        let uid = object.meta.uid.clone();
        let before = self.objects.insert(uid, Arc::clone(object));
        self.link(object, before.as_deref());
    }

    /// Replaces the references of an earlier version of an object by those of this one.
    fn link(&mut self, object: &Object, before: Option<&Object>) {
        let uid = &object.meta.uid;
        self.kind_references.replace(uid, before, Some(object));
        self.arrivals.replace(uid, before, Some(object));
        if let Some(before) = before {
            self.unlink(uid, before.owners(), object.owners());
        }
        for (owner, blocks) in object.owner_blocks() {
            let dependents = self.dependents.entry(owner.clone()).or_default();
            if dependents.insert(uid.clone(), blocks).is_none()
                && let Some(removal) = self.removed.get_mut(owner)
            {
                removal.late.insert(uid.clone());
            }
        }
    }

    fn remove(&mut self, uid: &Uid, revision: Revision) {
        let Some(object) = self.objects.remove(uid) else {
            return;
        };
        self.unlink(uid, object.owners(), &[]);
        self.kind_references.replace(uid, Some(&object), None);
        self.arrivals.replace(uid, Some(&object), None);
        if self.has_dependents(uid) {
            let removal = Removal {
                at: revision,
                home: Arc::clone(&object.key.namespace),
                late: BTreeSet::new(),
            };
            self.removed.insert(uid.clone(), removal);
        }
    }

    fn unlink(&mut self, uid: &Uid, before: &[OwnerReference], after: &[OwnerReference]) {
        let kept: BTreeSet<&Uid> = after.iter().map(|one| &one.uid).collect();
        let before = before.iter().map(|one| &one.uid);
        for owner in before.filter(|owner| !kept.contains(owner)) {
            let mut left = 0;
            if let Some(dependents) = self.dependents.get_mut(owner) {
                dependents.remove(uid);
                left = dependents.len();
            }
            if left == 0 {
                self.dependents.remove(owner);
            }
            if let Some(removal) = self.removed.get_mut(owner) {
                removal.late.remove(uid);
                if removal.late.len() == left {
                    self.removed.remove(owner);
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hindsight_core::{Actor, Cause, Commit, Event, GroupResource, Request, Time};

    pub(crate) fn created(revision: u64, name: &str, owners: &[&str]) -> Change {
        let object = object(revision, name, owners);
        change(revision, vec![Event::ObjectCreated { object }], name)
    }

    pub(crate) fn updated(revision: u64, name: &str, owners: &[&str]) -> Change {
        let object = object(revision, name, owners);
        change(revision, vec![Event::ObjectUpdated { object }], name)
    }

    /// An object that gets this owner, which it did not have before.
    pub(crate) fn adopted(revision: u64, name: &str, owner: &str) -> Change {
        let object = object(revision, name, &[owner]);
        let added = object.owners().iter().cloned();
        let mut events: Vec<Event> = added.map(|owner| Event::OwnerAdded { owner }).collect();
        events.push(Event::ObjectUpdated { object });
        change(revision, events, name)
    }

    fn object(revision: u64, name: &str, owners: &[&str]) -> Arc<Object> {
        let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", name);
        let owners: Vec<String> = owners
            .iter()
            .map(|uid| format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","name":"{uid}","uid":"{uid}","blockOwnerDeletion":true}}"#))
            .collect();
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"uid":"{name}","ownerReferences":[{}]}}}}"#,
            owners.join(",")
        );
        let object = Object::from_body(key, body.into(), Revision(revision), None);
        Arc::new(object.expect("readable"))
    }

    fn change(revision: u64, events: Vec<Event>, uid: &str) -> Change {
        let commit = Commit {
            revision: Revision(revision),
            time: Time(0),
            actor: Arc::new(Actor::new("")),
            request: Arc::new(Request::default()),
            cause: Cause::Request,
            key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", uid),
            uid: Uid::from(uid),
            events,
        };
        Change {
            commit: Arc::new(commit),
            previous: None,
        }
    }

    fn names<'a>(found: impl Iterator<Item = (&'a Uid, &'a Arc<Object>)>) -> Vec<&'a str> {
        found.map(|(uid, _)| uid.as_str()).collect()
    }

    #[test]
    fn a_dependent_is_known_before_its_owner_is() {
        let mut graph = OwnershipGraph::default();
        graph.apply(&created(1, "child", &["owner"]));
        assert_eq!(names(graph.dependents(&"owner".into())), ["child"]);
        graph.apply(&created(2, "owner", &[]));
        assert_eq!(names(graph.blockers(&"owner".into())), ["child"]);
    }

    #[test]
    fn a_dependent_blocks_while_any_of_its_references_does() {
        let mut graph = OwnershipGraph::default();
        let twice = created(1, "child", &["owner", "owner"]);
        for (flags, blockers) in [
            ([true, true], &["child"][..]),
            ([false, true], &["child"]),
            ([true, false], &["child"]),
            ([false, false], &[]),
            ([true, true], &["child"]),
        ] {
            let object = twice.commit.object().expect("an object");
            let body = std::str::from_utf8(&object.body).expect("text");
            let [one, other] = flags.map(|flag| format!(r#""blockOwnerDeletion":{flag}"#));
            let body = body.replacen(r#""blockOwnerDeletion":true"#, &one, 1);
            let (first, second) = body.split_once(&one).expect("two references");
            let second = second.replacen(r#""blockOwnerDeletion":true"#, &other, 1);
            let body = format!("{first}{one}{second}");
            let object = Object::from_body(object.key.clone(), body.into(), Revision(2), None);
            let object = Arc::new(object.expect("readable"));
            graph.apply(&change(2, vec![Event::ObjectUpdated { object }], "child"));
            assert_eq!(
                names(graph.blockers(&"owner".into())),
                blockers,
                "{flags:?}"
            );
            assert_eq!(names(graph.dependents(&"owner".into())), ["child"]);
        }
    }

    #[test]
    fn references_that_go_are_unlinked() {
        let mut graph = OwnershipGraph::default();
        graph.apply(&created(1, "child", &["a", "b"]));
        graph.apply(&created(2, "child", &["b"]));
        assert!(!graph.has_dependents(&"a".into()));
        assert_eq!(names(graph.dependents(&"b".into())), ["child"]);
    }

    pub(crate) fn removed(revision: u64, name: &str) -> Change {
        let event = Event::ObjectDeleted {
            rule: hindsight_core::Rule::Requested,
            owners: Vec::new(),
            decided_at: Revision(1),
        };
        change(revision, vec![event], name)
    }

    #[test]
    fn a_removal_is_remembered_for_as_long_as_somebody_refers_to_it() {
        let mut graph = OwnershipGraph::default();
        graph.apply(&created(1, "owner", &["top"]));
        for number in 0..20_000 {
            graph.apply(&created(2, &format!("child{number}"), &["owner"]));
        }
        graph.apply(&removed(3, "owner"));
        assert!(graph.object(&"owner".into()).is_none() && !graph.has_dependents(&"top".into()));
        for number in 0..20_000 {
            let child = format!("child{number}");
            let since = graph.removed_at(&"owner".into(), &Uid::from(&*child));
            assert_eq!(since, Some(Revision(3)));
            graph.apply(&removed(4, &child));
        }
        assert!(graph.removed.is_empty(), "{:?}", graph.removed);
    }

    #[test]
    fn an_owner_removed_before_the_dependent_existed_counts_as_never_there() {
        let mut graph = OwnershipGraph::default();
        let since = |graph: &OwnershipGraph, child: &str| {
            graph.removed_at(&"owner".into(), &Uid::from(child))
        };
        graph.apply(&created(1, "owner", &[]));
        graph.apply(&created(2, "child", &["owner"]));
        graph.apply(&removed(3, "owner"));
        graph.apply(&created(4, "late", &["owner"]));
        graph.apply(&updated(5, "child", &["owner"]));
        assert_eq!(since(&graph, "child"), Some(Revision(3)));
        assert_eq!(since(&graph, "late"), None);
        graph.apply(&updated(6, "child", &[]));
        graph.apply(&updated(7, "child", &["owner"]));
        assert_eq!(since(&graph, "child"), None);
        assert!(graph.removed.is_empty(), "{:?}", graph.removed);
    }

    #[test]
    fn a_removal_that_nobody_referred_to_is_not_remembered() {
        let mut graph = OwnershipGraph::default();
        graph.apply(&created(1, "owner", &["owner"]));
        graph.apply(&removed(2, "owner"));
        assert!(graph.removed.is_empty(), "{:?}", graph.removed);
        graph.apply(&created(3, "late", &["owner"]));
        assert_eq!(graph.removed_at(&"owner".into(), &"late".into()), None);
    }
}
