//! What an object of a built-in kind has before anybody says anything: the structures that its Go
//! type cannot be without. They are nobody's, only what is in them. Source: members of upstream's
//! types that are structures and no pointers, which its OpenAPI document gives the default `{}`.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// `group Kind path ...`, `-` for the core group. What is around a structure comes before it.
const STRUCTURES: &str = "\
- Event /involvedObject /source
- LimitRange /spec
- Namespace /spec /status
- Node /spec /status /status/daemonEndpoints /status/daemonEndpoints/kubeletEndpoint /status/nodeInfo
- PersistentVolume /spec /status
- PersistentVolumeClaim /spec /spec/resources /status
- Pod /spec /status
- PodTemplate /template /template/metadata /template/spec
- ReplicationController /spec /status
- ResourceQuota /spec /status
- Service /spec /status /status/loadBalancer
admissionregistration.k8s.io ValidatingAdmissionPolicy /spec /status
admissionregistration.k8s.io ValidatingAdmissionPolicyBinding /spec
apiextensions.k8s.io CustomResourceDefinition /spec /spec/names /status /status/acceptedNames
apiregistration.k8s.io APIService /spec /status
apps DaemonSet /spec /spec/template /spec/template/metadata /spec/template/spec /spec/updateStrategy /status
apps Deployment /spec /spec/strategy /spec/template /spec/template/metadata /spec/template/spec /status
apps ReplicaSet /spec /spec/template /spec/template/metadata /spec/template/spec /status
apps StatefulSet /spec /spec/template /spec/template/metadata /spec/template/spec /spec/updateStrategy /status
autoscaling HorizontalPodAutoscaler /spec /spec/scaleTargetRef /status
batch CronJob /spec /spec/jobTemplate /spec/jobTemplate/metadata /spec/jobTemplate/spec \
/spec/jobTemplate/spec/template /spec/jobTemplate/spec/template/metadata \
/spec/jobTemplate/spec/template/spec /status
batch Job /spec /spec/template /spec/template/metadata /spec/template/spec /status
certificates.k8s.io CertificateSigningRequest /spec /status
coordination.k8s.io Lease /spec
events.k8s.io Event /deprecatedSource /regarding
flowcontrol.apiserver.k8s.io FlowSchema /spec /spec/priorityLevelConfiguration /status
flowcontrol.apiserver.k8s.io PriorityLevelConfiguration /spec /status
networking.k8s.io IPAddress /spec
networking.k8s.io Ingress /spec /status /status/loadBalancer
networking.k8s.io IngressClass /spec
networking.k8s.io NetworkPolicy /spec /spec/podSelector
networking.k8s.io ServiceCIDR /spec /status
policy PodDisruptionBudget /spec /status
rbac.authorization.k8s.io ClusterRoleBinding /roleRef
rbac.authorization.k8s.io RoleBinding /roleRef
resource.k8s.io DeviceClass /spec
resource.k8s.io ResourceClaim /spec /spec/devices /status
resource.k8s.io ResourceClaimTemplate /spec /spec/metadata /spec/spec /spec/spec/devices
resource.k8s.io ResourceSlice /spec /spec/pool
storage.k8s.io CSIDriver /spec
storage.k8s.io CSINode /spec
storage.k8s.io VolumeAttachment /spec /spec/source /status
";

/// The structures of a kind, by its group.
type Groups = BTreeMap<&'static str, Vec<&'static str>>;

/// The rows of [`STRUCTURES`] by kind, for every write asks.
static ROWS: LazyLock<BTreeMap<&str, Groups>> = LazyLock::new(|| {
    let mut rows: BTreeMap<&str, Groups> = BTreeMap::new();
    for line in STRUCTURES.lines() {
        let mut words = line.split(' ');
        if let (Some(group), Some(kind)) = (words.next(), words.next()) {
            let group = group.trim_start_matches('-');
            rows.entry(kind).or_default().insert(group, words.collect());
        }
    }
    rows
});

/// The structures that objects of a built-in kind always have beside their metadata, as pointers.
pub fn always_there(group: &str, kind: &str) -> &'static [&'static str] {
    let groups = ROWS.get(kind);
    let paths = groups.and_then(|groups| groups.get(group));
    paths.map_or(&[], Vec::as_slice)
}

/// Puts those that an object lacks where its Go type would write them: empty, into what is there.
pub(crate) fn fill(document: &mut Value) {
    for path in structures(document) {
        if document.pointer(path).is_none_or(Value::is_null) {
            put(document, path);
        }
    }
}

/// Those of them that this object shows.
fn shown(object: &Value) -> impl Iterator<Item = &'static str> {
    let paths = structures(object).iter().copied();
    paths.filter(|path| object.pointer(path).is_some_and(Value::is_object))
}

/// Those of the kind that this object says it is of.
fn structures(object: &Value) -> &'static [&'static str] {
    let text = |member: &str| {
        object
            .get(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
    always_there(group, text("kind"))
}

/// The structures that this object has, empty.
pub(super) fn blank(object: &Value) -> Value {
    let mut blank = Value::Object(Map::new());
    shown(object).for_each(|path| put(&mut blank, path));
    blank
}

/// What an object was, with the structures that it has now and was not shown with.
pub(super) fn complete<'a>(old: &'a Value, new: &Value) -> Cow<'a, Value> {
    let mut old = Cow::Borrowed(old);
    for path in shown(new) {
        if old.pointer(path).is_none_or(Value::is_null) {
            put(old.to_mut(), path);
        }
    }
    old
}

fn put(document: &mut Value, path: &str) {
    let (around, name) = path.rsplit_once('/').unwrap_or_default();
    let around = document.pointer_mut(around).and_then(Value::as_object_mut);
    if let Some(around) = around {
        around.insert(name.to_owned(), Value::Object(Map::new()));
    }
}
