//! Decodes one webhook. A stored configuration has the types of its schema; an unknown value is
//! read in the strictest way.

use super::{Client, Condition, Rule, Service, Webhook};
use crate::cel::Env;
use crate::document::{list, names, text};
use crate::selector::LabelSelector;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::Value;

const TIMEOUT_SECONDS: u64 = 10;
const PORT: u64 = 443;

pub(super) fn webhook(document: &Value, env: &Env<'_>) -> Webhook {
    let is = |member: &str, value: &str| text(document, member) == value;
    let selector = |member: &str| {
        let selector = document.get(member).unwrap_or(&Value::Null);
        LabelSelector::from_document(selector)
    };
    let timeout = document.get("timeoutSeconds").and_then(Value::as_u64);
    Webhook {
        name: text(document, "name").into(),
        client: document.get("clientConfig").map(client).unwrap_or_default(),
        rules: list(document, "rules").iter().map(rule).collect(),
        ignores_failure: is("failurePolicy", "Ignore"),
        equivalent: !is("matchPolicy", "Exact"),
        namespace_selector: selector("namespaceSelector"),
        object_selector: selector("objectSelector"),
        dry_runs: is("sideEffects", "None") || is("sideEffects", "NoneOnDryRun"),
        timeout_seconds: timeout.unwrap_or(TIMEOUT_SECONDS),
        review_versions: names(document, "admissionReviewVersions"),
        reinvoked: is("reinvocationPolicy", "IfNeeded"),
        conditions: list(document, "matchConditions")
            .iter()
            .map(|one| Condition::read(one, env))
            .collect(),
    }
}

fn client(document: &Value) -> Client {
    let url = document.get("url").and_then(Value::as_str);
    let bundle = BASE64_STANDARD.decode(text(document, "caBundle"));
    Client {
        url: url.map(str::to_owned),
        service: document
            .get("service")
            .filter(|one| one.is_object())
            .map(service),
        ca_bundle: bundle.unwrap_or_default(),
    }
}

fn service(document: &Value) -> Service {
    let path = text(document, "path");
    let slash = if path.starts_with('/') { "" } else { "/" };
    Service {
        namespace: text(document, "namespace").into(),
        name: text(document, "name").into(),
        path: format!("{slash}{path}"),
        port: document.get("port").and_then(Value::as_u64).unwrap_or(PORT),
    }
}

fn rule(document: &Value) -> Rule {
    Rule {
        operations: names(document, "operations"),
        groups: names(document, "apiGroups"),
        versions: names(document, "apiVersions"),
        resources: names(document, "resources"),
        scope: text(document, "scope").into(),
    }
}
