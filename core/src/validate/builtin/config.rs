//! ConfigMaps and Secrets: keys, size, the keys that types of secrets require, and immutability.
//! Source: `ValidateConfigMap`, `ValidateSecret` and their updates.

use super::{Field, Subject};
use crate::rejection::FieldCause;
use serde_json::Value;

const BYTES_MAX: usize = 1_048_576;
const KEY_BYTES_MAX: usize = 253;
const FROZEN: &str = "field is immutable when `immutable` is set";
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
     (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
     '[-._a-zA-Z0-9]+')";

/// Types of secrets and the keys that they require; for the last type, one of the two is enough.
const SECRET_KEYS: &[(&str, &[&str])] = &[
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
];

pub(super) fn check(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let mut bytes = 0;
    let document = subject.new.value;
    let entries = |member| document.get(member).and_then(Value::as_object);
    for member in ["data", "binaryData"] {
        for (key, value) in entries(member).into_iter().flatten() {
            bytes += value.as_str().unwrap_or_default().len();
            check_key(key, member, causes);
        }
    }
    let data = entries("data").into_iter().flatten();
    for (key, _) in
        data.filter(|(key, _)| entries("binaryData").is_some_and(|map| map.contains_key(*key)))
    {
        let why = "duplicate of key present in binaryData";
        let path = format!("data[{key}]");
        causes.push(FieldCause::invalid(path, &key.as_str().into(), why));
    }
    // The data of a secret is in base64, which is a third longer than what it encodes.
    let limit = if subject.resource == "secrets" {
        BYTES_MAX.div_ceil(3) * 4
    } else {
        BYTES_MAX
    };
    if bytes > limit {
        // Upstream's path has no name here, and an empty path is written like an index.
        causes.push(FieldCause::too_long("[]", BYTES_MAX));
    }
    if let Some(old) = &subject.old {
        frozen(old, &subject.new, causes);
    }
}

fn check_key(key: &str, member: &str, causes: &mut Vec<FieldCause>) {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let mut refuse = |why: &str| {
        let path = format!("{member}[{key}]");
        causes.push(FieldCause::invalid(path, &key.into(), why));
    };
    if key.len() > KEY_BYTES_MAX {
        refuse("must be no more than 253 characters");
    }
    if key.is_empty() || !key.bytes().all(legal) {
        refuse(KEY);
    }
    match key {
        "." | ".." => refuse(&format!("must not be '{key}'")),
        _ if key.starts_with("..") => refuse("must not start with '..'"),
        _ => {}
    }
}

fn frozen(old: &Field<'_>, new: &Field<'_>, causes: &mut Vec<FieldCause>) {
    let is_set = |place: &Field<'_>| place.child("immutable").value == &Value::Bool(true);
    if !is_set(old) {
        return;
    }
    if !is_set(new) {
        causes.push(new.child("immutable").forbidden(FROZEN));
    }
    for member in ["data", "binaryData"] {
        let (before, after) = (old.child(member), new.child(member));
        if before.value != after.value && !(before.is_empty() && after.is_empty()) {
            causes.push(after.forbidden(FROZEN));
        }
    }
}

pub(super) fn secret(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let data = subject.new.child("data");
    let kind = subject.new.child("type").text();
    let needed = SECRET_KEYS.iter().find(|row| row.0 == kind);
    for key in needed.map_or(&[][..], |row| row.1) {
        if data.value.get(key).is_none() {
            causes.push(FieldCause::required(format!("data[{key}]"), ""));
        }
    }
    let has = |key: &str| data.value.get(key).is_some();
    if kind == "kubernetes.io/basic-auth" && !has("username") && !has("password") {
        causes.push(FieldCause::required("data[%s]username", ""));
        causes.push(FieldCause::required("data[%s]password", ""));
    }
    let account = "kubernetes.io/service-account.name";
    let annotations = subject.new.at("metadata.annotations");
    let named = annotations.value.get(account).and_then(Value::as_str);
    if kind == "kubernetes.io/service-account-token" && named.unwrap_or_default().is_empty() {
        let field = format!("metadata.annotations[{account}]");
        causes.push(FieldCause::required(field, ""));
    }
}
