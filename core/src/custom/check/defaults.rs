//! A default must be valid under its own schema.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go`.

use super::schema::{Place, each_child, is_true};
use crate::rejection::{CauseList, FieldCause};
use crate::schema::{Budget, Path, Schema};
use serde_json::Value;

pub(super) fn check(
    root: &Value,
    schema: &Schema,
    at: &Path<'_>,
    budget: &mut Budget,
    causes: &mut CauseList,
) {
    let mut found = Found { causes, budget };
    found.walk(root, schema, true, at);
}

/// The causes so far, and what may still be used for all defaults together.
struct Found<'a> {
    causes: &'a mut CauseList,
    budget: &'a mut Budget,
}

impl Found<'_> {
    fn walk(&mut self, document: &Value, schema: &Schema, resource: bool, at: &Path<'_>) {
        // Of those for which nothing is left, one is told.
        let is_told = self.budget.meter.is_empty() && !self.causes.is_empty();
        if is_told || self.causes.is_full() {
            return;
        }
        if let Some(default) = document.get("default").filter(|one| !one.is_null()) {
            self.one(schema, default, resource, at);
        }
        each_child(document, &mut |place, child| match place {
            // The metadata of an object has its own rules.
            Place::Entry(_, "metadata" | "apiVersion" | "kind") if resource => {}
            Place::Only(_) | Place::Entry(..) | Place::Item(..) => {
                let Some(inside) = place.of(schema) else {
                    return;
                };
                let resource = is_true(child, "x-kubernetes-embedded-resource");
                place.within(at, |at| self.walk(child, inside, resource, at));
            }
        });
    }

    fn one(&mut self, schema: &Schema, default: &Value, resource: bool, at: &Path<'_>) {
        let field = || at.member("default").to_string();
        let mut pruned = default.clone();
        schema.prune_value(&mut pruned);
        if pruned != *default {
            let why = "must not have unknown fields";
            let cause = || FieldCause::invalid(field(), default, why);
            self.causes.push_with(cause);
        }
        for cause in schema.validate_default(default, resource, self.budget) {
            self.causes.push_with(|| FieldCause {
                field: match cause.field.as_str() {
                    "" | "<nil>" => field(),
                    inside => format!("{}.{inside}", field()),
                },
                ..cause
            });
        }
    }
}
