//! Steps that send requests.

use super::{Line, Scenario};
use serde_json::{Value, json};

const HERE: &str = "/api/v1/namespaces/default";

/// Media types by the short names of the scenarios.
const MEDIA: &[(&str, &str)] = &[
    ("json", "application/json"),
    ("yaml", "application/yaml"),
    ("text", "text/plain"),
    ("protobuf", "application/vnd.kubernetes.protobuf"),
    ("merge", "application/merge-patch+json"),
    ("json-patch", "application/json-patch+json"),
    ("strategic", "application/strategic-merge-patch+json"),
    ("apply", "application/apply-patch+yaml"),
];

impl Scenario {
    pub(super) fn create(&mut self, line: &Line<'_>) -> Result<(), String> {
        let kind = self.kind(line.kind)?;
        let mut object = json!({"apiVersion": kind.api_version(&kind.versions[0].name),
            "kind": line.kind, "metadata": {"name": line.name}});
        if let Some(owners) = line.list("owner") {
            object["metadata"]["ownerReferences"] = self.owners(&owners, line.has("block"));
        }
        if let Some(finalizers) = line.list("finalizers") {
            object["metadata"]["finalizers"] = json!(finalizers);
        }
        if let Some(spec) = spec(line.kind) {
            object["spec"] = spec;
        }
        if let Some(more) = line.json()? {
            merge(&mut object, more);
        }
        let path = format!("{}{}", self.collection(line)?, dry(line, '?'));
        self.request("POST", &path, "json", &object.to_string())?;
        let made = self.last.json();
        let name = made["metadata"]["name"].as_str().unwrap_or_default();
        let mut key = self.key(line)?;
        key.name = name.into();
        let uid = made["metadata"]["uid"].as_str().unwrap_or_default();
        if !line.has("dry") {
            let known = line.option("as").unwrap_or(name);
            self.known.insert(known.to_owned(), uid.to_owned());
            self.created
                .insert(name.to_owned(), (line.kind.to_owned(), key));
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, line: &Line<'_>) -> Result<(), String> {
        let path = format!("{}/{}", self.collection(line)?, line.name);
        self.delete_at(&path, line)
    }

    pub(super) fn clear(&mut self, line: &Line<'_>) -> Result<(), String> {
        let path = self.collection(line)?;
        self.delete_at(&path, line)
    }

    fn delete_at(&mut self, path: &str, line: &Line<'_>) -> Result<(), String> {
        let policy = line.option("policy").map(|policy| match policy {
            "background" => "Background",
            "foreground" => "Foreground",
            "orphan" => "Orphan",
            other => other,
        });
        let query = [
            ("propagationPolicy", policy),
            ("orphanDependents", line.option("orphan")),
            ("gracePeriodSeconds", line.option("grace")),
            ("uid", line.option("uid")),
            ("resourceVersion", line.option("revision")),
            ("dryRun", line.has("dry").then_some("All")),
        ];
        let query = query
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", (*value)?)));
        let query: Vec<String> = query
            .chain(line.option("query").map(str::to_owned))
            .collect();
        let path = format!("{path}?{}", query.join("&"));
        self.request("DELETE", &path, "json", line.body.unwrap_or_default())
    }

    pub(super) fn set(&mut self, line: &Line<'_>) -> Result<(), String> {
        let mut patch = line.json()?.unwrap_or_else(|| json!({}));
        if let Some(finalizers) = line.list("finalizers") {
            patch["metadata"]["finalizers"] = json!(finalizers);
        }
        if let Some(owners) = line.list("owner") {
            patch["metadata"]["ownerReferences"] = self.owners(&owners, line.has("block"));
        }
        let status = if line.has("status") { "/status" } else { "" };
        let path = format!("{}/{}{status}", self.collection(line)?, line.name);
        let path = format!("{path}{}", dry(line, '?'));
        self.request("PATCH", &path, "merge", &patch.to_string())
    }

    pub(super) fn define(&mut self, line: &Line<'_>) -> Result<(), String> {
        let (plural, kind) = (line.kind, line.name);
        let scope = if line.has("cluster") {
            "Cluster"
        } else {
            "Namespaced"
        };
        let name = format!("{plural}.example.com");
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let mut version = json!({"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema}});
        if line.has("status") {
            version["subresources"] = json!({"status": {}});
        }
        let definition = json!({"metadata": {"name": name}, "spec": {"group": "example.com",
            "scope": scope, "versions": [version], "names": {"plural": plural, "kind": kind}}});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        self.request("POST", path, "json", &definition.to_string())
    }

    /// Sends any request; the answer is checked by the lines that follow.
    pub(super) fn send(&mut self, line: &Line<'_>) -> Result<(), String> {
        let (method, path) = (line.kind, line.name.replacen('~', HERE, 1));
        let usual = if method == "PATCH" { "merge" } else { "json" };
        let media = line.option("as").unwrap_or(usual);
        let headers = [
            ("content-type", media_type(media)?),
            ("accept", line.option("accept").unwrap_or_default()),
        ];
        let body = line.body.unwrap_or_default();
        self.last = self.stage.client.send_with(method, &path, &headers, body);
        self.is_unread = true;
        let made = self.last.json();
        if self.last.code == 201
            && let (Some(name), Some(uid)) = (
                made["metadata"]["name"].as_str(),
                made["metadata"]["uid"].as_str(),
            )
        {
            self.known.insert(name.to_owned(), uid.to_owned());
        }
        Ok(())
    }

    /// Sends a request that must be accepted; an error has the answer's message.
    fn request(&mut self, method: &str, path: &str, media: &str, body: &str) -> Result<(), String> {
        let media = if body.is_empty() {
            ""
        } else {
            media_type(media)?
        };
        self.last = self.stage.client.send(method, path, media, body);
        self.is_unread = false;
        if self.last.code < 400 {
            return Ok(());
        }
        let message = self.last.json()["message"].as_str().map(str::to_owned);
        Err(message.unwrap_or_else(|| self.last.text.clone()))
    }

    /// The path of the collection that a line is about.
    pub(super) fn collection(&self, line: &Line<'_>) -> Result<String, String> {
        let kind = self.kind(line.kind)?;
        let version = kind.api_version(&kind.versions[0].name);
        let root = if version.contains('/') { "apis" } else { "api" };
        let plural = &kind.resource.resource;
        if !kind.is_namespaced() {
            return Ok(format!("/{root}/{version}/{plural}"));
        }
        let namespace = line.option("in").unwrap_or("default");
        Ok(format!("/{root}/{version}/namespaces/{namespace}/{plural}"))
    }

    /// References to owners by name; an owner that was never created gets a UID that no object has.
    fn owners(&self, names: &[&str], blocks: bool) -> Value {
        let one = |name: &&str| {
            let unknown = || ("ConfigMap".to_owned(), format!("never-{name}"));
            let created = self.created.get(*name).map(|(kind, _)| kind.clone());
            let (kind, uid) = created
                .zip(self.known.get(*name).cloned())
                .unwrap_or_else(unknown);
            let found = self.kind(&kind);
            let version = found.map_or("example.com/v1".into(), |kind| {
                kind.api_version(&kind.versions[0].name)
            });
            json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid,
                "blockOwnerDeletion": blocks})
        };
        names.iter().map(one).collect()
    }
}

fn media_type(name: &str) -> Result<&'static str, String> {
    let found = MEDIA.iter().find(|(short, _)| *short == name);
    found
        .map(|(_, media)| *media)
        .ok_or_else(|| format!("no media type {name}"))
}

