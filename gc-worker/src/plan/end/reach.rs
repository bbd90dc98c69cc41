//! How far the end of a definition reaches: what goes with it or because of it, and who names its kind.
//! Definitions that end together name the same objects, so those are found once for all of them.

use crate::plan::View;
use hindsight_core::{GroupResource, Kind, Object, ObjectKey, Uid};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Objects that the end of a definition matters to because of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naming<'a> {
    /// To a kind that ends.
    Ending(&'a GroupResource),
    /// To a kind of this group that is unknown now and might be known once another is gone, because its
    /// definition waits for a name of that.
    Unknown(&'a str),
}

/// What one look at all definitions finds out about this.
#[derive(Debug)]
pub(super) struct Reach<'a> {
    pub(super) view: View<'a>,
    naming: RefCell<BTreeMap<Naming<'a>, Rc<[&'a Uid]>>>,
}

impl<'a> Reach<'a> {
    pub(super) const fn of(view: View<'a>) -> Self {
        let naming = RefCell::new(BTreeMap::new());
        Self { view, naming }
    }

    /// What goes with an object or because of it, and may take others along: its dependents, and what it
    /// contains.
    pub(super) fn below(&self, uid: &Uid) -> Vec<&'a Uid> {
        let View { graph, state, .. } = self.view;
        let dependents = graph.dependents(uid).map(|(uid, _)| uid);
        let mut found: Vec<&Uid> = dependents.collect();
        if let Some(node) = graph.node(uid) {
            let uid = |object: &'a Arc<Object>| &object.meta.uid;
            if node.key().is_namespace() {
                found.extend(state.contents(&node.key().name).map(uid));
            } else if node.key().is_definition() {
                found.extend(state.instances(node.key()).map(uid));
            }
        }
        found.retain(|uid| graph.node(uid).is_some());
        self.view.findings.walked(1 + found.len());
        found
    }

    /// Who else its end matters to, if it is a definition.
    pub(super) fn named_by(&self, uid: &Uid) -> impl Iterator<Item = Naming<'a>> + use<'a> {
        let node = self.view.graph.node(uid);
        let kind = node.and_then(|node| self.defined(node.key()));
        let resource = kind.map(|kind| &kind.resource);
        let naming = resource.map(|one| [Naming::Ending(one), Naming::Unknown(&one.group)]);
        naming.into_iter().flatten()
    }

    fn defined(&self, key: &ObjectKey) -> Option<&'a Kind> {
        let resource = key.is_definition().then(|| key.defined_resource())?;
        let kind = self.view.state.kinds.by_resource(&resource)?;
        kind.is_custom().then_some(&**kind)
    }

    /// The objects themselves.
    pub(super) fn naming(&self, what: Naming<'a>) -> Rc<[&'a Uid]> {
        if let Some(known) = self.naming.borrow().get(&what) {
            return Rc::clone(known);
        }
        let found: Rc<[&Uid]> = self.find(what).into();
        self.view.findings.walked(found.len());
        let mut naming = self.naming.borrow_mut();
        naming.insert(what, Rc::clone(&found));
        found
    }

    fn find(&self, what: Naming<'a>) -> Vec<&'a Uid> {
        let View { graph, state, .. } = self.view;
        match what {
            Naming::Ending(resource) => {
                let kind = state.kinds.by_resource(resource);
                let naming = kind.map(|kind| graph.dependents_of_kind(kind));
                naming.into_iter().flatten().collect()
            }
            Naming::Unknown(group) => {
                let named = graph.dependents_of_group(group);
                let unknown = named.filter(|(kind, _)| {
                    self.view.findings.walked(1);
                    state.kinds.by_kind(group, kind).is_none()
                });
                unknown.flat_map(|(_, uids)| uids).collect()
            }
        }
    }
}
