//! Defaults inside a pod spec. Source: upstream's `pkg/apis/core/v1/defaults.go`.

use super::{fill_absent, fill_empty, fill_missing, objects};
use crate::room::Room;
use serde_json::{Map, Value, json};

/// Lists of containers that get default requests and host ports; ephemeral containers have neither.
const LASTING: [&str; 2] = ["containers", "initContainers"];

/// A volume without a source is an `emptyDir`.
pub(super) fn volumes(spec: &mut Value, room: &mut Room) {
    for volume in objects(spec, &["volumes", "*"]) {
        let is_source = |(name, value): (&String, &Value)| name != "name" && !value.is_null();
        if !volume.iter().any(is_source) {
            fill_missing(volume, "emptyDir", json!({}), room);
        }
    }
    for image in objects(spec, &["volumes", "*", "image"]) {
        pull_policy(image, ["reference", "pullPolicy"], room);
    }
}

/// An image without a version, or with the tag `latest`, is always pulled.
pub(super) fn pull_policy(
    members: &mut Map<String, Value>,
    [image, policy]: [&str; 2],
    room: &mut Room,
) {
    let Some(image) = members.get(image).and_then(Value::as_str) else {
        return;
    };
    let when = if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    };
    fill_empty(members, policy, when.into(), room);
}

/// Whether an image is `latest`, if only by default. One whose name cannot be parsed has no tag at
/// all. Source: upstream's `parsers.ParseImageName`.
fn is_latest(image: &str) -> bool {
    let (image, digest) = match image.split_once('@') {
        Some((image, digest)) => (image, Some(digest)),
        None => (image, None),
    };
    let (folder, name) = image.rsplit_once('/').unwrap_or(("", image));
    let (name, tag) = name
        .split_once(':')
        .map_or((name, None), |(name, tag)| (name, Some(tag)));
    if has_capitals(in_registry(folder)) || has_capitals(name) {
        return false;
    }
    tag.map_or(digest.is_none(), |tag| tag == "latest")
}

/// Returns the part of a path that follows the registry's host, if the path begins with one.
fn in_registry(folder: &str) -> &str {
    let (first, rest) = folder.split_once('/').unwrap_or((folder, ""));
    let is_host = first.contains(['.', ':']) || first == "localhost" || has_capitals(first);
    if is_host { rest } else { folder }
}

fn has_capitals(text: &str) -> bool {
    text.bytes().any(|one| one.is_ascii_uppercase())
}

/// A resource with a limit but no request gets the limit as its request; in pods, not in pod
/// templates.
pub(super) fn requests(spec: &mut Value, room: &mut Room) {
    for list in LASTING {
        for resources in objects(spec, &[list, "*", "resources"]) {
            let Some(limits) = resources.get("limits").filter(|limits| limits.is_object()) else {
                continue;
            };
            let limits = limits.clone();
            fill_empty(resources, "requests", json!({}), room);
            let requests = resources.get_mut("requests");
            if let Some(requests) = requests.and_then(Value::as_object_mut) {
                fill_absent(requests, Some(&limits), room);
            }
        }
    }
}

/// With `hostNetwork`, a container port without a host port uses the same port of the host.
pub(super) fn host_ports(spec: &mut Value, room: &mut Room) {
    if spec.get("hostNetwork") != Some(&Value::Bool(true)) {
        return;
    }
    for list in LASTING {
        for port in objects(spec, &[list, "*", "ports", "*"]) {
            let own = port.get("containerPort").cloned().unwrap_or_default();
            fill_empty(port, "hostPort", own, room);
        }
    }
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
            ("Nginx", false),
            ("library/Nginx:latest", false),
            ("Host/nginx", true),
            ("host.io/Team/nginx", false),
            ("localhost/nginx", true),
            ("registry:5000/nginx", true),
            ("nginx:1.27", false),
            ("registry:5000/nginx:1.27", false),
            ("nginx@sha256:abc", false),
            ("nginx:1.27@sha256:abc", false),
            ("nginx:latest@sha256:abc", true),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn what_a_pod_leaves_out_of_its_parts_is_filled_in() {
        let mut document = json!({"spec": {"hostNetwork": true, "volumes": [{"name": "a"},
            {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "image": {"reference": "i"}}],
            "containers": [{"name": "a", "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}}],
            "ephemeralContainers": [{"name": "b", "image": "i:1"}]}});
        crate::defaults::apply(&kind("pods"), &mut document);
        let spec = &document["spec"];
        assert_eq!(spec["volumes"][0], json!({"name": "a", "emptyDir": {}}));
        assert_eq!(spec["volumes"][1].get("emptyDir"), None);
        assert_eq!(spec["volumes"][2]["image"]["pullPolicy"], "Always");
        let container = &spec["containers"][0];
        assert_eq!(container["ports"][0]["hostPort"], 80);
        let requests = json!({"cpu": "500m", "memory": "1Gi"});
        assert_eq!(container["resources"]["requests"], requests);
        let added = &spec["ephemeralContainers"][0];
        assert_eq!(added["imagePullPolicy"], "IfNotPresent");
        assert_eq!(added["terminationMessagePolicy"], "File");
    }

    #[test]
    fn a_template_asks_for_no_more_than_it_says() {
        let container = json!({"name": "a", "resources": {"limits": {"cpu": "1"}}});
        let mut document = json!({"spec": {"template": {"spec": {"containers": [container]}}}});
        crate::defaults::apply(&kind("deployments"), &mut document);
        let container = &document["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"], json!({"limits": {"cpu": "1"}}));
    }
}
