//! `x-kubernetes-validations`: the checks of a rule that do not need its expression to be parsed.

use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use serde_json::{Value, json};

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

pub(super) fn check(schema: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let rules = schema.get("x-kubernetes-validations");
    let rules = rules.and_then(Value::as_array).into_iter().flatten();
    let at = at.member("x-kubernetes-validations");
    for (index, rule) in rules.enumerate() {
        if causes.is_full() {
            return;
        }
        one(rule, &at.item(index), causes);
    }
}

fn one(rule: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let field = |name: &str| at.member(name).to_string();
    let [expression, message, message_expression, path, reason] = [
        "/rule",
        "/message",
        "/messageExpression",
        "/fieldPath",
        "/reason",
    ]
    .map(|pointer| text(rule, pointer));
    let blank = |text: &str| !text.is_empty() && text.trim().is_empty();
    let broken = |text: &str| text.trim().contains(['\n', '\r']);
    let mut invalid = |name: &str, value: &str, why: &str| {
        causes.push(FieldCause::invalid(field(name), &json!(value), why));
    };
    if !expression.trim().is_empty() {
        if blank(message) {
            invalid("message", message, "message must be non-empty if specified");
        } else if broken(message) {
            invalid("message", message, "message must not contain line breaks");
        }
    }
    if blank(path) {
        invalid(
            "fieldPath",
            path,
            "fieldPath must be non-empty if specified",
        );
    }
    if path.contains(['\n', '\r']) {
        invalid("fieldPath", path, "fieldPath must not contain line breaks");
    }
    let mut required = |name: &str, why: &str| {
        causes.push(FieldCause::required(field(name), why));
    };
    if expression.trim().is_empty() {
        required("rule", "rule is not specified");
    } else if broken(expression) && message.trim().is_empty() {
        required(
            "message",
            "message must be specified if rule contains line breaks",
        );
    }
    if blank(message_expression) {
        let why = "messageExpression must be non-empty if specified";
        required("messageExpression", why);
    }
    if !reason.is_empty() && !REASONS.contains(&reason) {
        causes.push(FieldCause::not_supported(field("reason"), reason, &REASONS));
    }
}
