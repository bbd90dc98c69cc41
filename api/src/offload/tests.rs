//! What is long is computed on another thread, and what would be refused is refused there.

use super::*;
use crate::admission::Admission;
use crate::api::Api;
use crate::backend::fake::Fake;
use crate::testing::{Served, runtime};
use bytes::Bytes;
use hindsight_core::Actor;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread;
use tokio::runtime::Runtime;
use tokio::sync::OwnedSemaphorePermit;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

#[test]
fn what_is_long_is_computed_on_another_thread() {
    let here = thread::current().id();
    let there = |bytes| {
        let done = runtime().block_on(offload(bytes, || thread::current().id()));
        done.expect("done") != here
    };
    assert!(!there(LONG_BYTES) && there(LONG_BYTES + 1));
    let nowhere = futures_util::FutureExt::now_or_never(offload(LONG_BYTES + 1, || 1));
    assert_eq!(nowhere.and_then(Result::ok), Some(1), "without a runtime");
}

#[test]
fn every_long_body_is_decoded_on_another_thread() {
    let served = Served::new();
    let _taken = take_all(served.runtime());
    let map = format!("{MAPS}/a");
    for (method, path, media) in [
        ("POST", MAPS, "application/json"),
        ("POST", MAPS, "application/yaml"),
        ("PUT", &map, "application/json"),
        ("PATCH", &map, "application/json-patch+json"),
        ("PATCH", &map, "application/merge-patch+json"),
        (
            "PATCH",
            &format!("{map}?fieldManager=m"),
            "application/apply-patch+yaml",
        ),
        ("DELETE", &map, "application/json"),
        ("DELETE", MAPS, "application/json"),
        ("POST", &format!("{PODS}/a/eviction"), "application/json"),
        ("POST", &format!("{PODS}/a/binding"), "application/json"),
        ("POST", REVIEWS, "application/json"),
    ] {
        // Of YAML nobody knows how long it is.
        for (bytes, waits) in [(10, media.ends_with("yaml")), (LONG_BYTES, true)] {
            let body = format!("{{{}", " ".repeat(bytes));
            let request = Request::builder().method(method).uri(path);
            let request = request.header("content-type", media).body(Full::from(body));
            let code = served.code_at_once(request.expect("a request"));
            assert_eq!(code.is_none(), waits, "{method} {path} {media} {code:?}");
        }
    }
}

#[test]
fn what_the_writer_would_refuse_of_a_long_request_does_not_reach_it() {
    let (fake, runtime) = (Arc::new(Fake::new()), runtime());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let send = |path: &str, document: Value| {
        let request = Request::post(path).body(Full::<Bytes>::from(document.to_string()));
        let known = Some(Arc::new(Actor::new("admin")));
        runtime.block_on(async {
            let answer = api.handle(request.expect("a request"), known).await;
            let code = answer.status().as_u16();
            let body = answer.into_body().collect().await.expect("read").to_bytes();
            let status: Value = serde_json::from_slice(&body).expect("JSON");
            let submitted = fake.submitted.lock().expect("a lock").len();
            (code, submitted, status["details"]["causes"][0].clone())
        })
    };
    let pod = |image: &str, empty: usize| {
        let mut containers = vec![json!({"name": "c", "image": image})];
        containers.resize(1 + empty, json!({}));
        json!({"metadata": {"name": "p"}, "spec": {"containers": containers}})
    };
    let namespace = json!({"metadata": {"name": "default"}});
    let (code, before, _) = send("/api/v1/namespaces", namespace);
    assert_eq!((code, before), (201, 1));
    let (code, after, cause) = send(PODS, pod("i", 1));
    assert_eq!((code, after), (422, 2), "a short one is left to the writer");
    // Each takes three bytes, and some hundred with its defaults.
    let (code, after, same) = send(PODS, pod("i", LONG_BYTES / 3));
    assert_eq!((code, after), (422, 2), "a long one is not");
    assert_eq!(same, cause);
    let (code, after, _) = send(PODS, pod(&"i".repeat(LONG_BYTES), 0));
    assert_eq!((code, after), (201, 3), "what is valid is written");
}

/// Takes all seats, so that whatever needs one waits.
fn take_all(runtime: &Runtime) -> OwnedSemaphorePermit {
    let all = u32::try_from(SEATS_MAX).expect("a few");
    let seats = seats_of(runtime.handle());
    runtime
        .block_on(seats.acquire_many_owned(all))
        .expect("all")
}

