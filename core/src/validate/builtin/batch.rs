//! Jobs and cron jobs, in upstream's order. Source: `pkg/apis/batch/validation`.

use super::{Field, IMMUTABLE, Subject, cron, pod, policies};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{formats, names};
use serde_json::{Map, Value, json};

/// A cron job appends a suffix to its name for each job, and a job appends one for each pod.
const CRON_JOB_NAME_MAX: usize = 52;
const ZONE_PART_MAX: usize = 14;
const MANAGER_MAX: usize = 63;
const PARALLEL_MAX: i64 = 100_000;
const RESTARTS: [&str; 2] = ["OnFailure", "Never"];
/// A job with `backoffLimitPerIndex` and more completions than this has lower limits, below.
const MANY: i64 = 100_000;
const PARALLEL_OF_MANY_MAX: i64 = 10_000;
const FAILED_OF_MANY_MAX: i64 = 10_000;

/// Checks the specification of a job or of a template of jobs. Source: `validateJobSpec`.
pub(super) fn job_spec(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    for member in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        spec.child(member).at_least(0, causes);
    }
    let (per_index, failed) = (
        spec.child("backoffLimitPerIndex"),
        spec.child("maxFailedIndexes"),
    );
    if !failed.is_absent() && per_index.is_absent() {
        causes.push_with(|| per_index.required("when maxFailedIndexes is specified"));
    }
    let manager = spec.child("managedBy");
    if !manager.is_absent() {
        managed(&manager, causes);
    }
    let mode = spec.child("completionMode");
    mode.one_of(&["NonIndexed", "Indexed"], causes);
    match mode.text() {
        "Indexed" => indexed(spec, causes),
        "NonIndexed" | "" => {
            for place in [&per_index, &failed] {
                if !place.is_absent() {
                    causes.push_with(|| place.invalid("requires indexed completion mode"));
                }
            }
        }
        _ => {}
    }
    policies::failure(spec, causes);
    policies::success(spec, causes);
    replacement(spec, causes);
    pod::template(&spec.child("template"), subject, causes);
    restart_policy(spec, causes);
}

/// Who manages a job is named by a path after a domain.
fn managed(manager: &Field<'_>, causes: &mut CauseList) {
    if manager.is_empty() {
        causes.push_with(|| manager.required(""));
        return;
    }
    let problems = formats::prefixed_path(manager.text()).into_iter();
    causes.extend(problems.map(|(part, why)| manager.invalid_as(&format!("{part:?}"), &why)));
    if manager.text().len() > MANAGER_MAX {
        causes.push_with(|| FieldCause::too_long(manager.path.as_str(), MANAGER_MAX));
    }
}

fn indexed(spec: &Field<'_>, causes: &mut CauseList) {
    let (completions, failed) = (spec.child("completions"), spec.child("maxFailedIndexes"));
    let (parallel, count) = (spec.child("parallelism"), completions.number());
    if completions.is_absent() {
        causes.push_with(|| completions.required("when completion mode is Indexed"));
    }
    if parallel.number() > PARALLEL_MAX {
        let why =
            format!("must be less than or equal to {PARALLEL_MAX} when completion mode is Indexed");
        causes.push_with(|| parallel.invalid(&why));
    }
    if !completions.is_absent() && failed.number() > count {
        causes.push_with(|| failed.invalid("must be less than or equal to completions"));
    }
    if failed.number() > PARALLEL_MAX {
        causes
            .push_with(|| failed.invalid(&format!("must be less than or equal to {PARALLEL_MAX}")));
    }
    if count <= MANY || spec.child("backoffLimitPerIndex").is_absent() {
        return;
    }
    if failed.is_absent() {
        let why = format!("must be specified when completions is above {MANY}");
        causes.push_with(|| failed.required(&why));
    }
    for (place, most) in [
        (parallel, PARALLEL_OF_MANY_MAX),
        (failed, FAILED_OF_MANY_MAX),
    ] {
        if place.number() > most {
            let why = format!(
                "must be less than or equal to {most} when completions are above {MANY} and used with \
                 backoff limit per index"
            );
            causes.push_with(|| place.invalid(&why));
        }
    }
}

/// With a policy for failures, pods are only replaced once they have failed. Source:
/// `validatePodReplacementPolicy`.
fn replacement(spec: &Field<'_>, causes: &mut CauseList) {
    let policy = spec.child("podReplacementPolicy");
    let known: &[&str] = if spec.child("podFailurePolicy").is_absent() {
        &["Failed", "TerminatingOrFailed"]
    } else {
        &["Failed"]
    };
    if !policy.is_absent() && !known.contains(&policy.text()) {
        causes.push_with(|| policy.not_supported(known));
    }
}

/// A job must come to an end, so `Always` is refused, and the field has no default.
fn restart_policy(spec: &Field<'_>, causes: &mut CauseList) {
    let policy = spec.at("template.spec.restartPolicy");
    let has_rules = !spec.child("podFailurePolicy").is_absent();
    match policy.text() {
        "" | "Always" => {
            causes.push_with(|| policy.required("valid values: \"OnFailure\", \"Never\""));
        }
        "OnFailure" if has_rules => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            causes.push_with(|| policy.invalid(why));
        }
        "OnFailure" | "Never" => {}
        _ => causes.push_with(|| policy.not_supported(&RESTARTS)),
    }
}

