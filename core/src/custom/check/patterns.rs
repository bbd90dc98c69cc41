//! `pattern`: each different pattern is compiled once, and none of a version that has too many.

use super::schema::{each_child, visit};
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::{PATTERNS_MAX, Path, Patterns};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(super) fn check(root: &Value, at: &Path<'_>, known: &mut Patterns, causes: &mut CauseList) {
    let mut found = BTreeSet::new();
    visit(root, &mut |schema| {
        found.insert(text(schema, "/pattern"));
    });
    // A schema without a pattern has an empty one.
    found.remove("");
    let count = known.count_with(&found);
    if count > PATTERNS_MAX {
        let cause = FieldCause::too_many(at.to_string(), count, PATTERNS_MAX);
        return causes.push(cause);
    }
    walk(root, known, at, causes);
}

fn walk(schema: &Value, known: &mut Patterns, at: &Path<'_>, causes: &mut CauseList) {
    if causes.is_full() {
        return;
    }
    let pattern = text(schema, "/pattern");
    if let Some(why) = known.wrong(pattern) {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        let field = at.member("pattern").to_string();
        causes.push(FieldCause::invalid(field, &json!(pattern), &why));
    }
    each_child(schema, &mut |place, child| {
        place.within(at, |at| walk(child, known, at, causes));
    });
}
