//! Evaluates the rules of a schema on an object and its old version.

use super::{Compiled, OLD_SELF, Rule, SELF, Wrong};
use crate::cel::{self, Fault, Meter};
use crate::rejection::{CauseList, FieldCause};
use crate::schema::lists::Counterparts;
use crate::schema::{Budget, ItemIdentity, Path, Schema};
use serde_json::Value;

const MESSAGE_BYTES_MAX: usize = 5 * 1024;

/// Returns the violations of the rules of an object. `old` is its previous version; `resource` says
/// whether the value has `apiVersion`, `kind` and `metadata`, and `budget` what may still be used.
pub(crate) fn causes(
    schema: &Schema,
    value: &Value,
    (old, resource): (Option<&Value>, bool),
    budget: &mut Budget,
) -> Vec<FieldCause> {
    if !schema.rules.any {
        return Vec::new();
    }
    let mut run = Run {
        causes: CauseList::default(),
        budget,
        stopped: false,
    };
    let place = Place {
        before: old,
        is_told: true,
        unchanged: false,
        resource,
    };
    run.walk(schema, value, place, &Path::Root);
    run.causes.into_causes()
}

struct Run<'a> {
    causes: CauseList,
    budget: &'a mut Budget,
    stopped: bool,
}

/// What is known about the place of a value.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The old value, if the two can be correlated. While a value is looked at, it is not null:
    /// there is nothing to compare with then.
    before: Option<&'a Value>,
    /// Whether the rules are told the old value: not inside of lists that are no maps.
    is_told: bool,
    /// Whether the nearest enclosing value that can be correlated is unchanged.
    unchanged: bool,
    /// Whether the value has `apiVersion`, `kind` and `metadata`.
    resource: bool,
}

impl<'a> Place<'a> {
    /// What rules know as `oldSelf`.
    fn old(&self) -> Option<&'a Value> {
        self.before.filter(|_| self.is_told)
    }
}

/// One rule, to be evaluated at one value.
struct Subject<'a> {
    schema: &'a Schema,
    rule: &'a Rule,
    compiled: &'a Compiled,
    value: &'a Value,
    place: Place<'a>,
}

