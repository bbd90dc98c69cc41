//! Whether owners were found as the rule of a deletion says. What the state shows of them is asked with every commit;
//! here those are looked for by uid, wherever they are.

use crate::{Node, OwnershipGraph};
use hindsight_core::{Object, Rule};

/// What is wrong with a deletion of a live object by this rule.
pub(super) fn wrong(graph: &OwnershipGraph, previous: &Object, rule: Rule) -> Option<String> {
    let references = previous.meta.owner_references.iter();
    let there: Vec<&Node> = references.filter_map(|one| graph.node(&one.uid)).collect();
    let home = &previous.key.namespace;
    if let Some(owner) = there.iter().find(|owner| owner.is_orphaning()) {
        return Some(format!("{} is about to let it go", owner.key()));
    }
    let is_elsewhere = |owner: &Node| {
        let namespace = &owner.key().namespace;
        !namespace.is_empty() && namespace != home
    };
    // Where the rule is that one is elsewhere, that one may be gone since it was decided.
    let is_unlike = |owner: &&&Node| {
        rule == Rule::NoSuchOwner || rule == Rule::OwnersAbsent && is_elsewhere(owner)
    };
    let unlike = there.iter().find(is_unlike)?;
    Some(format!(
        "it says {}, and there is {}",
        rule.name(),
        unlike.key()
    ))
}
