//! Admission over an engine in which other writes happen meanwhile.

mod again;
mod long;
mod many;
mod room;
mod rules;
mod told;

use super::{Admission, Call, WebhookCaller};
use crate::api::Api;
use crate::backend::Backend;
use crate::backend::fake::Fake;
use bytes::Bytes;
use futures_util::future::{BoxFuture, pending};
use hindsight_core::command::{Create, Delete, FieldValidation, Patch, PatchObject, Target};
use hindsight_core::{Actor, Command, GroupResource, Intent, ObjectKey, Rule, Time};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

type Answers = dyn Fn(&Value) -> Option<Value> + Send + Sync;

/// A webhook without a network: `None` as its answer means that it never answers.
struct Webhook {
    answers: Box<Answers>,
    seen: Mutex<Vec<(String, Value)>>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhook")
    }
}

impl WebhookCaller for Webhook {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<(u16, Bytes), String>> {
        let review: Value = serde_json::from_slice(&call.body).expect("JSON");
        let request = review["request"].clone();
        let answer = (self.answers)(&request);
        let uid = request["uid"].clone();
        self.seen.lock().expect("a lock").push((call.url, request));
        let Some(mut response) = answer else {
            return Box::pin(pending());
        };
        response["uid"] = uid;
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": response});
        Box::pin(async move { Ok((200, Bytes::from(review.to_string()))) })
    }
}

/// An engine with a webhook in front of it.
struct Scene {
    fake: Arc<Fake>,
    webhook: Arc<Webhook>,
}

struct Answer {
    code: u16,
    warnings: Vec<String>,
    body: Value,
}

impl Scene {
    /// The webhook is asked about these operations; it is a mutating one where the configurations say so.
    fn new(
        configurations: &str,
        operations: &[&str],
        answers: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        let scene = Self {
            fake: Arc::new(Fake::new()),
            webhook: Arc::new(Webhook {
                answers: Box::new(answers),
                seen: Mutex::default(),
            }),
        };
        scene.write(create(
            "",
            "namespaces",
            "",
            &json!({"metadata": {"name": "default"}}),
        ));
        scene.configure(configurations, operations);
        scene
    }

    fn configure(&self, configurations: &str, operations: &[&str]) {
        let rules = json!([{"operations": operations, "apiGroups": ["*"], "apiVersions": ["*"],
            "resources": ["*"]}]);
        let configuration = json!({"metadata": {"name": "x"}, "webhooks": [{
            "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://w.example.com"}, "timeoutSeconds": 5, "rules": rules}]});
        let group = "admissionregistration.k8s.io";
        self.write(create(group, configurations, "", &configuration));
    }

    fn admission(&self) -> Admission {
        Admission {
            webhooks: Arc::clone(&self.webhook) as _,
            ..Admission::default()
        }
    }

    fn denying(operations: &[&str]) -> Self {
        let configurations = "validatingwebhookconfigurations";
        Self::new(configurations, operations, |_| {
            Some(json!({"allowed": false}))
        })
    }

    fn write(&self, command: Command) {
        self.fake.carry_out(command).expect("accepted");
    }

    fn meanwhile(&self, command: Command) {
        self.fake.meanwhile.lock().expect("a lock").push(command);
    }

    fn send(&self, method: &str, path: &str, media: &str, body: &Value) -> Answer {
        let api = Api::new(Arc::clone(&self.fake) as _, Arc::new(self.admission()));
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", media).body(Full::from(text));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        let answer = async {
            let response = api.handle(request.expect("a request"), Some(actor())).await;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.expect("a body").to_bytes();
            (parts, body)
        };
        let (parts, body) = runtime.expect("a runtime").block_on(answer);
        let warnings = parts.headers.get_all("warning").iter();
        Answer {
            code: parts.status.as_u16(),
            warnings: warnings
                .map(|text| text.to_str().expect("ASCII").to_owned())
                .collect(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        }
    }

    fn object(&self, group: &str, resource: &str, name: &str) -> Value {
        let state = self.fake.state();
        let object = state.get(&key(group, resource, "default", name));
        object.map(|object| object.document()).unwrap_or_default()
    }

    fn seen(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.webhook.seen.lock().expect("a lock"))
    }
}

fn actor() -> Arc<Actor> {
    Arc::new(Actor::new("admin"))
}

fn key(group: &str, resource: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new(group, resource), namespace, name)
}

fn create(group: &str, resource: &str, namespace: &str, object: &Value) -> Command {
    let intent = Intent::Create(Create {
        key: key(group, resource, namespace, ""),
        version: "v1".into(),
        object: object.clone(),
        validation: FieldValidation::Ignore,
    });
    let mut seed = [1; 16];
    let mut hasher = DefaultHasher::new();
    (group, resource, namespace, object.to_string()).hash(&mut hasher);
    let hash = hasher.finish().to_le_bytes();
    seed.iter_mut()
        .zip(hash)
        .for_each(|(byte, part)| *byte = part);
    Command::new(actor(), Time(0), seed, intent)
}

