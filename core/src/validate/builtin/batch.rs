//! Jobs and cron jobs. Source: `pkg/apis/batch/validation`.

use super::Subject;
use crate::rejection::FieldCause;

/// A cron job appends a suffix to its name for each job, and a job appends one for each pod.
const CRON_JOB_NAME_MAX: usize = 52;
const FIELDS: usize = 5;

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

pub(super) fn cron_job(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let name = subject.new.at("metadata.name");
    if subject.old.is_none() && name.text().len() > CRON_JOB_NAME_MAX {
        causes.push(name.invalid("must be no more than 52 characters"));
    }
    let schedule = subject.new.at("spec.schedule");
    if let Err(why) = parse(schedule.text()) {
        causes.push(schedule.invalid(&why));
    }
    let selector = subject.new.at("spec.jobTemplate.spec.selector");
    if !selector.value.is_null() {
        causes.push(selector.invalid("`selector` will be auto-generated"));
    }
}

/// Checks the form of a schedule. The range of each number is left to the controller that runs it.
fn parse(schedule: &str) -> Result<(), String> {
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
