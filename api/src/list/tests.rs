//! The cost of matching each object is bounded, and a token that is too old comes with a way to continue.

use crate::admission::Admission;
use crate::api::Api;
use crate::backend::fake::Fake;
use bytes::Bytes;
use hindsight_core::{Actor, GroupResource, Object, ObjectKey, Revision};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const REQUIREMENTS_MAX: usize = 1_000;

async fn answered(api: &Api, method: Method, query: &str) -> (u16, Value) {
    let request = Request::builder().method(method);
    let request = request.uri(format!("/api/v1/namespaces/default/configmaps?{query}"));
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let answer = api
        .handle(request, Some(Arc::new(Actor::new("admin"))))
        .await;
    let code = answer.status().as_u16();
    if query.contains("watch") && code == 200 {
        return (code, Value::Null);
    }
    let body = answer.into_body().collect().await.expect("read").to_bytes();
    (code, serde_json::from_slice(&body).expect("JSON"))
}

async fn ask(api: &Api, method: Method, query: &str) -> (u16, String) {
    let (code, document) = answered(api, method, query).await;
    (code, document["message"].to_string())
}

#[test]
fn a_selector_of_too_many_requirements_is_refused_by_whatever_lists() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let api = Api::new(Arc::new(Fake::new()) as _, Arc::default());
        for (name, one) in [
            ("labelSelector", "a!=b,"),
            ("fieldSelector", "metadata.name!=b,"),
        ] {
            for (method, more) in [
                (Method::GET, ""),
                (Method::GET, "&limit=2"),
                (Method::GET, "&watch=1"),
                (Method::DELETE, ""),
            ] {
                for (count, expected) in [(REQUIREMENTS_MAX, 200), (REQUIREMENTS_MAX + 1, 400)] {
                    let selector = one.repeat(count);
                    let selector = selector.trim_end_matches(',');
                    let query = format!("{name}={selector}{more}");
                    let (code, message) = ask(&api, method.clone(), &query).await;
                    assert_eq!(code, expected, "{method} {name}{more} {message}");
                    assert!(
                        code == 200 || message.contains("1000 requirements"),
                        "{message}"
                    );
                }
            }
        }
    });
}

fn object(revision: u64, name: &str) -> Arc<Object> {
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", name);
    let version = revision.to_string();
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name,
        "namespace": "default", "uid": name, "resourceVersion": version}});
    let object = Object::from_value(key, document, Revision(revision), None);
    Arc::new(object.expect("an object"))
}

