//! A manifest of an object that existed: all that is needed to create it again, without what would be refused
//! or would have it deleted at once.

use crate::answer::OwnerAnswer;
use crate::cli::legible::legible;
use crate::inspect::Owner;
use anyhow::Result;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Metadata that only the server writes.
const OWNED: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];
/// Fields of core kinds that were assigned to the object and may belong to another one by now.
const ASSIGNED: [(&str, &str); 5] = [
    ("Service", "clusterIP"),
    ("Service", "clusterIPs"),
    ("Service", "healthCheckNodePort"),
    ("Pod", "nodeName"),
    ("Namespace", "finalizers"),
];
/// Labels by which a job and its pods know each other, set by the server.
const GENERATED: [&str; 4] = [
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
];
/// The most objects for which what was left out is reported.
const NOTICES_MAX: usize = 10;
/// The most owners of which an answer is remembered; then all are forgotten.
const OWNERS_MAX: usize = 10_000;

/// What was left out, which a user who creates the objects again must know.
#[derive(Default)]
pub(super) struct LeftOut {
    notices: Vec<String>,
    objects: usize,
    /// What was found of each owner: many objects have the same, and a server takes a connection for each
    /// question.
    owners: BTreeMap<Owner, OwnerAnswer>,
}

impl LeftOut {
    pub(super) fn strip(
        &mut self,
        document: &mut Value,
        mut find_owner: impl FnMut(&Owner) -> Result<OwnerAnswer>,
    ) -> Result<()> {
        let text = |pointer: &str| {
            let found = document.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        let (namespace, version) = (text("/metadata/namespace"), text("/apiVersion"));
        let Some(members) = document.as_object_mut() else {
            return Ok(());
        };
        members.remove("status");
        let mut lost = Vec::new();
        if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in OWNED {
                metadata.remove(field);
            }
            let finalizers = metadata.remove("finalizers");
            let finalizers = finalizers.as_ref().and_then(Value::as_array);
            let finalizers = finalizers.into_iter().flatten().filter_map(Value::as_str);
            lost.extend(finalizers.map(|finalizer| format!("finalizer {finalizer}")));
            let owners = &mut self.owners;
            let remembered = |owner: &Owner| {
                if let Some(known) = owners.get(owner) {
                    return Ok(*known);
                }
                let answer = find_owner(owner)?;
                if owners.len() >= OWNERS_MAX {
                    owners.clear();
                }
                owners.insert(owner.clone(), answer);
                Ok(answer)
            };
            lost.extend(disown(metadata, &namespace, remembered)?);
        }
        if version == "v1" {
            let spec = members.get_mut("spec").and_then(Value::as_object_mut);
            lost.extend(spec.into_iter().flat_map(|spec| unassign(spec, &kind)));
        }
        if version == "batch/v1" && kind == "Job" {
            unselect(members);
        }
        if !lost.is_empty() {
            self.objects += 1;
            if self.objects <= NOTICES_MAX {
                self.notices
                    .push(format!("{kind} {name}: {}", lost.join(", ")));
            }
        }
        Ok(())
    }

    pub(super) fn notice(&self) -> Option<String> {
        let more = match self.objects.saturating_sub(NOTICES_MAX) {
            0 => String::new(),
            more => format!("; and from {more} more"),
        };
        (self.objects > 0).then(|| {
            let notices = self.notices.join("; ");
            format!("left out of the manifest: {}{more}", legible(&notices))
        })
    }
}

