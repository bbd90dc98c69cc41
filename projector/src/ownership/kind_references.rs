//! Which live objects refer to an owner of a custom kind, whether or not that owner exists. When the kind
//! is removed, these owners become unresolvable.

use hindsight_core::kind::KindName;
use hindsight_core::object::{Name, Object};
use hindsight_core::{OwnerReference, Uid};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Uids of dependents by group and kind of the owner, whatever version the reference has.
#[derive(Debug, Clone, Default)]
pub(super) struct KindReferences(BTreeMap<KindName, BTreeSet<Uid>>);

impl KindReferences {
    /// The objects that name this kind.
    pub(super) fn dependents(&self, group: &str, kind: &str) -> impl Iterator<Item = &Uid> {
        let named = self.0.get(&(group.into(), kind.into()));
        named.into_iter().flatten()
    }

    /// The kinds of this group that objects name, with these objects.
    pub(super) fn of_group(&self, group: &str) -> impl Iterator<Item = (&str, &BTreeSet<Uid>)> {
        let group: Name = group.into();
        let kinds = self.0.range((Arc::clone(&group), "".into())..);
        let kinds = kinds.take_while(move |((of, _), _)| *of == group);
        kinds.map(|((_, kind), uids)| (&**kind, uids))
    }

    /// Replaces a version of an object by the next. Objects that are being deleted are left out: nothing
    /// is decided on their owners.
    pub(super) fn replace(&mut self, uid: &Uid, before: Option<&Object>, after: Option<&Object>) {
        let (before, after) = (named_by(before), named_by(after));
        for kind in before.difference(&after) {
            if let Some(uids) = self.0.get_mut(kind) {
                uids.remove(uid);
                if uids.is_empty() {
                    self.0.remove(kind);
                }
            }
        }
        for kind in after.into_iter().filter(|kind| !before.contains(kind)) {
            self.0.entry(kind).or_default().insert(uid.clone());
        }
    }
}

/// The owners that an object names, unless it is being deleted.
pub(super) fn live_owners(object: Option<&Object>) -> &[OwnerReference] {
    let live = object.filter(|object| !object.is_deleting());
    live.map_or(&[], Object::owners)
}

fn named_by(object: Option<&Object>) -> BTreeSet<KindName> {
    live_owners(object).iter().filter_map(custom_kind).collect()
}

/// The group and kind of the owner, if its kind is custom: such a group contains a dot.
fn custom_kind(owner: &OwnerReference) -> Option<KindName> {
    let group = owner.group();
    group
        .contains('.')
        .then(|| (group.into(), owner.kind.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::{GroupResource, ObjectKey, Revision};

    fn object(owners: &[(&str, &str)], deleting: bool) -> Object {
        let owner = |(version, kind): &(&str, &str)| {
            format!(r#"{{"apiVersion":"{version}","kind":"{kind}","name":"o","uid":"o"}}"#)
        };
        let owners: Vec<String> = owners.iter().map(owner).collect();
        let mark = if deleting {
            r#","deletionTimestamp":"2024-01-01T00:00:00Z""#
        } else {
            ""
        };
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"uid":"x","ownerReferences":[{}]{mark}}}}}"#,
            owners.join(",")
        );
        let key = ObjectKey::new(GroupResource::new("", "configmaps"), "n", "x");
        Object::from_body(key, body.into(), Revision(1), None).expect("readable")
    }

    #[test]
    fn a_live_object_names_the_custom_kinds_of_its_newest_references() {
        let widget = ("example.com/v1", "Widget");
        let other_version = ("example.com/v2", "Widget");
        let gadget = ("example.com/v1", "Gadget");
        let built_in = ("apps/v1", "Widget");
        // Successive versions of one object, and whether it names widgets, and gadgets.
        let table: [(&[_], bool, bool, bool); 6] = [
            (&[widget], false, true, false),
            (&[other_version, gadget], false, true, true),
            (&[gadget, built_in], false, false, true),
            (&[widget, gadget], false, true, true),
            (&[widget, gadget], true, false, false),
            (&[], false, false, false),
        ];
        let (mut naming, uid) = (KindReferences::default(), Uid::from("x"));
        let mut before: Option<Object> = None;
        for (owners, deleting, widgets, gadgets) in table {
            let after = object(owners, deleting);
            naming.replace(&uid, before.as_ref(), Some(&after));
            let named = |kind| naming.dependents("example.com", kind).count() == 1;
            assert_eq!(named("Widget"), widgets, "{owners:?} {deleting}");
            assert_eq!(named("Gadget"), gadgets, "{owners:?} {deleting}");
            assert_eq!(naming.dependents("apps", "Widget").count(), 0);
            before = Some(after);
        }
        assert!(naming.0.is_empty(), "nothing is kept of what nobody names");
    }
}
