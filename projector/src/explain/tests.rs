//! What is explained of a few commits.

use super::*;
use crate::ownership::tests::{created, removed, updated};
use hindsight_core::command::Propagation;
use hindsight_core::event::{OwnerClass, OwnerFinding};
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::object::{Mark, ORPHAN_FINALIZER};
use hindsight_core::{Actor, GroupResource, Object, Time};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

struct Kept {
    commits: Vec<Commit>,
    floor: Revision,
}

impl History for Kept {
    type Error = Infallible;

    fn floor(&self) -> Result<Revision, Infallible> {
        Ok(self.floor)
    }

    fn commit(&self, revision: Revision) -> Result<Option<Commit>, Infallible> {
        let mut kept = self.commits.iter();
        Ok(kept.find(|one| one.revision == revision).cloned())
    }

    fn last(
        &self,
        key: &ObjectKey,
        uid: Option<&Uid>,
        until: Revision,
    ) -> Result<Option<Commit>, Infallible> {
        let mut made = self.commits.iter();
        let made = made.find(|one| one.key == *key && one.creates());
        let is_late = made.is_none_or(|made| made.revision <= until);
        assert!(is_late || uid.is_none(), "before it was made");
        let found = self.commits.iter().rev();
        let mut found = found.filter(|one| one.key == *key && one.revision <= until);
        Ok(found.next().cloned())
    }

    /// As if what is built in had been defined.
    fn once_defined(&self, group: &str, _: &str) -> Result<Vec<GroupResource>, Infallible> {
        Ok(vec![GroupResource::new(group, "configmaps")])
    }
}

fn explained(commits: Vec<Commit>) -> Explanation {
    explained_from(Revision::ZERO, commits)
}

/// The resource now belongs to a kind that was defined after the removal, or before it.
#[test]
fn what_is_not_kept_is_not_called_by_a_kind_that_was_defined_later() {
    let resource = GroupResource::new("ex.io", "ws");
    let mut removal = (*removed(3, "a").commit).clone();
    removal.key = ObjectKey::new(resource.clone(), "default", "a");
    removal.time = Time::parse("2026-01-01T00:00:00Z").expect("a time");
    // The clock of the definition says nothing: it may have been set back.
    for (revision, kind) in [(1, "Gadget"), (5, "")] {
        let key = ObjectKey::defining(&resource);
        let document = json!({"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition", "metadata": {"name": &*key.name, "uid": "crd",
            "creationTimestamp": "2026-01-01T00:00:00Z"}});
        let object = Object::from_value(key.clone(), document, Revision(1), None);
        let object = Arc::new(object.expect("an object"));
        let definition = Commit {
            key: key.clone(),
            events: vec![Event::ObjectCreated { object }],
            ..(*created(revision, "crd", &[]).commit).clone()
        };
        let before = Commit {
            key,
            ..(*removed(revision - 1, "old").commit).clone()
        };
        let mut state = nothing();
        drop(hindsight_core::apply(&mut state, &definition));
        let mut commits = vec![before, definition, removal.clone()];
        commits.sort_by_key(|commit| commit.revision);
        let kept = Kept {
            commits,
            floor: Revision(2),
        };
        let subject = Subject {
            api_version: "ex.io/v7".into(),
            kind: "Gadget".into(),
            namespace: "default".into(),
            name: "a".into(),
            uid: String::new(),
        };
        let told = explain(&kept, &state, &removal.key, None, subject);
        let told = told.unwrap_or_else(|never| match never {});
        assert_eq!(told.object.kind, kind);
    }
}

fn nothing() -> State {
    State::new(Arc::new(BuiltinKinds::new(Vec::new(), None)))
}

fn explained_from(floor: Revision, commits: Vec<Commit>) -> Explanation {
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "child");
    let subject = Subject {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: "default".into(),
        name: "child".into(),
        uid: String::new(),
    };
    let state = nothing();
    let kept = Kept { commits, floor };
    explain(&kept, &state, &key, None, subject).unwrap_or_else(|never| match never {})
}

#[test]
fn a_chain_that_ends_where_nothing_is_kept_has_no_root() {
    let owner = (*removed(3, "owner").commit).clone();
    let child = Commit {
        cause: Cause::Commit(Revision(3)),
        ..(*removed(4, "child").commit).clone()
    };
    let whole = explained(vec![owner, child.clone()]);
    assert_eq!(whole.root.map(|root| root.revision), Some(Revision(3)));
    let cut = explained(vec![child]);
    assert_eq!((cut.state, cut.chain.len()), (Fate::Deleted, 1));
    assert_eq!(cut.root, None);
}

