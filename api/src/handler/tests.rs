//! What holds for every answer.

use super::*;
use crate::admission::Admission;
use crate::backend::Backend;
use crate::backend::fake::Fake;
use crate::body::Bodies;
use crate::testing::runtime;
use futures_util::future::join_all;
use futures_util::stream;
use http::Uri;
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};
use std::convert::Infallible;

async fn send(api: &Api, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(Full::from(body.to_string()));
    let known = Some(Arc::new(Actor::new("admin")));
    let answer = Box::pin(api.handle(request.expect("a request"), known)).await;
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.expect("a body");
    let document = serde_json::from_slice(&body.to_bytes());
    (code, document.unwrap_or_default())
}

async fn label(api: &Api, text: &str) -> String {
    let request = Request::patch("/api/v1/namespaces/n/configmaps/a")
        .header(header::CONTENT_TYPE, "application/merge-patch+json");
    let change = json!({"metadata": {"labels": {"x": text}}});
    let request = request.body(Full::from(change.to_string()));
    let known = Some(Arc::new(Actor::new("admin")));
    let answer = Box::pin(api.handle(request.expect("a request"), known)).await;
    let body = answer.into_body().collect().await.expect("a body");
    let labelled: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
    let revision = labelled["metadata"]["resourceVersion"].as_str();
    revision.expect("a revision").to_owned()
}

#[test]
fn what_others_write_while_a_body_comes_counts() {
    let api = Api::new(Arc::new(Fake::new()), Arc::new(Admission::default()));
    runtime().block_on(async {
        for (path, document) in [
            ("/api/v1/namespaces", json!({"metadata": {"name": "n"}})),
            (
                "/api/v1/namespaces/n/configmaps",
                json!({"metadata": {"name": "a"}}),
            ),
        ] {
            assert_eq!(send(&api, Method::POST, path, &document).await.0, 201);
        }
        let maps = "/api/v1/namespaces/n/configmaps";
        for (method, path, sent) in [
            (
                Method::PATCH,
                format!("{maps}/a?dryRun=All"),
                "application/merge-patch+json",
            ),
            (
                Method::DELETE,
                format!("{maps}?labelSelector=x=y"),
                "application/json",
            ),
        ] {
            label(&api, "y").await;
            let (late, written) = (&api, std::cell::OnceCell::new());
            let body = stream::once(async {
                written.set(label(late, "z").await).expect("once");
                Ok::<_, Infallible>(Frame::data(Bytes::from("{}")))
            });
            let request = Request::builder().method(&method).uri(&path);
            let request = request.header(header::CONTENT_TYPE, sent);
            let body = StreamBody::new(Box::pin(body));
            let known = Some(Arc::new(Actor::new("admin")));
            let answer = api
                .handle(request.body(body).expect("a request"), known)
                .await;
            let (code, body) = (answer.status(), answer.into_body().collect().await);
            let told = body.expect("a body").to_bytes();
            let told: Value = serde_json::from_slice(&told).expect("JSON");
            assert_eq!(code, 200, "{path}: {told}");
            if path.contains("dryRun") {
                let shown = told["metadata"]["resourceVersion"].as_str();
                let stored = written.get().map(String::as_str);
                assert_eq!(shown, stored, "{path}");
            } else {
                let left = send(&api, Method::GET, &format!("{maps}/a"), &json!({})).await;
                assert_eq!(left.0, 200, "it is no longer selected");
            }
        }
    });
}

