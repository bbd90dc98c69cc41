//! Finds in the log what a state does not show: when absent owners were removed, and since when kinds are served.

use super::{OwnershipGraph, Removal};
use hindsight_core::{Commit, Event, OwnerReference, Uid};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The search for the removal of an owner: the dependents that still referred to it as far back as was
/// read, and those whose references are newer than that.
struct RemovalSearch {
    referring: BTreeSet<Uid>,
    late: BTreeSet<Uid>,
}

impl OwnershipGraph {
    /// Learns what [`Self::rebuild`] could not: when the absent owners that objects refer to were
    /// removed, and since when the kinds of the owners of these objects are served. Reads the log backward
    /// from the revision that the graph is at, no further than the oldest of those references, and the definition of such a kind
    /// before that if it was written since.
    pub fn recall<C: Borrow<Commit>, E>(
        &mut self,
        back: impl IntoIterator<Item = Result<C, E>>,
    ) -> Result<(), E> {
        let mut absent = self.absent_owners();
        let mut arrivals = self.arrival_search();
        let mut back = back.into_iter();
        while (!absent.is_empty() || !arrivals.is_empty())
            && let Some(commit) = back.next().transpose()?
        {
            let commit = commit.borrow();
            if commit.object().is_none()
                && let Some(RemovalSearch { late, .. }) = absent.remove(&commit.uid)
            {
                let removal = Removal {
                    at: commit.revision,
                    home: Arc::clone(&commit.key.namespace),
                    late,
                };
                self.removed.insert(commit.uid.clone(), removal);
            }
            for owner in new_owners(commit) {
                narrow_search(&mut absent, owner, &commit.uid);
            }
            arrivals.read(commit, &mut self.arrivals);
        }
        Ok(())
    }

    fn absent_owners(&self) -> BTreeMap<Uid, RemovalSearch> {
        let unknown =
            |uid: &Uid| !self.objects.contains_key(uid) && !self.removed.contains_key(uid);
        let owners = self.dependents.iter().filter(|(owner, _)| unknown(owner));
        let searches = owners.map(|(owner, dependents)| {
            let referring = dependents.keys().cloned().collect();
            let late = BTreeSet::new();
            (owner.clone(), RemovalSearch { referring, late })
        });
        searches.collect()
    }
}

fn narrow_search(absent: &mut BTreeMap<Uid, RemovalSearch>, owner: &Uid, dependent: &Uid) {
    if let Some(search) = absent.get_mut(owner) {
        search.late.extend(search.referring.take(dependent));
        if search.referring.is_empty() {
            absent.remove(owner);
        }
    }
}

/// The owners that the object of a commit did not refer to before, by uid: a second reference to an owner
/// adds none.
pub fn new_owners(commit: &Commit) -> impl Iterator<Item = &Uid> {
    let kept = kept_owners(commit);
    let added = added_owners(commit);
    let object = commit.object().filter(|_| commit.creates());
    let first = object.map_or(&[][..], |object| object.owners());
    let uids = added.chain(first).map(|owner| &owner.uid);
    uids.filter(move |owner| !kept.contains(owner))
}

fn added_owners(commit: &Commit) -> impl Iterator<Item = &OwnerReference> {
    commit.events.iter().filter_map(Event::added_owner)
}

/// The owners to which the object of a commit has references that the commit did not add; read only where
/// it did add some. A reference that changed keeps its uid, so it is one of these.
fn kept_owners(commit: &Commit) -> BTreeSet<&Uid> {
    let added: BTreeSet<&OwnerReference> = added_owners(commit).collect();
    let object = commit.object().filter(|_| !added.is_empty());
    let references = object.map_or(&[][..], |object| object.owners());
    let kept = references.iter().filter(|one| !added.contains(one));
    kept.map(|one| &one.uid).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{adopted, created, removed, updated};
    use super::*;
    use hindsight_core::{Change, Object, Revision};
    use std::convert::Infallible;

    /// Compares the graph that followed these changes with one that knows only the remaining objects and
    /// recalls the removals.
    fn recalled(changes: &[Change]) -> OwnershipGraph {
        let mut followed = OwnershipGraph::default();
        changes.iter().for_each(|change| followed.apply(change));
        let mut recalled = OwnershipGraph {
            removed: BTreeMap::new(),
            ..followed.clone()
        };
        let back = changes.iter().rev();
        let back = back.map(|change| Ok::<_, Infallible>(&*change.commit));
        recalled.recall(back).expect("it reads");
        assert_eq!(recalled.removed, followed.removed);
        recalled
    }

    /// An object that comes to refer to its owner a second time, by another name, while the first reference
    /// stays as it was, or changes.
    fn adopted_again(revision: u64, name: &str, owner: &str, changes: bool) -> Change {
        let change = updated(revision, name, &[owner, "other"]);
        let object = change.commit.object().expect("an object");
        let body = std::str::from_utf8(&object.body).expect("text");
        let body = body.replace(r#""uid":"other""#, &format!(r#""uid":"{owner}""#));
        let key = object.key.clone();
        let object = Object::from_body(key, body.into(), Revision(revision), None);
        let object = Arc::new(object.expect("readable"));
        let [to, second] = object.owners() else {
            panic!("{:?}", object.owners());
        };
        let from = OwnerReference {
            name: "before".into(),
            ..to.clone()
        };
        let to = to.clone();
        let changed = changes.then_some(Event::OwnerChanged { from, to });
        let owner = second.clone();
        let added = [Event::OwnerAdded { owner }];
        let written = [Event::ObjectUpdated {
            object: Arc::clone(&object),
        }];
        let events = changed.into_iter().chain(added).chain(written).collect();
        let commit = Commit {
            events,
            ..(*change.commit).clone()
        };
        Change {
            commit: Arc::new(commit),
            previous: None,
        }
    }

    #[test]
    fn what_is_recalled_is_what_was_known() {
        let first = [
            created(1, "owner", &[]),
            created(2, "child", &["owner"]),
            created(3, "other", &[]),
            removed(4, "owner"),
        ];
        let since = |graph: &OwnershipGraph, child: &str| {
            graph.removed_at(&"owner".into(), &Uid::from(child))
        };
        let mut changes = first.to_vec();
        assert_eq!(since(&recalled(&changes), "child"), Some(Revision(4)));
        changes.push(updated(5, "child", &["owner"]));
        changes.push(created(6, "late", &["owner"]));
        let graph = recalled(&changes);
        assert_eq!(since(&graph, "child"), Some(Revision(4)));
        assert_eq!(since(&graph, "late"), None);
        changes.push(adopted(7, "other", "owner"));
        assert_eq!(since(&recalled(&changes), "other"), None);
        for (revision, changed) in [(8, false), (9, true)] {
            changes.push(adopted_again(revision, "child", "owner", changed));
            let graph = recalled(&changes);
            assert_eq!(since(&graph, "child"), Some(Revision(4)), "{changed}");
        }
        changes.push(removed(10, "child"));
        assert!(recalled(&changes).removed.is_empty());
    }

    #[test]
    fn nothing_is_read_that_is_older_than_the_references() {
        let mut graph = OwnershipGraph::default();
        let child = created(3, "child", &["owner", "other"]);
        graph.apply(&child);
        let back = [Ok(&*child.commit), Err("read too far")];
        assert_eq!(graph.recall(back), Ok(()));
    }
}