/// With two configmaps, of which the first is long.
fn with_maps() -> Served {
    let served = Served::new();
    for (path, name, bytes) in [
        ("/api/v1/namespaces", "default", 1),
        (MAPS, "long", LONG_BYTES),
        (MAPS, "short", 1),
    ] {
        let annotations = json!({"k": "v".repeat(bytes)});
        let object = json!({"metadata": {"name": name, "annotations": annotations}});
        let request = Request::post(path).body(Full::from(object.to_string()));
        let made = served.answer(request.expect("a request"));
        assert_eq!(made.status(), 201);
    }
    served
}

#[test]
fn what_a_small_patch_makes_of_a_long_object_is_looked_through_on_another_thread() {
    let served = with_maps();
    let _taken = take_all(served.runtime());
    for (name, code) in [("long", None), ("short", Some(422))] {
        let path = format!("{MAPS}/{name}?fieldValidation=Strict");
        let request = Request::patch(path).header("content-type", "application/merge-patch+json");
        let request = request.body(Full::from(r#"{"data": {"a": "1", "a": "2"}}"#));
        let found = served.code_at_once(request.expect("a request"));
        assert_eq!(found, code, "{name}");
    }
}

/// The rules of its definition may cost seconds.
#[test]
fn a_dry_run_of_a_short_custom_object_is_decided_on_another_thread() {
    let served = with_maps();
    let post = |path: &str, document: &Value| {
        let request = Request::post(path).body(Full::from(document.to_string()));
        request.expect("a request")
    };
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({"metadata": {"name": "things.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let defined = served.answer(post(definitions, &definition));
    assert_eq!(defined.status(), 201);
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}});
    let things = "/apis/example.com/v1/namespaces/default/things";
    let _taken = take_all(served.runtime());
    for (path, document, code) in [
        (things, &thing, None),
        (MAPS, &json!({"metadata": {"name": "a"}}), Some(201)),
    ] {
        let request = post(&format!("{path}?dryRun=All"), document);
        assert_eq!(served.code_at_once(request), code, "{path}");
    }
    assert_eq!(served.code_at_once(post(things, &thing)), Some(201));
}

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

#[test]
fn a_long_item_that_is_not_sent_as_it_is_stored_is_made_on_another_thread() {
    let served = with_maps();
    let get = |path: &str, accept: &str| {
        let request = Request::get(path).header("accept", accept);
        request.body(Full::default()).expect("a request")
    };
    let forms = [
        ("application/json", true),
        (METADATA, false),
        (TABLE, false),
    ];
    let watch = format!("{MAPS}?watch=1&resourceVersion=0");
    let watches = forms.map(|(accept, _)| served.answer(get(&watch, accept)).into_body());
    let _taken = take_all(served.runtime());
    for (accept, is_stored) in [
        ("application/json", true),
        ("application/yaml", false),
        (METADATA_LIST, false),
        (TABLE, false),
    ] {
        let found = served.code_at_once(get(MAPS, accept));
        assert_eq!(found, is_stored.then_some(200), "{accept}");
    }
    for (mut watch, (accept, is_stored)) in watches.into_iter().zip(forms) {
        let found = served.part_at_once(&mut watch);
        assert_eq!(found.is_some(), is_stored, "{accept}");
    }
}

#[test]
fn who_has_given_up_takes_no_seat() {
    let runtime = runtime();
    let taken = take_all(&runtime);
    let (sender, done) = std::sync::mpsc::channel();
    runtime.block_on(async {
        let long = offload(LONG_BYTES + 1, move || sender.send(()));
        let given_up = tokio::time::timeout(std::time::Duration::ZERO, long);
        assert!(given_up.await.is_err(), "it waits");
        drop(taken);
        offload(LONG_BYTES + 1, || ())
            .await
            .expect("there is a seat");
    });
    assert!(done.recv().is_err(), "it is not computed");
}

#[test]
fn a_runtime_that_nobody_drives_any_more_keeps_no_seat_of_another() {
    let (left, other) = (runtime(), runtime());
    let taken = take_all(&left);
    left.block_on(async {
        let long = (0..SEATS_MAX).map(|_| offload(LONG_BYTES + 1, || ()));
        let (asked, waits) = (futures_util::future::join_all(long), async {
            for _ in 0..SEATS_MAX {
                tokio::task::yield_now().await;
            }
        });
        tokio::select! {
            biased;
            _ = asked => panic!("there is no seat"),
            () = waits => {}
        }
    });
    // Those who have given up are given the seats, and nobody tells them.
    drop(taken);
    assert_eq!(seats_of(left.handle()).available_permits(), 0);
    assert_eq!(seats_of(other.handle()).available_permits(), SEATS_MAX);
    let done = other.block_on(offload(LONG_BYTES + 1, || 1));
    assert_eq!(done.expect("done"), 1);
}
