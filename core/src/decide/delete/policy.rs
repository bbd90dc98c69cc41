//! Which propagation policy a deletion has, and which finalizers it leaves.

use crate::command::{Delete, Propagation};
use crate::kind::Kind;
use crate::object::{FOREGROUND_FINALIZER, Name, ORPHAN_FINALIZER, Object, is_collector_finalizer};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The policy of a deletion: from its options, else from the finalizers that the object has, else from its
/// type.
pub(super) fn effective(intent: &Delete, kind: &Kind, object: &Object) -> Propagation {
    if !kind.strategy.collected {
        return Propagation::Background;
    }
    let asked = match intent.orphan_dependents {
        Some(true) => Some(Propagation::Orphan),
        Some(false) => Some(Propagation::Background),
        None => intent.propagation,
    };
    let default = kind.strategy.default_propagation;
    asked.or_else(|| object.own_policy()).unwrap_or(default)
}

/// The finalizers that the policy leaves. If the set is the same, so is the order.
pub(super) fn finalizers(object: &Object, policy: Propagation) -> Vec<Name> {
    let old = &object.meta.finalizers;
    let mut new: Vec<Name> = old
        .iter()
        .filter(|one| !is_collector_finalizer(one))
        .cloned()
        .collect();
    match policy {
        Propagation::Background => {}
        Propagation::Foreground => new.push(FOREGROUND_FINALIZER.into()),
        Propagation::Orphan => new.push(ORPHAN_FINALIZER.into()),
    }
    let same = new.iter().collect::<BTreeSet<_>>() == old.iter().collect::<BTreeSet<_>>();
    if same { old.to_vec() } else { new }
}

/// The policy of a mark that leaves these finalizers.
pub(super) fn of_mark(finalizers: &[Name]) -> Propagation {
    Propagation::of_finalizers(finalizers).unwrap_or(Propagation::Background)
}

/// Writes the finalizers; an empty list is stored as an absent field.
pub(crate) fn write_finalizers(metadata: &mut Map<String, Value>, finalizers: &[Name]) {
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        let list = finalizers
            .iter()
            .map(|one| Value::from(&**one))
            .collect::<Vec<_>>();
        metadata.insert("finalizers".into(), list.into());
    }
}