#[test]
fn an_existing_object_is_live() {
    let made = (*created(1, "child", &[]).commit).clone();
    assert_eq!(explained(vec![made]).state, Fate::Live);
    assert_eq!(explained(Vec::new()).state, Fate::Unknown);
}

/// An object with one owner, collected at revision 5.
fn collected() -> Commit {
    let owner = created(1, "child", &["owner"]).commit;
    let owner = owner.object().expect("an object").owners()[0].clone();
    let class = OwnerClass::Dangling;
    Commit {
        events: vec![Event::ObjectDeleted {
            rule: Rule::OwnersAbsent,
            owners: vec![OwnerFinding { owner, class }],
            decided_at: Revision(4),
        }],
        ..(*removed(5, "child").commit).clone()
    }
}

#[test]
fn the_only_owner_is_named_unless_the_next_link_is_about_it() {
    let owner = (*removed(4, "owner").commit).clone();
    for (cause, named) in [
        (Cause::Commit(Revision(4)), &[][..]),
        (Cause::Commit(Revision(2)), &["owner"]),
    ] {
        let made = (*created(2, "child", &["owner"]).commit).clone();
        let collected = Commit {
            cause,
            ..collected()
        };
        let told = explained(vec![made, owner.clone(), collected]);
        assert_eq!(told.chain.len(), 2);
        let owners = told.chain[0].owners.iter();
        let names: Vec<&str> = owners.map(|owner| &*owner.name).collect();
        assert_eq!(names, named);
    }
}

/// A cascade of so many links, each with so many owners of this name, of which the last is the next link.
fn cascade(links: u64, owners: usize, name: &str) -> Explanation {
    let removals = (1..=links).map(|revision| {
        let object = if revision == links { "child" } else { "above" };
        let made = created(revision, object, &vec![name; owners]).commit;
        let made = made.object().expect("an object");
        let found = made.owners().iter().map(|owner| OwnerFinding {
            owner: owner.clone(),
            class: OwnerClass::Dangling,
        });
        let event = Event::ObjectDeleted {
            rule: Rule::OwnersAbsent,
            owners: found.collect(),
            decided_at: Revision(revision - 1),
        };
        Commit {
            events: vec![event],
            cause: Cause::Commit(Revision(revision - 1)),
            ..(*removed(revision, object).commit).clone()
        }
    });
    explained(removals.collect())
}

#[test]
fn of_many_owners_the_first_are_named_and_the_others_counted() {
    let counts = |told: &Explanation| -> Vec<(usize, usize)> {
        let links = told.chain.iter();
        links
            .map(|link| (link.owners.len(), link.more_owners))
            .collect()
    };
    assert_eq!(counts(&cascade(1, 100, "o")), [(100, 0)]);
    assert_eq!(counts(&cascade(2, 101, "o")), [(100, 1); 2]);

    let told = cascade(100, 100, "o");
    let named: usize = counts(&told).iter().map(|one| one.0).sum();
    assert!((900..1_100).contains(&named), "{named}");
    assert!(
        counts(&told)
            .iter()
            .all(|(named, more)| named + more == 100)
    );
    let (long, short) = ("n".repeat(200 << 10), "o".repeat(40 << 10));
    assert_eq!(counts(&cascade(1, 3, &long)), [(0, 3)]);
    assert_eq!(counts(&cascade(2, 3, &short)), [(3, 0), (0, 3)]);
}

#[test]
fn nothing_is_looked_for_before_an_object_was_made() {
    let made = (*created(2, "child", &["owner"]).commit).clone();
    let told = explained(vec![made, collected()]);
    assert_eq!((told.rule, told.floor), (Some(Rule::OwnersAbsent), None));
    assert!(told.chain[0].dropped.is_empty());
}

#[test]
fn what_is_not_kept_of_its_time_is_told() {
    let made = (*created(2, "child", &["owner"]).commit).clone();
    for (floor, commits, told) in [
        (2, vec![made.clone(), collected()], None),
        (3, vec![made, collected()], Some(Revision(3))),
        (6, vec![collected()], Some(Revision(6))),
    ] {
        assert_eq!(
            explained_from(Revision(floor), commits).floor,
            told,
            "{floor}"
        );
    }
}