impl Run<'_> {
    fn walk(&mut self, schema: &Schema, value: &Value, place: Place<'_>, at: &Path<'_>) {
        if value.is_null() || !schema.rules.any || self.stopped || self.causes.is_full() {
            return;
        }
        let before = place.before.filter(|before| !before.is_null());
        let unchanged = before.map_or(place.unchanged, |before| before == value);
        let place = Place {
            before,
            unchanged,
            ..place
        };
        self.own(schema, value, place, at);
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let Some(child) = schema.member(name) else {
                        continue;
                    };
                    let inside = Place {
                        before: before.and_then(|before| before.get(name)),
                        unchanged,
                        resource: child.embedded,
                        ..place
                    };
                    let at = if schema.properties.contains_key(name.as_str()) {
                        at.member(name)
                    } else {
                        at.entry(name)
                    };
                    self.walk(child, member, inside, &at);
                }
            }
            Value::Array(items) => {
                let child = schema.items.as_ref();
                let Some(child) = child.filter(|child| child.rules.any) else {
                    return;
                };
                let counterparts = Counterparts::new(&schema.identity, before);
                let is_map = matches!(schema.identity, ItemIdentity::Map(_));
                for (index, item) in items.iter().enumerate() {
                    let inside = Place {
                        before: counterparts.of(index, item),
                        is_told: place.is_told && is_map,
                        unchanged,
                        resource: child.embedded,
                    };
                    self.walk(child, item, inside, &at.item(index));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Evaluates the rules of the schema itself.
    fn own(&mut self, schema: &Schema, value: &Value, place: Place<'_>, at: &Path<'_>) {
        for (rule, compiled) in schema
            .rules
            .compiled(schema, place.resource, &self.budget.literals)
        {
            if self.stopped {
                return;
            }
            match compiled {
                Ok(compiled) => {
                    let subject = Subject {
                        schema,
                        rule,
                        compiled,
                        value,
                        place,
                    };
                    self.one(&subject, at);
                }
                Err(Wrong { why, .. }) => {
                    self.invalid(schema, at, &format!("rule compile error: {why}"));
                }
            }
        }
    }

    fn invalid(&mut self, schema: &Schema, at: &Path<'_>, why: &str) {
        let cause = || FieldCause::invalid(written(at, ""), &schema.shown_type(), why);
        self.causes.push_with(cause);
    }

    fn one(&mut self, subject: &Subject<'_>, at: &Path<'_>) {
        let Subject { schema, rule, .. } = subject;
        if subject.compiled.transition && subject.place.old().is_none() && !rule.optional_old {
            return;
        }
        let meter = &mut self.budget.meter;
        if meter.is_empty() {
            self.stopped = true;
            let why = cel::budget_exhausted(meter);
            return self.invalid(schema, at, &why);
        }
        let program = &subject.compiled.program;
        meter.begin();
        let read = subject.variables(meter);
        let answer = read.and_then(|variables| {
            let answer = program.evaluate(&variables, meter)?;
            Ok((answer, variables))
        });
        match answer {
            Ok((cel::Value::Bool(true), _)) => {}
            Ok((_, variables)) => self.refuse(subject, &variables, at),
            Err(Fault::Exhausted) if self.budget.meter.is_empty() => {
                self.stopped = true;
                let why = cel::budget_exhausted(&self.budget.meter);
                self.invalid(schema, at, &why);
            }
            Err(fault) => {
                self.stopped = fault == Fault::Exhausted;
                self.invalid(schema, at, &failed(&fault, rule));
            }
        }
    }

    fn refuse(
        &mut self,
        subject: &Subject<'_>,
        variables: &[(&'static str, cel::Value<'_>)],
        at: &Path<'_>,
    ) {
        if subject.place.unchanged && !subject.compiled.transition {
            return;
        }
        let rule = subject.rule;
        let detail = match subject.compiled.message.as_ref() {
            None => Ok(None),
            Some(message) => self.message(message, variables),
        };
        let Ok(detail) = detail else {
            self.stopped = true;
            let why = self.without_message(rule);
            return self.invalid(subject.schema, at, &why);
        };
        let detail = detail.unwrap_or_else(|| rule.detail());
        self.causes.push_with(|| {
            let field = written(at, &subject.compiled.below);
            match (&*rule.reason, subject.shown()) {
                ("FieldValueForbidden", _) => FieldCause::forbidden(field, &detail),
                ("FieldValueRequired", _) => FieldCause::required(field, &detail),
                ("FieldValueDuplicate", Some(value)) => FieldCause::duplicate(field, value),
                ("FieldValueDuplicate", None) => FieldCause {
                    reason: "FieldValueDuplicate",
                    message: "Duplicate value".into(),
                    field,
                },
                (_, Some(value)) => FieldCause::invalid(field, value, &detail),
                (_, None) => FieldCause::unreadable(field, &format!("Invalid value: {detail}")),
            }
        });
    }

    /// The error when the `messageExpression` exceeds a cost limit. Source: upstream's
    /// `evalMessageExpression`.
    fn without_message(&self, rule: &Rule) -> String {
        let meter = &self.budget.meter;
        if meter.is_empty() {
            let why = meter.exhausted();
            return format!("messageExpression evaluation failed due to {why}");
        }
        let written = &rule.message_expression;
        format!(
            "no further validation rules will be run due to call cost exceeds limit for \
             messageExpression: {written:?}"
        )
    }

    /// Evaluates the `messageExpression` of a rule. Returns `None` if the result is not one line of
    /// text of acceptable length, and an error if it exceeds a cost limit.
    fn message<'a>(
        &mut self,
        message: &'a cel::Program,
        variables: &[(&'static str, cel::Value<'a>)],
    ) -> Result<Option<String>, ()> {
        let text = match message.evaluate(variables, &mut self.budget.meter) {
            Ok(cel::Value::Text(text)) => text,
            Err(Fault::Exhausted) => return Err(()),
            Ok(_) | Err(Fault::Failed(_)) => return Ok(None),
        };
        let text = text.as_str().trim();
        let fits = !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n');
        Ok(fits.then(|| text.to_owned()))
    }
}

impl<'a> Subject<'a> {
    /// The value as a violation shows it: whole objects and lists are left out. Source: upstream's
    /// `validateExpressions`.
    fn shown(&self) -> Option<&'a Value> {
        let is_whole = ["object", "array"].contains(&&*self.schema.type_name);
        (!is_whole).then_some(self.value)
    }

    fn variables(&self, meter: &mut Meter) -> Result<[(&'static str, cel::Value<'a>); 2], Fault> {
        let mut read = |value: &'a Value| cel::Value::read(meter, value, Some(self.schema));
        let old = self.place.old().map(&mut read).transpose()?;
        let old = if self.rule.optional_old {
            cel::Value::optional(old)
        } else {
            old.unwrap_or(cel::Value::Null)
        };
        Ok([(SELF, read(self.value)?), (OLD_SELF, old)])
    }
}

fn failed(fault: &Fault, rule: &Rule) -> String {
    let name = rule.name();
    match fault {
        Fault::Exhausted => format!(
            "'{fault}': no further validation rules will be run due to call cost exceeds limit for \
             rule: {name}"
        ),
        Fault::Failed(why) if why.starts_with("no such overload") => format!(
            "'{why}': call arguments did not match a supported operator, function or macro \
             signature for rule: {name}"
        ),
        Fault::Failed(why) => format!("{why} evaluating rule: {name}"),
    }
}

/// Formats the reported field. The root without a field path is `<nil>`, as Go prints it.
fn written(at: &Path<'_>, below: &str) -> String {
    let at = at.to_string();
    match (at.as_str(), below) {
        ("", "") => "<nil>".into(),
        ("", below) => below.into(),
        (_, "") => at,
        (at, below) => format!("{at}.{below}"),
    }
}
