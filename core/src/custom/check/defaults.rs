//! A default must be valid under its own schema.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go`.

use super::schema::{Place, each_child, is_true};
use crate::rejection::{CauseList, FieldCause};
use crate::schema::{self, Path};
use serde_json::Value;

pub(super) fn check(root: &Value, at: &Path<'_>, causes: &mut CauseList) {
    walk(root, true, at, causes);
}

fn walk(schema: &Value, resource: bool, at: &Path<'_>, causes: &mut CauseList) {
    if causes.is_full() {
        return;
    }
    if let Some(default) = schema.get("default").filter(|one| !one.is_null()) {
        one(schema, default, at, causes);
    }
    each_child(schema, &mut |place, child| match place {
        // The metadata of an object has its own rules.
        Place::Entry(_, "metadata" | "apiVersion" | "kind") if resource => {}
        Place::Item(..) | Place::Only("not") => {}
        Place::Only(_) | Place::Entry(..) => {
            let resource = is_true(child, "x-kubernetes-embedded-resource");
            place.within(at, |at| walk(child, resource, at, causes));
        }
    });
}

fn one(schema: &Value, default: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let field = || at.member("default").to_string();
    let schema = schema::parse(schema);
    let mut pruned = default.clone();
    schema.prune_value(&mut pruned);
    if pruned != *default {
        let why = "must not have unknown fields";
        causes.push_with(|| FieldCause::invalid(field(), default, why));
    }
    for cause in schema.validate_value(default) {
        causes.push_with(|| FieldCause {
            field: match cause.field.as_str() {
                "" | "<nil>" => field(),
                inside => format!("{}.{inside}", field()),
            },
            ..cause
        });
    }
}
