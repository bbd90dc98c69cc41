//! Every built-in kind with a status, compared individually with upstream's strategies.

use super::unowned;
use crate::builtin;
use crate::command::{FieldValidation, Intent, Update};
use crate::fields::FieldSet;
use crate::kind::Subresource;
use crate::testing::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Which of labels, annotations, finalizers and ownerReferences a write to `/status` changes
/// besides the status; and which of these and of the status the writer then owns.
const STATUS: &str = "\
namespaces                 LAFO LAFOs
nodes                      LAFO LAFOs
persistentvolumeclaims     LAFO LAFOs
persistentvolumes          LAFO LAFOs
pods                       LAF  LAFs
replicationcontrollers     LAFO LAFOs
resourcequotas             LAFO LAFOs
services                   LAFO LAFOs
daemonsets                 LAFO LAFOs
deployments                AFO  AFOs
replicasets                LAFO LAFOs
statefulsets               LAFO LAFOs
horizontalpodautoscalers   LAFO LAFOs
cronjobs                   LAFO LAFOs
jobs                       LAFO LAFOs
certificatesigningrequests LAFO LAFOs
ingresses                  LAFO LAFOs
servicecidrs               -    s
poddisruptionbudgets       LAFO LAFOs
volumeattachments          -    s
validatingadmissionpolicies -   s
customresourcedefinitions  LAFO s
apiservices                -    s
flowschemas                -    s
prioritylevelconfigurations -   s
resourceclaims             -    s
";

const MEMBERS: [(char, &str); 5] = [
    ('L', "/metadata/labels"),
    ('A', "/metadata/annotations"),
    ('F', "/metadata/finalizers"),
    ('O', "/metadata/ownerReferences"),
    ('s', "/status"),
];

