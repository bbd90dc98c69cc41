//! Label selectors: their form, and whether they match. Source: `ValidateLabelSelector` and
//! `LabelSelectorAsSelector` of apimachinery's `apis/meta/v1`.

use super::Field;
use crate::rejection::CauseList;
use crate::validate::{label_value, labels, qualified_name};
use serde_json::Value;

/// The error for a pod template whose labels the selector does not match.
pub(super) const MISMATCH: &str = "`selector` does not match template `labels`";

/// Whether an operator compares with sets of values, or asks for presence; checks how many values it has.
pub(super) fn is_of_sets(operator: &Field<'_>, values: &Field<'_>, causes: &mut CauseList) -> bool {
    match operator.text() {
        "In" | "NotIn" if values.is_empty() => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            causes.push_with(|| values.required(why));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            causes.push_with(|| values.forbidden(why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => return false,
    }
    true
}

/// Checks a label selector. What is wrong with it also keeps it from being used.
pub(super) fn label_selector(selector: &Field<'_>, causes: &mut CauseList) {
    let equal = selector.child("matchLabels");
    labels(equal.value, &equal.path, causes);
    for requirement in selector.child("matchExpressions").items() {
        let (key, operator) = (requirement.child("key"), requirement.child("operator"));
        let values = requirement.child("values");
        if !is_of_sets(&operator, &values, causes) {
            let why = "not a valid selector operator";
            causes.push_with(|| operator.invalid_as(&format!("{:?}", operator.text()), why));
        }
        for why in qualified_name(key.text()) {
            causes.push_with(|| key.invalid_as(&format!("{:?}", key.text()), &why));
        }
        for value in values.items() {
            value.refuse(label_value(value.text()), causes);
        }
    }
}

/// Whether a selector has no requirements.
pub(super) fn is_everything(selector: &Field<'_>) -> bool {
    selector.child("matchLabels").is_empty() && selector.child("matchExpressions").is_empty()
}

/// Whether a selector matches these labels; an absent selector matches nothing.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    if selector.is_null() {
        return false;
    }
    let root = Field::root(selector);
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let equal = root
        .child("matchLabels")
        .entries()
        .all(|(key, wanted)| label(key) == Some(wanted.text()));
    let expressed = root.child("matchExpressions").items().all(|requirement| {
        let found = label(requirement.child("key").text());
        let values = requirement.child("values");
        let listed = found.is_some_and(|found| values.items().any(|value| value.text() == found));
        match requirement.child("operator").text() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    });
    equal && expressed
}