#[tokio::test]
async fn the_newest_state_is_kept_for_the_next_page_and_no_folded_one_is() {
    const FOLDED: &str = "limit=1&resourceVersion=1&resourceVersionMatch=Exact";
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    for (revision, name) in [(1, "a"), (2, "b"), (3, "c")] {
        drop(fake.put(&object(revision, name)));
    }
    let (code, folded) = answered(&api, Method::GET, FOLDED).await;
    assert_eq!(code, 200);
    assert!(folded["metadata"]["continue"].is_string(), "{folded}");
    let kept = || fake.kept.lock().expect("a lock").clone();
    assert_eq!(kept(), []);
    let (code, first) = answered(&api, Method::GET, "limit=1").await;
    assert_eq!((code, kept()), (200, vec![Revision(3)]));
    // What had to go since, because it holds too much, is not kept anew.
    drop(fake.put(&object(4, "d")));
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let (code, second) = answered(&api, Method::GET, &format!("limit=1&continue={token}")).await;
    assert_eq!(code, 200, "{second}");
    assert!(second["metadata"]["continue"].is_string(), "{second}");
    for without_more in ["", "limit=4"] {
        let (code, all) = answered(&api, Method::GET, without_more).await;
        assert_eq!(code, 200, "{all}");
    }
    assert_eq!(kept(), [Revision(3)]);
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_version_is_too_old_goes_on_as_it_is_now() {
    const EXACT: &str = "resourceVersion=2&resourceVersionMatch=Exact";
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    for (revision, name) in [(1, "a"), (2, "c")] {
        drop(fake.put(&object(revision, name)));
    }
    let names = |document: &Value| {
        let items = document["items"].as_array().cloned().unwrap_or_default();
        let names = items.iter().map(|one| one["metadata"]["name"].to_string());
        names.collect::<String>()
    };
    let (_, first) = answered(&api, Method::GET, "limit=1").await;
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let next = format!("limit=1&continue={token}");
    let (code, second) = answered(&api, Method::GET, &next).await;
    assert_eq!((code, names(&second).as_str()), (200, "\"c\""));
    drop(fake.put(&object(3, "b")));
    *fake.restored.lock().expect("a lock") = Revision(3);

    let (code, status) = answered(&api, Method::GET, &next).await;
    let message = status["message"].as_str().expect("a message");
    let begins = "The provided continue parameter is too old";
    assert!(code == 410 && message.starts_with(begins), "{status}");
    assert_eq!(status["reason"], "Expired");
    let token = status["metadata"]["continue"].as_str().expect("a token");
    let rest = format!("limit=1&continue={token}");
    let (code, rest) = answered(&api, Method::GET, &rest).await;
    assert_eq!((code, names(&rest).as_str()), (200, "\"b\""), "{rest}");
    assert_eq!(rest["metadata"]["resourceVersion"], "3");
    let token = rest["metadata"]["continue"].as_str().expect("a token");
    let (code, last) = answered(&api, Method::GET, &format!("continue={token}")).await;
    assert_eq!((code, names(&last).as_str()), (200, "\"c\""));

    let too_old = "\"The resourceVersion for the provided list is too old.\"";
    for (query, expected) in [
        (EXACT, too_old),
        ("resourceVersion=2&limit=1", too_old),
        ("resourceVersion=2", "\"too old resource version: 2 (3)\""),
    ] {
        let (code, message) = ask(&api, Method::GET, query).await;
        assert_eq!((code, message.as_str()), (410, expected), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_option_is_read_by_lists_and_watches_alike() {
    let api = Api::new(Arc::new(Fake::new()) as _, Arc::default());
    for name in ["limit", "timeoutSeconds"] {
        for more in ["", "&watch=1"] {
            let query = format!("{name}=abc{more}");
            assert_eq!(ask(&api, Method::GET, &query).await.0, 400, "{query}");
        }
    }
}

/// An object with this in it.
fn holding(revision: u64, name: &str, data: &Value) -> Arc<Object> {
    let mut document = object(revision, name).document();
    document["data"] = data.clone();
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", name);
    let object = Object::from_value(key, document, Revision(revision), None);
    Arc::new(object.expect("an object"))
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_too_long_as_yaml_is_refused_or_ends_the_list() {
    let deep = (0..100).fold(json!(vec![1; 100_000]), |inner, _| json!({"a": inner}));
    let flat = json!({"a": "x".repeat(300 << 10)});
    let is_list = "application/yaml";
    let is_table = "application/yaml;as=Table;v=v1;g=meta.k8s.io";
    for (method, accepted) in [
        (Method::GET, is_list),
        (Method::GET, is_table),
        (Method::DELETE, is_list),
    ] {
        for (first, code) in [(&json!({}), 406), (&deep, 406), (&flat, 200)] {
            let fake = Arc::new(Fake::new());
            let api = Api::new(Arc::clone(&fake) as _, Arc::default());
            drop(fake.put(&holding(1, "a", first)));
            drop(fake.put(&holding(2, "b", &deep)));
            let path = "/api/v1/namespaces/default/configmaps?includeObject=Object&dryRun=All";
            let request = Request::builder().method(method.clone()).uri(path);
            let request = request.header("accept", accepted);
            let request = request.body(Full::<Bytes>::default()).expect("a request");
            let actor = Some(Arc::new(Actor::new("admin")));
            let answer = api.handle(request, actor).await;
            assert_eq!(answer.status(), code, "{method} {accepted}");
            let read = answer.into_body().collect().await;
            assert_eq!(read.is_err(), code == 200, "it is cut off");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_the_past_gives_its_seat_back_before_it_waits_for_another() {
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::default());
    for (revision, name) in [(1, "a"), (2, "b")] {
        fake.put_before_the_window(&object(revision, name));
    }
    let seats = Arc::new(tokio::sync::Semaphore::new(1));
    let seat = Arc::clone(&seats).acquire_owned().await.expect("a seat");
    *fake.seat.lock().expect("a lock") = Some(Arc::new(seat));
    *fake.reading.lock().expect("a lock") = Duration::from_secs(2);
    let query = "resourceVersion=1&resourceVersionMatch=Exact";
    let path = format!("/as-of/2/api/v1/namespaces/default/configmaps?{query}");
    let request = Request::get(path).body(Full::<Bytes>::default());
    let actor = Some(Arc::new(Actor::new("admin")));
    let mut answer = pin!(api.handle(request.expect("a request"), actor));
    for (seconds, free) in [(1, 0), (3, 1)] {
        let soon = timeout(Duration::from_secs(seconds), answer.as_mut()).await;
        assert!(soon.is_err(), "it reads the log twice");
        assert_eq!(seats.available_permits(), free);
        *fake.reading.lock().expect("a lock") = Duration::from_secs(9);
    }
    assert_eq!(answer.await.status(), 200);
}
