//! Defaults of built-in kinds, as a table of paths and values. Those that deletion, scaling or
//! printing look at; a segment `*` stands for every item of a list.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value};

/// Resource, path to a container, member, JSON.
type Row = (&'static str, &'static str, &'static str, &'static str);

const POD_SPEC: &[Row] = &[
    ("", "", "restartPolicy", "\"Always\""),
    ("", "", "terminationGracePeriodSeconds", "30"),
    ("", "", "dnsPolicy", "\"ClusterFirst\""),
    ("", "", "schedulerName", "\"default-scheduler\""),
    ("", "", "securityContext", "{}"),
    (
        "",
        "containers/*",
        "terminationMessagePath",
        "\"/dev/termination-log\"",
    ),
    ("", "containers/*", "terminationMessagePolicy", "\"File\""),
    ("", "containers/*", "imagePullPolicy", "\"IfNotPresent\""),
    ("", "containers/*", "resources", "{}"),
    ("", "containers/*/ports/*", "protocol", "\"TCP\""),
];
const ROWS: &[Row] = &[
    ("deployments", "spec", "replicas", "1"),
    ("deployments", "spec", "revisionHistoryLimit", "10"),
    ("deployments", "spec", "progressDeadlineSeconds", "600"),
    ("deployments", "spec/strategy", "type", "\"RollingUpdate\""),
    ("replicasets", "spec", "replicas", "1"),
    ("statefulsets", "spec", "replicas", "1"),
    (
        "statefulsets",
        "spec",
        "podManagementPolicy",
        "\"OrderedReady\"",
    ),
    ("replicationcontrollers", "spec", "replicas", "1"),
    ("jobs", "spec", "completions", "1"),
    ("jobs", "spec", "parallelism", "1"),
    ("jobs", "spec", "backoffLimit", "6"),
    ("jobs", "spec", "suspend", "false"),
    ("cronjobs", "spec", "concurrencyPolicy", "\"Allow\""),
    ("cronjobs", "spec", "suspend", "false"),
    ("services", "spec", "type", "\"ClusterIP\""),
    ("services", "spec", "sessionAffinity", "\"None\""),
    ("services", "spec/ports/*", "protocol", "\"TCP\""),
    ("secrets", "", "type", "\"Opaque\""),
    (
        "persistentvolumeclaims",
        "spec",
        "volumeMode",
        "\"Filesystem\"",
    ),
    ("storageclasses", "", "reclaimPolicy", "\"Delete\""),
    ("storageclasses", "", "volumeBindingMode", "\"Immediate\""),
];
/// Where each kind keeps its pod.
const TEMPLATES: &[(&str, &str)] = &[
    ("pods", "spec"),
    ("deployments", "spec/template/spec"),
    ("replicasets", "spec/template/spec"),
    ("statefulsets", "spec/template/spec"),
    ("daemonsets", "spec/template/spec"),
    ("replicationcontrollers", "spec/template/spec"),
    ("jobs", "spec/template/spec"),
    ("cronjobs", "spec/jobTemplate/spec/template/spec"),
];

/// Fills in what the client left out.
pub(crate) fn apply(resource: &str, document: &mut Value) {
    if resource == "secrets" {
        fold_string_data(document);
    }
    for (_, path, member, json) in ROWS.iter().filter(|row| row.0 == resource) {
        fill(document, &segments(path), member, json);
    }
    let Some((_, template)) = TEMPLATES.iter().find(|row| row.0 == resource) else {
        return;
    };
    let is_job = matches!(resource, "jobs" | "cronjobs");
    for (_, path, member, json) in POD_SPEC {
        // A job must say what becomes of its pods; there is no default.
        if !(is_job && *member == "restartPolicy") {
            let whole: Vec<&str> = segments(template)
                .into_iter()
                .chain(segments(path))
                .collect();
            fill(document, &whole, member, json);
        }
    }
}

fn segments(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .collect()
}

/// Only in containers that are there: a default never makes up its parent.
fn fill(document: &mut Value, path: &[&str], member: &str, json: &str) {
    let mut level = vec![document];
    for segment in path {
        level = level
            .into_iter()
            .flat_map(|value| children(value, segment))
            .collect();
    }
    for value in level {
        if let Some(members) = value.as_object_mut() {
            insert_missing(members, member, json);
        }
    }
}

fn children<'a>(value: &'a mut Value, segment: &str) -> Vec<&'a mut Value> {
    match value {
        Value::Array(items) if segment == "*" => items.iter_mut().collect(),
        Value::Object(members) => members.get_mut(segment).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Vec::new()
        }
    }
}

fn insert_missing(members: &mut Map<String, Value>, member: &str, json: &str) {
    if members.get(member).is_none_or(Value::is_null) {
        members.insert(
            member.into(),
            serde_json::from_str(json).unwrap_or_default(),
        );
    }
}

/// `stringData` is write-only: it ends up in `data`.
fn fold_string_data(document: &mut Value) {
    let Some(root) = document.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = root.remove("stringData") else {
        return;
    };
    let data = root
        .entry("data")
        .or_insert_with(|| Value::Object(Map::new()));
    let Some(data) = data.as_object_mut() else {
        return;
    };
    for (key, value) in plain {
        data.insert(
            key,
            BASE64_STANDARD
                .encode(value.as_str().unwrap_or_default())
                .into(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_is_filled_and_what_is_there_stays() {
        let mut deployment = json!({"spec": {"replicas": 0, "template": {"spec": {
            "containers": [{"name": "a", "ports": [{"containerPort": 1}]}]}}}});
        apply("deployments", &mut deployment);
        assert_eq!(deployment["spec"]["replicas"], 0);
        assert_eq!(deployment["spec"]["revisionHistoryLimit"], 10);
        let pod = &deployment["spec"]["template"]["spec"];
        assert_eq!(pod["terminationGracePeriodSeconds"], 30);
        assert_eq!(pod["containers"][0]["ports"][0]["protocol"], "TCP");
    }

    #[test]
    fn string_data_becomes_data() {
        for (plain, encoded) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj")] {
            let mut secret = json!({"stringData": {"k": plain}});
            apply("secrets", &mut secret);
            assert_eq!(secret["data"]["k"], encoded);
            assert_eq!(secret["stringData"], Value::Null);
        }
    }
}
