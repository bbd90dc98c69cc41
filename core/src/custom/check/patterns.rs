//! `pattern`: each different pattern is compiled once, and none if there are too many.

use super::schema::{each_child, visit};
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::{PATTERNS_MAX, Path, compile_pattern};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Each pattern of a schema, with what is wrong with it.
type Wrong<'a> = BTreeMap<&'a str, Option<String>>;

pub(super) fn check(root: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let mut wrong = Wrong::new();
    visit(root, &mut |schema| {
        wrong.insert(text(schema, "/pattern"), None);
    });
    let count = wrong.len();
    if count > PATTERNS_MAX {
        let cause = FieldCause::too_many(at.to_string(), count, PATTERNS_MAX);
        return causes.push(cause);
    }
    // A schema without a pattern has an empty one.
    for (pattern, wrong) in wrong.iter_mut().filter(|(one, _)| !one.is_empty()) {
        *wrong = compile_pattern(pattern).err();
    }
    walk(root, &wrong, at, causes);
}

fn walk(schema: &Value, wrong: &Wrong<'_>, at: &Path<'_>, causes: &mut CauseList) {
    if causes.is_full() {
        return;
    }
    let pattern = text(schema, "/pattern");
    if let Some(Some(why)) = wrong.get(pattern) {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        let field = at.member("pattern").to_string();
        causes.push(FieldCause::invalid(field, &json!(pattern), &why));
    }
    each_child(schema, &mut |place, child| {
        place.within(at, |at| walk(child, wrong, at, causes));
    });
}
