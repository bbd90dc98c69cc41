//! How far the end of a definition reaches: what goes with it or because of it, and who names its kind.
//! Definitions that end together name the same objects, so those are found once for all of them.

use crate::plan::View;
use hindsight_core::{GroupResource, Kind, Object, ObjectKey, Uid};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// A reference because of which the end of a definition matters to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reference<'a> {
    /// To a kind that ends.
    ToEnding(&'a GroupResource),
    /// To a kind of this group that is unknown now and might be known once another is gone, because its
    /// definition waits for a name of that.
    ToUnknown(&'a str),
}

/// A step on the way of an end to all that it matters to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place<'a> {
    Object(&'a Uid),
    /// All objects with such a reference; there is at least one.
    WhoRefers(Reference<'a>),
}

/// What one look at all definitions finds out about this.
#[derive(Debug)]
pub(super) struct Reach<'a> {
    pub(super) view: View<'a>,
    referring: RefCell<BTreeMap<Reference<'a>, Rc<[&'a Uid]>>>,
}

impl<'a> Reach<'a> {
    pub(super) const fn of(view: View<'a>) -> Self {
        let referring = RefCell::new(BTreeMap::new());
        Self { view, referring }
    }

    /// The next steps. What refers to a kind that ends stays as it is, and so does all below it; what refers
    /// to one that becomes known may go.
    pub(super) fn next(&self, place: Place<'a>) -> Vec<Place<'a>> {
        let objects = |uids: &[&'a Uid]| uids.iter().copied().map(Place::Object).collect();
        match place {
            Place::Object(uid) => {
                let mut next: Vec<Place<'_>> = objects(&self.below(uid));
                let references = self
                    .named_by(uid)
                    .filter(|what| !self.referring(*what).is_empty());
                next.extend(references.map(Place::WhoRefers));
                next
            }
            Place::WhoRefers(Reference::ToEnding(_)) => Vec::new(),
            Place::WhoRefers(Reference::ToUnknown(group)) => {
                objects(&self.referring(Reference::ToUnknown(group)))
            }
        }
    }

    /// What goes with an object or because of it, and may take others along: its dependents, what it
    /// contains, the `Endpoints` of a `Service`, and owners that wait for it.
    fn below(&self, uid: &Uid) -> Vec<&'a Uid> {
        let View { graph, state, .. } = self.view;
        let dependents = graph.dependents(uid).map(|(uid, _)| uid);
        let mut found: Vec<&Uid> = dependents.collect();
        if let Some(object) = graph.object(uid) {
            let waiting = |one: &Uid| graph.object(one).is_some_and(|one| one.is_waiting());
            let blocked = object.owners().iter().filter(|owner| owner.blocks());
            found.extend(blocked.map(|owner| &owner.uid).filter(|one| waiting(one)));
            let uid = |object: &'a Arc<Object>| &object.meta.uid;
            let endpoints = object.key.endpoints();
            found.extend(endpoints.and_then(|key| state.get(&key)).map(uid));
            if object.key.is_namespace() {
                found.extend(state.contents(&object.key.name).map(uid));
            } else if object.key.is_definition() {
                found.extend(state.instances(&object.key).map(uid));
            }
        }
        found.retain(|uid| graph.object(uid).is_some());
        self.view.memo.visit(1 + found.len());
        found
    }

    /// Who else its end matters to, if it is a definition.
    fn named_by(&self, uid: &Uid) -> impl Iterator<Item = Reference<'a>> + use<'a> {
        let key = self.view.graph.object(uid).map(|object| &object.key);
        let key = key.filter(|key| key.is_definition());
        let kind = key.and_then(|key| self.defined(key));
        let ending = kind.map(|kind| Reference::ToEnding(&kind.resource));
        // One that waits for a name itself has others, and what becomes known is its kind or one after it.
        let group = key.and_then(|key| key.name.split_once('.'));
        let unknown = group.map(|(_, group)| Reference::ToUnknown(group));
        ending.into_iter().chain(unknown)
    }

    fn defined(&self, key: &ObjectKey) -> Option<&'a Kind> {
        let kind = self.view.state.kinds.by_resource(&key.defined_resource())?;
        kind.is_custom().then_some(&**kind)
    }

    /// The objects themselves.
    pub(super) fn referring(&self, what: Reference<'a>) -> Rc<[&'a Uid]> {
        if let Some(known) = self.referring.borrow().get(&what) {
            return Rc::clone(known);
        }
        let found: Rc<[&Uid]> = self.find(what).into();
        self.view.memo.visit(found.len());
        let mut known = self.referring.borrow_mut();
        known.insert(what, Rc::clone(&found));
        found
    }

    /// The definitions of a group. Each has names that others may wait for.
    pub(super) fn definitions(&self, group: &str) -> impl Iterator<Item = &'a Uid> {
        let View { state, memo, .. } = self.view;
        let kind = state.kinds.by_resource(&ObjectKey::definition("").resource);
        let all = kind.map(|kind| state.list(&kind.resource, None));
        let all = all.into_iter().flatten();
        let of_group = all.filter(move |one| {
            memo.visit(1);
            &*one.key.defined_resource().group == group
        });
        of_group.map(|one| &one.meta.uid)
    }

    fn find(&self, what: Reference<'a>) -> Vec<&'a Uid> {
        let View { graph, state, .. } = self.view;
        match what {
            Reference::ToEnding(resource) => {
                let kind = state.kinds.by_resource(resource);
                let referring = kind.map(|kind| graph.dependents_of_kind(kind));
                referring.into_iter().flatten().collect()
            }
            Reference::ToUnknown(group) => {
                let named = graph.dependents_of_group(group);
                let unknown = named.filter(|(kind, _)| {
                    self.view.memo.visit(1);
                    state.kinds.by_kind(group, kind).is_none()
                });
                unknown.flat_map(|(_, uids)| uids).collect()
            }
        }
    }
}
