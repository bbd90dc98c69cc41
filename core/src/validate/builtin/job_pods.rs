//! Which pods a job selects: its own, and no others. Source: `validateGeneratedSelector` and `ValidateJobSpec` of
//! upstream's `pkg/apis/batch/validation`, which are called for updates, too.

use super::selector::{MISMATCH, label_selector, selects};
use super::{Field, Subject};
use crate::rejection::{CauseList, FieldCause};
use crate::validate;
use serde_json::{Map, Value};

/// The labels of a job's pods, and what of the job they hold.
pub(crate) const JOB_LABELS: [(&str, &str); 4] = [
    ("controller-uid", "/metadata/uid"),
    ("job-name", "/metadata/name"),
    ("batch.kubernetes.io/controller-uid", "/metadata/uid"),
    ("batch.kubernetes.io/job-name", "/metadata/name"),
];
/// How many of them have no prefix. Jobs of old have no others.
const UNPREFIXED: usize = 2;
const POD_LABELS: &str = "spec.template.metadata.labels";

/// Everything that is wrong with how a new job selects its pods, as its strategy labelled them.
pub(crate) fn of_new_job(job: &Value, causes: &mut CauseList) {
    let job = Field::root(job);
    generated(&job, JOB_LABELS.len(), causes);
    let labels = job.at(POD_LABELS).value;
    validate::labels(labels, "spec.template.labels", causes);
    label_selector(&job.at("spec.selector"), causes);
    selected(&job, causes);
}

/// Whether an update changes which pods a job selects. What does not change may stay as an earlier release stored it.
pub(super) fn change(subject: &Subject<'_>) -> bool {
    let Some(old) = &subject.old else {
        return false;
    };
    let is_manual = |job: &Field<'_>| job.at("spec.manualSelector").is_true();
    let [selector, labels] = ["spec.selector", POD_LABELS].map(|way| subject.new.at(way));
    subject.changes_pointer(&selector)
        || subject.changes(&labels)
        || is_manual(old) != is_manual(&subject.new)
}

/// Checks what an update makes of a generated selector.
pub(super) fn generated_update(job: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let Some(old) = subject.old.as_ref().filter(|_| change(subject)) else {
        return;
    };
    let stored = old.at(POD_LABELS).value;
    let mut prefixed = JOB_LABELS.iter().skip(UNPREFIXED);
    let required = if prefixed.all(|(label, _)| stored.get(label).is_some()) {
        JOB_LABELS.len()
    } else {
        UNPREFIXED
    };
    generated(job, required, causes);
}

/// Checks what an update makes of any selector. The labels are checked with the template.
pub(super) fn selected_update(job: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if !change(subject) {
        return;
    }
    let selector = job.at("spec.selector");
    if subject.changes_pointer(&selector) {
        label_selector(&selector, causes);
    }
    selected(job, causes);
}

/// A generated selector selects what the job labels, and what it labels is the job's.
fn generated(job: &Field<'_>, required: usize, causes: &mut CauseList) {
    let (selector, labels) = (job.at("spec.selector"), job.at(POD_LABELS));
    if job.at("spec.manualSelector").is_true() || selector.is_absent() {
        return;
    }
    let mut own = Map::new();
    for (label, place) in JOB_LABELS.iter().take(required) {
        let value = job.value.pointer(place).unwrap_or(&Value::Null);
        let field = format!("{POD_LABELS}[{label}]");
        let why = || format!("must be '{}'", value.as_str().unwrap_or_default());
        match labels.value.get(label) {
            None => causes.push_with(|| FieldCause::required(field, &why())),
            Some(found) if found != value => {
                causes.push_with(|| FieldCause::invalid(field, labels.value, &why()));
            }
            Some(_) => {}
        }
        own.insert((*label).to_owned(), value.clone());
    }
    if is_usable(&selector) && !selects(selector.value, &own.into()) {
        causes.push_with(|| selector.invalid("`selector` not auto-generated"));
    }
}

/// Whoever chose the selector, it matches the pods.
fn selected(job: &Field<'_>, causes: &mut CauseList) {
    let (selector, labels) = (job.at("spec.selector"), job.at(POD_LABELS));
    if selector.is_absent() {
        causes.push_with(|| selector.required(""));
    }
    if is_usable(&selector) && !selects(selector.value, labels.value) {
        causes.push_with(|| labels.invalid(MISMATCH));
    }
}

/// Whether a selector has the form of one; what is wrong with the form is reported apart.
fn is_usable(selector: &Field<'_>) -> bool {
    let mut causes = CauseList::silent();
    label_selector(selector, &mut causes);
    causes.is_empty()
}
