//! Roles and bindings. Source: `pkg/apis/rbac/validation`.

use super::{Field, Subject};
use crate::rejection::FieldCause;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn rules(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    for rule in subject.new.child("rules").items() {
        check_rule(&rule, subject.resource == "roles", causes);
    }
}

fn check_rule(rule: &Field<'_>, namespaced: bool, causes: &mut Vec<FieldCause>) {
    let empty = |member: &str| rule.child(member).is_empty();
    let mut require = |member: &str, why: &str| causes.push(rule.child(member).required(why));
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
        causes.push(urls.invalid("namespaced rules cannot apply to non-resource URLs"));
    }
    if !(empty("apiGroups") && empty("resources") && empty("resourceNames")) {
        let why = "rules cannot apply to both regular resources and non-resource URLs";
        causes.push(urls.invalid(why));
    }
}

pub(super) fn subjects(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let cluster = subject.resource == "clusterrolebindings";
    let group = subject.new.at("roleRef.apiGroup");
    if group.text() != GROUP {
        causes.push(group.not_supported(&[GROUP]));
    }
    let kind = subject.new.at("roleRef.kind");
    let kinds: &[&str] = if cluster {
        &["ClusterRole"]
    } else {
        &["Role", "ClusterRole"]
    };
    if !kinds.contains(&kind.text()) {
        causes.push(kind.not_supported(kinds));
    }
    for one in subject.new.child("subjects").items() {
        check_subject(&one, cluster, causes);
    }
}

fn check_subject(one: &Field<'_>, cluster: bool, causes: &mut Vec<FieldCause>) {
    let (kind, group) = (one.child("kind"), one.child("apiGroup"));
    match kind.text() {
        "ServiceAccount" => {
            if !group.is_empty() {
                causes.push(group.not_supported(&[""]));
            }
            if cluster && one.child("namespace").is_empty() {
                causes.push(one.child("namespace").required(""));
            }
        }
        "User" | "Group" if group.text() != GROUP => causes.push(group.not_supported(&[GROUP])),
        "User" | "Group" => {}
        _ => causes.push(kind.not_supported(&["ServiceAccount", "User", "Group"])),
    }
}
