//! `allOf`, `anyOf`, `oneOf` and `not`. Their own messages name no field.

use super::{Path, Report, Schema};
use crate::rejection::FieldCause;
use crate::schema::Junctors;
use serde_json::Value;

pub(super) fn check(junctors: &Junctors, value: &Value, at: &Path<'_>, report: &mut Report) {
    any_of(&junctors.any_of, value, at, report);
    one_of(&junctors.one_of, value, at, report);
    all_of(&junctors.all_of, value, at, report);
    if let Some(not) = &junctors.not
        && alone(not, value, at).causes.is_empty()
    {
        tell(report, at, "must not validate the schema (not)");
    }
}

fn any_of(schemas: &[Schema], value: &Value, at: &Path<'_>, report: &mut Report) {
    if schemas.is_empty() {
        return;
    }
    let (fitting, best) = weigh(schemas, value, at);
    if fitting == 0 {
        tell(report, at, "must validate at least one schema (anyOf)");
    }
    report.merge(best);
}

fn one_of(schemas: &[Schema], value: &Value, at: &Path<'_>, report: &mut Report) {
    if schemas.is_empty() {
        return;
    }
    let (fitting, best) = weigh(schemas, value, at);
    let found = match fitting {
        1 => return report.merge(best),
        0 => "Found none valid".to_owned(),
        several => format!("Found {several} valid alternatives"),
    };
    let why = format!("must validate one and only one schema (oneOf). {found}");
    tell(report, at, &why);
    if fitting == 0 {
        report.merge(best);
    }
}

fn all_of(schemas: &[Schema], value: &Value, at: &Path<'_>, report: &mut Report) {
    let mut fitting = 0;
    for schema in schemas {
        let one = alone(schema, value, at);
        fitting += usize::from(one.causes.is_empty());
        report.merge(one);
    }
    if fitting < schemas.len() {
        let none = if fitting == 0 { ". None validated" } else { "" };
        tell(
            report,
            at,
            &format!("must validate all the schemas (allOf){none}"),
        );
    }
}

/// How many schemas fit, and the report to tell: of the first that fits, else of the one that
/// fits most.
fn weigh(schemas: &[Schema], value: &Value, at: &Path<'_>) -> (usize, Report) {
    let mut fitting = 0;
    let mut best: Option<Report> = None;
    for schema in schemas {
        let report = alone(schema, value, at);
        let fits = report.causes.is_empty();
        let better = |best: &Report| fits || report.fitting > best.fitting;
        if fitting == 0 && best.as_ref().is_none_or(better) {
            best = Some(report);
        }
        fitting += usize::from(fits);
    }
    (fitting, best.unwrap_or_default())
}

fn alone(schema: &Schema, value: &Value, at: &Path<'_>) -> Report {
    let mut report = Report::default();
    super::check(schema, value, None, at, &mut report);
    report
}

fn tell(report: &mut Report, at: &Path<'_>, why: &str) {
    let why = format!("\"{at}\" {why}");
    report
        .causes
        .push(FieldCause::invalid("<nil>", &Value::from(""), &why));
}
