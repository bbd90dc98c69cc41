//! What is wrong with volumes, and with how containers use them.

use super::{Create, Update, check_creates, check_updates, right, said};
use serde_json::{Value, json};

/// What is said of a new pod with this volume.
fn of_volume(volume: &Value) -> Vec<String> {
    let mut pod = right("pods");
    let mut named = json!({"name": "v"});
    let members = volume.as_object().expect("an object").clone();
    named.as_object_mut().expect("an object").extend(members);
    pod["spec"]["volumes"] = json!([named]);
    said("pods", &pod, None)
}

fn places(said: &[&str]) -> Vec<String> {
    let place = |said: &&str| format!("spec.volumes[0].{said}");
    said.iter().map(place).collect()
}

#[test]
fn volumes_have_what_their_type_needs() {
    for (kind, needed) in [
        ("gitRepo", "gitRepo.repository"),
        ("gcePersistentDisk", "persistentDisk.pdName"),
        ("awsElasticBlockStore", "awsElasticBlockStore.volumeID"),
        ("iscsi", "iscsi.targetPortal iscsi.iqn"),
        ("glusterfs", "glusterfs.endpoints glusterfs.path"),
        ("persistentVolumeClaim", "persistentVolumeClaim.claimName"),
        ("rbd", "rbd.monitors rbd.image"),
        ("cinder", "cinder.volumeID"),
        ("cephfs", "cephfs.monitors"),
        ("flexVolume", "flexVolume.driver"),
        ("azureFile", "azureFile.secretName azureFile.shareName"),
        ("vsphereVolume", "vsphereVolume.volumePath"),
        ("photonPersistentDisk", "photonPersistentDisk.pdID"),
        ("portworxVolume", "portworxVolume.volumeID"),
        ("azureDisk", "azureDisk.diskName azureDisk.diskURI"),
        ("storageos", "storageos.volumeName"),
        (
            "scaleIO",
            "scaleIO.gateway scaleIO.system scaleIO.volumeName",
        ),
        ("ephemeral", "ephemeral.volumeClaimTemplate"),
    ] {
        let missing = |member: &str| format!("spec.volumes[0].{member}: Required value");
        let expected: Vec<String> = needed.split(' ').map(missing).collect();
        assert_eq!(of_volume(&json!({ kind: {} })), expected, "{kind}");
    }
}

