//! Jobs and cron jobs. Source: `pkg/apis/batch/validation`.

use super::{Field, IMMUTABLE, Subject};
use crate::rejection::FieldCause;
use serde_json::{Map, Value, json};

/// A cron job appends a suffix to its name for each job, and a job appends one for each pod.
const CRON_JOB_NAME_MAX: usize = 52;
const FIELDS: usize = 5;
const ZONE_PART_MAX: usize = 14;

/// A job must come to an end, so `Always` is refused, and the field has no default.
pub(super) fn restart_policy(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let Some(way) = &subject.kind.pod else {
        return;
    };
    let policy = subject.new.at(way).child("restartPolicy");
    match policy.text() {
        "" | "Always" => {
            causes.push(policy.required("valid values: \"OnFailure\", \"Never\""));
        }
        "OnFailure" | "Never" => {}
        _ => causes.push(policy.not_supported(&["OnFailure", "Never"])),
    }
}

/// Members of the spec of a job that never change, but for `completions` and `template`.
const FROZEN: [&str; 6] = [
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
];

pub(super) fn job(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let spec = subject.new.child("spec");
    let completions = spec.child("completions");
    let is_indexed = spec.child("completionMode").text() == "Indexed";
    if is_indexed && completions.value.is_null() {
        causes.push(completions.required("when completion mode is Indexed"));
    }
    let Some(old) = &subject.old else {
        return;
    };
    if subject.changes(&completions) {
        let together = completions.value == spec.child("parallelism").value;
        if !is_indexed {
            causes.push(completions.invalid(IMMUTABLE));
        } else if !together && !completions.value.is_null() {
            let why = "can only be modified in tandem with spec.parallelism";
            causes.push(completions.invalid(why));
        }
    }
    let template = spec.child("template");
    let before = old.at("spec.template");
    let is_same = if waits(old) {
        fixed(before.value) == fixed(template.value)
    } else {
        !subject.changes(&template)
    };
    if !is_same {
        causes.push(template.invalid(IMMUTABLE));
    }
    let members = FROZEN.map(|name| spec.child(name)).into_iter();
    let changed = members.filter(|place| subject.changes(place));
    causes.extend(changed.map(|place| place.invalid(IMMUTABLE)));
}

/// Whether a job is suspended and runs nothing: what its pods ask of nodes may still change, even by the
/// update that resumes it. Source: `validationOptionsForJob` of upstream's `registry/batch/job`.
fn waits(job: &Field<'_>) -> bool {
    let status = job.child("status");
    let mut conditions = status.child("conditions").items();
    let is_marked = conditions.any(|condition| {
        condition.child("type").text() == "JobSuspended"
            && condition.child("status").text() == "True"
    });
    let is_suspended = job.at("spec.suspend").value == &json!(true);
    let runs = !status.child("active").is_empty();
    is_suspended && !runs && (status.child("startTime").value.is_null() || is_marked)
}

/// The part of the template of a waiting job that does not change. Source: `validatePodTemplateUpdate`.
fn fixed(template: &Value) -> Value {
    let mut template = template.clone();
    let mut without = |way: &str, free: &[&str]| {
        let place = template.pointer_mut(way).and_then(Value::as_object_mut);
        if let Some(members) = place {
            members.retain(|name, value| !value.is_null() && !free.contains(&name.as_str()));
        }
    };
    without("/metadata", &["labels", "annotations"]);
    let asks = ["nodeSelector", "tolerations", "schedulingGates"];
    without("/spec", &asks);
    without("/spec/affinity", &["nodeAffinity"]);
    for list in ["containers", "initContainers"] {
        let way = format!("/spec/{list}");
        let containers = template.pointer_mut(&way).and_then(Value::as_array_mut);
        let members = containers.into_iter().flatten();
        for container in members.filter_map(Value::as_object_mut) {
            container.remove("resources");
        }
    }
    drop_empty(&mut template, "metadata");
    if let Some(spec) = template.get_mut("spec") {
        drop_empty(spec, "affinity");
    }
    template
}

fn drop_empty(value: &mut Value, name: &str) {
    let is_empty = |member: &Value| member.as_object().is_some_and(Map::is_empty);
    if value.get(name).is_some_and(is_empty)
        && let Some(members) = value.as_object_mut()
    {
        members.remove(name);
    }
}

pub(super) fn cron_job(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let name = subject.new.at("metadata.name");
    if subject.old.is_none() && name.text().len() > CRON_JOB_NAME_MAX {
        causes.push(name.invalid("must be no more than 52 characters"));
    }
    let schedule = subject.new.at("spec.schedule");
    if let Err(why) = parse(schedule.text()) {
        causes.push(schedule.invalid(&why));
    }
    let old = subject.old.as_ref().map(|old| old.at("spec.schedule"));
    let had_zone = old.is_some_and(|old| old.text().contains("TZ"));
    if schedule.text().contains("TZ") && !had_zone {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        causes.push(schedule.invalid(why));
    }
    let zone = subject.new.at("spec.timeZone");
    if subject.old.is_none() || subject.changes(&zone) {
        time_zone(&zone, causes);
    }
    let selector = subject.new.at("spec.jobTemplate.spec.selector");
    if !selector.value.is_null() {
        causes.push(selector.invalid("`selector` will be auto-generated"));
    }
}

/// Checks the form of a zone's name. Whether there is such a zone is left to the controller that needs it.
fn time_zone(zone: &Field<'_>, causes: &mut Vec<FieldCause>) {
    if zone.value.is_null() {
        return;
    }
    let name = zone.text();
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    let is_part = |part: &str| {
        let fits = (1..=ZONE_PART_MAX).contains(&part.len()) && !part.starts_with('-');
        fits && !matches!(part, "." | "..") && part.bytes().all(legal)
    };
    if name.is_empty() {
        causes.push(zone.invalid("timeZone must be nil or non-empty string"));
    } else if !name.split('/').all(is_part) {
        causes.push(zone.invalid(&format!("unknown time zone {name}")));
    } else if name.eq_ignore_ascii_case("local") {
        let why = "timeZone must be an explicit time zone as defined in \
             https://www.iana.org/time-zones";
        causes.push(zone.invalid(why));
    }
}

/// Checks the form of a schedule. The range of each number is left to the controller that runs it.
fn parse(schedule: &str) -> Result<(), String> {
    let is_zone = |word: &str| word.starts_with("TZ=") || word.starts_with("CRON_TZ=");
    let (zone, rest) = schedule.split_once(' ').unwrap_or(("", schedule));
    let schedule = if is_zone(zone) { rest.trim() } else { schedule };
    if schedule.is_empty() || schedule.starts_with('@') {
        return Ok(());
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS {
        let count = fields.len();
        let listed = fields.join(" ");
        return Err(format!(
            "expected exactly {FIELDS} fields, found {count}: [{listed}]"
        ));
    }
    let legal = |one: char| one.is_ascii_alphanumeric() || "*/,-?".contains(one);
    match fields.iter().find(|field| !field.chars().all(legal)) {
        Some(field) => Err(format!("failed to parse int from {field}")),
        None => Ok(()),
    }
}
