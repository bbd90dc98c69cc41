//! Shows that every wrong step of a collector is seen, and that no right one is reported. The histories are
//! those of the real collector; some of their commits are then left out, exchanged or changed.

use super::Ownership;
use crate::naive;
use crate::reference::{Kind, Policy, Reference};
use crate::world::World;
use hindsight_core::{Commit, Event, Rule};
use serde_json::json;
use std::sync::Arc;

/// The commits in order.
type Commits = Vec<Arc<Commit>>;

/// What a history shows, and how it is made.
type Story = (&'static str, fn() -> Commits);

/// Where an object lives: its kind, namespace and name.
type Place = (Kind, &'static str, &'static str);

const OWNER: Place = (Kind::PriorityClass, "", "owner");
const OTHER: Place = (Kind::PriorityClass, "", "other");
const DEPENDENT: Place = (Kind::PriorityClass, "", "dependent");
const SECOND: Place = (Kind::PriorityClass, "", "second");
const NEAR_OWNER: Place = (Kind::ConfigMap, "near", "owner");
const NEAR_DEPENDENT: Place = (Kind::ConfigMap, "near", "dependent");
const FAR_OWNER: Place = (Kind::ConfigMap, "far", "owner");

/// Histories in which the collector does nothing wrong.
const RIGHT: &[Story] = &[
    ("the owner is deleted", || deleted(Policy::Background)),
    ("the owner waits", || deleted(Policy::Foreground)),
    ("the owner orphans", || deleted(Policy::Orphan)),
    ("the owners wait in turn", chain),
    ("the owners wait for each other", deadlock),
    ("the owner was made again", || made_again().0),
    ("the dependent is of an earlier owner", of_an_earlier_owner),
    ("the owner is in the same namespace", || namespaces().0),
    ("the owner is in another namespace", elsewhere),
    ("one of two owners is deleted", two_owners),
    ("the reference to the owner is misspelt", misspelt),
];

/// What no collector may do, and a history in which one does.
pub(in crate::sim::check) const WRONG: &[Story] = &[
    ("no live owner's dependent is collected", || {
        without_removal(deleted(Policy::Background), OWNER)
    }),
    // An earlier owner of this name, with another uid, is gone.
    ("no live owner's dependent is collected", || {
        let (mut commits, last_removal) = made_again();
        commits.remove(last_removal);
        commits
    }),
    // The owner of this name in another namespace is gone.
    ("no live owner's dependent is collected", || {
        let (mut commits, near_removal) = namespaces();
        commits.remove(near_removal);
        commits
    }),
    ("no live owner's dependent is collected", || {
        spliced(deleted(Policy::Orphan), &deleted(Policy::Background))
    }),
    ("no live owner's dependent is collected", || {
        let made = deleted(Policy::Background);
        let unowned = Arc::clone(&made[0]);
        let mut wrong = Commit::clone(&made[removal(&made, DEPENDENT)]);
        (wrong.key, wrong.uid) = (unowned.key.clone(), unowned.uid.clone());
        vec![unowned, Arc::new(wrong)]
    }),
    ("no orphan is collected", || {
        spliced(misspelt(), &collected_as_misspelt())
    }),
    ("what is removed was there", || {
        let mut commits = deleted(Policy::Background);
        change(&mut commits, DEPENDENT, |one| one.uid = "another".into());
        commits
    }),
    ("the rule is what became of the owners", || {
        told_as(elsewhere(), NEAR_DEPENDENT, Rule::OwnersAbsent)
    }),
    ("the rule is what became of the owners", || {
        told_as(elsewhere(), NEAR_DEPENDENT, Rule::NoSuchOwner)
    }),
    ("the rule is what became of the owners", || {
        let commits = deleted(Policy::Background);
        told_as(commits, DEPENDENT, Rule::OwnerForeground)
    }),
    ("the rule is what became of the owners", || {
        let commits = deleted(Policy::Foreground);
        told_as(commits, DEPENDENT, Rule::OwnersAbsent)
    }),
    ("no live owner is dropped", || {
        without_removal(two_owners(), OTHER)
    }),
    ("an orphaning owner goes last", || {
        let mut commits = deleted(Policy::Orphan);
        let at = removal(&commits, OWNER);
        commits.swap(at - 1, at);
        commits
    }),
    ("an owner waits for those that block it", || {
        exchanged(deleted(Policy::Foreground), DEPENDENT, OWNER)
    }),
    ("an owner waits for those that block it", || {
        exchanged(chain(), SECOND, DEPENDENT)
    }),
    // As if one of them had not waited.
    ("an owner waits for those that block it", || {
        let mut commits = deadlock();
        commits.remove(3);
        commits
    }),
];

/// A client's create. The reference to it blocks.
fn make(world: &mut World, (kind, namespace, name): Place, owners: &[Reference]) -> Reference {
    let object = json!({"metadata": {
        "name": name, "ownerReferences": naive::references(owners)}});
    let made = world.run(naive::create(kind, namespace, object));
    Reference {
        kind,
        name: name.into(),
        uid: made.expect("made").outcome.object().meta.uid.to_string(),
        blocks: true,
    }
}

fn delete(world: &mut World, (kind, namespace, name): Place, policy: Policy) {
    let key = naive::key(kind, namespace, name);
    let deleted = world.run(naive::delete(key, Some(policy)));
    deleted.expect("deleted");
}

/// Lets the collector finish.
fn at_rest(mut world: World) -> Commits {
    world.settle(1);
    let changes = world.changes.iter();
    changes.map(|one| Arc::clone(&one.commit)).collect()
}

/// An owner with a dependent is deleted.
fn deleted(policy: Policy) -> Commits {
    let mut world = World::new();
    let owner = make(&mut world, OWNER, &[]);
    make(&mut world, DEPENDENT, &[owner]);
    delete(&mut world, OWNER, policy);
    at_rest(world)
}

/// The dependent has a dependent too.
fn chain() -> Commits {
    let mut world = World::new();
    let owner = make(&mut world, OWNER, &[]);
    let dependent = make(&mut world, DEPENDENT, &[owner]);
    make(&mut world, SECOND, &[dependent]);
    delete(&mut world, OWNER, Policy::Foreground);
    at_rest(world)
}

/// Two objects that own each other are deleted before the collector looks at either: commits 3 and 4.
fn deadlock() -> Commits {
    let mut world = World::new();
    let owner = make(&mut world, OWNER, &[]);
    let other = make(&mut world, OTHER, &[owner]);
    let references = json!({"metadata": {"ownerReferences": naive::references(&[other])}});
    let key = naive::key(OWNER.0, OWNER.1, OWNER.2);
    world.run(naive::patch(key, references)).expect("patched");
    delete(&mut world, OWNER, Policy::Foreground);
    delete(&mut world, OTHER, Policy::Foreground);
    at_rest(world)
}

/// The owner is made and deleted, made again, and deleted when it has a dependent; with the index of that
/// deletion.
fn made_again() -> (Commits, usize) {
    let mut world = World::new();
    make(&mut world, OWNER, &[]);
    delete(&mut world, OWNER, Policy::Background);
    let owner = make(&mut world, OWNER, &[]);
    make(&mut world, DEPENDENT, &[owner]);
    delete(&mut world, OWNER, Policy::Background);
    (at_rest(world), 4)
}

/// The owner is made again before its dependent is collected.
fn of_an_earlier_owner() -> Commits {
    let mut world = World::new();
    let owner = make(&mut world, OWNER, &[]);
    make(&mut world, DEPENDENT, &[owner]);
    delete(&mut world, OWNER, Policy::Background);
    make(&mut world, OWNER, &[]);
    at_rest(world)
}

/// Two namespaces.
fn with_namespaces() -> World {
    let mut world = World::new();
    for (_, namespace, _) in [NEAR_OWNER, FAR_OWNER] {
        let made = world.run(naive::create_namespace(namespace));
        made.expect("made");
    }
    world
}

/// Owners of the same name in two namespaces are deleted, and only the last has a dependent; with the index
/// of that deletion.
fn namespaces() -> (Commits, usize) {
    let mut world = with_namespaces();
    make(&mut world, FAR_OWNER, &[]);
    let owner = make(&mut world, NEAR_OWNER, &[]);
    make(&mut world, NEAR_DEPENDENT, &[owner]);
    delete(&mut world, FAR_OWNER, Policy::Background);
    delete(&mut world, NEAR_OWNER, Policy::Background);
    (at_rest(world), 6)
}

/// The owner lives in another namespace than the dependent.
fn elsewhere() -> Commits {
    let mut world = with_namespaces();
    let owner = make(&mut world, FAR_OWNER, &[]);
    make(&mut world, NEAR_DEPENDENT, &[owner]);
    at_rest(world)
}

/// A dependent loses one of two owners.
fn two_owners() -> Commits {
    let mut world = World::new();
    let owner = make(&mut world, OWNER, &[]);
    let other = make(&mut world, OTHER, &[]);
    make(&mut world, DEPENDENT, &[owner, other]);
    delete(&mut world, OTHER, Policy::Background);
    at_rest(world)
}

/// An owner with a dependent that gives another name for it.
fn with_misspelt_owner() -> World {
    let mut world = World::new();
    let owner = make(&mut world, OWNER, &[]);
    let misspelt = Reference {
        name: "misspelt".into(),
        ..owner
    };
    make(&mut world, DEPENDENT, &[misspelt]);
    world
}

/// The owner orphans the dependent.
fn misspelt() -> Commits {
    let mut world = with_misspelt_owner();
    delete(&mut world, OWNER, Policy::Orphan);
    at_rest(world)
}

/// The dependent is collected.
fn collected_as_misspelt() -> Commits {
    at_rest(with_misspelt_owner())
}

/// The place of the removal of this object.
fn removal(commits: &[Arc<Commit>], (kind, namespace, name): Place) -> usize {
    let key = naive::key(kind, namespace, name);
    let found = commits
        .iter()
        .position(|one| one.key == key && one.object().is_none());
    found.expect("it is removed")
}

fn without_removal(mut commits: Commits, of: Place) -> Commits {
    let at = removal(&commits, of);
    commits.remove(at);
    commits
}

/// The removals of two objects in the other order.
fn exchanged(mut commits: Commits, one: Place, other: Place) -> Commits {
    let (one, other) = (removal(&commits, one), removal(&commits, other));
    commits.swap(one, other);
    commits
}

/// Up to the deletion of the owner as in the one history, then the removal of the dependent as in the other.
fn spliced(mut commits: Commits, other: &[Arc<Commit>]) -> Commits {
    commits.truncate(3);
    commits.push(Arc::clone(&other[removal(other, DEPENDENT)]));
    commits
}

fn change(commits: &mut [Arc<Commit>], removed: Place, change: impl Fn(&mut Commit)) {
    let at = removal(commits, removed);
    change(Arc::make_mut(&mut commits[at]));
}

/// The removal of this object names another rule.
fn told_as(mut commits: Commits, removed: Place, said: Rule) -> Commits {
    change(&mut commits, removed, |one| {
        for event in &mut one.events {
            if let Event::DeletionRequested { rule, .. } | Event::ObjectDeleted { rule, .. } = event
            {
                *rule = said;
            }
        }
    });
    commits
}

fn judged(commits: &[Arc<Commit>]) -> Result<(), String> {
    let judged = Ownership::of(commits.iter().map(|one| &**one));
    judged.map(drop).map_err(|violation| {
        println!("{}", violation.what);
        violation.checker.to_owned()
    })
}

#[test]
fn whatever_a_collector_does_rightly_is_not_reported() {
    for (story, commits) in RIGHT {
        assert_eq!(judged(&commits()), Ok(()), "{story}");
    }
}

#[test]
fn whatever_a_collector_does_wrongly_is_reported() {
    for (index, (promise, commits)) in WRONG.iter().enumerate() {
        let found = judged(&commits());
        assert_eq!(found, Err((*promise).to_owned()), "wrong history {index}");
    }
}
