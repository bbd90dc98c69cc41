//! The conditions of a status whose type is that of apimachinery. Source: `ValidateConditions` of
//! `pkg/apis/meta/v1/validation`.

use super::Field;
use crate::rejection::{CauseList, FieldCause};
use crate::validate::qualified_name;
use serde_json::json;
use std::collections::BTreeSet;

const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const REASON_BYTES_MAX: usize = 1 << 10;
const MESSAGE_BYTES_MAX: usize = 32 << 10;
const REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string \
     of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or \
     'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
     '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

pub(super) fn all(list: &Field<'_>, causes: &mut CauseList) {
    let mut known = BTreeSet::new();
    for condition in list.items() {
        if causes.is_full() {
            return;
        }
        let kind = condition.child("type");
        if !known.insert(kind.text()) {
            causes.push_with(|| kind.duplicate());
        }
        one(&condition, causes);
    }
}

fn one(condition: &Field<'_>, causes: &mut CauseList) {
    let [kind, status, reason, message] =
        ["type", "status", "reason", "message"].map(|member| condition.child(member));
    for why in qualified_name(kind.text()) {
        causes.push_with(|| kind.invalid_as(&json!(kind.text()).to_string(), &why));
    }
    if !STATUSES.contains(&status.text()) {
        causes.push_with(|| status.not_supported(&STATUSES));
    }
    let generation = condition.child("observedGeneration");
    if generation.number() < 0 {
        causes.push_with(|| generation.invalid("must be greater than or equal to zero"));
    }
    let since = condition.child("lastTransitionTime");
    if since.is_empty() {
        causes.push_with(|| since.required("must be set"));
    }
    if reason.is_empty() {
        causes.push_with(|| reason.required("must be set"));
    } else if !is_reason(reason.text()) {
        causes.push_with(|| reason.invalid(REASON));
    }
    for (text, most) in [(&reason, REASON_BYTES_MAX), (&message, MESSAGE_BYTES_MAX)] {
        if text.text().len() > most {
            causes.push_with(|| FieldCause::too_long(text.path.as_str(), most));
        }
    }
}

fn is_reason(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (first, last) = (text.bytes().next(), text.bytes().last());
    first.is_some_and(|byte| byte.is_ascii_alphabetic())
        && last.is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b',' | b':'))
}
