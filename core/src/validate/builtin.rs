//! Validation of built-in kinds beyond the types of their fields: the part of upstream's
//! `pkg/apis/*/validation` that users meet. Most rules are rows of a table; rules about how several
//! fields relate are functions, which rows name.

mod aggregation;
mod ambiguous;
mod amounts;
mod autoscaler;
mod balancer;
mod batch;
mod checks;
mod classes;
mod cluster;
mod conditions;
mod config;
mod container;
mod cron;
mod doubts;
mod endpoints;
mod event;
mod gated;
mod job_pods;
mod limits;
mod metric;
mod mounts;
mod network;
mod placement;
mod pod;
mod pod_update;
mod policies;
mod probe;
mod projected;
mod quota;
mod rbac;
mod rule;
mod selector;
mod service;
mod service_address;
mod service_ports;
mod shown;
mod slices;
mod status;
mod storage;
mod table;
#[cfg(test)]
mod tests;
mod variables;
mod volume;
mod volumes;
mod webhook;
mod workload;

pub(crate) use doubts::warnings;
pub(crate) use job_pods::{JOB_LABELS, of_new_job};
pub(crate) use webhook::{REVIEW_VERSIONS, webhook_client};

use super::field::Field;
use crate::document::equal_except;
use crate::kind::Kind;
use crate::rejection::{CauseList, FieldCause};
use serde_json::Value;

/// An object as it is about to be stored, and its old version if there is one.
pub(super) struct Subject<'a> {
    pub(super) kind: &'a Kind,
    pub(super) resource: &'a str,
    pub(super) new: Field<'a>,
    /// The old version, decoded and defaulted like the new one.
    pub(super) old: Option<Field<'a>>,
}

impl<'a> Subject<'a> {
    fn new(kind: &'a Kind, new: &'a Value, old: Option<&'a Value>) -> Self {
        Self {
            kind,
            resource: &kind.resource.resource,
            new: Field::root(new),
            old: old.map(Field::root),
        }
    }

    /// Whether an update changes the value at this place, which no list leads to. An empty list is as good as none,
    /// and so are 0, `false` and an empty text. An empty structure is not: there is a pointer to it. Of empty maps the decoder
    /// has left none. Source: apimachinery's `Semantic.DeepEqual`.
    fn changes(&self, place: &Field<'_>) -> bool {
        let is_nothing = |place: &Field<'_>| place.is_empty() && !place.value.is_object();
        let differs = |old: &Field<'_>| {
            let before = old.at(&place.path);
            before.value != place.value && !(is_nothing(&before) && is_nothing(place))
        };
        self.old.as_ref().is_some_and(differs)
    }

    /// The same of a place that is a pointer in Go: there, 0 and an empty text are not as good as none either.
    fn changes_pointer(&self, place: &Field<'_>) -> bool {
        let differs = |old: &Field<'_>| old.at(&place.path).value != place.value;
        self.old.as_ref().is_some_and(differs)
    }
}

/// What is said of a field that an update may not change.
const IMMUTABLE: &str = "field is immutable";

/// Returns everything that is wrong with an object of a built-in kind. Of an update that changes only
/// metadata and status no more than the status is checked: the rest was accepted before.
pub(crate) fn object(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<FieldCause> {
    if kind.is_custom() {
        return Vec::new();
    }
    let subject = Subject::new(kind, new, old);
    let is_same = |old: &Value| equal_except(&["metadata", "status"], old, new);
    if old.is_some_and(is_same) {
        return causes_of_status(&subject);
    }
    causes_of(&subject)
}

fn causes_of_status(subject: &Subject<'_>) -> Vec<FieldCause> {
    let mut causes = CauseList::default();
    match subject.resource {
        "pods" => pod_update::status(subject, &mut causes),
        "services" => balancer::of_service(subject, &mut causes),
        "ingresses" => balancer::of_ingress(subject, &mut causes),
        _ => status::check(subject, &mut causes),
    }
    causes.into_causes()
}

fn causes_of(subject: &Subject<'_>) -> Vec<FieldCause> {
    let mut causes = CauseList::default();
    for rule in table::rules(subject.resource) {
        rule.check(subject, &mut causes);
    }
    if let Some(pod) = &subject.kind.pod {
        ambiguous::of_pods(pod, subject, &mut causes);
    }
    causes.into_causes()
}