/// Removes owners that are gone, and those that wait for their dependents to go: an object with no other owners
/// would be deleted as soon as it is created.
fn disown(
    metadata: &mut Map<String, Value>,
    namespace: &str,
    mut find_owner: impl FnMut(&Owner) -> Result<OwnerAnswer>,
) -> Result<Vec<String>> {
    let mut lost = Vec::new();
    let Some(Value::Array(references)) = metadata.remove("ownerReferences") else {
        return Ok(lost);
    };
    let mut kept = Vec::new();
    for reference in references {
        let text = |member: &str| {
            let found = reference.get(member).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let owner = Owner {
            api_version: text("apiVersion"),
            kind: text("kind"),
            namespace: namespace.to_owned(),
            name: text("name"),
            uid: text("uid"),
        };
        let why = match find_owner(&owner)? {
            OwnerAnswer { there: false, .. } => {
                "does not exist now or is of a kind that is not served"
            }
            OwnerAnswer { waits: true, .. } => {
                "is being deleted in the foreground and would take the object along"
            }
            OwnerAnswer { .. } => {
                kept.push(reference);
                continue;
            }
        };
        lost.push(format!("owner {} {}, which {why}", owner.kind, owner.name));
    }
    if !kept.is_empty() {
        metadata.insert("ownerReferences".into(), kept.into());
    }
    Ok(lost)
}

fn unassign(spec: &mut Map<String, Value>, kind: &str) -> Vec<String> {
    // A headless service asked for no address.
    if kind == "Service" && spec.get("clusterIP").and_then(Value::as_str) == Some("None") {
        return Vec::new();
    }
    let mut lost = Vec::new();
    for (_, field) in ASSIGNED.iter().filter(|(of, _)| *of == kind) {
        if spec.remove(*field).is_some() {
            lost.push(format!("spec.{field}"));
        }
    }
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter(|_| kind == "Service") {
        let port = port.as_object_mut();
        if port.and_then(|port| port.remove("nodePort")).is_some() {
            lost.push("a nodePort".into());
        }
    }
    lost
}

/// A job selects its pods by its own UID, and a job created again has another; unless the job says that it
/// selects them itself.
fn unselect(job: &mut Map<String, Value>) {
    let Some(spec) = job.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    spec.remove("selector");
    let template = spec.get_mut("template");
    let given = template.and_then(|template| unlabel(template.get_mut("metadata")?, |_, _| true));
    let given = given.unwrap_or_default();
    if let Some(metadata) = job.get_mut("metadata") {
        unlabel(metadata, |label, value| given.get(label) == Some(value));
    }
}

/// Removes generated labels; returns those that it removed.
fn unlabel(
    metadata: &mut Value,
    is_given: impl Fn(&str, &Value) -> bool,
) -> Option<Map<String, Value>> {
    let metadata = metadata.as_object_mut()?;
    let labels = metadata.get_mut("labels")?.as_object_mut()?;
    let mut taken = Map::new();
    for label in GENERATED {
        let value = labels.get(label);
        if value.is_some_and(|value| is_given(label, value)) {
            taken.extend(labels.remove_entry(label));
        }
    }
    if labels.is_empty() {
        metadata.remove("labels");
    }
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stripped(mut document: Value) -> (Value, Option<String>) {
        let mut left_out = LeftOut::default();
        let find_owner = |owner: &Owner| {
            let waits = owner.name == "waits";
            let there = waits || owner.name == "there";
            Ok(OwnerAnswer { there, waits })
        };
        left_out.strip(&mut document, find_owner).expect("asked");
        (document, left_out.notice())
    }

    #[test]
    fn what_was_assigned_or_would_delete_it_is_left_out_and_told() {
        let owner =
            |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u"});
        let metadata = json!({"name": "s", "uid": "u", "finalizers": ["a/b"], "labels": {"k": "v"},
            "ownerReferences": [owner("there"), owner("gone"), owner("waits")]});
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "status": {},
            "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "type": "NodePort", "healthCheckNodePort": 30002,
                "ports": [{"port": 1, "nodePort": 30001}]}});
        let (document, told) = stripped(service);
        assert_eq!(
            document,
            json!({"apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "s", "labels": {"k": "v"}, "ownerReferences": [owner("there")]},
                "spec": {"type": "NodePort", "ports": [{"port": 1}]}})
        );
        let told = told.expect("told");
        for part in [
            "finalizer a/b",
            "owner Pod gone, which does not exist now",
            "owner Pod waits, which is being deleted in the foreground",
            "spec.clusterIPs",
            "a nodePort",
        ] {
            assert!(told.contains(part), "{told}");
        }
        for (kind, field) in [("Pod", "nodeName"), ("Namespace", "finalizers")] {
            let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "o"}, "spec": {field: "x"}});
            let (document, told) = stripped(object);
            assert_eq!(document["spec"], json!({}));
            assert!(told.expect("told").contains(field));
        }
    }

    #[test]
    fn each_owner_is_asked_about_once_however_many_objects_have_it() {
        let mut left_out = LeftOut::default();
        let mut asked = Vec::new();
        for object in 0..3 {
            let owner = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
            for (namespace, references) in [
                ("a", [owner("there", "u"), owner("gone", "u")]),
                ("a", [owner("there", "u"), owner("there", "v")]),
                ("b", [owner("there", "u"), owner("gone", "u")]),
            ] {
                let metadata = json!({"name": format!("o{object}"), "namespace": namespace, "ownerReferences": references});
                let mut document =
                    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
                let find_owner = |owner: &Owner| {
                    asked.push(owner.clone());
                    let there = owner.name == "there" && owner.uid == "u";
                    Ok(OwnerAnswer {
                        there,
                        waits: false,
                    })
                };
                left_out.strip(&mut document, find_owner).expect("asked");
                let kept = &document["metadata"]["ownerReferences"];
                assert_eq!(*kept, json!([owner("there", "u")]));
            }
        }
        let asked = asked.iter().map(|owner| {
            let Owner {
                namespace,
                name,
                uid,
                ..
            } = owner;
            format!("{namespace}/{name}/{uid}")
        });
        let asked: Vec<String> = asked.collect();
        assert_eq!(
            asked,
            [
                "a/there/u",
                "a/gone/u",
                "a/there/v",
                "b/there/u",
                "b/gone/u"
            ]
        );
    }

    #[test]
    fn what_somebody_wished_for_is_kept_without_a_word() {
        for wished in [
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
                "spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
            json!({"apiVersion": "e.io/v1", "kind": "Pod", "metadata": {"name": "s"},
                "spec": {"nodeName": "n"}}),
        ] {
            assert_eq!(stripped(wished.clone()), (wished, None));
        }
    }

    #[test]
    fn what_a_job_was_given_to_select_its_pods_by_is_left_out() {
        let given = |label: &str| {
            json!({"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u",
                "batch.kubernetes.io/job-name": "j", "job-name": "j", "app": label})
        };
        let job = |own: Value, manual: bool| {
            let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}});
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "labels": own},
                "spec": {"manualSelector": manual, "selector": selector,
                    "template": {"metadata": {"labels": given("a")}}}})
        };
        let (stripped_of_it, told) = stripped(job(given("a"), false));
        let left = json!({"app": "a"});
        assert_eq!(
            stripped_of_it,
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "labels": left},
                "spec": {"manualSelector": false, "template": {"metadata": {"labels": left}}}})
        );
        assert_eq!(told, None);
        let own = json!({"job-name": "mine"});
        let (kept, _) = stripped(job(own.clone(), false));
        assert_eq!(kept["metadata"]["labels"], own);
        let manual = job(given("a"), true);
        assert_eq!(stripped(manual.clone()), (manual, None));
        let mut of_others = job(given("a"), false);
        of_others["apiVersion"] = "e.io/v1".into();
        assert_eq!(stripped(of_others.clone()), (of_others, None));
    }
}
