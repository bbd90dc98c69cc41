//! Decides when a definition ends. Its end makes the references to its kind unresolvable, and takes an
//! owner from its dependents. So it waits for every object whose outcome could change by that, and for no
//! other. See `docs/decisions/0005-owners-first.md`.

use super::{View, whole_plan};
use crate::content;
use crate::steps::Step;
use crate::worker::Worker;
use hindsight_core::command::Intent;
use hindsight_core::{Kind, Object, ObjectKey, OwnerReference, Uid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether this step releases a definition.
pub(crate) fn ends_a_definition(step: &Step) -> bool {
    released(step).any(ObjectKey::is_definition)
}

fn released(step: &Step) -> impl Iterator<Item = &ObjectKey> {
    let owners = match &step.intent {
        Intent::Release(release) => std::slice::from_ref(&release.owner),
        Intent::Untie(knot) => &knot.members[..],
        Intent::Create(_)
        | Intent::Update(_)
        | Intent::Patch(_)
        | Intent::Delete(_)
        | Intent::Evict(_)
        | Intent::DropOwners(_)
        | Intent::Unblock(_)
        | Intent::FinalizeNamespace(_)
        | Intent::Admitted(_) => &[],
    };
    owners.iter().map(|owner| &owner.key)
}

impl View<'_> {
    /// The step that releases a definition, once its time has come. If the ends of two definitions could
    /// affect each other, the lower name comes first.
    pub(crate) fn end(
        &self,
        key: &ObjectKey,
        ending: &BTreeSet<ObjectKey>,
    ) -> Option<(Worker, Step)> {
        let definition = self.state.get(key)?;
        let release = self.release_of(definition)?;
        let touched = self.touched(definition);
        let comes_first = |other: &ObjectKey| {
            let other = self.state.get(other);
            other.is_some_and(|other| self.will_touch(other, &touched))
        };
        let its_turn = self.is_quiet(&touched) && !ending.range(..key).any(comes_first);
        its_turn.then_some(release)
    }

    fn release_of(&self, definition: &Object) -> Option<(Worker, Step)> {
        let plan = whole_plan(*self, &definition.meta.uid);
        let own = |step: &&Step| released(step).any(|key| *key == definition.key);
        if let Some(step) = plan.all_steps().find(own) {
            return Some((Worker::GarbageCollector, step.clone()));
        }
        let step = content::release_of(self.state, definition)?;
        Some((Worker::DefinitionController, step))
    }

    /// Whether this definition will be released, now or later, without another request, and could thereby
    /// change the outcome for one of these objects.
    fn will_touch(&self, definition: &Object, others: &BTreeSet<Uid>) -> bool {
        let touched = self.touched(definition);
        !touched.is_disjoint(others)
            && (self.release_of(definition).is_some() || !self.is_quiet(&touched))
    }

    /// A definition and everything that may be deleted with it or because of it, and the objects with a
    /// reference to a kind that ends with it.
    fn touched(&self, definition: &Object) -> BTreeSet<Uid> {
        let mut touched = BTreeSet::new();
        let mut naming = Vec::new();
        let mut open = vec![definition.meta.uid.clone()];
        while let Some(at) = open.pop() {
            let Some(node) = self.graph.node(&at).filter(|_| !touched.contains(&at)) else {
                continue;
            };
            let dependents = self.graph.dependents(&at);
            open.extend(dependents.map(|(uid, _)| uid.clone()));
            self.add_contents(node.key(), &mut open);
            if let Some(kind) = self.defined(node.key()) {
                naming.extend(self.graph.dependents_of_kind(kind).cloned());
                naming.extend(self.waiting_for_names_of(kind).cloned());
            }
            touched.insert(at);
        }
        touched.extend(naming);
        touched
    }

    /// The objects with a reference to a kind that is unknown now and might be known once this one is gone,
    /// because its definition waits for a name of this one.
    fn waiting_for_names_of(&self, kind: &Kind) -> impl Iterator<Item = &Uid> {
        let group = &*kind.resource.group;
        let named = self.graph.dependents_of_group(group);
        let unknown = named.filter(|(kind, _)| self.state.kinds.by_kind(group, kind).is_none());
        unknown.map(|(_, uid)| uid)
    }

    fn add_contents(&self, container: &ObjectKey, found: &mut Vec<Uid>) {
        let uid = |object: &Arc<Object>| object.meta.uid.clone();
        if container.is_namespace() {
            found.extend(self.state.contents(&container.name).map(uid));
        } else if container.is_definition() {
            found.extend(self.state.instances(container).map(uid));
        }
    }

    fn defined(&self, key: &ObjectKey) -> Option<&Kind> {
        let resource = key.is_definition().then(|| key.defined_resource())?;
        let kind = self.state.kinds.by_resource(&resource)?;
        kind.is_custom().then_some(&**kind)
    }

    /// Whether the collector has nothing left to do in or above these objects, and would not release
    /// another definition whose kind they refer to.
    fn is_quiet(&self, touched: &BTreeSet<Uid>) -> bool {
        let mut open: Vec<Uid> = touched.iter().cloned().collect();
        for uid in touched {
            open.append(&mut self.directly_above(uid));
            let owners = self.object(uid).map_or(&[][..], |object| object.owners());
            open.extend(owners.iter().filter_map(|owner| self.definition_of(owner)));
        }
        self.with_all_above(open)
            .iter()
            .all(|uid| !self.has_work(uid))
    }

    /// The definition of the kind that a reference names.
    fn definition_of(&self, owner: &OwnerReference) -> Option<Uid> {
        self.state.kinds.named_by(owner)?.definition().cloned()
    }

    /// Whether it will be acted on, not counting the end of a definition, which has an order of its own.
    fn has_work(&self, uid: &Uid) -> bool {
        if self.is_pending(uid) {
            return true;
        }
        let Some(object) = self.object(uid).filter(|object| object.is_deleting()) else {
            return false;
        };
        let plan = whole_plan(*self, uid);
        content::is_busy(self.state, object) || !plan.all_steps().all(ends_a_definition)
    }
}
