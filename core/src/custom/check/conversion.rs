//! How objects get from one version into another: by a webhook, which is never called, or by name alone.
//! Source: `validateCustomResourceConversion`.

use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::validate;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const STRATEGIES: [&str; 2] = ["None", "Webhook"];
/// Upstream names fields as its unversioned type does.
const CLIENT: &str = "spec.conversion.webhookClientConfig";
const VERSIONS: &str = "spec.conversion.conversionReviewVersions";

/// What is wrong with `spec.conversion`. Unlike upstream, the certificates of a webhook are not looked at.
pub(super) fn check(document: &Value, causes: &mut CauseList) {
    let Some(conversion) = document.pointer("/spec/conversion") else {
        return;
    };
    let strategy = text(conversion, "/strategy");
    let field = "spec.conversion.strategy";
    match strategy {
        "" => causes.push(FieldCause::required(field, "")),
        one if STRATEGIES.contains(&one) => {}
        other => causes.push(FieldCause::not_supported(field, other, &STRATEGIES)),
    }
    let webhook = conversion.get("webhook").unwrap_or(&Value::Null);
    let config = webhook.get("clientConfig").filter(|one| !one.is_null());
    let versions = webhook.get("conversionReviewVersions");
    let versions = versions.and_then(Value::as_array);
    let versions = versions.map_or(&[][..], Vec::as_slice);
    if strategy == "Webhook" {
        match config {
            Some(config) => validate::webhook_client(CLIENT, config, causes),
            None => {
                causes.push(FieldCause::required(
                    CLIENT,
                    "required when strategy is set to Webhook",
                ));
            }
        }
        review_versions(versions, causes);
        return;
    }
    let why = "should not be set when strategy is not set to Webhook";
    if config.is_some() {
        causes.push(FieldCause::forbidden(CLIENT, why));
    }
    if !versions.is_empty() {
        causes.push(FieldCause::forbidden(VERSIONS, why));
    }
}

fn review_versions(versions: &[Value], causes: &mut CauseList) {
    if versions.is_empty() {
        return causes.push(FieldCause::required(VERSIONS, ""));
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let name = version.as_str().unwrap_or_default();
        let field = format!("{VERSIONS}[{index}]");
        if !seen.insert(name) {
            causes.push(FieldCause::invalid(field, version, "duplicate version"));
        } else if let Err(why) = validate::label_1035(name) {
            causes.push(FieldCause::invalid(field, version, &why));
        }
    }
    if !validate::REVIEW_VERSIONS
        .iter()
        .any(|known| seen.contains(known))
    {
        let why = "must include at least one of v1, v1beta1";
        causes.push(FieldCause::invalid(VERSIONS, &json!(versions), why));
    }
}

/// What is wrong with a definition that has instances, if only its webhook could convert them: some may be stored in
/// another version than the one that is stored from now on. Nothing is, unless the update makes it so.
pub(crate) fn of_instances(document: &Value, old: &Value) -> Option<FieldCause> {
    let storage = stored_by_webhook(document)?;
    if stored_by_webhook(old) == Some(storage) {
        return None;
    }
    let stored = document
        .pointer("/status/storedVersions")
        .and_then(Value::as_array)?;
    let mut others = stored
        .iter()
        .filter_map(Value::as_str)
        .filter(|one| *one != storage);
    let other = others.next()?;
    let why = format!(
        "this server calls no conversion webhooks, and there may be objects that are stored in {other}: delete them, \
         or write each of them again while the strategy is None and {storage} is stored, and then remove {other} from \
         status.storedVersions"
    );
    Some(FieldCause::invalid(
        "spec.conversion.strategy",
        &json!("Webhook"),
        &why,
    ))
}

/// The version in which objects are stored, if a webhook converts them into the others.
fn stored_by_webhook(definition: &Value) -> Option<&str> {
    if text(definition, "/spec/conversion/strategy") != "Webhook" {
        return None;
    }
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array)?;
    let mut storage = versions
        .iter()
        .filter(|one| one.get("storage") == Some(&Value::Bool(true)));
    storage.next().map(|version| text(version, "/name"))
}
