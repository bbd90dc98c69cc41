//! The environment of containers. Source: `ValidateEnv`, `validateEnvVarValueFrom` and `ValidateEnvFrom` of
//! upstream's `pkg/apis/core/validation`.

use super::Field;
use crate::rejection::CauseList;
use crate::validate::{formats, names};

const SOURCES: [&str; 5] = [
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fileKeyRef",
];
const NO_SOURCE: &str = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
     `secretKeyRef` or `fileKeyRef`";
const SEVERAL: &str = "may not have more than one field specified at a time";

/// Fields of a pod that variables can have, in upstream's order.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields that there are, but not for variables.
const OTHER_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
];
const AMOUNTS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

pub(super) fn all(container: &Field<'_>, causes: &mut CauseList) {
    for variable in container.child("env").items() {
        let name = variable.child("name");
        if name.is_empty() {
            causes.push_with(|| name.required(""));
        }
        name.refuse(formats::variable(name.text()), causes);
        value_from(&variable, causes);
    }
    let list = container.child("envFrom");
    for item in list.items() {
        let prefix = item.child("prefix");
        prefix.refuse(formats::variable(prefix.text()), causes);
        let maps = ["configMapRef", "secretRef"].map(|name| item.child(name));
        let there = maps.iter().filter(|map| !map.is_absent());
        let count = there.clone().count();
        for name in there.map(|map| map.child("name")) {
            if name.is_empty() {
                causes.push_with(|| name.required(""));
            } else {
                name.refuse(names::subdomain(name.text()).err(), causes);
            }
        }
        // Upstream's path ends before the index.
        if count == 0 {
            let why = "must specify one of: `configMapRef` or `secretRef`";
            causes.push_with(|| list.invalid_as("\"\"", why));
        } else if count > 1 {
            causes.push_with(|| list.invalid_as("\"\"", SEVERAL));
        }
    }
}

/// A variable has a value or comes from one place.
fn value_from(variable: &Field<'_>, causes: &mut CauseList) {
    let from = variable.child("valueFrom");
    if from.is_absent() {
        return;
    }
    let mut count = 0;
    for kind in SOURCES {
        let source = from.child(kind);
        if !source.is_absent() {
            count += 1;
            one_source(kind, &source, causes);
        }
    }
    let why = if count == 0 {
        NO_SOURCE
    } else if !variable.child("value").is_empty() {
        "may not be specified when `value` is not empty"
    } else if count > 1 {
        SEVERAL
    } else {
        return;
    };
    causes.push_with(|| from.invalid_as("\"\"", why));
}

fn one_source(kind: &str, source: &Field<'_>, causes: &mut CauseList) {
    match kind {
        "fieldRef" => field_of_pod(source, causes),
        "resourceFieldRef" => {
            let resource = source.child("resource");
            let prefixes = ["limits.hugepages-", "requests.hugepages-"];
            let is_huge = prefixes.iter().any(|one| resource.text().starts_with(one));
            if resource.is_empty() {
                causes.push_with(|| resource.required(""));
            } else if !is_huge {
                resource.one_of(&AMOUNTS, causes);
            }
        }
        "fileKeyRef" => {
            for member in ["key", "volumeName", "path"].map(|name| source.child(name)) {
                if member.is_empty() {
                    causes.push_with(|| member.required(""));
                }
            }
        }
        _ => {
            let (name, key) = (source.child("name"), source.child("key"));
            if let Err(why) = names::subdomain(name.text()) {
                causes.push_with(|| name.invalid_as(&format!("{:?}", name.text()), &why));
            }
            if key.is_empty() {
                causes.push_with(|| key.required(""));
            } else {
                key.refuse(formats::config_key(key.text()), causes);
            }
        }
    }
}

/// Source: `validateObjectFieldSelector`.
fn field_of_pod(source: &Field<'_>, causes: &mut CauseList) {
    let (version, path) = (source.child("apiVersion"), source.child("fieldPath"));
    if let Some(absent) = [&version, &path].into_iter().find(|place| place.is_empty()) {
        return causes.push_with(|| absent.required(""));
    }
    let refuse = |why: String| path.invalid(&format!("error converting fieldPath: {why}"));
    let text = path.text();
    let part = text
        .strip_suffix("']")
        .and_then(|head| head.split_once("['"));
    match part {
        _ if version.text() != "v1" => {
            causes.push_with(|| refuse(format!("unsupported pod version: {}", version.text())));
        }
        Some((map, key)) if OTHER_FIELDS[..2].contains(&map) => {
            let is_label = map == "metadata.labels";
            let key = if is_label {
                key.to_owned()
            } else {
                key.to_lowercase()
            };
            let shown = format!("{key:?}");
            let problems = crate::validate::qualified_name(&key).into_iter();
            causes.extend(problems.map(|why| source.invalid_as(&shown, &why)));
        }
        None if text == "spec.host" || FIELDS.contains(&text) => {}
        None if OTHER_FIELDS.contains(&text) => causes.push_with(|| path.not_supported(&FIELDS)),
        _ => causes.push_with(|| refuse(format!("field label not supported: {text}"))),
    }
}
