//! What holds for every answer.

use super::*;
use crate::backend::fake::Fake;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

#[test]
fn no_client_may_take_what_it_was_told_before_for_the_newest() {
    let api = Api::new(Arc::new(Fake::new()), Arc::new(Admission::default()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
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

#[test]
fn a_dry_run_of_a_scale_keeps_the_revision_that_is_stored() {
    let fake = Arc::new(Fake::new());
    let known = Arc::new(Actor::new("admin"));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let send = |method: Method, path: &str, body: &Value| {
        let request = Request::builder().method(method).uri(path);
        let request = request
            .body(Full::from(body.to_string()))
            .expect("a request");
        let answer = runtime.block_on(api.handle(request, Some(Arc::clone(&known))));
        let body = runtime
            .block_on(answer.into_body().collect())
            .expect("a body");
        serde_json::from_slice::<Value>(&body.to_bytes()).expect("JSON")
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
