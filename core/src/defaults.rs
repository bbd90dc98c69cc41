//! Defaults of built-in kinds, as a table of paths and values: those that clients read back. A
//! segment `*` stands for every item of a list.

mod derived;

use crate::kind::Kind;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// `path JSON`, the last segment being the member; relative to the pod, in the order in which one
/// may make up what the next looks into.
const POD_SPEC: &str = r#"
restartPolicy "Always"
terminationGracePeriodSeconds 30
dnsPolicy "ClusterFirst"
schedulerName "default-scheduler"
securityContext {}
volumes/*/configMap/defaultMode 420
volumes/*/secret/defaultMode 420
volumes/*/downwardAPI/defaultMode 420
volumes/*/projected/defaultMode 420
volumes/*/hostPath/type ""
"#;

/// The same, relative to each container.
const CONTAINER: &str = r#"
terminationMessagePath "/dev/termination-log"
terminationMessagePolicy "File"
resources {}
ports/*/protocol "TCP"
env/*/valueFrom/fieldRef/apiVersion "v1"
"#;

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const PROBE: &str = r#"
timeoutSeconds 1
periodSeconds 10
successThreshold 1
failureThreshold 3
httpGet/path "/"
httpGet/scheme "HTTP"
"#;

/// `resource path JSON`.
const ROWS: &str = r#"
deployments spec/replicas 1
deployments spec/revisionHistoryLimit 10
deployments spec/progressDeadlineSeconds 600
deployments spec/strategy {}
deployments spec/strategy/type "RollingUpdate"
replicasets spec/replicas 1
statefulsets spec/replicas 1
statefulsets spec/revisionHistoryLimit 10
statefulsets spec/podManagementPolicy "OrderedReady"
statefulsets spec/updateStrategy {}
statefulsets spec/updateStrategy/type "RollingUpdate"
statefulsets spec/volumeClaimTemplates/*/spec/volumeMode "Filesystem"
daemonsets spec/revisionHistoryLimit 10
daemonsets spec/updateStrategy {}
daemonsets spec/updateStrategy/type "RollingUpdate"
replicationcontrollers spec/replicas 1
jobs spec/parallelism 1
jobs spec/backoffLimit 6
jobs spec/completionMode "NonIndexed"
jobs spec/suspend false
cronjobs spec/concurrencyPolicy "Allow"
cronjobs spec/suspend false
cronjobs spec/successfulJobsHistoryLimit 3
cronjobs spec/failedJobsHistoryLimit 1
services spec/type "ClusterIP"
services spec/sessionAffinity "None"
services spec/ports/*/protocol "TCP"
secrets type "Opaque"
persistentvolumeclaims spec/volumeMode "Filesystem"
persistentvolumes spec/volumeMode "Filesystem"
persistentvolumes spec/persistentVolumeReclaimPolicy "Retain"
storageclasses reclaimPolicy "Delete"
storageclasses volumeBindingMode "Immediate"
horizontalpodautoscalers spec/minReplicas 1
horizontalpodautoscalers spec/metrics [{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]
rolebindings roleRef/apiGroup "rbac.authorization.k8s.io"
clusterrolebindings roleRef/apiGroup "rbac.authorization.k8s.io"
networkpolicies spec/ingress/*/ports/*/protocol "TCP"
networkpolicies spec/egress/*/ports/*/protocol "TCP"
ingressclasses spec/parameters/scope "Cluster"
mutatingwebhookconfigurations webhooks/*/failurePolicy "Fail"
mutatingwebhookconfigurations webhooks/*/matchPolicy "Equivalent"
mutatingwebhookconfigurations webhooks/*/timeoutSeconds 10
mutatingwebhookconfigurations webhooks/*/namespaceSelector {}
mutatingwebhookconfigurations webhooks/*/objectSelector {}
mutatingwebhookconfigurations webhooks/*/reinvocationPolicy "Never"
mutatingwebhookconfigurations webhooks/*/rules/*/scope "*"
validatingwebhookconfigurations webhooks/*/failurePolicy "Fail"
validatingwebhookconfigurations webhooks/*/matchPolicy "Equivalent"
validatingwebhookconfigurations webhooks/*/timeoutSeconds 10
validatingwebhookconfigurations webhooks/*/namespaceSelector {}
validatingwebhookconfigurations webhooks/*/objectSelector {}
validatingwebhookconfigurations webhooks/*/rules/*/scope "*"
"#;

/// A default: where it goes, and what it is.
struct Default {
    path: Vec<&'static str>,
    member: &'static str,
    value: Value,
}

/// The table, read once.
static DEFAULTS: LazyLock<BTreeMap<&'static str, Vec<Default>>> = LazyLock::new(|| {
    let mut table: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (resource, row) in ROWS.lines().filter_map(|row| row.split_once(' ')) {
        table.entry(resource).or_default().extend(read(row));
    }
    table
});
static POD_DEFAULTS: LazyLock<Vec<Default>> = LazyLock::new(|| rows(POD_SPEC));
static CONTAINER_DEFAULTS: LazyLock<Vec<Default>> = LazyLock::new(|| rows(CONTAINER));
static PROBE_DEFAULTS: LazyLock<Vec<Default>> = LazyLock::new(|| rows(PROBE));

fn rows(table: &'static str) -> Vec<Default> {
    table.lines().filter_map(read).collect()
}

fn read(row: &'static str) -> Option<Default> {
    let (path, json) = row.split_once(' ')?;
    let mut path = segments(path);
    let member = path.pop()?;
    let value = serde_json::from_str(json).ok()?;
    Some(Default {
        path,
        member,
        value,
    })
}