#[test]
fn what_else_is_wrong_with_a_volume_is_said() {
    for (volume, expected) in [
        (
            json!({"iscsi": {"targetPortal": "a", "iqn": "iqn.a", "lun": 256, "chapAuthSession": true}}),
            vec![
                "iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
                "iscsi.secretRef: Required value",
            ],
        ),
        (
            json!({"quobyte": {}}),
            vec![
                "quobyte.volume: Required value",
                "quobyte.registry: Required value: must be a host:port pair or multiple pairs separated by commas",
            ],
        ),
        (
            json!({"flocker": {}}),
            vec!["flocker: Required value: one of datasetName and datasetUUID is required"],
        ),
        (
            json!({"fc": {"lun": 1}}),
            vec![
                "fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both",
            ],
        ),
        (json!({"fc": {"wwids": ["a"]}}), vec![]),
        (
            json!({"gitRepo": {"repository": "r", "directory": "/a/.."}}),
            vec![
                r#"gitRepo.directory: Invalid value: "/a/..": must be a relative path"#,
                r#"gitRepo.directory: Invalid value: "/a/..": must not contain '..'"#,
            ],
        ),
        (
            json!({"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}),
            vec!["ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value"],
        ),
        (
            json!({"configMap": {"name": "c", "items": [{"key": "k", "path": "..a"}]}}),
            vec![r#"configMap.items[0].path: Invalid value: "..a": must not start with '..'"#],
        ),
    ] {
        assert_eq!(of_volume(&volume), places(&expected), "{volume}");
    }
}

#[test]
fn files_that_are_made_for_a_pod_have_a_source_and_a_path_each() {
    let token = |token: Value| json!({"projected": {"sources": [{"serviceAccountToken": token}]}});
    let two = json!({"items": [{"key": "k", "path": "p"}], "name": "n"});
    for (volume, expected) in [
        (
            json!({"downwardAPI": {"defaultMode": 512, "items": [{}, {"path": "../a", "fieldRef": {}},
            {"path": "b", "resourceFieldRef": {"resource": "limits.cpu"}, "mode": -1}]}}),
            vec![
                "downwardAPI.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
                "downwardAPI.path: Required value",
                "downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
                r#"downwardAPI.path: Invalid value: "../a": must not contain '..'"#,
                "downwardAPI.fieldRef.fieldPath: Required value",
                "downwardAPI.resourceFieldRef.containerName: Required value",
                "downwardAPI.mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive",
            ],
        ),
        (
            token(json!({"path": "t", "expirationSeconds": 600})),
            vec![],
        ),
        (
            token(json!({"expirationSeconds": 599})),
            vec![
                "projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
                "projected.path: Required value",
            ],
        ),
        (
            json!({"projected": {"sources": [{"secret": {}, "configMap": two}, {"secret": two}, {"clusterTrustBundle": {"path": "p"}},
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}}),
            vec![
                "projected.sources[0].secret.name: Required value",
                "projected.sources[0]: Forbidden: may not specify more than 1 volume type per source",
                r#"projected: Invalid value: "n": conflicting duplicate paths"#,
                "projected.sources[2].clusterTrustBundle: Required value: either name or signerName must be specified",
                r#"projected: Invalid value: "p": conflicting duplicate paths"#,
                r#"projected: Invalid value: "p": conflicting duplicate paths"#,
            ],
        ),
    ] {
        assert_eq!(of_volume(&volume), places(&expected), "{volume}");
    }
}

const CREATES: &[Create<'static>] = &[
    (
        "pods",
        r#"{"spec": {"volumes": [{"name": "e", "emptyDir": {}}, {"name": "c", "persistentVolumeClaim": {"claimName": "c"}}],
            "containers": [{"name": "c", "image": "i",
                "volumeMounts": [{"name": "e", "mountPath": "/a", "mountPropagation": "Bidirectional", "recursiveReadOnly": "Enabled"},
                    {"name": "e", "mountPath": "/b", "mountPropagation": "x", "recursiveReadOnly": "x"},
                    {"name": "c", "mountPath": "/c", "readOnly": true, "recursiveReadOnly": "IfPossible"}],
                "volumeDevices": [{"name": "c", "devicePath": "/c"}, {"name": "e", "devicePath": "/d"}, {"name": "c"},
                    {"name": "f", "devicePath": "/../d"}]}]}}"#,
        &[
            "spec.containers[0].volumeMounts[0].name: Invalid value: \"e\": must not already exist in volumeDevices",
            "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
            "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
            "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified",
            "spec.containers[0].volumeMounts[1].name: Invalid value: \"e\": must not already exist in volumeDevices",
            r#"spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "x": supported values: "Bidirectional", "HostToContainer", "None""#,
            r#"spec.containers[0].volumeMounts.recursiveReadOnly: Unsupported value: "x": supported values: "Disabled", "Enabled", "IfPossible""#,
            "spec.containers[0].volumeMounts[2].name: Invalid value: \"c\": must not already exist in volumeDevices",
            "spec.containers[0].volumeDevices[0].name: Invalid value: \"c\": must not already exist in volumeMounts",
            "spec.containers[0].volumeDevices[0].devicePath: Invalid value: \"/c\": must not already exist as a path in volumeMounts",
            "spec.containers[0].volumeDevices[1].name: Invalid value: \"e\": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            "spec.containers[0].volumeDevices[1].name: Invalid value: \"e\": must not already exist in volumeMounts",
            "spec.containers[0].volumeDevices[2].name: Invalid value: \"c\": must be unique",
            "spec.containers[0].volumeDevices[2].devicePath: Required value",
            "spec.containers[0].volumeDevices[2].name: Invalid value: \"c\": must not already exist in volumeMounts",
            "spec.containers[0].volumeDevices[3].name: Not found: \"f\"",
            "spec.containers[0].volumeDevices[3].devicePath: Invalid value: \"/../d\": can not contain backsteps ('..')",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"volumes": [{"name": "e", "emptyDir": {}}], "containers": [{"name": "c", "image": "i",
            "securityContext": {"privileged": true},
            "volumeMounts": [{"name": "e", "mountPath": "/a", "mountPropagation": "Bidirectional"}]}]}}"#,
        &[],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "q"}, {}],
            "limits": {"hugepages-2Mi": "2Mi"}}, "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"},
                {"resourceName": "cpu", "restartPolicy": "x"}, {"resourceName": "x"}]}]}}"#,
        &[
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
            r#"spec.containers[0].resources.claims[0]: Not found: "q": must be one of the names in pod.spec.resourceClaims which is empty"#,
            "spec.containers[0].resources.claims[1]: Required value",
            r#"spec.containers[0].resizePolicy[1]: Duplicate value: "cpu""#,
            r#"spec.containers[0].resizePolicy: Unsupported value: "x": supported values: "NotRequired", "RestartContainer""#,
            r#"spec.containers[0].resizePolicy: Unsupported value: "x": supported values: "cpu", "memory""#,
            "spec.containers[0].resizePolicy: Required value",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"resourceClaims": [{"name": "b", "resourceClaimName": "x"}, {"name": "a", "resourceClaimName": "y"}],
            "containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1", "hugepages-2Mi": "2Mi"},
                "claims": [{"name": "a", "request": "r"}, {"name": "a", "request": "r"}, {"name": "a", "request": "s"}, {"name": "a"},
                    {"name": "a", "request": "T"}, {"name": "b", "request": "T"}, {"name": "c"}]}}]}}"#,
        &[
            r#"spec.containers[0].resources.claims[1]: Duplicate value: "a/r""#,
            r#"spec.containers[0].resources.claims[3]: Duplicate value: "a""#,
            r#"spec.containers[0].resources.claims[4]: Duplicate value: "a""#,
            r#"spec.containers[0].resources.claims[5].request: Invalid value: "T": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"#,
            r#"spec.containers[0].resources.claims[6]: Not found: "c": must be one of the names in pod.spec.resourceClaims: a, b"#,
        ],
    ),
    // The volume of the template gives way to the claim of its name.
    (
        "statefulsets",
        r#"{"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}],
            "template": {"spec": {"volumes": [{"name": "data"}, {"name": "e", "emptyDir": {}}], "containers": [{"name": "c", "image": "i",
                "volumeMounts": [{"name": "data", "mountPath": "/a"}, {"name": "e", "mountPath": "/b"}]},
                {"name": "d", "image": "i", "volumeDevices": [{"name": "data", "devicePath": "/a"}]}]}}}}"#,
        &[],
    ),
    (
        "statefulsets",
        r#"{"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}], "template": {"spec": {"containers": [
            {"name": "c", "image": "i", "volumeMounts": [{"name": "dta", "mountPath": "/a"}]}]}}}}"#,
        &[
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
            "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
            r#"spec.template.spec.containers[0].volumeMounts[0].name: Not found: "dta""#,
        ],
    ),
    (
        "daemonsets",
        r#"{"spec": {"template": {"spec": {"containers": [
            {"name": "c", "image": "i", "volumeMounts": [{"name": "dta", "mountPath": "/a"}]}]}}}}"#,
        &[r#"spec.template.spec.containers[0].volumeMounts[0].name: Not found: "dta""#],
    ),
];