/// One more request for the deletion of this object, which another finalizer holds.
fn asked(name: &str, revision: u64, user: &str, propagation: Propagation) -> Commit {
    let made = (*created(revision, name, &[]).commit).clone();
    let mark = Mark {
        revision: Revision(2),
        rule: Rule::Requested,
    };
    let object = Arc::new(Object {
        mark: Some(mark),
        ..(**made.object().expect("an object")).clone()
    });
    let finalizer = ORPHAN_FINALIZER.into();
    Commit {
        actor: Arc::new(Actor::new(user)),
        events: vec![
            Event::DeletionRequested {
                rule: Rule::Requested,
                propagation,
                grace_period_seconds: None,
                owners: Vec::new(),
                decided_at: Revision(revision - 1),
            },
            if propagation == Propagation::Orphan {
                Event::FinalizerAdded { finalizer }
            } else {
                Event::FinalizerRemoved { finalizer }
            },
            Event::ObjectUpdated { object },
        ],
        ..made
    }
}

#[test]
fn who_changed_a_deletion_is_told_unless_the_same_request_ended_it() {
    let asked = |revision, user| asked("child", revision, user, Propagation::Background);
    let made = (*created(1, "child", &[]).commit).clone();
    let log = vec![made, asked(2, "alice"), asked(3, "bob")];
    let who = |told: &Explanation| {
        let mark = told.chain.last().expect("a chain");
        let also = mark.also.as_ref().map(|also| also.user.clone());
        (mark.user.clone(), also)
    };
    let by_alice = |also: Option<&str>| ("alice".to_owned(), also.map(str::to_owned));
    assert_eq!(who(&explained(log.clone())), by_alice(Some("bob")));
    for (user, also) in [("bob", None), ("carol", Some("bob"))] {
        let removal = Commit {
            actor: Arc::new(Actor::new(user)),
            ..(*removed(4, "child").commit).clone()
        };
        let log = [log.clone(), vec![removal]].concat();
        assert_eq!(who(&explained(log)), by_alice(also), "{user}");
    }
}

#[test]
fn a_live_object_tells_which_owners_it_had_before() {
    let released = |revision, owners: &[&str], lost: &str| {
        let mut commit = (*updated(revision, "child", owners).commit).clone();
        let before = created(1, "child", &[lost]).commit;
        let owner = before.object().expect("an object").owners()[0].clone();
        commit.events.insert(0, Event::OwnerRemoved { owner });
        commit
    };
    let made = (*created(2, "child", &["a", "b"]).commit).clone();
    let log = [made, released(3, &["b"], "a"), released(4, &[], "b")];
    for (count, lost) in [(1, &[][..]), (2, &["a"]), (3, &["b", "a"])] {
        let told = explained(log[..count].to_vec());
        let names = told.chain[0].dropped.iter().map(|one| &*one.name);
        assert_eq!(names.collect::<Vec<_>>(), lost);
        assert_eq!((told.state, told.floor), (Fate::Live, None));
    }
    let kept = explained_from(Revision(4), log[2..].to_vec());
    assert_eq!(kept.floor, Some(Revision(4)));
}

#[test]
fn who_kept_an_owner_from_orphaning_is_told_unless_somebody_had_it_orphan_again() {
    let (orphan, background) = (Propagation::Orphan, Propagation::Background);
    let requests = [
        ("alice", orphan),
        ("bob", background),
        ("carol", orphan),
        ("dave", background),
    ];
    for (count, told) in [(1, "alice"), (2, "bob"), (3, "alice"), (4, "dave")] {
        let mut log = vec![(*created(1, "owner", &[]).commit).clone()];
        log.extend(
            (2..)
                .zip(&requests[..count])
                .map(|(revision, (user, propagation))| {
                    asked("owner", revision, user, *propagation)
                }),
        );
        log.push((*created(6, "child", &["owner", "other"]).commit).clone());
        log.push((*removed(7, "owner").commit).clone());
        let owners = log[count + 1].object().expect("an object").owners();
        let found = owners.iter().map(|owner| OwnerFinding {
            owner: owner.clone(),
            class: OwnerClass::Dangling,
        });
        let deleted = Event::ObjectDeleted {
            rule: Rule::OwnersAbsent,
            owners: found.collect(),
            decided_at: Revision(7),
        };
        log.push(Commit {
            events: vec![deleted],
            cause: Cause::Commit(Revision(7)),
            ..(*removed(8, "child").commit).clone()
        });
        let explanation = explained(log);
        let end = explanation.chain[0].owners[0].end.as_ref();
        assert_eq!(end.map(|end| &*end.user), Some(told));
        let root = explanation.root.map(|root| root.user);
        assert_eq!(root.as_deref(), Some(told));
    }
}