/// The members that a kind requires to be valid.
fn spec(resource: &str) -> Value {
    let labels = json!({"a": "b"});
    let selector = json!({"matchLabels": labels});
    let containers = json!([{"name": "c", "image": "i"}]);
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    let job = json!({"template": {"spec": {"restartPolicy": "Never", "containers": containers}}});
    let set = json!({"selector": selector, "template": template});
    match resource {
        "persistentvolumeclaims" => json!({"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}),
        "persistentvolumes" => json!({"accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}),
        "pods" => json!({"containers": containers}),
        "replicationcontrollers" => json!({"selector": labels, "template": template}),
        "services" => json!({"ports": [{"port": 80}]}),
        "daemonsets" | "deployments" | "replicasets" | "statefulsets" => set,
        "horizontalpodautoscalers" => json!({"maxReplicas": 1,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}),
        "jobs" => job,
        "cronjobs" => json!({"schedule": "* * * * *", "jobTemplate": {"spec": job}}),
        "customresourcedefinitions" => json!({"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "as", "singular": "a", "kind": "A", "listKind": "AList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]}),
        "certificatesigningrequests" => {
            json!({"request": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNU",
            "signerName": "example.com/signer", "usages": ["client auth"]})
        }
        "ingresses" => {
            json!({"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}})
        }
        "servicecidrs" => json!({"cidrs": ["10.0.0.0/24"]}),
        "poddisruptionbudgets" => json!({"minAvailable": 1, "selector": selector}),
        "volumeattachments" => json!({"attacher": "example.com", "nodeName": "n",
            "source": {"persistentVolumeName": "v"}}),
        "flowschemas" => json!({"priorityLevelConfiguration": {"name": "exempt"}}),
        "prioritylevelconfigurations" => json!({"type": "Limited",
            "limited": {"limitResponse": {"type": "Reject"}}}),
        "apiservices" => json!({"group": "example.com", "version": "v1",
            "groupPriorityMinimum": 1, "versionPriority": 1}),
        _ => json!({}),
    }
}

fn sample(resource: &str) -> Value {
    let name = match resource {
        "customresourcedefinitions" => "as.example.com",
        "apiservices" => "v1.example.com",
        _ => "a",
    };
    json!({"metadata": {"name": name, "labels": {"old": "l"}}, "spec": spec(resource)})
}

/// Changes everything that a write could change.
fn rewrite(object: &mut Value) {
    let metadata = &mut object["metadata"];
    metadata["labels"] = json!({"new": "l"});
    metadata["annotations"] = json!({"new": "a"});
    metadata["finalizers"] = json!(["example.com/new"]);
    metadata["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "new"}]);
    object["spec"]["new"] = json!("s");
    object["status"]["conditions"] = json!([{"type": "New", "status": "True", "reason": "New",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    object["status"]["message"] = json!("new");
}

fn letters(document: &Value, is_it: impl Fn(&Value) -> bool) -> String {
    let found = MEMBERS.iter().filter(|(_, path)| {
        let value = document.pointer(path);
        value.is_some_and(&is_it)
    });
    found.map(|(letter, _)| *letter).collect()
}

#[test]
fn a_write_to_a_status_changes_and_holds_what_upstreams_strategies_let_it() {
    let mut left: BTreeSet<_> = builtin::kinds()
        .iter()
        .filter(|kind| kind.versions[0].has_status())
        .map(|kind| kind.resource.resource.to_string())
        .collect();
    for line in STATUS.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [resource, written, held] = words[..] else {
            panic!("{line}");
        };
        assert!(left.remove(resource), "{resource} has a status");
        let mut world = World::new();
        world.manager("maker");
        let made = world.create(resource, sample(resource)).expect(resource);
        let made = made.outcome.object();
        let mut object = made.document();
        rewrite(&mut object);
        world.manager("writer");
        let key = made.key.clone();
        let version = made.document()["apiVersion"]
            .as_str()
            .expect("a version")
            .to_owned();
        let version = version.rsplit('/').next().expect("a version").into();
        let decision = world.run(Intent::Update(Update {
            key,
            version,
            subresource: Some(Subresource::Status),
            object,
            validation: FieldValidation::Ignore,
        }));
        let now = decision.expect(resource).outcome.object().document();
        assert_eq!(now["spec"].get("new"), None, "{resource}");
        let found = letters(&now, |value| value.to_string().contains("new"));
        assert_eq!(
            found,
            format!("{}s", written.replace('-', "")),
            "{resource}"
        );
        let entries = now["metadata"]["managedFields"].as_array().expect("a list");
        let own = entries.iter().find(|entry| entry["manager"] == "writer");
        let fields = own.expect("an entry")["fieldsV1"]
            .to_string()
            .replace("f:", "");
        let fields: Value = serde_json::from_str(&fields).expect("JSON");
        assert_eq!(letters(&fields, |_| true), held, "{resource}: {fields}");
        let conditions = fields.pointer("/status/conditions").is_some();
        assert_eq!(conditions, resource != "certificatesigningrequests");
    }
    assert!(left.is_empty(), "{left:?}");
}

/// Resource and endpoint, if a write to the object leaves more than the status without a manager.
#[test]
fn nobody_holds_what_another_endpoint_writes() {
    let kinds = builtin::kinds();
    for kind in &kinds {
        let version = &kind.versions[0];
        let expected: &[&str] = match (&*kind.resource.resource, version.has_status()) {
            ("certificatesigningrequests", _) => &["spec", "status"],
            (_, true) => &["status"],
            (_, false) => &[],
        };
        assert_eq!(unowned(kind, version, None), expected, "{}", kind.resource);
    }
    let find = |name: &str| kinds.iter().find(|kind| &*kind.resource.resource == name);
    for (resource, endpoint, expected) in [
        ("namespaces", Subresource::Finalize, &["status"][..]),
        (
            "certificatesigningrequests",
            Subresource::Approval,
            &["spec", "status.certificate"],
        ),
        ("deployments", Subresource::Scale, &[]),
    ] {
        let kind = find(resource).expect("a kind");
        assert_eq!(unowned(kind, &kind.versions[0], Some(endpoint)), expected);
    }
}

#[test]
fn a_path_is_forgotten_with_all_that_is_in_it_and_with_what_is_empty_then() {
    let set = json!({"f:a": {"f:b": {"f:c": {}}, "f:d": {}}, "f:e": {"f:b": {}}, "f:b": {}});
    for (paths, left) in [
        (&[][..], set.clone()),
        (&["a"], json!({"f:e": {"f:b": {}}, "f:b": {}})),
        (&["a.b", "e.b"], json!({"f:a": {"f:d": {}}, "f:b": {}})),
        (
            &["b", "a.none", "none.b"],
            json!({"f:a": set["f:a"], "f:e": set["f:e"]}),
        ),
        (&["a", "e", "b"], json!({})),
    ] {
        let mut fields = FieldSet::from_fields_v1(&set).expect("a set");
        fields.forget(paths);
        assert_eq!(fields.to_fields_v1(), left, "{paths:?}");
    }
}