fn delete(group: &str, resource: &str, name: &str) -> Command {
    let target = Target::any(key(group, resource, "default", name));
    let intent = Intent::Delete(Delete::new(target, "v1".into(), Rule::Requested));
    Command::new(actor(), Time(0), [0; 16], intent)
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn patched(operations: &Value) -> Value {
    use base64::prelude::{BASE64_STANDARD, Engine};
    let patch = BASE64_STANDARD.encode(operations.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
}

#[test]
fn what_comes_or_goes_while_it_is_admitted_is_admitted_as_what_it_is_then() {
    let lease = || create("coordination.k8s.io", "leases", "default", &named("a"));
    let gone = || delete("coordination.k8s.io", "leases", "a");
    let config = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "a", "labels": {"evil": "1"}}});
    let mut versioned = config.clone();
    versioned["metadata"]["resourceVersion"] = json!("3");
    for (method, media, config) in [
        ("PUT", "application/json", &versioned),
        ("PATCH", APPLY, &config),
    ] {
        let path = format!("{LEASES}/a?fieldManager=me");
        let scene = Scene::denying(&["UPDATE"]);
        scene.meanwhile(lease());
        let answer = scene.send(method, &path, media, config);
        let labels = &scene.object("coordination.k8s.io", "leases", "a")["metadata"]["labels"];
        assert_eq!(
            (answer.code, labels),
            (400, &Value::Null),
            "{method}: {}",
            answer.body
        );
        let scene = Scene::denying(&["CREATE"]);
        scene.write(lease());
        scene.meanwhile(gone());
        let answer = scene.send(method, &path, media, config);
        let left = scene.object("coordination.k8s.io", "leases", "a");
        assert_eq!(
            (answer.code, left),
            (400, Value::Null),
            "{method}: {}",
            answer.body
        );
    }
}

#[test]
fn an_object_created_meanwhile_is_not_changed_without_admission() {
    let evil = json!({"metadata": {"name": "a"}, "data": {"evil": "1"}});
    for (method, media, body, code) in [
        ("DELETE", "", &Value::Null, 404),
        ("PUT", "application/json", &evil, 400),
        ("PATCH", MERGE, &evil, 400),
    ] {
        let scene = Scene::denying(&["UPDATE", "DELETE"]);
        scene.meanwhile(create("", "configmaps", "default", &named("a")));
        let answer = scene.send(method, &format!("{MAPS}/a"), media, body);
        let there = scene.object("", "configmaps", "a");
        let is_marked = !there["metadata"]["deletionTimestamp"].is_null();
        let touched = is_marked || !there["data"].is_null();
        assert_eq!((answer.code, touched), (code, false), "{method}");
    }
}

#[test]
fn others_that_nobody_is_asked_about_do_not_conflict() {
    let scene = Scene::denying(&["CREATE"]);
    scene.write(create("", "configmaps", "default", &named("a")));
    let others = Intent::Patch(PatchObject {
        key: key("", "configmaps", "default", "a"),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"data": {"theirs": "1"}})),
        validation: FieldValidation::Ignore,
    });
    scene.meanwhile(Command::new(actor(), Time(0), [0; 16], others));
    let ours = json!({"data": {"ours": "2"}});
    let answer = scene.send("PATCH", &format!("{MAPS}/a"), MERGE, &ours);
    let written = scene.object("", "configmaps", "a")["data"].clone();
    assert_eq!(
        (answer.code, written),
        (200, json!({"theirs": "1", "ours": "2"}))
    );
    assert_eq!(
        *scene.fake.submitted.lock().expect("a lock"),
        [1],
        "at once"
    );
}

fn pod(name: &str, node: &str) -> Command {
    create(
        "",
        "pods",
        "default",
        &json!({"metadata": {"name": name},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "c", "image": "i"}]}}),
    )
}

#[test]
fn a_deletion_that_goes_on_as_it_was_asks_nobody_and_hits_nobody_else() {
    let scene = Scene::denying(&["DELETE"]);
    scene.write(pod("a", "n"));
    scene.write(delete("", "pods", "a"));
    scene.meanwhile(pod("b", "n"));
    let answer = scene.send("DELETE", &format!("{PODS}/a"), "", &Value::Null);
    assert_eq!(answer.code, 200, "{}", answer.body);
    assert!(
        scene.fake.submitted.lock().expect("a lock").is_empty(),
        "it is answered from what was seen"
    );
    let namespace = create("", "namespaces", "", &named("n"));
    scene.write(namespace);
    let target = Target::any(key("", "namespaces", "", "n"));
    let mark = Intent::Delete(Delete::new(target, "v1".into(), Rule::Requested));
    scene.write(Command::new(actor(), Time(0), [0; 16], mark));
    let answer = scene.send("DELETE", "/api/v1/namespaces/n", "", &Value::Null);
    assert_eq!(
        (answer.code, scene.seen().len()),
        (200, 0),
        "{}",
        answer.body
    );
    let moved = scene.send(
        "DELETE",
        &format!("{PODS}/a?gracePeriodSeconds=1"),
        "",
        &Value::Null,
    );
    assert_eq!(
        (moved.code, scene.seen().len()),
        (400, 1),
        "less time is another matter"
    );
}

