//! What each kind refuses, as tables: a valid document, a merge patch that makes it invalid, and
//! the causes.

mod ambiguous;
mod autoscalers;
mod created;
mod events;
mod frozen;
mod job_pods;
mod jobs;
mod limits;
mod others;
mod pods;
mod services;
mod slices;
mod statuses;
mod updates;
mod volumes;
mod workloads;

use super::object;
use crate::testing::builtin_kind as kind;
use crate::{builtin, defaults, patch};
use serde_json::{Value, json};

fn right(resource: &str) -> Value {
    let pod = json!({"containers": [{"name": "c", "image": "i"}]});
    let labels = json!({"a": "b"});
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    let keeps = json!({"spec": {"selector": {"matchLabels": labels}, "template": template}});
    let job = json!({"template": {"spec": {"restartPolicy": "Never",
        "containers": pod["containers"]}}});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"});
    let path = json!({"path": "/", "pathType": "Prefix",
        "backend": {"service": {"name": "s", "port": {"number": 80}}}});
    let mut document = match resource {
        "pods" => json!({"spec": pod}),
        "podtemplates" => json!({"template": template}),
        "deployments" | "replicasets" | "statefulsets" | "daemonsets" => keeps,
        "jobs" => json!({"metadata": {"name": "j"}, "spec": job}),
        "cronjobs" => json!({"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job}}}),
        "services" => json!({"spec": {"ports": [{"port": 80}]}}),
        "rolebindings" | "clusterrolebindings" => json!({"roleRef": role}),
        "ingresses" => json!({"spec": {"rules": [{"http": {"paths": [path]}}]}}),
        "persistentvolumeclaims" => json!({"spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}}),
        "horizontalpodautoscalers" => json!({"spec": {"maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "d"}}}),
        "storageclasses" => json!({"provisioner": "x/y"}),
        "persistentvolumes" => json!({"spec": {"accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}}),
        _ => json!({}),
    };
    defaults::apply(&kind(resource), &mut document);
    document
}

fn patched(document: &Value, change: &str) -> Value {
    let change = serde_json::from_str(change).expect("JSON");
    patch::apply(document, &crate::command::Patch::Merge(change)).expect("a merge patch")
}

fn said(resource: &str, new: &Value, old: Option<&Value>) -> Vec<String> {
    let causes = object(&kind(resource), new, old);
    let line = |cause: &crate::rejection::FieldCause| format!("{}: {}", cause.field, cause.message);
    causes.iter().map(line).collect()
}

#[test]
fn what_is_right_is_accepted() {
    for kind in builtin::kinds() {
        let resource = &*kind.resource.resource;
        let document = right(resource);
        if document == json!({}) {
            continue;
        }
        assert_eq!(said(resource, &document, None), [""; 0], "{resource}");
        assert_eq!(said(resource, &document, Some(&document)), [""; 0]);
    }
}

/// Resource, merge patch on the valid document, causes.
const CREATES: &[Create<'static>] = &[
    (
        "deployments",
        r#"{"spec": null}"#,
        &[
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
            "spec.template.spec.containers: Required value",
        ],
    ),
    (
        "deployments",
        r#"{"spec": {"selector": {"matchLabels": {"a": "c"}}}}"#,
        &[
            r#"spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`"#,
        ],
    ),
    (
        "statefulsets",
        r#"{"spec": {"selector": {"matchLabels": null}, "replicas": -1}}"#,
        &[
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.selector: Invalid value: {}: empty selector is invalid for statefulset",
        ],
    ),
    (
        "replicasets",
        r#"{"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}"#,
        &[
            r#"spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#,
        ],
    ),
    (
        "daemonsets",
        r#"{"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}}"#,
        &[
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"containers": []}}"#,
        &["spec.containers: Required value"],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"image": "i", "imagePullPolicy": "Maybe"}, {"name": "x"}, {"name": "x", "image": "i"}]}}"#,
        &[
            "spec.containers[0].name: Required value",
            r#"spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never""#,
            "spec.containers[1].image: Required value",
            r#"spec.containers[2].name: Duplicate value: "x""#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"restartPolicy": "Sometimes", "volumes": [{"name": "v", "configMap": {}}], "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 70000}], "volumeMounts": [{"name": "w", "mountPath": "/"}]}]}}"#,
        &[
            "spec.volumes[0].configMap.name: Required value",
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            r#"spec.containers[0].volumeMounts[0].name: Not found: "w""#,
            r#"spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never""#,
        ],
    ),
    (
        "podtemplates",
        r#"{"template": {"spec": {"volumes": [{"name": "v"}], "containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "w", "mountPath": "/"}, {"name": "v", "mountPath": "/"}]}]}}}"#,
        &[
            r#"template.spec.containers[0].volumeMounts[0].name: Not found: "w""#,
            r#"template.spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/": must be unique"#,
        ],
    ),
    (
        "jobs",
        r#"{"spec": {"template": {"spec": {"restartPolicy": null}}}}"#,
        &[
            r#"spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never""#,
        ],
    ),
    (
        "cronjobs",
        r#"{"spec": {"schedule": "* *", "concurrencyPolicy": "Never"}}"#,
        &[
            r#"spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2: [* *]"#,
            r#"spec.concurrencyPolicy: Unsupported value: "Never": supported values: "Allow", "Forbid", "Replace""#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"ports": null}}"#,
        &["spec.ports: Required value"],
    ),
    (
        "services",
        r#"{"spec": {"ports": null, "clusterIP": "None"}}"#,
        &[],
    ),
    (
        "services",
        r#"{"spec": {"type": "ExternalName", "ports": null}}"#,
        &["spec.externalName: Required value"],
    ),
    (
        "services",
        r#"{"spec": {"ports": [{"port": 0, "name": "a"}, {"port": 1, "protocol": "TCP"}]}}"#,
        &[
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[1].name: Required value",
        ],
    ),
    (
        "configmaps",
        r#"{"data": {"..a": "x", "b": "y"}, "binaryData": {"b": ""}}"#,
        &[
            r#"data[..a]: Invalid value: "..a": must not start with '..'"#,
            r#"data[b]: Invalid value: "b": duplicate of key present in binaryData"#,
        ],
    ),
    (
        "secrets",
        r#"{"type": "kubernetes.io/tls", "data": {"tls.key": ""}}"#,
        &["data[tls.crt]: Required value"],
    ),
    (
        "roles",
        r#"{"rules": [{}, {"verbs": ["get"], "nonResourceURLs": ["/"]}]}"#,
        &[
            "rules[0].verbs: Required value: verbs must contain at least one value",
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
            r#"rules[1].nonResourceURLs: Invalid value: ["/"]: namespaced rules cannot apply to non-resource URLs"#,
        ],
    ),
    (
        "clusterrolebindings",
        r#"{"roleRef": {"kind": "Role"}, "subjects": [{"kind": "ServiceAccount", "name": "a"}, {"kind": "Robot", "name": "b"}]}"#,
        &[
            r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#,
            "subjects[0].namespace: Required value",
            r#"subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group""#,
        ],
    ),
    (
        "ingresses",
        r#"{"spec": null}"#,
        &["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    ),
    (
        "ingresses",
        r#"{"spec": {"rules": [{"http": {"paths": [{"path": "x", "pathType": "Exact", "backend": {"service": {}}}]}}]}}"#,
        &[
            r#"spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path"#,
            "spec.rules[0].http.paths[0].backend.service.name: Required value",
            "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"spec": {"accessModes": [], "resources": null}}"#,
        &[
            "spec.accessModes: Required value: at least 1 access mode is required",
            "spec.resources[storage]: Required value",
        ],
    ),
    (
        "horizontalpodautoscalers",
        r#"{"spec": {"minReplicas": 5, "scaleTargetRef": {"name": null}}}"#,
        &[
            "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
            "spec.scaleTargetRef.name: Required value",
        ],
    ),
];

/// A resource, a merge patch on the valid document, causes.
type Create<'a> = (&'a str, &'a str, &'a [&'a str]);

fn check_creates(creates: &[Create<'_>]) {
    let mut failed = String::new();
    for (resource, change, expected) in creates {
        let mut new = patched(&right(resource), change);
        defaults::apply(&kind(resource), &mut new);
        note(
            &mut failed,
            &said(resource, &new, None),
            expected,
            &[resource, change],
        );
    }
    assert!(failed.is_empty(), "{failed}");
}

/// Adds what differs to the report of a test.
fn note(failed: &mut String, said: &[String], expected: &[&str], what: &[&str]) {
    if said != expected {
        let lines = said.iter().map(|line| format!("\n    {line}"));
        failed.push('\n');
        failed.push_str(&what.join(" "));
        failed.extend(lines);
    }
}

#[test]
fn what_is_wrong_with_a_new_object_is_said() {
    check_creates(CREATES);
}

/// Resource, what the stored object has beyond the valid document, the change, causes.
type Update<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

fn said_of_update(resource: &str, stored: &str, change: &str) -> Vec<String> {
    let mut old = patched(&right(resource), stored);
    defaults::apply(&kind(resource), &mut old);
    let mut new = patched(&old, change);
    defaults::apply(&kind(resource), &mut new);
    said(resource, &new, Some(&old))
}

fn check_updates(updates: &[Update<'_>]) {
    let mut failed = String::new();
    for (resource, stored, change, expected) in updates {
        let said = said_of_update(resource, stored, change);
        note(&mut failed, &said, expected, &[resource, stored, change]);
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn what_was_accepted_once_is_not_asked_for_again() {
    let old = json!({"metadata": {}, "spec": {"replicas": 1}});
    let new = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1}, "status": {}});
    assert_eq!(said("deployments", &new, Some(&old)), [""; 0]);
}

/// All causes together may be a thousand times as long as the document.
#[test]
fn no_more_causes_are_kept_than_are_told() {
    let quota = json!({"spec": {"hard": {"pods": "1"}, "scopeSelector": {}}});
    let mut pod = right("pods");
    pod["spec"]["containers"][0]["securityContext"] =
        json!({"allowPrivilegeEscalation": false, "capabilities": {}});
    let capabilities = "/spec/containers/0/securityContext/capabilities/add";
    for (resource, document, place, item) in [
        ("pods", &pod, "/spec/tolerations", json!({})),
        ("pods", &pod, "/spec/hostAliases", json!({"ip": "x"})),
        ("pods", &pod, "/spec/topologySpreadConstraints", json!({})),
        ("pods", &pod, "/spec/containers/0/env", json!({})),
        ("pods", &pod, capabilities, json!("CAP_SYS_ADMIN")),
        ("resourcequotas", &quota, "/spec/scopes", json!("x")),
        (
            "resourcequotas",
            &quota,
            "/spec/scopeSelector/matchExpressions",
            json!({"scopeName": "x"}),
        ),
    ] {
        let mut document = document.clone();
        let (parent, member) = place.rsplit_once('/').expect("a path");
        document.pointer_mut(parent).expect("there")[member] = json!(vec![item; 5_000]);
        let said = said(resource, &document, None);
        assert!((1..=1_000).contains(&said.len()), "{place}: {}", said.len());
        let bytes: usize = said.iter().map(String::len).sum();
        assert!(bytes < 2 << 20, "{place}: {bytes}");
    }
}
