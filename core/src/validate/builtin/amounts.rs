//! Amounts of resources, and which resources there are. Source: `validateResourceRequirements`,
//! `validateContainerResourceName` and `ValidateResourceQuantityValue` of upstream's `pkg/apis/core/validation`,
//! and `pkg/apis/core/helper`.

use super::Field;
use crate::quantity::{self, Quantity};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::qualified_name;

pub(super) const NEGATIVE: &str = "must be greater than or equal to 0";
const COUNTED: [&str; 9] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const COMPUTED: [&str; 9] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

fn amount(place: &Field<'_>) -> Option<Quantity> {
    let read = quantity::read(place.value).ok().flatten();
    read.map(|(amount, _)| amount)
}

fn has_domain(name: &str) -> bool {
    name.contains('/')
}

/// Whether Kubernetes itself defines a resource.
fn is_native(name: &str) -> bool {
    !has_domain(name) || name.contains("kubernetes.io/")
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether a resource is one of a device or the like, of which there is a whole number.
fn is_extended(name: &str) -> bool {
    let fits = || qualified_name(&format!("requests.{name}")).is_empty();
    !is_native(name) && !name.starts_with("requests.") && fits()
}

/// Whether a resource may be asked for that has a limit above the request.
pub(super) fn has_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

fn is_whole(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

/// What is wrong with the name of a resource. Source: `validateResourceName`.
fn name_problems(name: &str) -> Vec<String> {
    let problems = qualified_name(name);
    let storage = ["storage", "requests.storage"].contains(&name);
    let pages = is_huge_pages(name) || name.starts_with("requests.hugepages-");
    let is_standard = COMPUTED.contains(&name) || COUNTED.contains(&name) || storage || pages;
    if problems.is_empty() && !has_domain(name) && !is_standard {
        return vec!["must be a standard resource type or fully qualified".into()];
    }
    problems
}

fn container_problems(name: &str) -> Vec<String> {
    let mut problems = name_problems(name);
    if !has_domain(name) && !OF_CONTAINERS.contains(&name) && !is_huge_pages(name) {
        problems.push("must be a standard resource for containers".into());
    } else if !is_native(name) && !is_extended(name) {
        problems.push("doesn't follow extended resource name standard".into());
    }
    problems
}

/// What is wrong with a resource in a quota. Source: `ValidateResourceQuotaResourceName`.
fn quota_problems(name: &str) -> Vec<String> {
    let mut problems = name_problems(name);
    if !has_domain(name) && (!problems.is_empty() || name == "storage") {
        problems.push("must be a standard resource for quota".into());
    }
    problems
}

fn named(place: &Field<'_>, name: &str, problems: fn(&str) -> Vec<String>, causes: &mut CauseList) {
    let shown = format!("{name:?}");
    let problems = problems(name).into_iter();
    causes.extend(problems.map(|why| place.invalid_as(&shown, &why)));
}

/// Source: `ValidateResourceQuantityValue`.
pub(super) fn value(place: &Field<'_>, name: &str, causes: &mut CauseList) {
    not_negative(place, causes);
    if is_whole(name) && amount(place).is_some_and(|amount| amount.integer().is_none()) {
        causes.push_with(|| place.invalid("must be an integer"));
    }
}

/// Source: `ValidateNonnegativeQuantity`.
pub(super) fn not_negative(place: &Field<'_>, causes: &mut CauseList) {
    if amount(place).is_some_and(|amount| amount.sign() < 0) {
        causes.push_with(|| place.invalid(NEGATIVE));
    }
}

/// Refuses an amount that is 0 or less.
pub(super) fn positive(place: &Field<'_>, causes: &mut CauseList) {
    if amount(place).is_some_and(|amount| amount.sign() < 1) {
        causes.push_with(|| place.invalid("must be positive"));
    }
}

/// The name of a resource that containers have. Source: `ValidateContainerResourceName`.
pub(super) fn resource_of_container(place: &Field<'_>, causes: &mut CauseList) {
    named(place, place.text(), container_problems, causes);
}

/// Whether a resource of Kubernetes itself can be in a quota. Source: `IsStandardQuotaResourceName`.
pub(super) fn is_of_quotas(name: &str) -> bool {
    !has_domain(name) && quota_problems(name).is_empty()
}

/// Checks the names of resources that there are limits for.
pub(super) fn names_of(map: &Field<'_>, of_containers: bool, causes: &mut CauseList) {
    let problems = if of_containers {
        container_problems
    } else {
        name_problems
    };
    for (name, place) in map.entries() {
        named(&place, name, problems, causes);
    }
}

/// Checks the amounts in a quota.
pub(super) fn of_quota(map: &Field<'_>, causes: &mut CauseList) {
    for (name, place) in map.entries() {
        named(&place, name, quota_problems, causes);
        value(&place, name, causes);
    }
}

/// Checks a map of amounts of what containers can have.
pub(super) fn amounts(map: &Field<'_>, causes: &mut CauseList) {
    for (name, place) in map.entries() {
        named(&place, name, container_problems, causes);
        value(&place, name, causes);
    }
}

/// Checks what a container asks for, and what it is limited to.
pub(super) fn resources(resources: &Field<'_>, causes: &mut CauseList) {
    let (limits, requests) = (resources.child("limits"), resources.child("requests"));
    amounts(&limits, causes);
    for (name, request) in requests.entries() {
        named(&request, name, container_problems, causes);
        value(&request, name, causes);
        let (limit, overcommits) = (limits.value.get(name), has_overcommit(name));
        let Some(limit) = limit.filter(|limit| !limit.is_null()) else {
            if !overcommits {
                let why = "Limit must be set for non overcommitable resources";
                causes.push_with(|| limits.required(why));
            }
            continue;
        };
        let most = quantity::read(limit).ok().flatten();
        let Some((asked, (most, shown))) = amount(&request).zip(most) else {
            continue;
        };
        let relation = match overcommits {
            false if asked != most => "equal to",
            true if asked > most => "less than or equal to",
            _ => continue,
        };
        let why = format!("must be {relation} {name} limit of {shown}");
        let field = requests.path.as_str();
        causes.push_with(|| FieldCause::invalid(field, request.value, &why));
    }
    let names = || limits.entries().chain(requests.entries());
    let mut names = [names(), names()].map(|entries| entries.map(|(name, _)| name));
    let [pages, others] = &mut names;
    if pages.any(is_huge_pages) && !others.any(|name| matches!(name, "cpu" | "memory")) {
        causes.push_with(|| resources.forbidden("HugePages require cpu or memory"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_have_names_of_their_own() {
        for (name, containers, quotas) in [
            ("cpu", 0, 0),
            ("hugepages-2Mi", 0, 0),
            ("memroy", 2, 2),
            ("pods", 1, 0),
            ("storage", 1, 1),
            ("example.com/gpu", 0, 0),
            ("requests.example.com/gpu", 1, 0),
            ("a/b/c", 2, 1),
        ] {
            assert_eq!(container_problems(name).len(), containers, "{name}");
            assert_eq!(quota_problems(name).len(), quotas, "{name}");
        }
    }
}