/// The pods of an indexed job are hosts whose names end with their index. Source: `ValidateJob`.
pub(super) fn host_names(job: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let (name, completions) = (job.at("metadata.name"), job.at("spec.completions").number());
    if job.at("spec.completionMode").text() != "Indexed" || completions <= 0 {
        return;
    }
    let host = format!("{}-{}", name.text(), completions - 1);
    if names::label(&host).is_err() {
        let why = format!("will not able to create pod with invalid DNS label: {host}");
        causes.push_with(|| name.invalid(&why));
    }
}

/// What an update of a job leaves as it was, with the template where upstream looks at it. Source:
/// `ValidateJobSpecUpdate`.
pub(super) fn job_update(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let Some(old) = &subject.old else {
        return;
    };
    completions(spec, subject, causes);
    let kept = |place: Field<'_>| {
        subject
            .changes_pointer(&place)
            .then(|| place.invalid(IMMUTABLE))
    };
    causes.extend(kept(spec.child("selector")));
    let (before, template) = (old.at("spec.template"), spec.child("template"));
    let is_same = if waits(old) {
        fixed(before.value) == fixed(template.value)
    } else {
        !subject.changes(&template)
    };
    if !is_same {
        causes.push_with(|| template.invalid(IMMUTABLE));
    }
    for member in [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        causes.extend(kept(spec.child(member)));
    }
}

fn completions(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let completions = spec.child("completions");
    let is_indexed = spec.child("completionMode").text() == "Indexed";
    if !subject.changes_pointer(&completions) {
        return;
    }
    if !is_indexed {
        causes.push_with(|| completions.invalid(IMMUTABLE));
    } else if !completions.is_absent() && completions.value != spec.child("parallelism").value {
        let why = "can only be modified in tandem with spec.parallelism";
        causes.push_with(|| completions.invalid(why));
    }
}

/// Whether a job is suspended and runs nothing: what its pods ask of nodes may still change, even by the
/// update that resumes it. Source: `validationOptionsForJob` of upstream's `registry/batch/job`.
fn waits(job: &Field<'_>) -> bool {
    let status = job.child("status");
    let mut conditions = status.child("conditions").items();
    let is_marked = conditions.any(|condition| {
        condition.child("type").text() == "Suspended" && condition.child("status").text() == "True"
    });
    let is_suspended = job.at("spec.suspend").is_true();
    let runs = !status.child("active").is_empty();
    is_suspended && !runs && (status.child("startTime").is_absent() || is_marked)
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

/// Source: `validateScheduleFormat`.
pub(super) fn schedule(schedule: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if schedule.is_empty() {
        return;
    }
    schedule.refuse(cron::parse(schedule.text()).err(), causes);
    let old = subject.old.as_ref().map(|old| old.at("spec.schedule"));
    let had_zone = old.is_some_and(|old| old.text().contains("TZ"));
    if !schedule.text().contains("TZ") {
        return;
    }
    if !had_zone {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        causes.push_with(|| schedule.invalid(why));
    } else if !subject.new.at("spec.timeZone").is_absent() {
        let why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        causes.push_with(|| schedule.invalid(why));
    }
}

/// Checks the form of a zone's name. Whether there is such a zone is left to the controller that needs it, but
/// for the zone of the server. Source: `validateTimeZone`.
pub(super) fn time_zone(zone: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if zone.is_absent() || subject.old.is_some() && !subject.changes(zone) {
        return;
    }
    let name = zone.text();
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    let is_part = |part: &str| {
        let fits = (1..=ZONE_PART_MAX).contains(&part.len()) && !part.starts_with('-');
        fits && !matches!(part, "." | "..") && part.bytes().all(legal)
    };
    let unknown = format!("unknown time zone {name}");
    if name.is_empty() {
        causes.push_with(|| zone.invalid("timeZone must be nil or non-empty string"));
    } else if !name.split('/').all(is_part) {
        causes.push_with(|| zone.invalid(&unknown));
    } else if name.eq_ignore_ascii_case("local") {
        let why = "timeZone must be an explicit time zone as defined in \
             https://www.iana.org/time-zones";
        causes.push_with(|| zone.invalid(why));
        if name != "Local" {
            causes.push_with(|| zone.invalid(&unknown));
        }
    }
}

/// A cron job's jobs get selectors of their own. Source: `ValidateJobTemplateSpec`.
pub(super) fn unselected(spec: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let (selector, manual) = (spec.child("selector"), spec.child("manualSelector"));
    if !selector.is_absent() {
        causes.push_with(|| selector.invalid("`selector` will be auto-generated"));
    }
    if manual.is_true() {
        let field = manual.path.as_str();
        causes.push_with(|| FieldCause::unsupported(field, &json!(true), &["nil", "false"]));
    }
}

pub(super) fn short_name(name: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if subject.old.is_none() && name.text().len() > CRON_JOB_NAME_MAX {
        causes.push_with(|| name.invalid("must be no more than 52 characters"));
    }
}
