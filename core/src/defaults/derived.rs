//! Defaults that follow from another field. Source: upstream's `pkg/apis/*/v1/defaults.go`.

use super::{insert_missing, objects};
use serde_json::{Value, json};

pub(super) fn apply(resource: &str, document: &mut Value) {
    match resource {
        "deployments" => rolling(
            document,
            "strategy",
            &[("maxUnavailable", "\"25%\""), ("maxSurge", "\"25%\"")],
        ),
        "daemonsets" => rolling(
            document,
            "updateStrategy",
            &[("maxUnavailable", "1"), ("maxSurge", "0")],
        ),
        "statefulsets" => rolling(document, "updateStrategy", &[("partition", "0")]),
        "services" => target_ports(document),
        "jobs" => completions(document),
        "rolebindings" | "clusterrolebindings" => subject_groups(document),
        "networkpolicies" => policy_types(document),
        "replicationcontrollers" => selector(document),
        _ => {}
    }
}

fn rolling(document: &mut Value, strategy: &str, defaults: &[(&str, &str)]) {
    for members in objects(document, &["spec", strategy]) {
        if members.get("type") == Some(&json!("RollingUpdate")) {
            insert_missing(members, "rollingUpdate", "{}");
        }
    }
    for members in objects(document, &["spec", strategy, "rollingUpdate"]) {
        for (member, json) in defaults {
            insert_missing(members, member, json);
        }
    }
}

fn target_ports(document: &mut Value) {
    for port in objects(document, &["spec", "ports", "*"]) {
        let number = port.get("port").cloned().unwrap_or_default();
        insert_missing(port, "targetPort", &number.to_string());
    }
}

/// A job that says neither how many nor how many at once is done after one.
fn completions(document: &mut Value) {
    for spec in objects(document, &["spec"]) {
        let one_at_once = spec.get("parallelism") == Some(&json!(1));
        if one_at_once && spec.get("completionMode") != Some(&json!("Indexed")) {
            insert_missing(spec, "completions", "1");
        }
    }
}

fn subject_groups(document: &mut Value) {
    for subject in objects(document, &["subjects", "*"]) {
        let person = |kind: &str| matches!(kind, "User" | "Group");
        let kind = subject.get("kind").and_then(Value::as_str);
        if kind.is_some_and(person) {
            insert_missing(subject, "apiGroup", "\"rbac.authorization.k8s.io\"");
        }
    }
}

fn policy_types(document: &mut Value) {
    for spec in objects(document, &["spec"]) {
        let speaks_of_egress = spec.get("egress").is_some_and(|one| !one.is_null());
        let types = if speaks_of_egress {
            "[\"Ingress\",\"Egress\"]"
        } else {
            "[\"Ingress\"]"
        };
        insert_missing(spec, "policyTypes", types);
    }
}

/// A replication controller selects what it makes, and is labelled like it.
fn selector(document: &mut Value) {
    let labels = document.pointer("/spec/template/metadata/labels");
    let Some(labels) = labels.filter(|labels| labels.is_object()).cloned() else {
        return;
    };
    for spec in objects(document, &["spec"]) {
        insert_missing(spec, "selector", &labels.to_string());
    }
    for metadata in objects(document, &["metadata"]) {
        insert_missing(metadata, "labels", &labels.to_string());
    }
}

/// An image that names no version, or the latest one, is looked for anew.
pub(super) fn pull_policy(container: &mut Value) {
    let Some(container) = container.as_object_mut() else {
        return;
    };
    let image = container.get("image").and_then(Value::as_str);
    let policy = if image.is_some_and(is_latest) {
        "\"Always\""
    } else {
        "\"IfNotPresent\""
    };
    if image.is_some() {
        insert_missing(container, "imagePullPolicy", policy);
    }
}

fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin_kind as kind;

    #[test]
    fn an_image_without_a_version_is_the_latest() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("registry:5000/nginx", true),
            ("nginx:1.27", false),
            ("registry:5000/nginx:1.27", false),
            ("nginx@sha256:abc", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn what_follows_from_another_field_follows() {
        for (resource, document, pointer, expected) in [
            (
                "deployments",
                json!({"spec": {}}),
                "/spec/strategy/rollingUpdate/maxSurge",
                json!("25%"),
            ),
            (
                "deployments",
                json!({"spec": {"strategy": {"type": "Recreate"}}}),
                "/spec/strategy/rollingUpdate",
                json!(null),
            ),
            (
                "services",
                json!({"spec": {"ports": [{"port": 80}]}}),
                "/spec/ports/0/targetPort",
                json!(80),
            ),
            (
                "jobs",
                json!({"spec": {"parallelism": 3}}),
                "/spec/completions",
                json!(null),
            ),
            ("jobs", json!({"spec": {}}), "/spec/completions", json!(1)),
            (
                "rolebindings",
                json!({"subjects": [{"kind": "User"}]}),
                "/subjects/0/apiGroup",
                json!("rbac.authorization.k8s.io"),
            ),
            (
                "networkpolicies",
                json!({"spec": {"egress": []}}),
                "/spec/policyTypes/1",
                json!("Egress"),
            ),
        ] {
            let mut document = document;
            super::super::apply(&kind(resource), &mut document);
            let found = document.pointer(pointer).cloned().unwrap_or_default();
            assert_eq!(found, expected, "{resource} {pointer}");
        }
    }
}