#[test]
fn what_is_wrong_with_the_use_of_volumes_and_claims_is_said() {
    check_creates(CREATES);
}

/// Source: `SkipValidatePodTemplateSpec` and `SkipValidateVolumeClaimTemplates` of upstream's
/// `StatefulSetValidationOptions`.
#[test]
fn a_stateful_set_whose_mounts_were_wrong_may_be_updated() {
    const WRONG: &str = r#"{"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}], "template": {"spec": {"containers": [
        {"name": "c", "image": "i", "volumeMounts": [{"name": "dta", "mountPath": "/a"}]}]}}}}"#;
    let updates: &[Update<'static>] = &[
        ("statefulsets", WRONG, r#"{"spec": {"replicas": 3}}"#, &[]),
        (
            "statefulsets",
            "{}",
            r#"{"spec": {"template": {"spec": {"containers": [
                {"name": "c", "image": "i", "volumeMounts": [{"name": "dta", "mountPath": "/a"}]}]}}}}"#,
            &[r#"spec.template.spec.containers[0].volumeMounts[0].name: Not found: "dta""#],
        ),
    ];
    check_updates(updates);
}

/// With a look at all the others for each of them it takes minutes.
#[test]
fn a_container_may_use_any_number_of_volumes_and_claims() {
    const MANY: usize = 30_000;
    let volume = |n| json!({"name": format!("v{n}"), "persistentVolumeClaim": {"claimName": "c"}});
    let mount = |n| json!({"name": format!("v{n}"), "mountPath": format!("/m{n}")});
    let device = |n| json!({"name": format!("v{n}"), "devicePath": format!("/d{n}")});
    let declared = |n| json!({"name": format!("c{n}"), "resourceClaimName": "c"});
    let mut pod = right("pods");
    pod["spec"]["volumes"] = (0..2 * MANY).map(volume).collect();
    pod["spec"]["resourceClaims"] = (0..MANY).map(declared).collect();
    let container = &mut pod["spec"]["containers"][0];
    container["volumeMounts"] = (0..MANY).map(mount).collect();
    container["volumeDevices"] = (MANY..2 * MANY).map(device).collect();
    let claims = (0..MANY).map(|n| json!({"name": format!("c{n}")}));
    container["resources"]["claims"] = claims.collect();
    assert_eq!(said("pods", &pod, None), [""; 0]);
}