fn dry(line: &Line<'_>, first: char) -> String {
    if line.has("dry") {
        format!("{first}dryRun=All")
    } else {
        String::new()
    }
}

/// Merges the second document into the first, whose members it overrides.
fn merge(into: &mut Value, from: Value) {
    match from {
        Value::Object(members) if into.is_object() => {
            for (name, value) in members {
                merge(&mut into[name], value);
            }
        }
        other => *into = other,
    }
}

/// The smallest valid spec of a kind.
fn spec(kind: &str) -> Option<Value> {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]});
    let always = json!({"containers": [{"name": "main", "image": "x"}]});
    let template = json!({"metadata": {"labels": {"app": "x"}}, "spec": always});
    let selector = json!({"matchLabels": {"app": "x"}});
    match kind {
        "Pod" => Some(pod),
        "Job" => Some(json!({"template": {"spec": pod}})),
        "CronJob" => Some(json!({"schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": pod}}}})),
        "ReplicationController" => Some(json!({"selector": {"app": "x"}, "template": template})),
        "Deployment" | "ReplicaSet" | "DaemonSet" => {
            Some(json!({"selector": selector, "template": template}))
        }
        "Service" => Some(json!({"ports": [{"port": 80}]})),
        "PersistentVolume" => Some(json!({"capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}})),
        _ => None,
    }
}