/// Fills in what the client left out of an object of a built-in kind.
pub(crate) fn apply(kind: &Kind, document: &mut Value) {
    let resource = &*kind.resource.resource;
    if resource == "secrets" {
        fold_string_data(document);
    }
    fill(document, DEFAULTS.get(resource).into_iter().flatten());
    derived::apply(resource, document);
    let Some(pod) = &kind.pod else {
        return;
    };
    let pod: Vec<&str> = pod.split('.').collect();
    // A job must say what becomes of its pods; there is no default.
    let is_job = matches!(resource, "jobs" | "cronjobs");
    let own = |default: &&Default| !(is_job && default.member == "restartPolicy");
    for pod in objects_at(document, &pod) {
        fill(pod, POD_DEFAULTS.iter().filter(own));
        for list in ["containers", "initContainers"] {
            for container in objects_at(pod, &[list, "*"]) {
                fill(container, &*CONTAINER_DEFAULTS);
                for probe in PROBES {
                    for probe in objects_at(container, &[probe]) {
                        fill(probe, &*PROBE_DEFAULTS);
                    }
                }
                derived::pull_policy(container);
            }
        }
    }
}

fn segments(path: &str) -> Vec<&str> {
    path.split('/').collect()
}

/// Only in objects that are there: a default never makes up its parent.
fn fill<'a>(document: &mut Value, defaults: impl IntoIterator<Item = &'a Default>) {
    for default in defaults {
        for members in objects(document, &default.path) {
            if is_missing(members, default.member) {
                members.insert(default.member.into(), default.value.clone());
            }
        }
    }
}

fn is_missing(members: &Map<String, Value>, member: &str) -> bool {
    members.get(member).is_none_or(Value::is_null)
}

/// The objects on a path in which `*` is every item.
fn objects<'a>(document: &'a mut Value, path: &[&str]) -> Vec<&'a mut Map<String, Value>> {
    let found = objects_at(document, path).into_iter();
    found.filter_map(Value::as_object_mut).collect()
}

fn objects_at<'a>(document: &'a mut Value, path: &[&str]) -> Vec<&'a mut Value> {
    let mut level = vec![document];
    for segment in path {
        let below = level.into_iter();
        level = below.flat_map(|value| children(value, segment)).collect();
    }
    level
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
    if is_missing(members, member) {
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
    use crate::testing::builtin_kind as kind;
    use serde_json::json;

    #[test]
    fn every_row_is_a_default_of_a_kind() {
        let count = |table: &str| table.lines().filter(|row| !row.is_empty()).count();
        assert_eq!(DEFAULTS.values().map(Vec::len).sum::<usize>(), count(ROWS));
        for (read, table) in [
            (&POD_DEFAULTS, POD_SPEC),
            (&CONTAINER_DEFAULTS, CONTAINER),
            (&PROBE_DEFAULTS, PROBE),
        ] {
            assert_eq!(read.len(), count(table), "{table}");
        }
        for resource in DEFAULTS.keys() {
            assert_eq!(&*kind(resource).resource.resource, *resource);
        }
    }

    #[test]
    fn what_is_missing_is_filled_and_what_is_there_stays() {
        let mut deployment = json!({"spec": {"replicas": 0, "template": {"spec": {
            "containers": [{"name": "a", "ports": [{"containerPort": 1}]}]}}}});
        apply(&kind("deployments"), &mut deployment);
        assert_eq!(deployment["spec"]["replicas"], 0);
        assert_eq!(deployment["spec"]["revisionHistoryLimit"], 10);
        let pod = &deployment["spec"]["template"]["spec"];
        assert_eq!(pod["terminationGracePeriodSeconds"], 30);
        assert_eq!(pod["containers"][0]["ports"][0]["protocol"], "TCP");
    }

    #[test]
    fn whoever_keeps_a_pod_has_it_completed() {
        let kinds = crate::builtin::kinds();
        let mut keepers = Vec::new();
        for (kind, way) in kinds
            .iter()
            .filter_map(|kind| Some((kind, kind.pod.as_ref()?)))
        {
            let pod = json!({"containers": [{"name": "a", "image": "i"}]});
            let steps = way.rsplit('.');
            let mut document = steps.fold(pod, |inner, step| json!({step: inner}));
            apply(kind, &mut document);
            let pod = format!("/{}", way.replace('.', "/"));
            let pod = document.pointer(&pod).expect("its pod");
            assert_eq!(pod["dnsPolicy"], "ClusterFirst", "{}", kind.resource);
            assert_eq!(pod["containers"][0]["imagePullPolicy"], "Always");
            let restarts = match &*kind.kind {
                "Job" | "CronJob" => Value::Null,
                _ => json!("Always"),
            };
            assert_eq!(pod["restartPolicy"], restarts, "{}", kind.resource);
            keepers.push(&*kind.kind);
        }
        keepers.sort_unstable();
        let upstream = "CronJob DaemonSet Deployment Job Pod PodTemplate ReplicaSet \
            ReplicationController StatefulSet";
        assert_eq!(keepers.join(" "), upstream);
    }

    #[test]
    fn string_data_becomes_data() {
        for (plain, encoded) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj")] {
            let mut secret = json!({"stringData": {"k": plain}});
            apply(&kind("secrets"), &mut secret);
            assert_eq!(secret["data"]["k"], encoded);
            assert_eq!(secret["stringData"], Value::Null);
        }
    }
}