#[test]
fn a_pod_that_is_marked_and_removed_is_asked_about_twice() {
    let is_marked =
        |request: &Value| !request["oldObject"]["metadata"]["deletionTimestamp"].is_null();
    let configurations = "validatingwebhookconfigurations";
    for (refused, code, asked) in [(None, 200, 2), (Some(false), 400, 1), (Some(true), 400, 2)] {
        let answers =
            move |request: &Value| Some(json!({"allowed": Some(is_marked(request)) != refused}));
        for dry_run in ["", "&dryRun=All"] {
            let scene = Scene::new(configurations, &["DELETE"], answers);
            scene.write(pod("a", "n"));
            let path = format!("{PODS}/a?gracePeriodSeconds=0{dry_run}");
            let answer = scene.send("DELETE", &path, "", &Value::Null);
            let seen = scene.seen();
            let marks: Vec<bool> = seen.iter().map(|(_, request)| is_marked(request)).collect();
            assert_eq!(
                (answer.code, &*marks),
                (code, &[false, true][..asked]),
                "{dry_run}"
            );
            let left = scene.object("", "pods", "a");
            assert_eq!(left.is_null(), refused.is_none() && dry_run.is_empty());
            assert_eq!(
                left["metadata"]["deletionTimestamp"],
                Value::Null,
                "all or nothing"
            );
        }
    }
}

#[test]
fn what_a_webhook_may_not_change_is_refused_and_what_it_repeats_is_told() {
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    let identity = json!([{"op": "add", "path": "/metadata/uid", "value": "other"}]);
    let place = json!([{"op": "add", "path": "/metadata/namespace", "value": "other"}]);
    let twice = json!([{"op": "add", "path": "/metadata/ownerReferences", "value": [reference, reference]}]);
    let put = named("a");
    let immutable = "metadata.uid: Invalid value: \"other\": field is immutable";
    let elsewhere = "does not match the namespace sent on the request";
    let repeated = "contains duplicate entries after mutating admission happens;";
    for (method, operations, code, text) in [
        ("PATCH", &identity, 422, immutable),
        ("PUT", &identity, 422, immutable),
        ("POST", &place, 400, elsewhere),
        ("PUT", &place, 400, elsewhere),
        ("PATCH", &twice, 200, repeated),
        ("PUT", &twice, 200, repeated),
        ("POST", &twice, 201, repeated),
    ] {
        let answer = patched(operations);
        let configurations = "mutatingwebhookconfigurations";
        let scene = Scene::new(configurations, &["*"], move |_| Some(answer.clone()));
        let (path, media) = match method {
            "POST" => (MAPS.to_owned(), "application/json"),
            "PUT" => (format!("{MAPS}/a"), "application/json"),
            _ => (format!("{MAPS}/a"), MERGE),
        };
        if method != "POST" {
            scene.write(create("", "configmaps", "default", &put));
        }
        let answer = scene.send(method, &path, media, &put);
        assert_eq!(answer.code, code, "{method} {operations}: {}", answer.body);
        let said = format!(
            "{}{:?}",
            answer.body["message"].as_str().unwrap_or(""),
            answer.warnings
        );
        assert!(said.contains(text), "{method}: {said}");
    }
}

#[test]
fn a_webhook_does_not_outlast_the_timeout_of_the_request() {
    for (asked, code, told) in [
        ("500ms", 504, "1s"),
        ("3s", 504, "3s"),
        ("20s", 500, "5s"),
        ("0", 500, "5s"),
    ] {
        let scene = Scene::new("validatingwebhookconfigurations", &["DELETE"], |_| None);
        scene.write(create("", "configmaps", "default", &named("a")));
        for path in [MAPS.to_owned(), format!("{MAPS}/a")] {
            let answer = scene.send(
                "DELETE",
                &format!("{path}?timeout={asked}"),
                "",
                &Value::Null,
            );
            let (url, _) = scene.seen().pop().expect("a question");
            assert_eq!(
                (answer.code, &*url),
                (code, &*format!("https://w.example.com?timeout={told}")),
                "{}",
                answer.body
            );
        }
    }
}
