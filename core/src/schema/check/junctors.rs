//! `allOf`, `anyOf`, `oneOf` and `not`. Their own messages name no field.

use super::{Path, Report, Schema};
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Junctors;
use serde_json::Value;
use std::fmt::Display;

pub(super) fn check(junctors: &Junctors, value: &Value, at: &Path<'_>, report: &mut Report) {
    any_of(&junctors.any_of, value, at, report);
    one_of(&junctors.one_of, value, at, report);
    all_of(&junctors.all_of, value, at, report);
    if let Some(not) = &junctors.not
        && judge(not, value, at, report).causes.is_empty()
    {
        tell(report, at, "must not validate the schema (not)");
    }
}

fn any_of(schemas: &[Schema], value: &Value, at: &Path<'_>, report: &mut Report) {
    let Some(weighed) = weigh(schemas, value, at, report) else {
        return;
    };
    if weighed.fits == 0 {
        tell(report, at, "must validate at least one schema (anyOf)");
    }
    weighed.add(value, at, report);
}

fn one_of(schemas: &[Schema], value: &Value, at: &Path<'_>, report: &mut Report) {
    let Some(weighed) = weigh(schemas, value, at, report) else {
        return;
    };
    let found = match weighed.fits {
        1 => return weighed.add(value, at, report),
        0 => "Found none valid".to_owned(),
        several => format!("Found {several} valid alternatives"),
    };
    let why = format_args!("must validate one and only one schema (oneOf). {found}");
    tell(report, at, why);
    if weighed.fits == 0 {
        weighed.add(value, at, report);
    }
}

fn all_of(schemas: &[Schema], value: &Value, at: &Path<'_>, report: &mut Report) {
    let mut fits = 0;
    for schema in schemas {
        let one = judge(schema, value, at, report);
        fits += usize::from(one.causes.is_empty());
        add((schema, &one), value, at, report);
    }
    if fits < schemas.len() {
        let none = if fits == 0 { ". None validated" } else { "" };
        let why = format_args!("must validate all the schemas (allOf){none}");
        tell(report, at, why);
    }
}

/// The outcome of checking one value against several alternatives.
struct Weighed<'a> {
    /// How many alternatives fit.
    fits: usize,
    /// The alternative to report: the first that fits, else the one that fits best.
    best: (&'a Schema, Report),
}

impl Weighed<'_> {
    fn add(&self, value: &Value, at: &Path<'_>, report: &mut Report) {
        let (schema, judged) = &self.best;
        add((schema, judged), value, at, report);
    }
}

/// Checks a value against every alternative; returns `None` if there are no alternatives.
fn weigh<'a>(
    schemas: &'a [Schema],
    value: &Value,
    at: &Path<'_>,
    whole: &mut Report,
) -> Option<Weighed<'a>> {
    let mut fits = 0;
    let mut best: Option<(&Schema, Report)> = None;
    for schema in schemas {
        let report = judge(schema, value, at, whole);
        let is_fit = report.causes.is_empty();
        let is_better = |(_, best): &(&Schema, Report)| is_fit || report.fitting > best.fitting;
        if fits == 0 && best.as_ref().is_none_or(is_better) {
            best = Some((schema, report));
        }
        fits += usize::from(is_fit);
    }
    best.map(|best| Weighed { fits, best })
}

/// Checks a value without composing messages, since those about alternatives are mostly not
/// reported. What that is in work counts for the whole.
fn judge(schema: &Schema, value: &Value, at: &Path<'_>, whole: &mut Report) -> Report {
    let mut report = Report {
        causes: CauseList::silent(),
        work: whole.work,
        ..Report::default()
    };
    super::check(schema, value, None, at, &mut report);
    whole.work = report.work;
    whole.unmatched = whole.unmatched.take().or(report.unmatched.take());
    report
}

/// Adds the outcome of one alternative to a report, with messages if the report wants them.
fn add((schema, judged): (&Schema, &Report), value: &Value, at: &Path<'_>, report: &mut Report) {
    if judged.causes.is_empty() || report.causes.is_silent() {
        report.fitting += judged.fitting;
    } else {
        super::check(schema, value, None, at, report);
    }
}

fn tell(report: &mut Report, at: &Path<'_>, why: impl Display) {
    report.causes.push_with(|| {
        let why = format!("\"{at}\" {why}");
        FieldCause::invalid("<nil>", &Value::from(""), &why)
    });
}
