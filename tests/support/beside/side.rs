//! One of the two servers, and the names and UIDs that the objects of a history have there.

use super::author::{self, Owner, Step, Target, Who};
use super::picture::Picture;
use super::{Attempt, PAUSE, Server};
use crate::http::Answer;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long it may take until pods can be created in a new namespace.
const BEGIN: Duration = Duration::from_secs(30);
const PRIORITY_CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
/// The label of everything that is created.
const LABEL: &str = "hindsight.example.com/beside";

/// A server, and the requests that it was sent.
pub(super) struct Side<'a> {
    attempt: Attempt,
    server: &'a mut dyn Server,
    uids: BTreeMap<usize, String>,
    transcript: Vec<String>,
}

impl<'a> Side<'a> {
    pub(super) fn new(attempt: Attempt, server: &'a mut dyn Server) -> Self {
        Self {
            attempt,
            server,
            uids: BTreeMap::new(),
            transcript: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self) -> Result<(), String> {
        for namespace in author::NAMESPACES {
            let name = self.namespace(namespace);
            let body = json!({"metadata": {"name": name, "labels": self.labels()}}).to_string();
            let made = self.send("POST", "/api/v1/namespaces", "application/json", &body);
            if made.code != 201 {
                return Err(format!("no namespace {name}: {}", made.text));
            }
        }
        self.wait_until_pods_are_accepted()
    }

    /// Waits until pods are accepted: a namespace may need a service account first.
    fn wait_until_pods_are_accepted(&mut self) -> Result<(), String> {
        let since = Instant::now();
        let pod = json!({"metadata": {"name": "p"}, "spec": author::Kind::Pod.spec()}).to_string();
        for namespace in author::NAMESPACES {
            let path = format!("{}?dryRun=All", self.namespaced(namespace, "pods"));
            loop {
                let answer = self.send("POST", &path, "application/json", &pod);
                match answer.code {
                    201 => break,
                    _ if since.elapsed() > BEGIN => return Err(answer.text),
                    _ => std::thread::sleep(PAUSE),
                }
            }
        }
        Ok(())
    }

    /// Every request so far, with its answer.
    pub(super) fn transcript(&self) -> String {
        self.transcript.join("\n")
    }

    /// Lets the collector come to rest.
    pub(super) fn rest(&mut self) {
        self.server.rest();
    }

    /// Removes what is left, finalizers or not.
    pub(super) fn clear(&mut self) {
        for path in self.collections() {
            for object in items(&self.list(&path).json()) {
                let path = format!("{path}/{}", text(object, "/metadata/name"));
                let body = json!({"metadata": {"finalizers": null}}).to_string();
                self.send("PATCH", &path, "application/merge-patch+json", &body);
                let now = json!({"gracePeriodSeconds": 0}).to_string();
                self.send("DELETE", &path, "application/json", &now);
            }
        }
        for namespace in author::NAMESPACES {
            let path = format!("/api/v1/namespaces/{}", self.namespace(namespace));
            self.send("DELETE", &path, "", "");
        }
    }

    /// Carries out one step and returns the answer's code, kind and reason.
    pub(super) fn carry_out(&mut self, step: &Step) -> String {
        let media = "application/json";
        let answer = match step {
            Step::Create(id, target, metadata) => {
                let mut object = json!({"metadata": {"name": self.name(target),
                    "labels": self.labels(), "finalizers": metadata.finalizers}, "spec": target.kind.spec()});
                object["metadata"]["ownerReferences"] = self.references(&metadata.owners);
                let path = self.collection(target);
                let answer = self.send("POST", &path, media, &object.to_string());
                if answer.code == 201 {
                    let uid = text(&answer.json(), "/metadata/uid").to_owned();
                    self.uids.insert(*id, uid);
                }
                answer
            }
            Step::Delete(target, options) => {
                let path = self.path(target);
                self.send("DELETE", &path, media, &self.options(options))
            }
            Step::Clear(target, options) => {
                let path = self.selected(&self.collection(target));
                self.send("DELETE", &path, media, &options.to_string())
            }
            Step::SetFinalizers(target, finalizers) => {
                self.patch(target, &json!({"finalizers": finalizers}))
            }
            Step::SetOwners(target, owners) => {
                let owners = self.references(owners);
                self.patch(target, &json!({"ownerReferences": owners}))
            }
        };
        let body = answer.json();
        let (reason, kind) = (text(&body, "/reason"), text(&body, "/kind"));
        let answered = format!("{} {kind} {reason}", answer.code);
        if let Some(entry) = self.transcript.last_mut() {
            *entry = format!("{entry} -> {answered}");
        }
        answered
    }

    fn patch(&mut self, target: &Target, metadata: &Value) -> Answer {
        let body = json!({"metadata": metadata}).to_string();
        let path = self.path(target);
        self.send("PATCH", &path, "application/merge-patch+json", &body)
    }

    fn send(&mut self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        self.transcript.push(format!("{method} {path} {body}"));
        self.server.send(method, path, media, body)
    }

    /// The options, with the number of a creation replaced by the UID that the object has here.
    fn options(&self, options: &Value) -> String {
        let mut options = options.clone();
        if let Some(uid) = options.pointer_mut("/preconditions/uid") {
            let id = uid.as_u64().and_then(|id| usize::try_from(id).ok());
            *uid = self.uid(Who::Made(id.unwrap_or_default())).into();
        }
        options.to_string()
    }

    fn references(&self, owners: &[Owner]) -> Value {
        let reference = |owner: &Owner| {
            json!({"apiVersion": owner.target.kind.group_version(), "kind": owner.target.kind.name(),
                "name": self.name(&owner.target), "uid": self.uid(owner.who),
                "blockOwnerDeletion": owner.blocks})
        };
        owners.iter().map(reference).collect()
    }

    /// The UID of an object; if it was never created, one that no other object has, in this history
    /// or another.
    fn uid(&self, who: Who) -> String {
        let Attempt { seed, number } = self.attempt;
        match who {
            Who::Made(id) => match self.uids.get(&id) {
                Some(uid) => uid.clone(),
                None => format!("{seed:08x}-{number:04x}-4000-8000-{id:012}"),
            },
            Who::Nobody(nobody) => format!("{seed:08x}-{number:04x}-4000-8001-{nobody:012}"),
        }
    }

    /// Every object of the history.
    pub(super) fn picture(&mut self) -> Result<Picture, String> {
        let mut picture = Picture::default();
        for path in self.collections() {
            let list = self.list(&path);
            if list.code != 200 {
                return Err(format!("{path} cannot be listed: {}", list.text));
            }
            for object in items(&list.json()) {
                picture.add(&path, object, &|uid| self.id(uid));
            }
        }
        Ok(picture)
    }

    /// The number of the creation that made the object with this UID.
    fn id(&self, uid: &str) -> String {
        let made = self.uids.iter().find(|(_, known)| *known == uid);
        made.map_or_else(|| uid.to_owned(), |(id, _)| format!("c{id}"))
    }

    fn list(&mut self, path: &str) -> Answer {
        let path = self.selected(path);
        self.server.send("GET", &path, "", "")
    }

    fn selected(&self, path: &str) -> String {
        let label = LABEL.replace('/', "%2F");
        format!("{path}?labelSelector={label}%3D{}", self.attempt)
    }

    fn labels(&self) -> Value {
        json!({LABEL: self.attempt.to_string()})
    }

    fn namespace(&self, name: &str) -> String {
        format!("beside-{}-{name}", self.attempt)
    }

    /// The object's name here. Cluster-scoped names are shared by all histories, so they get a
    /// prefix.
    fn name(&self, target: &Target) -> String {
        match target.namespace {
            Some(_) => target.name.clone(),
            None => self.namespace(&target.name),
        }
    }

    fn collection(&self, target: &Target) -> String {
        match target.namespace {
            Some(namespace) => self.namespaced(namespace, target.kind.resource()),
            None => PRIORITY_CLASSES.into(),
        }
    }

    fn namespaced(&self, namespace: &str, resource: &str) -> String {
        let namespace = self.namespace(namespace);
        format!("/api/v1/namespaces/{namespace}/{resource}")
    }

    fn collections(&self) -> Vec<String> {
        let mut all = vec![PRIORITY_CLASSES.to_owned()];
        for namespace in author::NAMESPACES {
            all.push(self.namespaced(namespace, "configmaps"));
            all.push(self.namespaced(namespace, "pods"));
        }
        all
    }

    fn path(&self, target: &Target) -> String {
        format!("{}/{}", self.collection(target), self.name(target))
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
