//! What the rules of deletion are called in an answer.

use hindsight_core::Rule;

/// A rule in words, with its name.
pub(super) fn in_words(rule: Rule) -> String {
    let words = match rule {
        Rule::Requested => "somebody asked for it",
        Rule::RequestedForeground => "somebody asked for it, in the foreground",
        Rule::RequestedOrphan => "somebody asked for it, orphaning its dependents",
        Rule::RequestedCollection => "somebody deleted the collection it was in",
        Rule::OwnersAbsent => "all its owners are gone",
        Rule::OwnerForeground => "its owner is deleted in the foreground",
        Rule::NoSuchOwner => "there is no such owner",
        Rule::OwnerInOtherNamespace => "its owner is not in its namespace",
        Rule::NamespaceDeleted => "its namespace was deleted",
        Rule::CrdDeleted => "the definition of its kind was deleted",
        Rule::TtlAfterFinished => "its time to live after it finished is over",
        Rule::Policy => "a policy asked for it",
        Rule::ServiceDeleted => "its service is gone",
    };
    format!("{words} ({})", rule.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_is_told_by_the_name_that_it_has_in_json() {
        for rule in Rule::ALL {
            let name = json!(rule);
            let name = name.as_str().unwrap_or_default();
            let told = in_words(rule);
            assert!(told.ends_with(&format!(" ({name})")), "{told}");
        }
    }
}
