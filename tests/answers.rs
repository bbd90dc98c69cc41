//! What a DELETE is answered with, kind by kind: the object as it was removed, or a `Status`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Config, ControlPlane};
use hindsight_tests::http::Client;
use serde_json::Value;

/// The path of a kind, what kind of object a DELETE is answered with, and what the object needs.
/// Source: the storages of upstream's `pkg/registry` that set `ReturnDeletedObject`. Namespaces take
/// two steps, and have their own scenarios.
const ROWS: &str = r#"
/api/v1/namespaces/default/pods                    Pod {"spec":{"containers":[{"name":"c","image":"i"}]}}
/api/v1/namespaces/default/services                Service {"spec":{"ports":[{"port":80}]}}
/api/v1/namespaces/default/serviceaccounts         ServiceAccount {}
/api/v1/namespaces/default/persistentvolumeclaims  PersistentVolumeClaim {"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}
/api/v1/namespaces/default/resourcequotas          ResourceQuota {}
/api/v1/namespaces/default/podtemplates            PodTemplate {"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}
/api/v1/persistentvolumes                          PersistentVolume {"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}
/apis/storage.k8s.io/v1/storageclasses             StorageClass {"provisioner":"x/y"}
/apis/storage.k8s.io/v1/csinodes                   CSINode {"spec":{"drivers":[]}}
/apis/storage.k8s.io/v1/csidrivers                 CSIDriver {"spec":{}}
/apis/storage.k8s.io/v1/volumeattachments          VolumeAttachment {"spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"v"}}}
/apis/storage.k8s.io/v1/volumeattributesclasses    VolumeAttributesClass {"driverName":"d","parameters":{"a":"b"}}
/apis/resource.k8s.io/v1/deviceclasses             DeviceClass {"spec":{}}
/apis/resource.k8s.io/v1/resourceslices            ResourceSlice {"spec":{"driver":"d","nodeName":"n","pool":{"name":"p","generation":1,"resourceSliceCount":1}}}
/apis/resource.k8s.io/v1/namespaces/default/resourceclaims          ResourceClaim {"spec":{}}
/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates  ResourceClaimTemplate {"spec":{"spec":{}}}
/api/v1/namespaces/default/configmaps              Status {}
/api/v1/namespaces/default/secrets                 Status {}
/api/v1/namespaces/default/endpoints               Status {}
/api/v1/namespaces/default/limitranges             Status {}
/api/v1/nodes                                      Status {}
/apis/apps/v1/namespaces/default/deployments       Status {"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
/apis/batch/v1/namespaces/default/jobs             Status {"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}
/apis/coordination.k8s.io/v1/namespaces/default/leases              Status {}
/apis/rbac.authorization.k8s.io/v1/clusterroles    Status {}
/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities     Status {"storageClassName":"s"}
"#;

#[test]
fn some_kinds_answer_with_the_object_that_is_gone_and_all_others_with_a_status() {
    let plane = ControlPlane::open(Config {
        collectors: false,
        ..Config::default()
    });
    let plane = plane.expect("opened");
    let client = Client::new(&plane);
    for row in ROWS.lines().filter(|row| !row.is_empty()) {
        let mut words = row.split_whitespace();
        let (path, kind) = (words.next().expect("a path"), words.next().expect("a kind"));
        let mut object: Value =
            serde_json::from_str(&row[row.find('{').expect("an object")..]).expect("an object");
        object["metadata"]["name"] = "a".into();
        let made = client.send("POST", path, "application/json", &object.to_string());
        assert_eq!(made.code, 201, "{path}: {}", made.text);
        // A policy, because Jobs and their like orphan by default, which takes two steps.
        let one = format!("{path}/a?propagationPolicy=Background");
        let answer = client.send("DELETE", &one, "", "");
        let said = answer.json();
        assert_eq!(
            (answer.code, &said["kind"]),
            (200, &kind.into()),
            "{path}: {}",
            answer.text
        );
        if kind == "Status" {
            assert_eq!(
                said["details"]["uid"],
                made.json()["metadata"]["uid"],
                "{path}"
            );
        } else {
            let removal = client.revision().to_string();
            assert_eq!(
                said["metadata"]["resourceVersion"],
                removal.as_str(),
                "{path}"
            );
        }
        assert_eq!(
            client.send("GET", &format!("{path}/a"), "", "").code,
            404,
            "{path}"
        );
    }
}
