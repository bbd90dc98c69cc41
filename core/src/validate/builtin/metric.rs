//! What an autoscaler goes by. Source: `validateMetrics` of upstream's `pkg/apis/autoscaling/validation`.

use super::{Field, Subject, amounts, autoscaler};
use crate::rejection::CauseList;
use crate::validate::names;

const TYPES: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];
const TARGETS: [&str; 3] = ["Utilization", "Value", "AverageValue"];
const IDLE: &str = "must specify at least one Object or External metric to support scaling to \
     zero replicas";

/// The types of metrics, the members with their sources, and what checks these, in upstream's order.
const SOURCES: [(&str, &str, Check); 5] = [
    ("Object", "object", object),
    ("External", "external", external),
    ("Pods", "pods", pods),
    ("Resource", "resource", resource),
    ("ContainerResource", "containerResource", container),
];

type Check = fn(&Field<'_>, &mut CauseList);

pub(super) fn metrics(list: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    for metric in list.items() {
        if causes.is_full() {
            return;
        }
        check(&metric, causes);
    }
    let works_without_pods =
        |metric: Field<'_>| matches!(metric.child("type").text(), "Object" | "External");
    let least = subject.new.at("spec.minReplicas").value.as_i64();
    if least == Some(0) && !list.items().any(works_without_pods) {
        causes.push_with(|| list.forbidden(IDLE));
    }
}

/// Of several sources only the first is looked at, and each that is not of the type is told. Source:
/// `validateMetricSpec`.
fn check(metric: &Field<'_>, causes: &mut CauseList) {
    let kind = metric.child("type");
    let own = SOURCES.iter().find(|source| source.0 == kind.text());
    if kind.is_empty() {
        causes.push_with(|| kind.required("must specify a metric source type"));
    }
    if own.is_none() {
        causes.push_with(|| kind.not_supported(&TYPES));
    }
    let sources = SOURCES.iter().map(|one| (one, metric.child(one.1)));
    let present: Vec<_> = sources.filter(|(_, place)| !place.is_absent()).collect();
    if let Some(((_, _, check), place)) = present.first() {
        check(place, causes);
    }
    let Some(own) = own else {
        // Upstream says this twice.
        causes.push_with(|| kind.not_supported(&TYPES));
        return forbid_others(&present, "", causes);
    };
    let source = metric.child(own.1);
    if source.is_absent() {
        let why = "must populate information for the given metric source";
        causes.push_with(|| source.required(why));
    }
    forbid_others(&present, own.1, causes);
}

fn forbid_others(present: &[(&(&str, &str, Check), Field<'_>)], own: &str, causes: &mut CauseList) {
    if present.len() < 2 {
        return;
    }
    for (_, place) in present.iter().filter(|(source, _)| source.1 != own) {
        causes.push_with(|| place.forbidden("must populate the given metric source only"));
    }
}

fn object(source: &Field<'_>, causes: &mut CauseList) {
    autoscaler::reference(&source.child("describedObject"), causes);
    check_name(source, causes);
    let target = checked_target(source, causes);
    let (value, average) = (target.child("value"), target.child("averageValue"));
    if value.is_absent() && average.is_absent() {
        causes.push_with(|| average.required("must set either a target value or averageValue"));
    }
}

fn external(source: &Field<'_>, causes: &mut CauseList) {
    check_name(source, causes);
    let target = checked_target(source, causes);
    let (value, average) = (target.child("value"), target.child("averageValue"));
    let none = "must set either a target value for metric or a per-pod target";
    let both = "may not set both a target value for metric and a per-pod target";
    require_one_of((&average, none), (&value, both), causes);
}

/// Requires the first of two places if neither is there, and forbids the second if both are.
fn require_one_of(
    (first, none): (&Field<'_>, &str),
    (second, both): (&Field<'_>, &str),
    causes: &mut CauseList,
) {
    match (first.is_absent(), second.is_absent()) {
        (true, true) => causes.push_with(|| first.required(none)),
        (false, false) => causes.push_with(|| second.forbidden(both)),
        _ => {}
    }
}

fn pods(source: &Field<'_>, causes: &mut CauseList) {
    check_name(source, causes);
    let average = checked_target(source, causes).child("averageValue");
    if average.is_absent() {
        causes.push_with(|| average.required("must specify a positive target averageValue"));
    }
}

fn resource(source: &Field<'_>, causes: &mut CauseList) {
    let name = source.child("name");
    if name.is_empty() {
        causes.push_with(|| name.required("must specify a resource name"));
    }
    check_used(source, causes);
}

fn container(source: &Field<'_>, causes: &mut CauseList) {
    let (name, container) = (source.child("name"), source.child("container"));
    if name.is_empty() {
        causes.push_with(|| name.required("must specify a resource name"));
    } else {
        amounts::resource_of_container(&name, causes);
    }
    if container.is_empty() {
        causes.push_with(|| container.required("must specify a container"));
    } else {
        container.refuse(names::label_problems(container.text()), causes);
    }
    check_used(source, causes);
}

/// How much of a resource is to be used.
fn check_used(source: &Field<'_>, causes: &mut CauseList) {
    let target = checked_target(source, causes);
    let (share, average) = (
        target.child("averageUtilization"),
        target.child("averageValue"),
    );
    let none = "must set either a target raw value or a target utilization";
    let both = "may not set both a target raw value and a target utilization";
    require_one_of((&share, none), (&average, both), causes);
}

/// Checks the name of what is measured. Source: `validateMetricIdentifier`.
fn check_name(source: &Field<'_>, causes: &mut CauseList) {
    let name = source.at("metric.name");
    name.check_segment("must specify a metric name", causes);
}

/// Checks the target, and returns it. Source: `validateMetricTarget`.
fn checked_target<'a>(source: &Field<'a>, causes: &mut CauseList) -> Field<'a> {
    let target = source.child("target");
    let (kind, share) = (target.child("type"), target.child("averageUtilization"));
    if kind.is_empty() {
        causes.push_with(|| kind.required("must specify a metric target type"));
    }
    if !TARGETS.contains(&kind.text()) {
        let why = "must be either Utilization, Value, or AverageValue";
        causes.push_with(|| kind.invalid_as(&format!("{:?}", kind.text()), why));
    }
    for amount in ["value", "averageValue"].map(|name| target.child(name)) {
        amounts::positive(&amount, causes);
    }
    if share.value.as_i64().is_some_and(|share| share < 1) {
        causes.push_with(|| share.invalid("must be greater than 0"));
    }
    target
}
