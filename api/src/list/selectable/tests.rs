//! What selectors look at is read once, beside other requests where that takes long, and as the kind is defined.

use super::*;
use crate::api::Api;
use crate::backend::fake::Fake;
use crate::testing::{Served, runtime};
use bytes::Bytes;
use futures_util::future::join_all;
use hindsight_core::{Actor, GroupResource, State};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::time::Duration;

fn get(path: &str) -> Request<Full<Bytes>> {
    let request = Request::get(path).body(Full::default());
    request.expect("a request")
}

async fn ask(api: &Api, path: &str) -> Response<crate::body::ApiBody> {
    api.handle(get(path), Some(Arc::new(Actor::new("admin"))))
        .await
}

/// What a list answers with.
async fn listed(api: &Api, path: &str) -> String {
    let answer = ask(api, path).await;
    assert_eq!(answer.status(), 200, "{path}");
    let body = answer.into_body().collect().await.expect("a body");
    String::from_utf8_lossy(&body.to_bytes()).into_owned()
}

/// A pod on this node.
fn pod(revision: u64, name: &str, node: &str, bytes: usize) -> Arc<Object> {
    let key = ObjectKey::new(GroupResource::new("", "pods"), "default", name);
    let document = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name,
            "annotations": {"k": "v".repeat(bytes)}}, "spec": {"nodeName": node}});
    let object = Object::from_value(key, document, Revision(revision), None);
    Arc::new(object.expect("an object"))
}

fn api_over(fake: &Arc<Fake>) -> Api {
    Api::new(Arc::clone(fake) as _, Arc::default())
}

/// As kubelets do, each with its own node.
#[test]
fn what_many_watches_select_by_is_read_once_for_each_version() {
    const WATCHES: usize = 50;
    let fake = Arc::new(Fake::new());
    drop(fake.put(&pod(1, "p", "n1", 1)));
    let api = api_over(&fake);
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let mut watches = Vec::new();
        for node in 0..WATCHES {
            let path = format!(
                "/api/v1/pods?watch=1&resourceVersion=1&timeoutSeconds=99999&fieldSelector=spec.nodeName=n{node}"
            );
            watches.push(ask(&api, &path).await.into_body());
        }
        fake.happens(&pod(2, "p", "n2", 1));
        let hour = Duration::from_hours(1);
        let frames = watches.iter_mut().map(|body| tokio::time::timeout(hour, body.frame()));
        let seen = join_all(frames).await.into_iter().map(|frame| {
            let frame = frame.ok()??.expect("sound").into_data().expect("data");
            let event: Value = serde_json::from_slice(&frame).expect("JSON");
            event["type"].as_str().map(str::to_owned)
        });
        let mut expected = vec![None; WATCHES];
        expected[1] = Some("DELETED".to_owned());
        expected[2] = Some("ADDED".to_owned());
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        assert_eq!(api.fields.reads(), 2, "the pod before and after");
        let list = listed(&api, "/api/v1/pods?fieldSelector=spec.nodeName=n2").await;
        assert!(list.contains("\"p\""), "{list}");
        assert_eq!(api.fields.reads(), 2, "a list reads it no more");
    });
}