/// A part of what a connection received, as HTTP/2 gives it.
struct Shared {
    text: &'static str,
    _connection: Arc<()>,
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

#[test]
fn a_request_that_waits_for_its_body_holds_no_part_of_its_head() {
    let api = Api::new(Arc::new(Fake::new()), Arc::new(Admission::default()));
    let connection = Arc::new(());
    let shared = |text| {
        Bytes::from_owner(Shared {
            text,
            _connection: Arc::clone(&connection),
        })
    };
    let uri = Uri::from_maybe_shared(shared("/api/v1/namespaces?fieldManager=m&x=y"));
    let mut request = Request::post(uri.expect("a URI"));
    for (name, value) in [("accept", "*/*"), ("user-agent", "a/1"), ("x", "y")] {
        let value = header::HeaderValue::from_maybe_shared(shared(value));
        request = request.header(name, value.expect("text"));
    }
    assert_eq!(Arc::strong_count(&connection), 5);
    let body = stream::once(async {
        assert_eq!(Arc::strong_count(&connection), 1);
        let namespace = json!({"metadata": {"name": "a"}}).to_string();
        Ok::<_, Infallible>(Frame::data(Bytes::from(namespace)))
    });
    let request = request.body(StreamBody::new(Box::pin(body)));
    let known = Some(Arc::new(Actor::new("admin")));
    let answer = api.handle(request.expect("a request"), known);
    assert_eq!(runtime().block_on(answer).status(), 201);
}

#[test]
fn no_client_may_take_what_it_was_told_before_for_the_newest() {
    let api = Api::new(Arc::new(Fake::new()), Arc::new(Admission::default()));
    let runtime = runtime();
    let known = Some(Arc::new(Actor::new("admin")));
    for (path, accepted, actor, code) in [
        ("/livez", "", None, 200),
        ("/api", discovery::AGGREGATED, known.clone(), 200),
        ("/apis/apps/v1", "", known.clone(), 200),
        ("/openapi/v2", "application/json", known.clone(), 200),
        ("/openapi/v3/api/v1", "", known.clone(), 200),
        ("/api/v1/configmaps", "", known.clone(), 200),
        ("/api/v1/configmaps?watch=1", "", known.clone(), 200),
        ("/api/v1/namespaces/missing", "", known.clone(), 404),
        ("/nowhere", "", known, 404),
        ("/api", "", None, 401),
    ] {
        let request = Request::get(path).header(header::ACCEPT, accepted);
        let request = request.body(Full::<Bytes>::default()).expect("a request");
        let answer = runtime.block_on(api.handle(request, actor));
        assert_eq!(answer.status().as_u16(), code, "{path}");
        let cached = answer.headers().get(header::CACHE_CONTROL);
        assert_eq!(cached.expect("a header"), "no-cache, private", "{path}");
    }
}

/// Every connection keeps space for this future while it is open, and the future is copied on its way to where
/// it runs.
#[test]
fn what_answers_a_request_is_small() {
    let api = Api::new(Arc::new(Fake::new()), Arc::new(Admission::default()));
    let request = Request::new(Full::<Bytes>::default());
    let bytes = size_of_val(&api.handle(request, None));
    assert!(bytes <= 3_200, "{bytes} bytes");
}

/// Source: upstream's `processImpersonationHeaders`.
#[test]
fn whoever_wants_to_be_somebody_else_is_refused_on_every_path() {
    let api = Api::new(Arc::new(Fake::new()), Arc::new(Admission::default()));
    let runtime = runtime();
    for (header, value, code) in [
        ("impersonate-user", "alice", 403),
        ("impersonate-user", "\u{e9}", 403),
        ("impersonate-user", "", 200),
        ("impersonate-uid", "", 200),
        ("impersonate-uid", "u", 400),
        ("impersonate-group", "g", 400),
        ("impersonate-group", "", 400),
        ("impersonate-extra-scopes", "s", 400),
        ("impersonate-nobody", "n", 200),
    ] {
        for path in ["/api/v1/configmaps", "/livez"] {
            let request = Request::get(path).header(header, value.as_bytes());
            let request = request.body(Full::<Bytes>::default()).expect("a request");
            let known = Some(Arc::new(Actor::new("admin")));
            let answer = runtime.block_on(api.handle(request, known));
            let found = answer.status().as_u16();
            assert_eq!(found, code, "{path} {header}: {value}");
        }
    }
    let both = Request::get("/livez").header("impersonate-user", "alice");
    let both = both.header("impersonate-group", "g");
    let both = both.body(Full::<Bytes>::default()).expect("a request");
    let known = Some(Arc::new(Actor::new("admin")));
    assert_eq!(runtime.block_on(api.handle(both, known)).status(), 403);
}

#[test]
fn a_dry_run_of_a_scale_keeps_the_revision_that_is_stored() {
    let fake = Arc::new(Fake::new());
    let api = Api::new(fake, Arc::new(Admission::default()));
    let runtime = runtime();
    let send = |method: Method, path: &str, body: &Value| {
        runtime.block_on(send(&api, method, path, body)).1
    };
    send(
        Method::POST,
        "/api/v1/namespaces",
        &json!({"metadata": {"name": "d"}}),
    );
    let template = json!({"metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({"metadata": {"name": "w"}, "spec": {"template": template,
        "selector": {"matchLabels": {"a": "b"}}}});
    let path = "/apis/apps/v1/namespaces/d/deployments";
    let made = send(Method::POST, path, &deployment);
    let scale = json!({"metadata": {"name": "w"}, "spec": {"replicas": 3}});
    let path = format!("{path}/w/scale?dryRun=All");
    let shown = send(Method::PUT, &path, &scale);
    assert_eq!(shown["spec"]["replicas"], 3, "{shown}");
    let revision = |document: &Value| document["metadata"]["resourceVersion"].clone();
    assert_eq!(revision(&shown), revision(&made));
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GADGETS: &str = "/apis/example.com/v1/gadgets";

fn definition(version: &Value, served: bool, members: &[&str]) -> Value {
    let texts = members
        .iter()
        .map(|name| (*name, json!({"type": "string"})));
    let texts: serde_json::Map<_, _> = texts.map(|(name, text)| (name.into(), text)).collect();
    let spec = json!({"type": "object", "properties": texts});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"metadata": {"name": "gadgets.example.com", "resourceVersion": version}, "spec": {"group": "example.com",
        "scope": "Cluster", "names": {"plural": "gadgets", "kind": "Gadget"}, "versions": [{
            "name": "v1", "served": served, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

#[test]
fn a_read_that_waits_for_a_revision_uses_the_schema_of_that_revision() {
    let named = format!("{GADGETS}/one?");
    let list = format!("{GADGETS}?resourceVersionMatch=NotOlderThan&");
    for path in [named, list] {
        let fake = Arc::new(Fake::new());
        let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
        let both = async |method: Method, at: &str, body: Value| {
            let next = fake.state().revision.next();
            let path = format!("{path}resourceVersion={next}");
            let meanwhile = async {
                tokio::task::yield_now().await;
                let code = send(&api, method, at, &body).await.0;
                fake.move_to(fake.state().revision);
                code
            };
            let nothing = Value::Null;
            tokio::join!(send(&api, Method::GET, &path, &nothing), meanwhile)
        };
        let version_of = async |at: &str| {
            let (_, stored) = send(&api, Method::GET, at, &Value::Null).await;
            stored["metadata"]["resourceVersion"].clone()
        };
        let told = async {
            let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget",
                "metadata": {"name": "one"}, "spec": {"x": "1", "y": "2"}});
            let wide = definition(&Value::Null, true, &["x", "y"]);
            assert_eq!(send(&api, Method::POST, DEFINITIONS, &wide).await.0, 201);
            assert_eq!(send(&api, Method::POST, GADGETS, &gadget).await.0, 201);
            let namespace = json!({"metadata": {"name": "other"}});
            let before = both(Method::POST, "/api/v1/namespaces", namespace).await;
            let at = format!("{DEFINITIONS}/gadgets.example.com");
            let narrow = definition(&version_of(&at).await, true, &["x"]);
            let after = both(Method::PUT, &at, narrow).await;
            let unserved = definition(&version_of(&at).await, false, &["x"]);
            let gone = both(Method::PUT, &at, unserved).await;
            [before, after, gone]
        };
        let [before, after, gone] = runtime().block_on(told);
        let spec = |document: &Value| {
            let item = document.pointer("/items/0").unwrap_or(document);
            item["spec"].clone()
        };
        assert_eq!((before.0.0, before.1), (200, 201), "{path}: {before:?}");
        assert_eq!(spec(&before.0.1), json!({"x": "1", "y": "2"}), "{path}");
        assert_eq!((after.0.0, after.1), (200, 200), "{path}: {after:?}");
        assert_eq!(spec(&after.0.1), json!({"x": "1"}), "{path}");
        assert_eq!((gone.0.0, gone.1), (404, 200), "{path}: {gone:?}");
    }
}

#[test]
fn what_is_recorded_of_a_request_has_a_bounded_length() {
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let path = format!("/api/v1/namespaces?fieldManager=m&x={}", "v".repeat(60_000));
    let request = Request::post(path).header(header::USER_AGENT, "v".repeat(100_000));
    let request = request.body(Full::from(r#"{"metadata": {"name": "a"}}"#));
    let known = Some(Arc::new(Actor::new("admin")));
    let answer = api.handle(request.expect("a request"), known);
    assert_eq!(runtime().block_on(answer).status(), 201);
    let recorded = fake.requests.lock().expect("a lock").pop();
    let recorded = recorded.expect("a command");
    for (text, begin, most) in [
        (&recorded.uri, "/api/v1/namespaces?", 4096),
        (&recorded.user_agent, "vvv", 1024),
    ] {
        assert!(text.starts_with(begin) && text.ends_with("v...TRUNCATED"));
        assert_eq!(text.len(), most + "...TRUNCATED".len());
    }
}

/// How large an object is whose answers need room.
const LARGE_BYTES: usize = 200 << 10;

/// Asks until there is no room for another answer, and reads one.
async fn until_refused(ask: impl AsyncFn() -> Response<ApiBody>) {
    let mut unread = Vec::new();
    let refused = loop {
        let answer = ask().await;
        if !answer.status().is_success() {
            break answer;
        }
        unread.push(answer);
        assert!(unread.len() < 100, "there is always room");
    };
    assert_eq!(refused.status(), 429);
    assert_eq!((3 << 20) / (LARGE_BYTES + 1000), unread.len());
    let read = unread.pop().expect("one").into_body().collect().await;
    drop(read.expect("a body"));
    assert!(ask().await.status().is_success(), "there is room again");
}

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// A small patch of a large object makes a large version, and one that is shown in another form is made too, as is
/// one that is not stored: their clients may be slow to read.
#[test]
fn what_was_made_and_not_read_yet_leaves_no_room_for_more_of_it() {
    const OBJECT: &str = "/api/v1/namespaces/a";
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    // Room for 3 MiB.
    let api = api.with_bodies(Bodies::bounded(0, std::time::Duration::from_secs(30)));
    let known = || Some(Arc::new(Actor::new("admin")));
    let patch = async || {
        let request = Request::patch(OBJECT);
        let request = request.header(header::CONTENT_TYPE, "application/merge-patch+json");
        let document = json!({"metadata": {"annotations": {"n": "1"}}});
        let request = request.body(Full::from(document.to_string()));
        Box::pin(api.handle(request.expect("a request"), known())).await
    };
    let read_as = async |form: &'static str| {
        let request = Request::get(OBJECT).header(header::ACCEPT, form);
        let request = request.body(Full::default()).expect("a request");
        Box::pin(api.handle(request, known())).await
    };
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let annotations = json!({"k": "v".repeat(LARGE_BYTES)});
        let object = json!({"metadata": {"name": "a", "annotations": &annotations}});
        let created = send(&api, Method::POST, "/api/v1/namespaces", &object).await;
        assert_eq!(created.0, 201);
        until_refused(patch).await;
        let other = json!({"metadata": {"name": "c", "annotations": annotations}});
        let attributes = json!({"verb": "get", "resource": "v".repeat(LARGE_BYTES)});
        let review = json!({"spec": {"user": "u", "resourceAttributes": attributes}});
        for (method, path, document) in [
            (Method::DELETE, "/api/v1/namespaces/a?dryRun=All", json!({})),
            (Method::POST, "/api/v1/namespaces?dryRun=All", other),
            (Method::POST, REVIEWS, review),
        ] {
            until_refused(async || {
                let request = Request::builder().method(&method).uri(path);
                let request = request.body(Full::from(document.to_string()));
                Box::pin(api.handle(request.expect("a request"), known())).await
            })
            .await;
        }
        for form in [
            "application/yaml",
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            "application/json;as=Table;g=meta.k8s.io;v=v1",
        ] {
            until_refused(async || read_as(form).await).await;
        }
        let stored = join_all((0..50).map(|_| read_as("application/json"))).await;
        assert!(stored.iter().all(|answer| answer.status() == 200));
        let small = json!({"metadata": {"name": "b"}});
        let other = send(&api, Method::POST, "/api/v1/namespaces", &small).await;
        assert_eq!(other.0, 201, "others go on");
    });
}
