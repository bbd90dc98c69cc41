//! Compiles the rules in `x-kubernetes-validations` against their schema. This is done only if
//! nothing else is wrong with the schema. Source: `ValidateCustomResourceDefinitionOpenAPISchema`.

use super::schema::{each_child, is_true};
use crate::cel::Allowance;
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::rules::Checked;
use crate::schema::{PATTERNS_MAX, Path, Schema, WEIGHT_MAX};
use serde_json::Value;

const RULES: &str = "x-kubernetes-validations";

pub(super) fn check(
    root: &Value,
    schema: &Schema,
    at: &Path<'_>,
    patterns: &Allowance,
    causes: &mut CauseList,
) {
    if patterns.is_over() {
        return;
    }
    let place = Inside {
        resource: true,
        uncorrelatable: None,
    };
    let mut found = Found { causes, patterns };
    walk(root, schema, &place, at, &mut found);
    if patterns.is_over() {
        let too_many = FieldCause::too_many(at.to_string(), PATTERNS_MAX + 1, PATTERNS_MAX);
        let told = &too_many.message;
        causes.push(FieldCause {
            message: format!(
                "{told} (regular expressions in rules, of which a large one counts as up to {WEIGHT_MAX})"
            ),
            ..too_many
        });
    }
}

/// The causes so far, and the allowance of regular expressions. Once a rule exceeds the allowance,
/// nothing is reported about it and the rules after it.
struct Found<'a> {
    causes: &'a mut CauseList,
    patterns: &'a Allowance,
}

/// What the place of a schema means for its rules.
struct Inside<'a> {
    /// Whether the value there is an object with `apiVersion`, `kind` and `metadata`.
    resource: bool,
    /// The nearest enclosing schema whose old and new values cannot be correlated.
    uncorrelatable: Option<&'a Path<'a>>,
}

fn walk(
    document: &Value,
    schema: &Schema,
    inside: &Inside<'_>,
    at: &Path<'_>,
    found: &mut Found<'_>,
) {
    own(document, schema, inside, at, found);
    if found.patterns.is_over() || found.causes.is_full() {
        return;
    }
    let list = text(document, "/x-kubernetes-list-type");
    let correlates = text(document, "/type") != "array" || list == "map";
    let own = (!correlates).then_some(at);
    let uncorrelatable = inside.uncorrelatable.or(own);
    each_child(document, &mut |place, child| {
        let Some(parsed) = place.of(schema) else {
            return;
        };
        let inside = Inside {
            resource: is_true(child, "x-kubernetes-embedded-resource"),
            uncorrelatable,
        };
        place.within(at, |at| walk(child, parsed, &inside, at, found));
    });
}

fn own(
    document: &Value,
    schema: &Schema,
    inside: &Inside<'_>,
    at: &Path<'_>,
    found: &mut Found<'_>,
) {
    let rules = document.get(RULES).and_then(Value::as_array);
    let checked = schema.rules_checked(inside.resource, found.patterns);
    if found.patterns.is_over() {
        return;
    }
    let at = at.member(RULES);
    for (index, (rule, checked)) in rules.into_iter().flatten().zip(checked).enumerate() {
        if found.causes.is_full() {
            return;
        }
        let at = at.item(index);
        let field = |member: &str| at.member(member).to_string();
        let causes = &mut *found.causes;
        match (checked, inside.uncorrelatable) {
            (Ok(Checked { transition: true }), Some(within)) => {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within \
                     {within}"
                );
                let value = text(rule, "/rule").into();
                causes.push(FieldCause::invalid(field("rule"), &value, &why));
            }
            (Ok(Checked { transition: false }), _) => {
                let set = rule.get("optionalOldSelf").filter(|set| !set.is_null());
                let why = "may not be set if oldSelf is not used in rule";
                let field = || field("optionalOldSelf");
                causes.extend(set.map(|value| FieldCause::invalid(field(), value, why)));
            }
            (Ok(Checked { transition: true }), None) => {}
            (Err(wrong), _) => {
                let value = match wrong.member {
                    "fieldPath" => rule.get("fieldPath"),
                    _ => Some(rule),
                };
                let value = value.unwrap_or(&Value::Null);
                let cause = FieldCause::invalid(field(wrong.member), value, &wrong.why);
                causes.push(cause);
            }
        }
    }
}
