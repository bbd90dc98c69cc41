//! Turns the difference between two versions of an object into the events of one commit.

use super::{Context, Strictness};
use crate::event::{Commit, Event, Rule};
use crate::object::{Mark, Name, Object, OwnerReference, Uid};
use crate::{ObjectKey, Rejection, Revision, form};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A version of an object, and the commit that writes it.
pub(crate) type Written = (Arc<Object>, Arc<Commit>);

impl Context<'_> {
    /// The next version of an object, and the commit that writes it. `extra` holds events that a comparison cannot
    /// find, such as a deletion request.
    pub(crate) fn updated(
        &self,
        previous: &Object,
        document: Value,
        extra: Vec<Event>,
    ) -> Result<Written, Rejection> {
        let requested = mark_of(&extra).map(|rule| Mark {
            revision: self.state.revision.next(),
            rule,
        });
        let mark = previous.mark.or(requested);
        let object = self.version(previous.key.clone(), document, mark, Some(previous))?;
        let mut events = extra;
        compare(Some(previous), &object, &mut events);
        events.push(Event::ObjectUpdated {
            object: Arc::clone(&object),
        });
        Ok(self.written(object, events))
    }

    /// The first version of an object, and the commit that writes it.
    pub(crate) fn created(&self, key: ObjectKey, document: Value) -> Result<Written, Rejection> {
        let object = self.version(key, document, None, None)?;
        // Commits are kept, and most creations are all that happens in theirs.
        let mut events = Vec::with_capacity(1);
        compare(None, &object, &mut events);
        events.push(Event::ObjectCreated {
            object: Arc::clone(&object),
        });
        Ok(self.written(object, events))
    }

    /// The object as the next revision stores it.
    fn version(
        &self,
        key: ObjectKey,
        document: Value,
        mark: Option<Mark>,
        previous: Option<&Object>,
    ) -> Result<Arc<Object>, Rejection> {
        let document = self.as_stored(&key, document);
        let object = Object::from_value(key, document, self.state.revision.next(), mark)
            .map_err(|error| Rejection::BadRequest(error.to_string()))?;
        self.check_size(previous, object).map(Arc::new)
    }

    fn written(&self, object: Arc<Object>, events: Vec<Event>) -> Written {
        let commit = self.commit(&object, object.revision, events);
        (object, commit)
    }

    /// The stored document, as a write of the server's own starts from it.
    pub(crate) fn document(&self, object: &Object) -> Value {
        form::stored(&self.state.kinds, object)
    }

    /// Brings an instance of a custom kind into the form of its stored version, whoever writes it.
    /// Documents that admission is shown are left alone.
    fn as_stored(&self, key: &ObjectKey, mut document: Value) -> Value {
        if self.strictness == Strictness::Storage {
            form::to_stored(&self.state.kinds, &key.resource, &mut document);
        }
        document
    }

    /// The commit that removes an object, after removing these finalizers from it.
    pub(crate) fn remove<'a>(
        &self,
        object: &Object,
        revision: Revision,
        let_go: impl Iterator<Item = &'a Name>,
        event: Event,
    ) -> Arc<Commit> {
        let finalizers = let_go.map(|finalizer| Event::FinalizerRemoved {
            finalizer: Arc::clone(finalizer),
        });
        self.commit(object, revision, finalizers.chain([event]).collect())
    }

    fn commit(&self, object: &Object, revision: Revision, events: Vec<Event>) -> Arc<Commit> {
        Arc::new(Commit {
            revision,
            time: self.envelope.time,
            actor: Arc::clone(&self.envelope.actor),
            request: Arc::clone(&self.envelope.request),
            cause: self.cause(),
            key: object.key.clone(),
            uid: object.meta.uid.clone(),
            events,
        })
    }
}

fn mark_of(events: &[Event]) -> Option<Rule> {
    let mark = events.iter().find_map(Event::deletion_request);
    mark.map(|(rule, _)| rule)
}

/// Adds the events about finalizers and owners.
fn compare(before: Option<&Object>, after: &Object, events: &mut Vec<Event>) {
    let (old_finalizers, old_owners): (&[_], &[_]) = before.map_or((&[], &[]), |before| {
        (&*before.meta.finalizers, &*before.meta.owner_references)
    });
    if old_finalizers == &*after.meta.finalizers && old_owners == &*after.meta.owner_references {
        return;
    }
    let finalizers = &after.meta.finalizers;
    let (old, new) = (set(old_finalizers), set(finalizers));
    let added = finalizers.iter().filter(|one| !old.contains(one));
    events.extend(added.map(|one| Event::FinalizerAdded {
        finalizer: Arc::clone(one),
    }));
    let removed = old_finalizers.iter().filter(|one| !new.contains(one));
    events.extend(removed.map(|one| Event::FinalizerRemoved {
        finalizer: Arc::clone(one),
    }));
    compare_owners(old_owners, &after.meta.owner_references, events);
}

fn set<T: Ord>(list: &[T]) -> BTreeSet<&T> {
    list.iter().collect()
}

/// Reports every added or removed reference in one event, even if several share a uid.
fn compare_owners(before: &[OwnerReference], after: &[OwnerReference], events: &mut Vec<Event>) {
    let (old, new) = (set(before), set(after));
    let gone = before.iter().filter(|one| !new.contains(one));
    let mut gone: BTreeMap<usize, &OwnerReference> = gone.enumerate().collect();
    let mut of_uid: BTreeMap<&Uid, VecDeque<usize>> = BTreeMap::new();
    for (index, owner) in &gone {
        of_uid.entry(&owner.uid).or_default().push_back(*index);
    }
    for owner in after.iter().filter(|one| !old.contains(one)) {
        let to = owner.clone();
        let same_uid = of_uid.get_mut(&owner.uid).and_then(VecDeque::pop_front);
        let from = same_uid.and_then(|index| gone.remove(&index));
        events.push(match from.cloned() {
            Some(from) => Event::OwnerChanged { from, to },
            None => Event::OwnerAdded { owner: to },
        });
    }
    events.extend(gone.into_values().map(|owner| Event::OwnerRemoved {
        owner: owner.clone(),
    }));
}
