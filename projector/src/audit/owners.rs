//! Checks that owners were absent as the rule of a deletion claims. The writer checks with every commit
//! what the state shows of them; here they are looked up by uid, wherever they are.

use crate::OwnershipGraph;
use hindsight_core::{Object, Rule};
use std::sync::Arc;

/// What is wrong with a deletion of a live object by this rule, if anything.
pub(super) fn defect(graph: &OwnershipGraph, previous: &Object, rule: Rule) -> Option<String> {
    let references = previous.meta.owner_references.iter();
    let there: Vec<&Arc<Object>> = references
        .filter_map(|one| graph.object(&one.uid))
        .collect();
    let home = &previous.key.namespace;
    if let Some(owner) = there.iter().find(|owner| owner.is_orphaning()) {
        return Some(format!("{} is about to orphan it", owner.key));
    }
    // Told apart without `ObjectKey::reaches`: an audit that asks what the collector asked finds nothing.
    let is_elsewhere = |owner: &Object| {
        let namespace = &owner.key.namespace;
        !namespace.is_empty() && namespace != home
    };
    // Under the rule that an owner is in another namespace, that owner may have gone since the decision.
    let contradicts = |owner: &&&Arc<Object>| {
        rule == Rule::NoSuchOwner || rule == Rule::OwnersAbsent && is_elsewhere(owner)
    };
    let contradicting = there.iter().find(contradicts)?;
    Some(format!(
        "deleted by rule {}, although {} exists",
        rule.name(),
        contradicting.key
    ))
}
