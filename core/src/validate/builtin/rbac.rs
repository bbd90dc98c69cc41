//! Roles and bindings. Source: `pkg/apis/rbac/validation`.

use super::selector::label_selector;
use super::{Field, Subject, shown};
use crate::rejection::CauseList;
use crate::validate::names;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn rules(rules: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    for rule in rules.items() {
        check_rule(&rule, subject.resource == "roles", causes);
    }
}

/// Checks which roles a role takes its rules from.
pub(super) fn aggregation(rule: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let selectors = rule.child("clusterRoleSelectors");
    if selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        causes.push_with(|| selectors.required(why));
    }
    for selector in selectors.items() {
        let before = causes.len();
        label_selector(&selector, causes);
        if causes.len() > before {
            // Upstream shows the selector that could not be made.
            causes.push_with(|| selector.invalid_as("null", "invalid label selector."));
        }
    }
}

fn check_rule(rule: &Field<'_>, namespaced: bool, causes: &mut CauseList) {
    let empty = |member: &str| rule.child(member).is_empty();
    let mut require =
        |member: &str, why: &str| causes.push_with(|| rule.child(member).required(why));
    if empty("verbs") {
        require("verbs", "verbs must contain at least one value");
    }
    let urls = rule.child("nonResourceURLs");
    if urls.is_empty() {
        if empty("apiGroups") {
            require(
                "apiGroups",
                "resource rules must supply at least one api group",
            );
        }
        if empty("resources") {
            require(
                "resources",
                "resource rules must supply at least one resource",
            );
        }
        return;
    }
    if namespaced {
        causes.push_with(|| urls.invalid("namespaced rules cannot apply to non-resource URLs"));
    }
    if !(empty("apiGroups") && empty("resources") && empty("resourceNames")) {
        let why = "rules cannot apply to both regular resources and non-resource URLs";
        causes.push_with(|| urls.invalid(why));
    }
}

/// Checks to what a binding binds, and whom.
pub(super) fn binding(binding: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let cluster = subject.resource == "clusterrolebindings";
    let role = binding.child("roleRef");
    let (group, kind, name) = (
        role.child("apiGroup"),
        role.child("kind"),
        role.child("name"),
    );
    if group.text() != GROUP {
        causes.push_with(|| group.not_supported(&[GROUP]));
    }
    let kinds: &[&str] = if cluster {
        &["ClusterRole"]
    } else {
        &["Role", "ClusterRole"]
    };
    if !kinds.contains(&kind.text()) {
        causes.push_with(|| kind.not_supported(kinds));
    }
    if name.is_empty() {
        causes.push_with(|| name.required(""));
    } else {
        name.refuse(names::path_segment(name.text()).err(), causes);
    }
    for one in binding.child("subjects").items() {
        check_subject(&one, cluster, causes);
    }
    if subject.changes(&role) {
        let shown = shown::object(role.value, shown::ROLE_REF);
        causes.push_with(|| role.invalid_as(&shown, "cannot change roleRef"));
    }
}

fn check_subject(one: &Field<'_>, cluster: bool, causes: &mut CauseList) {
    let (kind, group) = (one.child("kind"), one.child("apiGroup"));
    let name = one.child("name");
    if name.is_empty() {
        causes.push_with(|| name.required(""));
    }
    match kind.text() {
        "ServiceAccount" => {
            name.check_subdomain(causes);
            if !group.is_empty() {
                causes.push_with(|| group.not_supported(&[""]));
            }
            if cluster && one.child("namespace").is_empty() {
                causes.push_with(|| one.child("namespace").required(""));
            }
        }
        "User" | "Group" if group.text() != GROUP => {
            causes.push_with(|| group.not_supported(&[GROUP]));
        }
        "User" | "Group" => {}
        _ => causes.push_with(|| kind.not_supported(&["ServiceAccount", "User", "Group"])),
    }
}
