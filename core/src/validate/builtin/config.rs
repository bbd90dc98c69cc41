//! ConfigMaps and Secrets: keys, size, the keys that types of secrets require, and immutability.
//! Source: `ValidateConfigMap`, `ValidateSecret` and their updates.

use super::{Field, Subject};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::formats;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde::de::IgnoredAny;
use serde_json::Value;

const BYTES_MAX: usize = 1_048_576;
/// Shown in place of what is secret.
const REDACTED: &str = "<secret contents redacted>";
const FROZEN: &str = "field is immutable when `immutable` is set";

/// Types of secrets and the keys that they require; for the last type, one of the two is enough.
const SECRET_KEYS: &[(&str, &[&str])] = &[
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
];

pub(super) fn check(document: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if let Some(old) = &subject.old {
        frozen(old, document, causes);
    }
    let (data, binary) = (document.child("data"), document.child("binaryData"));
    let is_secret = subject.resource == "secrets";
    let mut bytes = 0;
    for (key, place) in data.entries() {
        bytes += if is_secret {
            decoded(place.text())
        } else {
            place.text().len()
        };
        check_key(key, &place, causes);
        if binary.value.get(key).is_some() {
            let why = "duplicate of key present in binaryData";
            causes.push_with(|| FieldCause::invalid(place.path, &key.into(), why));
        }
    }
    for (key, place) in binary.entries() {
        bytes += decoded(place.text());
        check_key(key, &place, causes);
    }
    if bytes > BYTES_MAX {
        // Upstream's path of a configuration has no name, and an empty path is written like an index.
        let field = if is_secret { "data" } else { "[]" };
        causes.push_with(|| FieldCause::too_long(field, BYTES_MAX));
    }
}

/// How many bytes a text in base64 stands for.
fn decoded(text: &str) -> usize {
    let padding = text.len() - text.trim_end_matches('=').len();
    (text.len() / 4 * 3).saturating_sub(padding)
}

fn check_key(key: &str, place: &Field<'_>, causes: &mut CauseList) {
    for why in formats::config_key(key) {
        causes.push_with(|| FieldCause::invalid(place.path.as_str(), &key.into(), &why));
    }
}

fn frozen(old: &Field<'_>, new: &Field<'_>, causes: &mut CauseList) {
    let is_set = |place: &Field<'_>| place.child("immutable").is_true();
    if !is_set(old) {
        return;
    }
    if !is_set(new) {
        causes.push_with(|| new.child("immutable").forbidden(FROZEN));
    }
    for member in ["data", "binaryData"] {
        let (before, after) = (old.child(member), new.child(member));
        if before.value != after.value && !(before.is_empty() && after.is_empty()) {
            causes.push_with(|| after.forbidden(FROZEN));
        }
    }
}

/// Why a value in base64 is no JSON object. Go takes null for one. Nothing is decoded, so texts may hold what Go
/// replaces.
fn no_object(value: &Field<'_>) -> Option<String> {
    let text = value.text().replace(['\r', '\n'], "");
    let bytes = BASE64_STANDARD.decode(text).unwrap_or_default();
    if let Err(wrong) = serde_json::from_slice::<IgnoredAny>(&bytes) {
        return Some(if wrong.is_eof() {
            "unexpected end of JSON input".into()
        } else {
            "is no well-formed JSON".into()
        });
    }
    let found = match bytes.trim_ascii_start().first() {
        Some(b'{' | b'n') => return None,
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        _ => "number",
    };
    Some(format!(
        "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    ))
}

pub(super) fn secret(secret: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let data = secret.child("data");
    let kind = secret.child("type").text();
    let needed = SECRET_KEYS.iter().find(|row| row.0 == kind);
    for key in needed.map_or(&[][..], |row| row.1) {
        let value = data.child(key);
        if value.is_absent() || kind == "kubernetes.io/ssh-auth" && value.is_empty() {
            causes.push_with(|| FieldCause::required(format!("data[{key}]"), ""));
        } else if kind.starts_with("kubernetes.io/dockerc")
            && let Some(why) = no_object(&value)
        {
            let field = format!("data[{key}]");
            causes.push_with(|| FieldCause::invalid(field, &REDACTED.into(), &why));
        }
    }
    let has = |key: &str| data.value.get(key).is_some();
    if kind == "kubernetes.io/basic-auth" && !has("username") && !has("password") {
        causes.push_with(|| FieldCause::required("data[username]", ""));
        causes.push_with(|| FieldCause::required("data[password]", ""));
    }
    let account = "kubernetes.io/service-account.name";
    let annotations = secret.at("metadata.annotations");
    let named = annotations.value.get(account).and_then(Value::as_str);
    if kind == "kubernetes.io/service-account-token" && named.unwrap_or_default().is_empty() {
        let field = format!("metadata.annotations[{account}]");
        causes.push_with(|| FieldCause::required(field, ""));
    }
}