#[test]
fn others_have_their_turn_before_the_fields_of_a_long_object_are_read() {
    for (bytes, reads) in [(1, 1), (2 << 20, 0)] {
        for query in ["", "&watch=1", "&watch=1&resourceVersion=1"] {
            let fake = Arc::new(Fake::new());
            fake.happens(&pod(2, "p", "n1", bytes));
            let api = api_over(&fake);
            let path = format!("/api/v1/pods?fieldSelector=spec.nodeName=n1{query}");
            let asks = async {
                let mut body = ask(&api, &path).await.into_body();
                let frame = body.frame().await.expect("one").expect("sound");
                frame.into_data().expect("data")
            };
            let others = async { api.fields.reads() };
            let both = async { tokio::join!(asks, others) };
            let (shown, before) = runtime().block_on(Box::pin(both));
            let shown = String::from_utf8_lossy(&shown);
            assert!(shown.contains(r#""k":"v"#), "{query}: {shown:.200}");
            assert_eq!(before, reads, "{bytes} {query}");
            assert_eq!(api.fields.reads(), 1, "{bytes} {query}");
        }
    }
}

#[test]
fn a_long_object_is_read_once_for_all_who_wait_and_nobody_waits_for_one_that_is_not_polled() {
    let fake = Arc::new(Fake::new());
    drop(fake.put(&pod(1, "p", "n1", 2 << 20)));
    let api = api_over(&fake);
    let path = "/api/v1/pods?fieldSelector=spec.nodeName=n1";
    runtime().block_on(async {
        let mut idle = Box::pin(ask(&api, path));
        assert!(idle.as_mut().now_or_never().is_none(), "it has to wait");
        let lists = join_all((0..5).map(|_| listed(&api, path))).await;
        assert!(lists.iter().all(|list| list.contains("\"p\"")));
        assert_eq!(api.fields.reads(), 1);
        assert_eq!(idle.await.status(), 200);
    });
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ROWS: &str = "/apis/y.io/v1/rows";

/// The versions of a kind that may be selected by these fields, of which `c` has this default.
fn versions(fields: &[&str], default: &Value) -> Value {
    let text = json!({"type": "string"});
    let mut defaulted = text.clone();
    if !default.is_null() {
        defaulted["default"] = default.clone();
    }
    let spec = json!({"type": "object", "properties": {"a": text, "b": text, "c": defaulted}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let fields: Vec<Value> = fields
        .iter()
        .map(|path| json!({"jsonPath": path}))
        .collect();
    json!([{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}, "selectableFields": fields}])
}

fn send(served: &Served, request: http::request::Builder, document: &Value) {
    let request = request.body(Full::from(document.to_string()));
    let answer = served.whole(request.expect("a request"));
    assert!(answer.status().is_success(), "{:?}", answer.body());
}

/// Whether a list and a watch show the row; `None` if they are refused.
fn shown(served: &Served, selector: &str) -> Option<bool> {
    let path = format!("{ROWS}?fieldSelector={selector}");
    let list = served.whole(get(&path));
    let mut watch = served.answer(get(&format!("{path}&watch=1")));
    assert_eq!(list.status(), watch.status(), "{selector}");
    if list.status() == 400 {
        return None;
    }
    assert_eq!(list.status(), 200, "{selector}");
    let is_listed = String::from_utf8_lossy(list.body()).contains("one-row");
    let event = served.part_at_once(watch.body_mut());
    assert_eq!(event.is_some(), is_listed, "{selector}");
    Some(is_listed)
}

#[test]
fn objects_are_selected_by_the_fields_that_their_kind_has_now() {
    let served = Served::new();
    let definition = json!({"metadata": {"name": "rows.y.io"}, "spec": {"group": "y.io",
        "scope": "Cluster", "names": {"plural": "rows", "kind": "Row"},
        "versions": versions(&[".spec.a", ".spec.c"], &Value::Null)}});
    send(&served, Request::post(DEFINITIONS), &definition);
    let row = json!({"apiVersion": "y.io/v1", "kind": "Row", "metadata": {"name": "one-row"},
        "spec": {"a": "x", "b": "y"}});
    send(&served, Request::post(ROWS), &row);
    for (selector, expected) in [
        ("spec.a=x", Some(true)),
        ("spec.a=y", Some(false)),
        ("spec.b=y", None),
        ("spec.c=", Some(true)),
    ] {
        assert_eq!(shown(&served, selector), expected, "{selector}");
    }
    let redefined = versions(&[".spec.b", ".spec.c"], &json!("d"));
    let patch = Request::patch(format!("{DEFINITIONS}/rows.y.io"));
    let patch = patch.header("content-type", "application/merge-patch+json");
    send(&served, patch, &json!({"spec": {"versions": redefined}}));
    for (selector, expected) in [
        ("spec.a=x", None),
        ("spec.b=x", Some(false)),
        ("spec.b=y", Some(true)),
        ("spec.c=", Some(false)),
        ("spec.c=d", Some(true)),
    ] {
        assert_eq!(shown(&served, selector), expected, "{selector}");
    }
}

#[test]
fn the_fields_of_so_many_objects_are_kept_and_of_the_newest_always() {
    let state = State::new(crate::builtin_kinds());
    let resource = GroupResource::new("", "secrets");
    let kind = state.kinds.by_resource(&resource).expect("a kind");
    let form = Form::of(&state.kinds, kind, &"v1".into());
    let secret = |revision: u64, bytes: usize| {
        let key = ObjectKey::new(resource.clone(), "default", "s");
        let document = json!({"apiVersion": "v1", "kind": "Secret", "type": "t".repeat(bytes),
            "metadata": {"name": "s", "namespace": "default", "uid": "s"}});
        Object::from_value(key, document, Revision(revision), None).expect("an object")
    };
    let mut kept = Kept::default();
    for (revision, mebibytes, left) in [(1, 10, 1), (2, 5, 2), (3, 2, 2), (4, 20, 1), (5, 1, 1)] {
        let object = secret(revision, mebibytes << 20);
        let id = Id::of(&form, &object);
        kept.keep(id.clone(), &Arc::new(form.selectable_fields(&object)));
        let held = (kept.order.len(), kept.fields.len());
        assert_eq!(held, (left, left), "{revision}");
        assert!(kept.fields.contains_key(&id), "{revision}");
    }
    let small = secret(6, 0);
    let (id, fields) = (Id::of(&form, &small), form.selectable_fields(&small));
    let (most, fields) = (KEPT_BYTES_MAX / BESIDE_FIELDS_BYTES, Arc::new(fields));
    for revision in 0..most + 10 {
        let revision = Revision(1000 + revision as u64);
        let id = Id {
            revision,
            ..id.clone()
        };
        kept.keep(id.clone(), &fields);
        kept.keep(id, &fields);
    }
    assert_eq!((kept.order.len(), kept.fields.len()), (most, most));
    assert_eq!(kept.bytes, KEPT_BYTES_MAX);
}
